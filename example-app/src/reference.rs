//! The MLP block in f64 with running error bounds, written from the formulas. Each function gives the expected element of
//! a row-major result, from the inputs that the kernel itself got.

use half::bf16;

use crate::bound::Running;
use crate::{D, EPS, F};

/// `s / sqrt(mean(s^2) + eps) * w`
pub fn norm(s: &[bf16], w: &[bf16]) -> impl Fn(usize) -> Running + Sync {
    let scale = |row: &[bf16]| {
        let square = Running::dot(row.iter().map(|v| (v.to_f64(), v.to_f64()))).over(D as f64);
        square.plus(Running::exact(f64::from(EPS))).rsqrt()
    };
    let scales: Vec<Running> = s.chunks(D).map(scale).collect();
    move |i| exact(s[i]).times(scales[i / D]).times(exact(w[i % D]))
}

/// `silu(y gate^T) * (y up^T)`
pub fn gate_up(y: &[bf16], gate: &[bf16], up: &[bf16]) -> impl Fn(usize) -> Running + Sync {
    |i| {
        let (row, column) = (i / F * D, i % F * D);
        let dot = |w: &[bf16]| dot(&y[row..row + D], &w[column..column + D]);
        dot(gate).silu().times(dot(up))
    }
}

/// `h down^T + s`
pub fn down(h: &[bf16], down: &[bf16], s: &[bf16]) -> impl Fn(usize) -> Running + Sync {
    |i| {
        let (row, column) = (i / D * F, i % D * F);
        dot(&h[row..row + F], &down[column..column + F]).plus(exact(s[i]))
    }
}

/// `silu(g) * u`
pub fn silu_mul(g: &[bf16], u: &[bf16]) -> impl Fn(usize) -> Running + Sync {
    |i| exact(g[i]).silu().times(exact(u[i]))
}

fn dot(a: &[bf16], b: &[bf16]) -> Running {
    Running::dot(a.iter().zip(b).map(|(a, b)| (a.to_f64(), b.to_f64())))
}

/// An input.
pub fn exact(value: bf16) -> Running {
    Running::exact(value.to_f64())
}
