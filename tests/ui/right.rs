//! What all others get wrong, for both modules. Stubs, because nothing is linked here.
#![allow(unused, reason = "one thing is wrong at a time")]

/// As `include_kernels!` takes them in.
mod kernels { use cutegen_runtime; include!("../golden/stub.rs"); }

use std::sync::Arc;

use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use cutegen_runtime::cuda::{CudaStream, Workspace};
use cutegen_runtime::{AsView, AsViewMut, Error};
use half::bf16;
use kernels::cuda::{Kernels, SiluMul};

fn host() -> Result<(), Error> {
    let (g, u, mut y) = (vec![bf16::ONE; 8], vec![bf16::ONE; 8], vec![bf16::ZERO; 8]);
    let args = kernels::host::SiluMul { n: 8, g: g.view([8]), u: u.view([8]), y: y.view_mut([8]) };
    kernels::host::silu_mul(&mut kernels::host::workspace(), args)
}

fn device(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    x: &CudaSlice<bf16>,
    y: &mut CudaSlice<bf16>,
) -> Result<(), Error> {
    let mut workspace = kernels.workspace(stream)?;
    let n = y.len();
    let args = SiluMul { n, g: x.view([n]), u: x.view([n]), y: y.view_mut([n]) };
    kernels.silu_mul(stream, &mut workspace, args)
}

fn main() {
    assert!(matches!(host(), Err(Error::Stub { kernel: "silu_mul" })));
}
