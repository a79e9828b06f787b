//! [`DType`]: the element types of edition 1 and the numeric facts about them.

use std::fmt;

/// An element type. `I4` and `U4` are packed two per byte, low nibble first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum DType {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    Bf16,
    /// OCP 8-bit float, 4 exponent bits, no infinities.
    F8e4m3,
    /// OCP 8-bit float, 5 exponent bits.
    F8e5m2,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// One byte, 0 or 1.
    Bool,
    /// Signed 4-bit integer, packed.
    I4,
    /// Unsigned 4-bit integer, packed.
    U4,
}

impl DType {
    /// Every dtype, in the order of the documentation.
    pub const ALL: [DType; 13] = [
        DType::F64,
        DType::F32,
        DType::F16,
        DType::Bf16,
        DType::F8e4m3,
        DType::F8e5m2,
        DType::I8,
        DType::U8,
        DType::I32,
        DType::I64,
        DType::Bool,
        DType::I4,
        DType::U4,
    ];

    /// The word a spec uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
            DType::F8e4m3 => "f8e4m3",
            DType::F8e5m2 => "f8e5m2",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::Bool => "bool",
            DType::I4 => "i4",
            DType::U4 => "u4",
        }
    }

    /// The dtype that `word` names, if any.
    #[must_use]
    pub fn parse(word: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == word)
    }

    /// Bits an element takes in memory.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            DType::F64 | DType::I64 => 64,
            DType::F32 | DType::I32 => 32,
            DType::F16 | DType::Bf16 => 16,
            DType::F8e4m3 | DType::F8e5m2 | DType::I8 | DType::U8 | DType::Bool => 8,
            DType::I4 | DType::U4 => 4,
        }
    }

    /// Bytes an element takes, rounded up for the packed types.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// Whether values are floating point.
    #[must_use]
    pub fn is_float(self) -> bool {
        self.significand_bits().is_some()
    }

    /// Significand bits including the hidden one; `None` for integers.
    #[must_use]
    pub fn significand_bits(self) -> Option<u32> {
        match self {
            DType::F64 => Some(53),
            DType::F32 => Some(24),
            DType::F16 => Some(11),
            DType::Bf16 => Some(8),
            DType::F8e4m3 => Some(4),
            DType::F8e5m2 => Some(3),
            DType::I8 | DType::U8 | DType::I32 | DType::I64 | DType::Bool | DType::I4 | DType::U4 => None,
        }
    }

    /// Unit roundoff `u = 2^-p` of round-to-nearest with `p` significand bits; 0 for integers.
    /// Source: Higham, *Accuracy and Stability of Numerical Algorithms*, section 2.1.
    #[must_use]
    pub fn unit_roundoff(self) -> f64 {
        self.significand_bits().map_or(0.0, |p| 0.5_f64.powi(p as i32))
    }

    /// Half the spacing of subnormals: the absolute error of rounding near zero; 0 for integers.
    #[must_use]
    pub fn underflow(self) -> f64 {
        match self {
            DType::F64 => f64::from_bits(1),
            DType::F32 => 2.0_f64.powi(-150),
            DType::F16 => 2.0_f64.powi(-25),
            DType::Bf16 => 2.0_f64.powi(-134),
            DType::F8e4m3 => 2.0_f64.powi(-10),
            DType::F8e5m2 => 2.0_f64.powi(-17),
            DType::I8 | DType::U8 | DType::I32 | DType::I64 | DType::Bool | DType::I4 | DType::U4 => 0.0,
        }
    }

    /// The largest finite value.
    #[must_use]
    pub fn max_finite(self) -> f64 {
        match self {
            DType::F64 => f64::MAX,
            DType::F32 => f64::from(f32::MAX),
            DType::F16 => 65504.0,
            DType::Bf16 => (2.0 - 2.0_f64.powi(-7)) * 2.0_f64.powi(127),
            DType::F8e4m3 => 448.0,
            DType::F8e5m2 => 57344.0,
            DType::I8 => 127.0,
            DType::U8 => 255.0,
            DType::I32 => f64::from(i32::MAX),
            DType::I64 => i64::MAX as f64,
            DType::Bool => 1.0,
            DType::I4 => 7.0,
            DType::U4 => 15.0,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::DType;

    #[test]
    fn names_round_trip_and_facts_hold() {
        for dtype in DType::ALL {
            assert_eq!(DType::parse(dtype.name()), Some(dtype));
        }
        assert_eq!(DType::F32.unit_roundoff(), f64::from(f32::EPSILON) / 2.0);
        assert_eq!(DType::Bf16.max_finite(), f64::from(f32::from_bits(0x7f7f_0000)));
        assert_eq!(DType::parse("float"), None);
    }
}
