//! The elementwise kernel at lengths around its tile: in memory as an allocator aligns it, which the tuned kernel
//! wants, then one element off, which only the naive kernel may have. Every element is compared.

use std::sync::Arc;

use cutegen_runtime::cuda::{CudaStream, Workspace};
use cutegen_runtime::{AsView as _, AsViewMut as _};
use half::bf16;

use crate::draw::Draw;
use crate::judge::{Verdict, Which, judge};
use crate::kernels::cuda::{Kernels, SiluMul};
use crate::{Fail, reference};

/// Around the tuned kernel's tile, a prime, and one that fills the device.
const LENGTHS: [usize; 7] = [1, 7, 2047, 2048, 2049, 1_000_003, 1 << 24];

/// The part.
pub fn run() -> Result<bool, Fail> {
    let (context, kernels) = crate::device()?;
    let stream = context.default_stream();
    let mut workspace = kernels.workspace(&stream)?;
    let mut right = true;
    for offset in [0, 1] {
        for n in LENGTHS {
            let Verdict { worst, wrong, .. } = one(&kernels, &stream, &mut workspace, n, offset)?;
            println!("n = {n:9}, {offset} off: worst error / bound {:5.1}%, {wrong} wrong", worst * 100.0);
            right &= wrong == 0;
        }
    }
    Ok(right)
}

fn one(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    workspace: &mut Workspace,
    n: usize,
    offset: usize,
) -> Result<Verdict, Fail> {
    let mut draw = Draw::new(n as u64);
    let (g, u) = (draw.values(n + offset, 8.0), draw.values(n + offset, 8.0));
    let (dg, du) = (stream.clone_htod(&g)?, stream.clone_htod(&u)?);
    let mut dy = stream.clone_htod(&vec![bf16::NAN; n + offset])?;
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
    let y = stream.clone_dtoh(&dy)?;
    Ok(judge(&y[offset..], Which::Every, reference::silu_mul(&g[offset..], &u[offset..])))
}
