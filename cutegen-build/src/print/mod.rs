//! Print: a schedule as source text in each dialect that needs one. The f64 reference with its error bound, the
//! naive kernels for `host` and CUDA and the CPU fallback all come from the same schedule, so a kernel's meaning is
//! written once. Pure text in, text out.

pub mod c;
pub mod fallback;
mod grid;
pub mod naive;
pub mod reference;

use cutegen_spec::contract::Arg;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::spec::KernelSpec;

/// Every argument of a printed kernel, in order: tensors, axes, scalars, then `parts` workspace parts.
#[must_use]
pub fn all_args(spec: &KernelSpec, parts: usize) -> Vec<Arg> {
    let tensors = (0..spec.tensors.len()).map(Arg::Ptr);
    let axes = (0..spec.axes.len()).map(Arg::Axis);
    let scalars = (0..spec.scalars.len()).map(Arg::Scalar);
    tensors.chain(axes).chain(scalars).chain((0..parts).map(Arg::Workspace)).collect()
}

/// An integer expression in C and Rust alike; axes are `a0`, `a1`. Operands are extents, so never negative.
#[must_use]
pub fn int(expr: &IntExpr) -> String {
    match expr {
        IntExpr::Const(value) => value.to_string(),
        IntExpr::Axis(axis) => format!("a{axis}"),
        IntExpr::Device(prop) => prop.name().to_owned(),
        IntExpr::Op(op, a, b) => {
            let (a, b) = (int(a), int(b));
            match op {
                IntOp::Add => format!("({a} + {b})"),
                IntOp::Sub => format!("({a} - {b})"),
                IntOp::Mul => format!("({a} * {b})"),
                IntOp::Div => format!("({a} / {b})"),
                IntOp::Rem => format!("({a} % {b})"),
                IntOp::CeilDiv => format!("(({a} + {b} - 1) / {b})"),
                IntOp::Min => format!("({a} < {b} ? {a} : {b})"),
                IntOp::Max => format!("({a} > {b} ? {a} : {b})"),
            }
        }
    }
}

/// Row-major offset of `indices` in a tensor with extents `dims`: `(i0 * d1 + i1) * d2 + i2`.
#[must_use]
pub fn offset(indices: &[String], dims: &[String]) -> String {
    let mut text = String::new();
    for (position, index) in indices.iter().enumerate() {
        text = match position {
            0 => index.clone(),
            1 => format!("{text} * {} + {index}", dims[position]),
            _ => format!("({text}) * {} + {index}", dims[position]),
        };
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
