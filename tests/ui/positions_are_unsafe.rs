//! A kernel that takes positions from memory of the device, called without `unsafe`.
#![allow(unused, reason = "one thing is wrong at a time")]

/// As `include_kernels!` takes them in.
mod kernels { use cutegen_runtime; include!("../golden/memory.rs"); }

use std::sync::Arc;

use cutegen_runtime::Error;
use cutegen_runtime::cuda::{CudaStream, Workspace};
use kernels::cuda::{Kernels, Scatter};

fn call(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    workspace: &mut Workspace,
    args: Scatter<'_>,
) -> Result<(), Error> {
    kernels.scatter(stream, workspace, args)
}

fn main() {}
