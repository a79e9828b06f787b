//! Elements of a tensor as numbers: reading and writing one element of any dtype. What is judged is read exactly; what
//! is drawn is rounded as it is stored, and the reference computes from what was stored.
//!
//! Elements are counted as a spec counts them: two of a packed dtype share a byte, low nibble first.

use cutegen_runtime::element::{F8E4M3, F8E5M2};
use cutegen_spec::dtype::DType;
use half::{bf16, f16};

/// Bytes that hold `elements` of them.
#[must_use]
pub fn bytes(dtype: DType, elements: usize) -> usize {
    (elements * dtype.bits() as usize).div_ceil(8)
}

/// The element that byte number `byte` belongs to; of a packed dtype the first of two.
#[must_use]
pub fn of_byte(dtype: DType, byte: i64) -> i64 {
    (byte * 8).div_euclid(i64::from(dtype.bits()))
}

/// The value of element `index`; of an `i64` beyond 2^53 the nearest one.
#[must_use]
pub fn read(dtype: DType, bytes: &[u8], index: usize) -> f64 {
    let word = bits(dtype, bytes, index);
    match dtype {
        DType::F64 => f64::from_bits(word),
        DType::F32 => f64::from(f32::from_bits(word as u32)),
        DType::F16 => f16::from_bits(word as u16).to_f64(),
        DType::Bf16 => bf16::from_bits(word as u16).to_f64(),
        DType::F8e4m3 => F8E4M3(word as u8).to_f64(),
        DType::F8e5m2 => F8E5M2(word as u8).to_f64(),
        DType::I8 => f64::from(word as i8),
        DType::I32 => f64::from(word as i32),
        DType::I64 => word.cast_signed() as f64,
        DType::I4 => f64::from((word as i8) << 4 >> 4),
        DType::U8 | DType::Bool | DType::U4 => word as f64,
    }
}

/// Stores `value`, rounded to the dtype. Integers round toward zero; they and 8-bit floats saturate.
pub fn write(dtype: DType, bytes: &mut [u8], index: usize, value: f64) {
    let word = match dtype {
        DType::F64 => value.to_bits(),
        DType::F32 => u64::from((value as f32).to_bits()),
        DType::F16 => u64::from(f16::from_f32(odd(value)).to_bits()),
        DType::Bf16 => u64::from(bf16::from_f32(odd(value)).to_bits()),
        DType::F8e4m3 => u64::from(F8E4M3::from_f64(value).0),
        DType::F8e5m2 => u64::from(F8E5M2::from_f64(value).0),
        DType::Bool => u64::from(value != 0.0),
        DType::I8 | DType::U8 | DType::I32 | DType::I64 | DType::I4 | DType::U4 => {
            return write_integer(dtype, bytes, index, value as i64);
        }
    };
    put_bits(dtype, bytes, index, word);
}

/// An f32 that rounds to any narrower float as `value` does: `value` itself, or its neighbour with an odd significand, so
/// that what lies beside a tie stays beside it (Boldo and Melquiond, "When double rounding is odd", 2005).
fn odd(value: f64) -> f32 {
    let near = value as f32;
    if value.is_nan() || f64::from(near) == value {
        return near;
    }
    let is_beyond = f64::from(near).abs() > value.abs();
    f32::from_bits((near.to_bits() - u32::from(is_beyond)) | 1)
}

/// Stores `value` in an integer tensor, saturated.
pub fn write_integer(dtype: DType, bytes: &mut [u8], index: usize, value: i64) {
    let (least, most) = integers(dtype);
    put_bits(dtype, bytes, index, value.clamp(least, most).cast_unsigned());
}

/// The smallest and the largest integer of an integer dtype.
#[must_use]
pub fn integers(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::I4 => (-8, 7),
        DType::U4 => (0, 15),
        DType::I8 => (-128, 127),
        DType::U8 => (0, 255),
        DType::Bool => (0, 1),
        DType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        DType::I64 | DType::F64 | DType::F32 | DType::F16 | DType::Bf16 | DType::F8e4m3 | DType::F8e5m2 => {
            (i64::MIN, i64::MAX)
        }
    }
}

/// The bit pattern of element `index`.
#[must_use]
pub fn bits(dtype: DType, bytes: &[u8], index: usize) -> u64 {
    match dtype.bits() {
        64 => u64::from_le_bytes(at(bytes, index)),
        32 => u64::from(u32::from_le_bytes(at(bytes, index))),
        16 => u64::from(u16::from_le_bytes(at(bytes, index))),
        8 => u64::from(bytes[index]),
        _ => u64::from(bytes[index / 2] >> (4 * (index % 2)) & 15),
    }
}

/// Stores the lowest bits of `word` as element `index`, and leaves its neighbours alone.
pub fn put_bits(dtype: DType, bytes: &mut [u8], index: usize, word: u64) {
    match dtype.bits() {
        64 => put(bytes, index, word.to_le_bytes()),
        32 => put(bytes, index, (word as u32).to_le_bytes()),
        16 => put(bytes, index, (word as u16).to_le_bytes()),
        8 => bytes[index] = word as u8,
        _ => {
            let (byte, shift) = (&mut bytes[index / 2], 4 * (index % 2));
            *byte = *byte & !(15 << shift) | ((word as u8 & 15) << shift);
        }
    }
}

/// The smallest magnitude that rounds to infinity; infinite where nothing does, because the dtype saturates.
#[must_use]
pub fn overflow_threshold(dtype: DType) -> f64 {
    let max = dtype.max_finite();
    let top = 2.0_f64.powi(max.log2().floor().min(1023.0) as i32);
    match dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::Bf16 => max + top * dtype.unit_roundoff(),
        DType::F8e4m3 | DType::F8e5m2 => f64::INFINITY,
        DType::I8 | DType::U8 | DType::I32 | DType::I64 | DType::Bool | DType::I4 | DType::U4 => {
            f64::INFINITY
        }
    }
}

fn at<const N: usize>(bytes: &[u8], index: usize) -> [u8; N] {
    let mut word = [0; N];
    word.copy_from_slice(&bytes[index * N..][..N]);
    word
}

fn put<const N: usize>(bytes: &mut [u8], index: usize, word: [u8; N]) {
    bytes[index * N..][..N].copy_from_slice(&word);
}

#[cfg(test)]
mod tests {
    use super::{bits, bytes, of_byte, overflow_threshold, put_bits, read, write, write_integer};
    use cutegen_spec::dtype::DType;

    #[test]
    fn rounds_and_reads_back() {
        let mut bytes = [0; 16];
        for (dtype, value, stored) in [
            (DType::F64, 0.1, 0.1),
            (DType::Bf16, 1.0 + 0.00390625 + 1e-6, 1.0078125),
            // beside a tie by less than an f32 tells
            (DType::Bf16, 1.0 + 0.00390625 + 1e-12, 1.0078125),
            (DType::F16, 1.0 + 2.0_f64.powi(-11) + 1e-12, 1.0 + 2.0_f64.powi(-10)),
            (DType::F16, 1.0 + 2.0_f64.powi(-11), 1.0),
            (DType::F16, 3.0 * 2.0_f64.powi(-25) - 1e-20, 2.0_f64.powi(-24)),
            (DType::Bf16, f64::MAX, f64::INFINITY),
            (DType::F16, 65520.0 - 1e-9, 65504.0),
            (DType::F16, 65520.0, f64::INFINITY),
            (DType::F32, 0.1, f64::from(0.1_f32)),
            (DType::F8e4m3, 17.0, 16.0),
            (DType::F8e4m3, f64::NEG_INFINITY, -448.0),
            (DType::F8e5m2, 1e9, 57344.0),
            (DType::I8, -300.0, -128.0),
            (DType::U8, -3.5, 0.0),
            (DType::I32, 1e12, f64::from(i32::MAX)),
            (DType::I64, -5.9, -5.0),
            (DType::Bool, 3.0, 1.0),
            (DType::I4, -9.0, -8.0),
            (DType::I4, -1.0, -1.0),
            (DType::U4, 99.0, 15.0),
        ] {
            write(dtype, &mut bytes, 1, value);
            assert_eq!(read(dtype, &bytes, 1), stored, "{dtype}");
        }
        assert_eq!(overflow_threshold(DType::F16), 65520.0);
        assert_eq!(overflow_threshold(DType::F32), 2.0_f64.powi(128) * (1.0 - 2.0_f64.powi(-25)));
        assert_eq!(overflow_threshold(DType::F8e4m3), f64::INFINITY);
    }

    #[test]
    fn nibbles_leave_their_neighbours() {
        let mut packed = [0xff, 0xff];
        write_integer(DType::U4, &mut packed, 2, 3);
        assert_eq!(packed, [0xff, 0xf3]);
        write_integer(DType::I4, &mut packed, 1, -7);
        assert_eq!(
            (packed, read(DType::I4, &packed, 1), bits(DType::I4, &packed, 1)),
            ([0x9f, 0xf3], -7.0, 9)
        );
        assert_eq!((bytes(DType::U4, 3), bytes(DType::F32, 3)), (2, 12));
        assert_eq!((of_byte(DType::I4, 1), of_byte(DType::F32, 7), of_byte(DType::I64, -1)), (2, 1, -1));
    }

    #[test]
    fn bits_survive_a_copy() {
        for dtype in DType::ALL {
            let (from, mut to) = ([0xa5, 0x3c, 0x7f, 1, 2, 3, 4, 0xfe, 9, 8, 7, 6, 5, 4, 3, 2], [0; 16]);
            (0..2).for_each(|i| put_bits(dtype, &mut to, i, bits(dtype, &from, i)));
            assert_eq!(to[..bytes(dtype, 2)], from[..bytes(dtype, 2)], "{dtype}");
        }
    }
}
