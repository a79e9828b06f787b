//! A host view where memory of a device is needed.
#![allow(unused, reason = "one thing is wrong at a time")]

/// As `include_kernels!` takes them in.
mod kernels { use cutegen_runtime; include!("../golden/example_app.rs"); }

use std::sync::Arc;

use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use cutegen_runtime::cuda::{CudaStream, Workspace};
use cutegen_runtime::{AsView, AsViewMut, Error};
use half::bf16;
use kernels::cuda::{Kernels, SiluMul};

fn device(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    x: &Vec<bf16>,
    y: &mut CudaSlice<bf16>,
) -> Result<(), Error> {
    let mut workspace = kernels.workspace(stream)?;
    let args = SiluMul { n: 8, g: x.view([8]), u: x.view([8]), y: y.view_mut([8]) };
    kernels.silu_mul(stream, &mut workspace, args)
}

fn main() {}
