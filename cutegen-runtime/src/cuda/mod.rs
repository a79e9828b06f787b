//! Kernels on NVIDIA devices, over cudarc: a context, the modules loaded into it, views of its memory, and
//! launches in stream order. Everything that calls the driver's raw interface is in [`launch`].
//!
//! What cudarc asks of its users holds here too. Its event tracking orders uses of memory across streams;
//! wrappers take part through the same guards as cudarc's own launches. Programmatic dependent launch overlaps kernels only
//! with tracking off (`CudaContext::disable_event_tracking`, before the memory is allocated), since an event between two
//! kernels makes the second wait.
//!
//! # Graph capture
//!
//! A graph keeps addresses and functions, and keeps nothing alive. While event tracking is on, which only `unsafe` code
//! switches off, a wrapper therefore refuses a stream that is being captured, with
//! [`Error::CaptureNeedsTrackingOff`](crate::Error::CaptureNeedsTrackingOff). It asks the stream itself, so it doesn't
//! matter how the stream came to be captured:
//!
//! - the per-thread stream and streams of `new_stream` alike; the legacy default stream is one that the driver never captures;
//! - a stream forked from a captured one, or joined to it by an event;
//! - a stream that becomes part of a capture by waiting for an argument or the workspace: it is asked again after that.
//!
//! A capture loads no module: a kernel that was never called is refused there, with
//! [`Error::NotLoadedInCapture`](crate::Error::NotLoadedInCapture). The emitted `Kernels::warm` loads all, before captures.
//!
//! A refusal launches nothing, and leaves the capture as it was. With tracking off, the code that switched it off answers for
//! order and lifetimes, and three things more hold for captures: keep the kernels, the workspace and the tensors until the
//! graph is gone; size the workspace before, for it doesn't grow in a capture; use one workspace for each stream of the
//! capture. A raw entry never asks, and its caller promises the same. What no check sees is another thread that begins a
//! capture of the very stream while a call on it is under way: begin captures of streams that no other thread uses.

mod artifact;
mod device;
pub mod launch;
mod module;
mod modules;
mod order;
mod target;
mod tma;
mod view;
mod workspace;

pub use artifact::Artifact;
pub use cudarc;
pub use cudarc::driver::{CudaContext, CudaStream};
pub use device::{Device, DriverVersion, context};
pub use launch::{CUdeviceptr, CUfunction, CUstream, LaunchConfig};
pub use module::{KernelEntry, LoadedKernel, Step, TargetEntry, VariantEntry};
pub use order::{Bound, Order};
pub use target::{arch_runs_on, target_runs_on};
pub use tma::{Fill, L2Promotion, Swizzle, TensorMap, TiledTensor, TiledView};
pub use view::{CudaView, CudaViewMut};
pub use workspace::Workspace;
