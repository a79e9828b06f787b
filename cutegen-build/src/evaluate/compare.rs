//! Judging one output: every element against its reference and bound. Pure.
//!
//! NaN must meet NaN and an infinity the same infinity, whatever the bound says. Where the reference is finite, an
//! infinity stands for the smallest magnitude that rounds to it: it is right when a result within the bound overflows
//! the dtype. An element whose bound is infinite or NaN cannot be judged, and is counted.

use cutegen_spec::dtype::DType;

use super::element;
use super::reference::Expected;

/// What the comparison of an output found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compared {
    /// The first wrong element.
    pub wrong: Option<Wrong>,
    /// Elements judged.
    pub judged: u64,
    /// Elements without a usable bound.
    pub not_judged: u64,
    /// Largest error of a judged element, as a share of its bound.
    pub worst_share: f64,
}

/// An element that is not what it must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrong {
    /// Which one.
    pub element: usize,
    /// What the candidate wrote.
    pub found: f64,
    /// The reference.
    pub expected: f64,
    /// The largest error allowed.
    pub bound: f64,
}

enum Verdict {
    Right(f64),
    Wrong,
    NotJudged,
}

/// Compares every element of an output.
#[must_use]
pub fn compare(dtype: DType, bytes: &[u8], expected: &Expected) -> Compared {
    let threshold = element::overflow_threshold(dtype);
    let mut compared = Compared::default();
    for (element, (value, bound)) in expected.value.iter().zip(&expected.bound).enumerate() {
        let found = element::read(dtype, bytes, element);
        match verdict(found, *value, *bound, threshold) {
            Verdict::NotJudged => compared.not_judged += 1,
            Verdict::Right(share) => {
                compared.judged += 1;
                compared.worst_share = compared.worst_share.max(share);
            }
            Verdict::Wrong => {
                compared.judged += 1;
                let wrong = Wrong { element, found, expected: *value, bound: *bound };
                compared.wrong.get_or_insert(wrong);
            }
        }
    }
    compared
}

/// Whether an output's bounds are tight enough to tell right from wrong: on 99 % of its elements finite and no larger
/// than the value itself, or than the spacing of the dtype's subnormals, below which nothing can be told apart. NaN and
/// infinities need no bound.
#[must_use]
pub fn is_telling(dtype: DType, expected: &Expected) -> bool {
    let floor = 4.0 * dtype.underflow();
    let loose = |(value, bound): &(&f64, &f64)| {
        let tight = **bound <= value.abs().max(floor);
        value.is_finite() && !tight
    };
    let count = expected.value.iter().zip(&expected.bound).filter(loose).count();
    !expected.value.is_empty() && count * 100 <= expected.value.len()
}

fn verdict(found: f64, value: f64, bound: f64, threshold: f64) -> Verdict {
    let right = |yes: bool| if yes { Verdict::Right(0.0) } else { Verdict::Wrong };
    if value.is_nan() {
        return right(found.is_nan());
    }
    if value.is_infinite() {
        return right(found == value);
    }
    if !bound.is_finite() {
        return Verdict::NotJudged;
    }
    if found.is_infinite() {
        return right(value * found.signum() + bound >= threshold);
    }
    let error = (found - value).abs();
    match error <= bound {
        true if error > 0.0 => Verdict::Right(error / bound),
        true => Verdict::Right(0.0),
        false => Verdict::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::{Expected, compare, is_telling};
    use crate::evaluate::element;
    use cutegen_spec::dtype::DType;

    fn check(dtype: DType, found: f64, value: f64, bound: f64) -> &'static str {
        let mut bytes = [0; 8];
        element::write(dtype, &mut bytes, 0, found);
        let compared = compare(dtype, &bytes, &Expected { value: vec![value], bound: vec![bound] });
        match (compared.wrong, compared.not_judged) {
            (None, 0) => "right",
            (None, _) => "not judged",
            (Some(_), _) => "wrong",
        }
    }

    #[test]
    fn finite_infinite_and_nan() {
        const INF: f64 = f64::INFINITY;
        const NAN: f64 = f64::NAN;
        assert_eq!(check(DType::F32, 1.5, 1.0, 0.5), "right");
        assert_eq!(check(DType::F32, 1.5, 1.0, 0.49), "wrong");
        assert_eq!(check(DType::F32, 0.0, 0.0, 0.0), "right");
        assert_eq!(check(DType::F32, NAN, 1.0, 0.5), "wrong");
        assert_eq!(check(DType::F32, NAN, NAN, 0.0), "right");
        assert_eq!(check(DType::F32, 0.0, NAN, NAN), "wrong", "an expected NaN is no wildcard");
        assert_eq!(check(DType::F32, INF, -INF, NAN), "wrong");
        assert_eq!(check(DType::F32, INF, INF, NAN), "right");
        assert_eq!(check(DType::F32, 1.0, 1.0, INF), "not judged");
        assert_eq!(check(DType::F16, INF, 65519.0, 0.5), "wrong", "65519 rounds to 65504");
        assert_eq!(check(DType::F16, INF, 65519.0, 16.0), "right", "within the bound it overflows");
        assert_eq!(check(DType::F16, 65504.0, 65519.0, 16.0), "right");
        assert_eq!(check(DType::F16, -INF, 70000.0, 16.0), "wrong");
        assert_eq!(check(DType::F16, 65504.0, 70000.0, 16.0), "wrong", "saturation is not rounding");
        assert_eq!(check(DType::F64, INF, f64::MAX, 0.0), "wrong");
    }

    #[test]
    fn loose_bounds_tell_nothing() {
        let telling = |bound: f64| {
            let expected = Expected { value: vec![1.0; 1000], bound: vec![bound; 1000] };
            is_telling(DType::F32, &expected)
        };
        assert!(telling(1.0) && !telling(1.01) && !telling(f64::NAN) && !telling(f64::INFINITY));
        let zeros = Expected { value: vec![0.0; 4], bound: vec![DType::F32.underflow(); 4] };
        assert!(is_telling(DType::F32, &zeros), "a zero with the bound of rounding is as sharp as can be");
        let mut few = Expected { value: vec![1.0; 100], bound: vec![0.1; 100] };
        few.bound[3] = 9.0;
        assert!(is_telling(DType::F32, &few));
        few.bound[4] = 9.0;
        assert!(!is_telling(DType::F32, &few));
    }
}
