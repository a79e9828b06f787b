//! Whether products are right: drawn elements of each, against f64 on the input that it got.

use std::sync::Arc;

use cutegen_runtime::cuda::CudaStream;
use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use half::bf16;

use crate::Fail;
use crate::chain::Weight;

/// Elements of each product.
const DRAWN: usize = 2048;

/// What was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    pub compared: usize,
    pub wrong: usize,
    /// The largest error, as a share of its bound.
    pub worst: f64,
}

/// All products of a chain, each given the one before.
pub fn chain(
    stream: &Arc<CudaStream>,
    x: &CudaSlice<bf16>,
    results: &[CudaSlice<bf16>],
    weights: &[Weight],
    m: usize,
) -> Result<Found, Fail> {
    let mut found = Found::default();
    let mut input = stream.clone_dtoh(x)?;
    for (weight, result) in weights.iter().zip(results) {
        let result = stream.clone_dtoh(result)?;
        let link = weight.link;
        for draw in 0..DRAWN {
            let at = draw.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (m * link.n);
            let (row, column) = (at / link.n, at % link.n);
            let (a, b) = (&input[row * link.columns..][..link.k], &weight.host[column * link.k..][..link.k]);
            found.element(a, b, result[at]);
        }
        input = result;
    }
    Ok(found)
}

impl Found {
    /// Sums in f32 are off by their terms' sizes, in units of 2^-24 a term at the root of their number, and the result is
    /// rounded to bf16 (Higham and Mary, 2019, with probability 1 - 1e-9).
    fn element(&mut self, a: &[bf16], b: &[bf16], y: bf16) {
        let terms = || a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64());
        let (sum, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
        let rounding = sum.abs() * 2f64.powi(-8);
        let bound = rounding + size * 7.0 * (a.len() as f64).sqrt() * 2f64.powi(-24) + 1e-30;
        let share = (y.to_f64() - sum).abs() / bound;
        self.compared += 1;
        self.wrong += usize::from(share.is_nan() || share > 1.0);
        self.worst = self.worst.max(share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_element_is_seen() {
        let of = |values: &[f32]| values.iter().map(|v| bf16::from_f32(*v)).collect::<Vec<_>>();
        let (a, b) = (of(&[1.0, -2.0, 0.5]), of(&[3.0, 1.0, 4.0]));
        for (y, wrong) in [(3.0, 0), (3.016, 1), (-3.0, 1), (0.0, 1), (f32::NAN, 1)] {
            let mut found = Found::default();
            found.element(&a, &b, bf16::from_f32(y));
            assert_eq!((found.compared, found.wrong), (1, wrong), "{y}");
        }
    }
}
