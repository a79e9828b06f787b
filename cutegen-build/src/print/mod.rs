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

/// An integer expression of axes, `a0`, `a1`, in C++. Its division truncates, which is right where no operand is
/// negative; elsewhere the preludes' functions round down.
#[must_use]
pub fn int(expr: &IntExpr) -> String {
    match expr {
        IntExpr::Const(value) => value.to_string(),
        IntExpr::Axis(axis) => format!("a{axis}"),
        IntExpr::Device(prop) => prop.name().to_owned(),
        IntExpr::Op(op, dividend, b) => {
            let (a, b) = (int(dividend), int(b));
            match (op, is_natural(dividend)) {
                (IntOp::Add, _) => format!("({a} + {b})"),
                (IntOp::Sub, _) => format!("({a} - {b})"),
                (IntOp::Mul, _) => format!("({a} * {b})"),
                (IntOp::Div, true) => format!("({a} / {b})"),
                (IntOp::Div, false) => format!("cg_floor_div({a}, {b})"),
                (IntOp::Rem, true) => format!("({a} % {b})"),
                (IntOp::Rem, false) => format!("cg_mod({a}, {b})"),
                (IntOp::CeilDiv, true) => format!("(({a} + {b} - 1) / {b})"),
                (IntOp::CeilDiv, false) => format!("cg_floor_div(({a} + {b} - 1), {b})"),
                (IntOp::Min, _) => format!("({a} < {b} ? {a} : {b})"),
                (IntOp::Max, _) => format!("({a} > {b} ? {a} : {b})"),
            }
        }
    }
}

/// Whether the expression is no less than 0 at any extents, as far as its form says. Divisors are positive.
fn is_natural(expr: &IntExpr) -> bool {
    match expr {
        IntExpr::Const(value) => *value >= 0,
        IntExpr::Axis(_) | IntExpr::Device(_) | IntExpr::Op(IntOp::Rem, ..) => true,
        IntExpr::Op(IntOp::Add | IntOp::Mul | IntOp::Min, a, b) => is_natural(a) && is_natural(b),
        IntExpr::Op(IntOp::Max, a, b) => is_natural(a) || is_natural(b),
        IntExpr::Op(IntOp::Div | IntOp::CeilDiv, a, _) => is_natural(a),
        IntExpr::Op(IntOp::Sub, ..) => false,
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
