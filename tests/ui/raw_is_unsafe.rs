//! The raw entry without `unsafe`.
#![allow(unused, reason = "one thing is wrong at a time")]

/// As `include_kernels!` takes them in.
mod kernels { use cutegen_runtime; include!("../golden/example_app.rs"); }

use std::sync::Arc;

use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use cutegen_runtime::cuda::{CudaStream, Workspace};
use cutegen_runtime::{AsView, AsViewMut, Error};
use half::bf16;
use kernels::cuda::{Kernels, SiluMul};

fn device(kernels: &Kernels, stream: &Arc<CudaStream>) -> Result<(), Error> {
    kernels.silu_mul_raw(stream.cu_stream(), 0, 0, 8, 0, 0, 0)
}

fn main() {}
