//! Elements of a tensor as numbers: reading and writing one element of any supported dtype. What is judged is read
//! exactly; what is drawn is rounded as it is stored, and the reference computes from what was stored.

use cutegen_spec::dtype::DType;
use half::{bf16, f16};

/// Whether this form of the gate can fill and judge tensors of `dtype`.
#[must_use]
pub fn is_supported(dtype: DType) -> bool {
    match dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::Bf16 => true,
        DType::I8 | DType::U8 | DType::I32 | DType::I64 | DType::Bool => true,
        DType::F8e4m3 | DType::F8e5m2 | DType::I4 | DType::U4 => false,
    }
}

/// The value of element `index`; NaN for a dtype that is not supported.
#[must_use]
pub fn read(dtype: DType, bytes: &[u8], index: usize) -> f64 {
    match dtype {
        DType::F64 => f64::from_le_bytes(at(bytes, index)),
        DType::F32 => f64::from(f32::from_le_bytes(at(bytes, index))),
        DType::F16 => f16::from_le_bytes(at(bytes, index)).to_f64(),
        DType::Bf16 => bf16::from_le_bytes(at(bytes, index)).to_f64(),
        DType::I8 => f64::from(i8::from_le_bytes(at(bytes, index))),
        DType::U8 | DType::Bool => f64::from(bytes[index]),
        DType::I32 => f64::from(i32::from_le_bytes(at(bytes, index))),
        DType::I64 => i64::from_le_bytes(at(bytes, index)) as f64,
        DType::F8e4m3 | DType::F8e5m2 | DType::I4 | DType::U4 => f64::NAN,
    }
}

/// Stores `value`, rounded to the dtype; integers saturate. Nothing for a dtype that is not supported.
pub fn write(dtype: DType, bytes: &mut [u8], index: usize, value: f64) {
    match dtype {
        DType::F64 => put(bytes, index, value.to_le_bytes()),
        DType::F32 => put(bytes, index, (value as f32).to_le_bytes()),
        DType::F16 => put(bytes, index, f16::from_f64(value).to_le_bytes()),
        DType::Bf16 => put(bytes, index, bf16::from_f64(value).to_le_bytes()),
        DType::I8 => put(bytes, index, (value as i8).to_le_bytes()),
        DType::U8 => bytes[index] = value as u8,
        DType::Bool => bytes[index] = u8::from(value != 0.0),
        DType::I32 => put(bytes, index, (value as i32).to_le_bytes()),
        DType::I64 => put(bytes, index, (value as i64).to_le_bytes()),
        DType::F8e4m3 | DType::F8e5m2 | DType::I4 | DType::U4 => {}
    }
}

/// The smallest magnitude that rounds to infinity.
#[must_use]
pub fn overflow_threshold(dtype: DType) -> f64 {
    let max = dtype.max_finite();
    let top = 2.0_f64.powi(max.log2().floor().min(1023.0) as i32);
    if dtype.is_float() { max + top * dtype.unit_roundoff() } else { f64::INFINITY }
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
    use super::{overflow_threshold, read, write};
    use cutegen_spec::dtype::DType;

    #[test]
    fn rounds_and_reads_back() {
        let mut bytes = [0; 16];
        for (dtype, value, stored) in [
            (DType::Bf16, 1.0 + 0.00390625 + 1e-6, 1.0078125),
            (DType::F16, 65520.0, f64::INFINITY),
            (DType::F32, 0.1, f64::from(0.1_f32)),
            (DType::I8, -300.0, -128.0),
            (DType::Bool, 3.0, 1.0),
        ] {
            write(dtype, &mut bytes, 1, value);
            assert_eq!(read(dtype, &bytes, 1), stored, "{dtype}");
        }
        assert_eq!(overflow_threshold(DType::F16), 65520.0);
        assert_eq!(overflow_threshold(DType::F32), 2.0_f64.powi(128) * (1.0 - 2.0_f64.powi(-25)));
    }
}
