//! Arithmetic on single values, as a kernel has it.

use cutegen_build::evaluate::judge::element;
use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, ReduceOp};

use super::machine::Held;

pub(super) fn compares<T: PartialOrd>(op: Binary, x: T, y: T) -> bool {
    match op {
        Binary::Lt => x < y,
        Binary::Le => x <= y,
        Binary::Gt => x > y,
        Binary::Ge => x >= y,
        Binary::Eq => x == y,
        _ => x != y,
    }
}

pub(super) fn integers(op: Binary, x: i64, y: i64) -> Held {
    Held::Int(match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Max => x.max(y),
        Binary::Min => x.min(y),
        Binary::Rem => x.rem_euclid(y),
        _ => return Held::Cond(compares(op, x, y)),
    })
}

pub(super) fn whole(op: ReduceOp, values: &[i64]) -> i64 {
    let values = values.iter().copied();
    match op {
        ReduceOp::Sum => values.sum(),
        ReduceOp::Prod => values.product(),
        ReduceOp::Max => values.max().unwrap_or(i64::MIN),
        _ => values.min().unwrap_or(i64::MAX),
    }
}

pub(super) fn number(held: Held) -> f64 {
    match held {
        Held::Real(x) => x,
        Held::Int(i) => i as f64,
        Held::Cond(c) => f64::from(u8::from(c)),
    }
}

/// `value` as a tensor of `dtype` holds it.
pub(crate) fn cast(dtype: DType, value: f64) -> f64 {
    let mut bytes = [0; 8];
    element::write(dtype, &mut bytes, 0, value);
    element::read(dtype, &bytes, 0)
}

/// To nearest, halves away from zero.
pub(crate) fn tf32(x: f64) -> f64 {
    if x.is_finite() { f64::from(f32::from_bits(((x as f32).to_bits() + 0x1000) & !0x1fff)) } else { x }
}

pub(super) fn flushed(x: f64) -> f64 {
    if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { x }
}

/// `x` and `m` of `(x - m) * (x - m)`.
pub(crate) fn square_of_difference(body: &Expr) -> Option<(&Expr, &Expr)> {
    match body {
        Expr::Binary(Binary::Mul, a, b) if a == b => match a.as_ref() {
            Expr::Binary(Binary::Sub, x, m) => Some((x, m)),
            _ => None,
        },
        _ => None,
    }
}
