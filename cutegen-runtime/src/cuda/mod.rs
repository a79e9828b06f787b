//! Kernels on NVIDIA devices, over cudarc: a context, the modules loaded into it, views of its memory, and
//! launches in stream order. Everything that calls the driver's raw interface is in [`launch`].
//!
//! What cudarc asks of its users holds here too. Its event tracking orders uses of memory across streams;
//! wrappers take part through the same guards as cudarc's own launches. Graph capture needs tracking off
//! (`CudaContext::disable_event_tracking`, before the memory is allocated), and programmatic dependent launch
//! overlaps kernels only then, since an event between two kernels makes the second wait.

mod device;
pub mod launch;
mod module;
mod order;
mod tma;
mod view;
mod workspace;

pub use cudarc;
pub use cudarc::driver::{CudaContext, CudaStream};
pub use device::{Device, DriverVersion, arch_runs_on, context};
pub use launch::{CUdeviceptr, CUfunction, CUstream, LaunchConfig};
pub use module::{Artifact, KernelEntry, LoadedKernel, Step, TargetEntry, VariantEntry};
pub use order::{Bound, Order};
pub use tma::{Fill, L2Promotion, Swizzle, TensorMap, TiledTensor};
pub use view::{CudaView, CudaViewMut};
pub use workspace::Workspace;
