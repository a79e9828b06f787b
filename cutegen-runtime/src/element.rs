//! Element types: what a view may hold. Owns the dtype names and the 8-bit floats that Rust lacks.

use half::{bf16, f16};
use std::fmt;

/// The dtypes of the spec language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    /// 8-bit float, 4 exponent bits, no infinities.
    F8E4M3,
    /// 8-bit float, 5 exponent bits.
    F8E5M2,
    /// Signed byte.
    I8,
    /// Unsigned byte.
    U8,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// One byte, 0 or 1.
    Bool,
    /// Two signed 4-bit integers in a byte, low nibble first.
    I4,
    /// Two unsigned 4-bit integers in a byte, low nibble first.
    U4,
}

impl DType {
    /// The name in a spec.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::Bool => "bool",
            Self::I4 => "i4",
            Self::U4 => "u4",
        }
    }

    /// Bits of one value: 4 for the packed integers, else a multiple of 8.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 64,
            Self::F32 | Self::I32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::F8E4M3 | Self::F8E5M2 | Self::I8 | Self::U8 | Self::Bool => 8,
            Self::I4 | Self::U4 => 4,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type whose memory is one unit of a tensor: one value, or two of a packed 4-bit dtype.
///
/// Sealed: a kernel is compiled for these and no others.
pub trait Element: Copy + Send + Sync + 'static + sealed::Sealed {
    /// What a spec calls it.
    const DTYPE: DType;
    /// Values in one unit: 2 for the packed dtypes. A view's innermost extent counts units.
    const VALUES: usize = (size_of::<Self>() * 8) / Self::DTYPE.bits();
}

/// Two 4-bit integers in a byte: what views of packed dtypes read and write one by one.
pub trait Packed: Element {
    /// The low nibble for 0, the high one for 1.
    fn nibble(self, which: usize) -> i64;

    /// The same with one nibble replaced; `value` saturates.
    #[must_use]
    fn with_nibble(self, which: usize, value: i64) -> Self;
}

/// Memory that holds integers: what the declared range of an input is checked over.
pub trait Integer: Element {
    /// Value number `which` of a unit, of [`Element::VALUES`].
    fn integer(self, which: usize) -> i64;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),* $(,)?) => {
        $(
            impl sealed::Sealed for $type {}
            impl Element for $type {
                const DTYPE: DType = DType::$dtype;
            }
        )*
    };
}

elements! {
    f64 => F64, f32 => F32, f16 => F16, bf16 => Bf16, F8E4M3 => F8E4M3, F8E5M2 => F8E5M2,
    i8 => I8, u8 => U8, i32 => I32, i64 => I64, bool => Bool, I4x2 => I4, U4x2 => U4,
}

macro_rules! integers {
    ($($type:ty: $unit:ident, $which:ident => $value:expr;)*) => {
        $(
            impl Integer for $type {
                fn integer(self, $which: usize) -> i64 {
                    let $unit = self;
                    $value
                }
            }
        )*
    };
}

integers! {
    i8: unit, _which => i64::from(unit);
    u8: unit, _which => i64::from(unit);
    i32: unit, _which => i64::from(unit);
    i64: unit, _which => unit;
    I4x2: unit, which => unit.nibble(which);
    U4x2: unit, which => unit.nibble(which);
}

/// An 8-bit float with 4 exponent and 3 mantissa bits, no infinities, largest value 448.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct F8E4M3(pub u8);

/// An 8-bit float with 5 exponent and 2 mantissa bits, largest finite value 57344.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct F8E5M2(pub u8);

/// Two signed 4-bit integers, low nibble first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct I4x2(pub u8);

/// Two unsigned 4-bit integers, low nibble first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct U4x2(pub u8);

impl F8E4M3 {
    /// Rounds to nearest even; what lies beyond 448 saturates, NaN stays NaN.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        Self(encode(value, 3, 7, 0x7e, 0x7f))
    }

    /// The exact value.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        if self.0 & 0x7f == 0x7f { f64::NAN } else { decode(self.0, 3, 7) }
    }
}

impl F8E5M2 {
    /// Rounds to nearest even; what lies beyond 57344 saturates, NaN stays NaN.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        Self(encode(value, 2, 15, 0x7b, 0x7e))
    }

    /// The exact value.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self.0 & 0x7f {
            0x7c => f64::INFINITY.copysign(if self.0 & 0x80 == 0 { 1.0 } else { -1.0 }),
            0x7d.. => f64::NAN,
            _ => decode(self.0, 2, 15),
        }
    }
}

impl I4x2 {
    /// Packs two values in -8..=7; higher bits are dropped.
    #[must_use]
    pub const fn new(low: i8, high: i8) -> Self {
        Self((low as u8 & 15) | ((high as u8) << 4))
    }

    /// The two values, low nibble first.
    #[must_use]
    pub const fn values(self) -> [i8; 2] {
        [((self.0 << 4) as i8) >> 4, (self.0 as i8) >> 4]
    }
}

impl U4x2 {
    /// Packs two values in 0..=15; higher bits are dropped.
    #[must_use]
    pub const fn new(low: u8, high: u8) -> Self {
        Self((low & 15) | (high << 4))
    }

    /// The two values, low nibble first.
    #[must_use]
    pub const fn values(self) -> [u8; 2] {
        [self.0 & 15, self.0 >> 4]
    }
}

impl Packed for I4x2 {
    fn nibble(self, which: usize) -> i64 {
        i64::from(self.values()[which])
    }

    fn with_nibble(self, which: usize, value: i64) -> Self {
        let mut values = self.values();
        values[which] = value.clamp(-8, 7) as i8;
        Self::new(values[0], values[1])
    }
}

impl Packed for U4x2 {
    fn nibble(self, which: usize) -> i64 {
        i64::from(self.values()[which])
    }

    fn with_nibble(self, which: usize, value: i64) -> Self {
        let mut values = self.values();
        values[which] = value.clamp(0, 15) as u8;
        Self::new(values[0], values[1])
    }
}

fn decode(bits: u8, mantissa_bits: i32, bias: i32) -> f64 {
    let mantissa = f64::from(bits & ((1 << mantissa_bits) - 1));
    let exponent = i32::from((bits & 0x7f) >> mantissa_bits);
    let one = f64::from(1 << mantissa_bits);
    let magnitude = match exponent {
        0 => mantissa / one * 2_f64.powi(1 - bias),
        _ => (1.0 + mantissa / one) * 2_f64.powi(exponent - bias),
    };
    if bits & 0x80 == 0 { magnitude } else { -magnitude }
}

/// `largest` and `nan` are bit patterns without the sign. Codes of positive values are in order, so a
/// rounded mantissa that overflows carries into the exponent by itself.
fn encode(value: f64, mantissa_bits: i32, bias: i32, largest: u8, nan: u8) -> u8 {
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    if value.is_nan() {
        return sign | nan;
    }
    let magnitude = value.abs();
    if magnitude >= decode(largest, mantissa_bits, bias) {
        return sign | largest;
    }
    let biased = ((magnitude.to_bits() >> 52) as i32 - 1023 + bias).max(1);
    let ulp = 2_f64.powi(biased - bias - mantissa_bits);
    // Below 2^(mantissa_bits + 1), so exact: the implicit one adds 1 to an exponent field of `biased - 1`.
    let steps = (magnitude / ulp).round_ties_even() as i32;
    let code = ((biased - 1) << mantissa_bits) + steps;
    sign | (code as u8).min(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_f8_survives_a_round_trip() {
        for bits in 0..=255_u8 {
            let e4m3 = F8E4M3(bits).to_f64();
            if !e4m3.is_nan() {
                assert_eq!(F8E4M3::from_f64(e4m3).0, bits, "{e4m3}");
            }
            let e5m2 = F8E5M2(bits).to_f64();
            if e5m2.is_finite() {
                assert_eq!(F8E5M2::from_f64(e5m2).0, bits, "{e5m2}");
            }
        }
    }

    #[test]
    fn f8_rounds_to_even_and_saturates() {
        assert_eq!(F8E4M3::from_f64(448.0).0, 0x7e);
        assert_eq!(F8E4M3::from_f64(1e9).to_f64(), 448.0);
        assert_eq!(F8E4M3::from_f64(-1e9).to_f64(), -448.0);
        assert_eq!(F8E5M2::from_f64(f64::INFINITY).to_f64(), 57344.0);
        assert_eq!(F8E4M3::from_f64(17.0).to_f64(), 16.0); // halfway between 16 and 18
        assert_eq!(F8E4M3::from_f64(19.0).to_f64(), 20.0); // halfway between 18 and 20
        assert_eq!(F8E4M3::from_f64(2_f64.powi(-9)).0, 1); // smallest subnormal
        assert_eq!(F8E4M3::from_f64(2_f64.powi(-10)).0, 0); // tie, to even
        assert!(F8E4M3::from_f64(f64::NAN).to_f64().is_nan());
        assert!(F8E5M2::from_f64(f64::NAN).to_f64().is_nan());
    }

    #[test]
    fn nibbles_are_low_first_and_signed() {
        assert_eq!(I4x2::new(-8, 7).values(), [-8, 7]);
        assert_eq!(I4x2::new(-1, 3).0, 0x3f);
        assert_eq!(U4x2::new(15, 1).values(), [15, 1]);
        assert_eq!((I4x2::VALUES, bf16::VALUES), (2, 1));
    }
}
