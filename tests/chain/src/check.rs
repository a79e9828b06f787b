//! Whether products are right: drawn elements of each, against f64 on the input that it got.

use std::sync::Arc;

use cutegen_runtime::cuda::CudaStream;
use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use half::bf16;

use crate::Fail;
use crate::bound::Running;
use crate::chain::Weight;
use crate::judge::{Verdict, Which, judge};

/// Elements of each product.
const DRAWN: usize = 2048;

/// All products of a chain, each given the one before.
pub fn chain(
    stream: &Arc<CudaStream>,
    x: &CudaSlice<bf16>,
    results: &[CudaSlice<bf16>],
    weights: &[Weight],
) -> Result<Verdict, Fail> {
    let mut verdict = Verdict::default();
    let mut input = stream.clone_dtoh(x)?;
    for (seed, (weight, result)) in weights.iter().zip(results).enumerate() {
        let found = stream.clone_dtoh(result)?;
        let link = weight.link;
        let exact = |at: usize| {
            let (row, column) = (at / link.n, at % link.n);
            dot(&input[row * link.columns..][..link.k], &weight.host[column * link.k..][..link.k])
        };
        verdict = verdict.and(judge(&found, Which::Drawn(DRAWN, seed as u64), exact));
        input = found;
    }
    Ok(verdict)
}

/// A sum in f32: off by its terms' sizes, in units of 2^-24 a term at the root of their number (Higham and Mary, 2019, with
/// probability 1 - 1e-9).
fn dot(a: &[bf16], b: &[bf16]) -> Running {
    let terms = || a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64());
    let size: f64 = terms().map(f64::abs).sum();
    Running { value: terms().sum(), error: size * 7.0 * (a.len() as f64).sqrt() * 2f64.powi(-24) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_element_is_seen() {
        let of = |values: &[f32]| values.iter().map(|v| bf16::from_f32(*v)).collect::<Vec<_>>();
        let (a, b) = (of(&[1.0, -2.0, 0.5]), of(&[3.0, 1.0, 4.0]));
        for (y, wrong) in [(3.0, 0), (3.016, 1), (-3.0, 1), (0.0, 1), (f32::NAN, 1)] {
            let verdict = judge(&of(&[y]), Which::Every, |_| dot(&a, &b));
            assert_eq!((verdict.elements, verdict.wrong), (1, wrong), "{y}");
        }
    }
}
