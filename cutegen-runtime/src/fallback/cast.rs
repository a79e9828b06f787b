//! Rounding and casts of the spec language: to narrower floats once and to nearest even, to integers toward zero and
//! saturated.

use crate::element::{F8E4M3, F8E5M2};

/// What is cast to an integer: a real (`f64`) or an integer (`i64`).
pub trait Whole: Copy {
    /// Toward zero, saturated to `i64`; NaN is 0.
    fn whole(self) -> i64;
}

impl Whole for f64 {
    fn whole(self) -> i64 {
        self as i64
    }
}

impl Whole for i64 {
    fn whole(self) -> i64 {
        self
    }
}

/// To the nearest integer, halves to even.
#[must_use]
pub fn round(x: f64) -> f64 {
    x.round_ties_even()
}

/// The largest integer not above `x`.
#[must_use]
pub fn floor(x: f64) -> f64 {
    x.floor()
}

/// The smallest integer not below `x`.
#[must_use]
pub fn ceil(x: f64) -> f64 {
    x.ceil()
}

/// `x` to the power `y`.
#[must_use]
pub fn pow(x: f64, y: f64) -> f64 {
    x.powf(y)
}

/// `x` itself: fallbacks compute in `f64`.
#[must_use]
pub fn cast_f64(x: f64) -> f64 {
    x
}

/// `x` rounded to an `f32`.
#[must_use]
pub fn cast_f32(x: f64) -> f64 {
    f64::from(x as f32)
}

/// `x` rounded to an `f16`, once: `f16::from_f64` may round to `f32` on the way, and of this result it is exact.
#[must_use]
pub fn cast_f16(x: f64) -> f64 {
    narrowed(x, 10, -14, 16)
}

/// `x` rounded to a `bf16`, once.
#[must_use]
pub fn cast_bf16(x: f64) -> f64 {
    narrowed(x, 7, -126, 128)
}

/// `x` rounded to an [`F8E4M3`], saturated.
#[must_use]
pub fn cast_f8e4m3(x: f64) -> f64 {
    F8E4M3::from_f64(x).to_f64()
}

/// `x` rounded to an [`F8E5M2`], saturated.
#[must_use]
pub fn cast_f8e5m2(x: f64) -> f64 {
    F8E5M2::from_f64(x).to_f64()
}

/// To -128..=127.
#[must_use]
pub fn cast_i8(x: impl Whole) -> i64 {
    x.whole().clamp(-128, 127)
}

/// To 0..=255.
#[must_use]
pub fn cast_u8(x: impl Whole) -> i64 {
    x.whole().clamp(0, 255)
}

/// To the range of an `i32`.
#[must_use]
pub fn cast_i32(x: impl Whole) -> i64 {
    x.whole().clamp(i64::from(i32::MIN), i64::from(i32::MAX))
}

/// To the range of an `i64`.
#[must_use]
pub fn cast_i64(x: impl Whole) -> i64 {
    x.whole()
}

/// To -8..=7.
#[must_use]
pub fn cast_i4(x: impl Whole) -> i64 {
    x.whole().clamp(-8, 7)
}

/// To 0..=15.
#[must_use]
pub fn cast_u4(x: impl Whole) -> i64 {
    x.whole().clamp(0, 15)
}

/// `x` rounded to `fraction` bits behind the point, 2^`least` being the smallest normal number; infinite from
/// 2^`beyond`.
fn narrowed(x: f64, fraction: i32, least: i32, beyond: i32) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
    let ulp = 2_f64.powi(exponent.max(least) - fraction);
    // a quotient below 2^(fraction + 1) or a zero: exact, as is the product
    let near = (x / ulp).round_ties_even() * ulp;
    if near.abs() >= 2_f64.powi(beyond) { f64::INFINITY.copysign(x) } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// Every code, what lies halfway to the next one, and its neighbours in `f64`.
    fn rounds_once(cast: fn(f64) -> f64, value: fn(u16) -> f64, infinity: u16) {
        for code in 0..infinity {
            let (low, high) = (value(code), value(code + 1));
            assert_eq!(cast(-low), -low);
            if high.is_infinite() {
                break;
            }
            let half = (low + high) / 2.0;
            assert_eq!(cast(half), if code % 2 == 0 { low } else { high }, "{half:e}");
            assert_eq!((cast(half.next_down()), cast(half.next_up())), (low, high), "{half:e}");
        }
    }

    #[test]
    fn narrow_floats_round_once() {
        rounds_once(cast_f16, |code| f16::from_bits(code).to_f64(), 0x7c00);
        rounds_once(cast_bf16, |code| bf16::from_bits(code).to_f64(), 0x7f80);
        assert_eq!(
            (cast_f16(65519.9), cast_f16(65520.0), cast_f16(-1e9)),
            (65504.0, f64::INFINITY, -f64::INFINITY)
        );
        assert_eq!(
            (cast_bf16(3.4e38), cast_f32(0.1), cast_f64(0.1)),
            (f64::INFINITY, f64::from(0.1_f32), 0.1)
        );
        assert_eq!((cast_f8e4m3(1e9), cast_f8e5m2(-1e9), cast_f8e4m3(17.0)), (448.0, -57344.0, 16.0));
        for cast in [cast_f16, cast_bf16, cast_f32, cast_f8e4m3, cast_f8e5m2] {
            assert!(cast(f64::NAN).is_nan() && cast(-0.0).is_sign_negative());
        }
    }

    #[test]
    fn integers_saturate_from_both_kinds() {
        assert_eq!((cast_i8(-128.9), cast_i8(300_i64), cast_i8(f64::NAN), cast_u8(-0.9)), (-128, 127, 0, 0));
        assert_eq!(
            (cast_u8(256.5), cast_i4(-9_i64), cast_i4(7.9), cast_u4(-1_i64), cast_u4(1e300)),
            (255, -8, 7, 0, 15)
        );
        assert_eq!(
            (cast_i32(-3e9), cast_i32(1_i64 << 40), cast_i64(1e30)),
            (-2_147_483_648, 2_147_483_647, i64::MAX)
        );
    }

    #[test]
    fn halves_go_to_even() {
        assert_eq!(
            (round(2.5), round(3.5), round(-0.5), floor(-0.5), ceil(0.2)),
            (2.0, 4.0, -0.0, -1.0, 1.0)
        );
        assert_eq!((pow(2.0, 0.5), pow(-2.0, 3.0)), (std::f64::consts::SQRT_2, -8.0));
        assert!(pow(-2.0, 0.5).is_nan());
    }
}
