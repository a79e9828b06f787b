//! Scalar functions of the spec language that Rust's `f64` lacks, for CPU fallbacks printed from the math.
//!
//! Fallbacks compute in `f64` and round where the spec rounds, so one precision is enough. Results are good to
//! a few units in the last place of `f64` (in the vanishing tail of `gelu`, to 1e-14), far inside every
//! derived bound; speed isn't a goal.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

mod cast;
mod sum;

pub use cast::{
    Whole, cast_bf16, cast_f8e4m3, cast_f8e5m2, cast_f16, cast_f32, cast_f64, cast_i4, cast_i8, cast_i32,
    cast_i64, cast_u4, cast_u8, ceil, floor, pow, round,
};

pub use sum::Sum;

/// `1 / sqrt(x)`.
#[must_use]
pub fn rsqrt(x: f64) -> f64 {
    x.sqrt().recip()
}

/// `1 / (1 + exp(-x))`, without overflow on either side.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        (1.0 + (-x).exp()).recip()
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// `x * sigmoid(x)`; NaN at minus infinity, as in every kernel.
#[must_use]
pub fn silu(x: f64) -> f64 {
    x * sigmoid(x)
}

/// `x * P(Z <= x)` for a standard normal `Z`; NaN at minus infinity, as in every kernel.
#[must_use]
pub fn gelu(x: f64) -> f64 {
    0.5 * x * erfc(-x * FRAC_1_SQRT_2)
}

/// The tanh form of GELU, `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`.
///
/// Evaluated as `x * sigmoid(2 t)`, its equal, which doesn't cancel for large negative `x`; NaN at minus infinity.
#[must_use]
pub fn gelu_tanh(x: f64) -> f64 {
    let t = FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (x + 0.044_715 * x * x * x);
    x * sigmoid(2.0 * t)
}

/// `max(x, 0)`; NaN stays NaN.
#[must_use]
pub fn relu(x: f64) -> f64 {
    max(x, 0.0)
}

/// `log(1 + exp(x))`, without overflow.
#[must_use]
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p() + if x.is_nan() { x } else { 0.0 }
}

/// The larger value; NaN where either is NaN, unlike [`f64::max`].
#[must_use]
pub fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The smaller value; NaN where either is NaN, unlike [`f64::min`].
#[must_use]
pub fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

/// `min(max(x, lo), hi)`; NaN stays NaN.
#[must_use]
pub fn clamp(x: f64, lo: f64, hi: f64) -> f64 {
    min(max(x, lo), hi)
}

/// -1, 0 or 1; zero and NaN stay what they are.
#[must_use]
pub fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { 1.0_f64.copysign(x) }
}

/// The error function.
///
/// Up to 3 by the series `2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (2n+1)!!`, whose terms are all of one sign
/// so that nothing cancels; beyond, as `1 - erfc(x)`.
#[must_use]
pub fn erf(x: f64) -> f64 {
    if x.abs() > 3.0 {
        return (1.0 - erfc(x.abs())).copysign(x);
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > sum.abs() * 1e-17 {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    if x.is_nan() { x } else { FRAC_2_SQRT_PI * exp_of_negative_square(x) * sum }
}

/// `1 - erf(x)`, accurate where that is small.
///
/// Above 1 by the continued fraction `exp(-x^2)/sqrt(pi) / (x + (1/2)/(x + 1/(x + (3/2)/(x + ...))))`,
/// evaluated from its far end; 200 levels are enough at 1 and more than enough beyond.
#[must_use]
pub fn erfc(x: f64) -> f64 {
    if x.is_nan() || x <= 1.0 {
        return 1.0 - erf(x);
    }
    if x > 27.3 {
        return 0.0; // below the smallest subnormal
    }
    let tail = (1..=200).rev().fold(x, |below, level| x + f64::from(level) / 2.0 / below);
    0.5 * FRAC_2_SQRT_PI * exp_of_negative_square(x) / tail
}

/// `exp(-x^2)`, with what rounding `x^2` lost put back.
fn exp_of_negative_square(x: f64) -> f64 {
    let square = x * x;
    let lost = x.mul_add(x, -square);
    (-square).exp() * (1.0 - lost)
}

/// Division that rounds down, as index arithmetic in specs does.
///
/// # Panics
/// When `b` is zero or the quotient overflows; the spec's prover refuses both.
#[must_use]
pub const fn floor_div(a: i64, b: i64) -> i64 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// The non-negative remainder.
///
/// # Panics
/// When `b` is zero; the spec's prover refuses it.
#[must_use]
pub const fn modulo(a: i64, b: i64) -> i64 {
    a.rem_euclid(b)
}

/// `a % b` of integers as math has it: never negative.
///
/// # Panics
/// When `b` is zero; the spec's prover refuses it.
#[must_use]
pub const fn rem(a: i64, b: i64) -> i64 {
    modulo(a, b)
}

/// An index as a position; what is negative becomes a position that no tensor has, and is caught there.
#[must_use]
pub fn at(index: i64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// Where a loop with a lower bound starts.
#[must_use]
pub fn first(from: i64) -> usize {
    usize::try_from(from.max(0)).unwrap_or(usize::MAX)
}

/// Where a loop with an upper bound ends, within its axis.
#[must_use]
pub fn end(to: i64, extent: usize) -> usize {
    first(to).min(extent)
}

/// Whether an index is inside a dimension.
#[must_use]
pub fn is_inside(index: i64, extent: usize) -> bool {
    usize::try_from(index).is_ok_and(|index| index < extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64) {
        within(1e-15, got, expected);
    }

    fn within(bound: f64, got: f64, expected: f64) {
        let error = ((got - expected) / expected).abs();
        assert!(error < bound, "{got:e} is not {expected:e}, off by {error:e}");
    }

    #[test]
    fn erf_matches_published_digits() {
        close(erf(0.5), 0.520_499_877_813_046_5);
        close(erf(1.0), 0.842_700_792_949_714_9);
        close(erf(2.5), 0.999_593_047_982_555_1);
        close(erf(-3.5), -0.999_999_256_901_627_7);
        close(erfc(1.0), 0.157_299_207_050_285_13);
        close(erfc(1.5), 0.033_894_853_524_689_27);
        close(erfc(4.0), 1.541_725_790_028_002e-8);
        close(erfc(10.0), 2.088_487_583_762_545e-45);
        close(erfc(-2.0), 1.995_322_265_018_952_7);
        assert_eq!((erf(0.0), erf(f64::INFINITY), erfc(f64::INFINITY)), (0.0, 1.0, 0.0));
        assert!(erf(f64::NAN).is_nan() && erfc(f64::NAN).is_nan());
    }

    #[test]
    fn activations_hold_at_the_ends() {
        close(sigmoid(2.0), 0.880_797_077_977_882_4);
        assert_eq!((sigmoid(-800.0), sigmoid(800.0)), (0.0, 1.0));
        close(silu(1.0), 0.731_058_578_630_004_9);
        close(gelu(1.0), 0.841_344_746_068_542_9);
        within(1e-14, gelu(-10.0), -7.619_853_024_160_527e-23);
        close(gelu_tanh(1.0), 0.841_191_990_608_276_8);
        close(softplus(0.0), std::f64::consts::LN_2);
        assert_eq!((softplus(1000.0), softplus(-1000.0)), (1000.0, 0.0));
        for f in [sigmoid, silu, gelu, gelu_tanh, softplus] {
            assert!(f(f64::NAN).is_nan());
        }
        assert_eq!((sigmoid(f64::NEG_INFINITY), softplus(f64::NEG_INFINITY)), (0.0, 0.0));
        for f in [silu, gelu, gelu_tanh] {
            assert!(f(f64::NEG_INFINITY).is_nan(), "-inf * 0, as the kernels give");
        }
        assert_eq!((silu(f64::INFINITY), gelu(f64::INFINITY)), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn max_and_friends_keep_nan() {
        assert!(max(f64::NAN, 1.0).is_nan() && min(1.0, f64::NAN).is_nan() && relu(f64::NAN).is_nan());
        assert_eq!((max(1.0, 2.0), min(1.0, 2.0), clamp(5.0, 0.0, 1.0), relu(-3.0)), (2.0, 1.0, 1.0, 0.0));
        assert_eq!((sign(-3.0), sign(0.0), sign(9.0), rsqrt(4.0)), (-1.0, 0.0, 1.0, 0.5));
    }

    #[test]
    fn index_arithmetic_floors() {
        assert_eq!((floor_div(-7, 2), floor_div(7, 2), floor_div(7, -2), floor_div(-8, 2)), (-4, 3, -4, -4));
        assert_eq!((modulo(-7, 3), modulo(7, 3), rem(-7, 3)), (2, 1, 2));
    }

    #[test]
    fn loops_and_positions_stay_inside() {
        assert_eq!((first(-3), first(4), end(9, 5), end(3, 5), end(-1, 5)), (0, 4, 5, 3, 0));
        assert!(is_inside(4, 5) && !is_inside(5, 5) && !is_inside(-1, 5));
        assert_eq!((at(3), at(-1)), (3, usize::MAX));
    }
}
