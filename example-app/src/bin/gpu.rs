//! The example's elementwise kernel on a GPU: the committed cubin through the emitted wrapper, every element compared
//! with f64. Where there is no driver or no such device, says what is missing and exits with 3.

#[path = "../bound.rs"]
#[expect(dead_code, reason = "the other kernels of the block use the rest")]
mod bound;

use std::process::ExitCode;
use std::sync::Arc;

use bound::Running;
use cutegen_runtime::cuda::cudarc::driver::CudaStream;
use cutegen_runtime::cuda::{Workspace, context};
use cutegen_runtime::{AsView as _, AsViewMut as _, Error};
use half::bf16;

cutegen_runtime::include_kernels!();
use kernels::cuda::{Kernels, SiluMul};

/// Lengths around the tuned kernel's tile, a prime, and one that fills the device.
const LENGTHS: [usize; 7] = [1, 7, 2047, 2048, 2049, 1_000_003, 1 << 24];

fn main() -> ExitCode {
    let ready = context(0).and_then(|context| Ok((kernels::cuda::load(&context)?, context.default_stream())));
    let (kernels, stream) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
    };
    for explained in kernels.explain() {
        println!("{explained}");
    }
    match run(&kernels, &stream) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Aligned memory for the tuned kernel, then memory one element off, which only the naive kernel may have.
fn run(kernels: &Kernels, stream: &Arc<CudaStream>) -> Result<bool, Error> {
    let mut workspace = kernels.workspace(stream)?;
    let mut right = true;
    for offset in [0, 1] {
        for n in LENGTHS {
            let (worst, wrong) = one(kernels, stream, &mut workspace, n, offset)?;
            println!("n = {n:9}, {offset} off: worst error / bound {:5.1}%, {wrong} wrong", worst * 100.0);
            right &= wrong == 0;
        }
    }
    println!("{}", if right { "every element is within its bound" } else { "NOT right" });
    Ok(right)
}

fn one(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    workspace: &mut Workspace,
    n: usize,
    offset: usize,
) -> Result<(f64, usize), Error> {
    let device = |source| Error::Cuda { kernel: "silu_mul", call: "copying", source };
    let (g, u) = (draw(n as u64, n + offset), draw(n as u64 + 1, n + offset));
    let poison = vec![bf16::NAN; n + offset];
    let copy = |from: &[bf16]| stream.clone_htod(from).map_err(device);
    let (dg, du, mut dy) = (copy(&g)?, copy(&u)?, copy(&poison)?);
    kernels.silu_mul(
        stream,
        workspace,
        SiluMul {
            n,
            g: dg.slice(offset..).view([n]),
            u: du.slice(offset..).view([n]),
            y: dy.slice_mut(offset..).view_mut([n]),
        },
    )?;
    let y = stream.clone_dtoh(&dy).map_err(device)?;
    let shares = (offset..n + offset).map(|i| {
        let (g, u) = (Running::exact(g[i].to_f64()), Running::exact(u[i].to_f64()));
        g.silu().times(u).share(y[i].to_f64())
    });
    let (mut worst, mut wrong) = (0.0_f64, 0);
    for share in shares {
        worst = worst.max(share);
        wrong += usize::from(share.is_nan() || share > 1.0);
    }
    Ok((worst, wrong))
}

/// Values in [-8, 8), from a seed.
fn draw(seed: u64, n: usize) -> Vec<bf16> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| bf16::from_f32(next() * 8.0)).collect()
}
