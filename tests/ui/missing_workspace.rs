//! No workspace.
#![allow(unused, reason = "one thing is wrong at a time")]

/// As `include_kernels!` takes them in.
mod kernels { use cutegen_runtime; include!("../golden/example_app.rs"); }

use cutegen_runtime::{AsView, AsViewMut};
use half::bf16;
use kernels::host::{SiluMul, silu_mul};

fn main() {
    let (g, u, mut y) = (vec![bf16::ONE; 8], vec![bf16::ONE; 8], vec![bf16::ZERO; 8]);
    let mut workspace = cutegen_runtime::host::Workspace::new();
    let _ = silu_mul(SiluMul { n: 8, g: g.view([8]), u: u.view([8]), y: y.view_mut([8]) });
}
