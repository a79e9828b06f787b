//! Judging one output: every element against its reference and bound. Pure.
//!
//! An element whose bound is infinite or NaN cannot be judged, whatever its value, and is counted; so is an integer whose
//! bound is `i64::MAX` or more. Elsewhere NaN must meet NaN and an infinity the same infinity, whatever the bound says.
//! Where the reference is finite, an infinity stands for the smallest magnitude that rounds to it: it is right when a
//! result within the bound overflows the dtype. An element with several right values must equal one of them. Elements that no assignment
//! addresses are not compared here but by [`touched`], and those that a sample leaves out by nothing.

use cutegen_spec::dtype::DType;

use super::element;
use super::reference::Expected;
use crate::outcome::{Fault, Place, Spread};

/// What the comparison of an output found.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Wrong {
    /// Which one.
    pub element: usize,
    /// What the candidate wrote.
    pub found: f64,
    /// The reference.
    pub expected: f64,
    /// The largest error allowed.
    pub bound: f64,
    /// How many are wrong.
    pub elements: u64,
    /// The last of them.
    pub last: usize,
}

impl Wrong {
    /// The fault of a wrong element at this place; `last` is the index of the last one.
    #[must_use]
    pub fn fault(self, place: Place, last: Vec<i64>) -> Fault {
        let Wrong { found, expected, bound, elements, .. } = self;
        let spread = Spread { elements, last };
        if found.is_finite() && expected.is_finite() {
            Fault::Value { place, found, expected, bound, spread }
        } else {
            Fault::NonFinite { place, found, expected, spread }
        }
    }

    /// In words, of the tensor of this name.
    #[must_use]
    pub fn told(&self, tensor: &str) -> String {
        let Wrong { element, found, expected, bound, .. } = self;
        format!("`{tensor}` element {element}: {found} where the spec gives {expected} within {bound}")
    }
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
    for element in (0..expected.value.len()).filter(|e| expected.is_compared(*e)) {
        let (value, bound) = (expected.value[element], usable(dtype, expected.bound[element]));
        let found = element::read(dtype, bytes, element);
        let verdict = match expected.also.get(&element) {
            Some(also) => right(found == value || also.contains(&found)),
            None => verdict(found, value, bound, threshold),
        };
        match verdict {
            Verdict::NotJudged => compared.not_judged += 1,
            Verdict::Right(share) => {
                compared.judged += 1;
                compared.worst_share = compared.worst_share.max(share);
            }
            Verdict::Wrong => {
                compared.judged += 1;
                let first = Wrong { element, found, expected: value, bound, elements: 0, last: element };
                let wrong = compared.wrong.get_or_insert(first);
                (wrong.elements, wrong.last) = (wrong.elements + 1, element);
            }
        }
    }
    compared
}

/// What memory held before a launch.
#[derive(Clone, Copy, Debug)]
pub enum Before<'a> {
    /// This byte everywhere: an output.
    Poison(u8),
    /// These contents: an inout.
    Contents(&'a [u8]),
}

/// The first element that no assignment addresses and that does not hold, bit by bit, what it held before.
#[must_use]
pub fn touched(dtype: DType, bytes: &[u8], before: Before<'_>, expected: &Expected) -> Option<usize> {
    let mut untouched = (0..expected.bound.len()).filter(|e| !expected.is_written(*e));
    untouched.find(|element| {
        let held = match before {
            Before::Poison(poison) => poisoned(dtype, poison, *element),
            Before::Contents(contents) => element::bits(dtype, contents, *element),
        };
        element::bits(dtype, bytes, *element) != held
    })
}

/// The bits of an element of poisoned memory.
#[must_use]
pub fn poisoned(dtype: DType, poison: u8, element: usize) -> u64 {
    let is_packed = dtype.bits() < 8;
    element::bits(dtype, &[poison; 8], if is_packed { element % 2 } else { 0 })
}

/// Whether any value is right, as far as the bound tells.
#[must_use]
pub fn is_judged(dtype: DType, expected: &Expected, element: usize) -> bool {
    expected.also.contains_key(&element) || usable(dtype, expected.bound[element]).is_finite()
}

/// Whether an output's bounds are tight enough to tell right from wrong on 99 % of the elements that are written.
#[must_use]
pub fn is_conclusive(dtype: DType, expected: &Expected) -> bool {
    let written: Vec<usize> = (0..expected.value.len()).filter(|e| expected.is_compared(*e)).collect();
    let loose = |e: &&usize| !is_tight(dtype, expected.value[**e], expected.bound[**e]);
    !written.is_empty() && written.iter().filter(loose).count() * 100 <= written.len()
}

/// A bound is tight when it is finite and no larger than the value itself, or than [`nothing`]. NaN and infinities need
/// no other. An integer must be exact.
fn is_tight(dtype: DType, value: f64, bound: f64) -> bool {
    if !dtype.is_float() {
        return bound < 1.0;
    }
    bound.is_finite() && (!value.is_finite() || bound <= value.abs().max(nothing(dtype)))
}

/// What nothing can be told apart below: twice the spacing of the dtype's subnormals, and what roundings among those of an
/// accumulator add up to, however they are scaled. That stays below f32's smallest normal number.
#[must_use]
pub fn nothing(dtype: DType) -> f64 {
    const LEAST_NORMAL: f64 = f32::MIN_POSITIVE as f64;
    let normal = dtype.underflow() / dtype.unit_roundoff();
    4.0 * dtype.underflow() + normal.min(LEAST_NORMAL)
}

/// An integer's error of `i64::MAX` stands for one that is not known.
fn usable(dtype: DType, bound: f64) -> f64 {
    if !dtype.is_float() && bound >= i64::MAX as f64 { f64::INFINITY } else { bound }
}

fn right(yes: bool) -> Verdict {
    if yes { Verdict::Right(0.0) } else { Verdict::Wrong }
}

fn verdict(found: f64, value: f64, bound: f64, threshold: f64) -> Verdict {
    if !bound.is_finite() {
        return Verdict::NotJudged;
    }
    if value.is_nan() {
        return right(found.is_nan());
    }
    if value.is_infinite() {
        return right(found == value);
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
    use super::{Before, Expected, compare, is_conclusive, touched};
    use crate::evaluate::judge::element;
    use crate::evaluate::judge::reference::UNTOUCHED;
    use cutegen_spec::dtype::DType;
    use std::collections::BTreeMap;

    fn expected(value: Vec<f64>, bound: Vec<f64>) -> Expected {
        Expected { value, bound, also: BTreeMap::new() }
    }

    fn check(dtype: DType, found: f64, value: f64, bound: f64) -> &'static str {
        let mut bytes = [0; 8];
        element::write(dtype, &mut bytes, 0, found);
        let compared = compare(dtype, &bytes, &expected(vec![value], vec![bound]));
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
        assert_eq!(check(DType::F32, 0.0, NAN, 0.0), "wrong", "an expected NaN is no wildcard");
        assert_eq!(check(DType::F32, INF, -INF, 1.0), "wrong");
        assert_eq!(check(DType::F32, INF, INF, 0.0), "right");
        for (found, value) in [(1.0, 1.0), (NAN, 1.0), (0.0, NAN), (INF, -INF), (1.0, INF)] {
            assert_eq!(check(DType::F32, found, value, INF), "not judged", "{found} for {value}");
        }
        assert_eq!(check(DType::F16, INF, 65519.0, 0.5), "wrong", "65519 rounds to 65504");
        assert_eq!(check(DType::F16, INF, 65519.0, 16.0), "right", "within the bound it overflows");
        assert_eq!(check(DType::F16, 65504.0, 65519.0, 16.0), "right");
        assert_eq!(check(DType::F16, -INF, 70000.0, 16.0), "wrong");
        assert_eq!(check(DType::F16, 65504.0, 70000.0, 16.0), "wrong", "saturation is not rounding");
        assert_eq!(check(DType::F64, INF, f64::MAX, 0.0), "wrong");
    }

    #[test]
    fn loose_bounds_tell_nothing() {
        let telling = |bound: f64| is_conclusive(DType::F32, &expected(vec![1.0; 1000], vec![bound; 1000]));
        assert!(telling(1.0) && !telling(1.01) && !telling(f64::NAN) && !telling(f64::INFINITY));
        let zeros = expected(vec![0.0; 4], vec![DType::F32.underflow(); 4]);
        assert!(is_conclusive(DType::F32, &zeros), "a zero with the bound of rounding is as sharp as can be");
        for (dtype, scaled) in [(DType::F32, 1e6), (DType::Bf16, 100.0), (DType::F64, 1e6)] {
            let zeros = |bound| is_conclusive(dtype, &expected(vec![0.0; 4], vec![bound; 4]));
            assert!(zeros(scaled * dtype.underflow()), "{dtype}: the same, multiplied");
            assert!(!zeros(1e-37) && !zeros(f64::INFINITY), "{dtype}");
        }
        assert!(!is_conclusive(DType::F16, &expected(vec![0.0; 4], vec![5.0 * DType::F16.underflow(); 4])));
        let of = |value| is_conclusive(DType::F32, &expected(vec![value; 4], vec![f64::INFINITY; 4]));
        assert!(!of(f64::NAN) && !of(f64::INFINITY), "what is not judged tells nothing");
        let mut few = expected(vec![1.0; 100], vec![0.1; 100]);
        few.bound[3] = 9.0;
        assert!(is_conclusive(DType::F32, &few));
        few.bound[4] = 9.0;
        assert!(!is_conclusive(DType::F32, &few));
    }

    #[test]
    fn integers_are_exact_or_not_judged() {
        assert_eq!(check(DType::I32, 7.0, 7.0, 0.0), "right");
        assert_eq!(check(DType::I32, 8.0, 7.0, 0.0), "wrong");
        assert_eq!(check(DType::I8, 8.0, 7.0, 1.0), "right");
        assert_eq!(check(DType::I32, 8.0, 7.0, i64::MAX as f64), "not judged");
        assert_eq!(check(DType::F32, 8.0, 7.0, i64::MAX as f64), "right", "a bound like any other");
        assert_eq!(check(DType::I4, -8.0, -8.0, 0.0), "right");
        assert_eq!(check(DType::F8e4m3, 448.0, 1000.0, 600.0), "right", "saturated");
        assert_eq!(check(DType::F8e4m3, 416.0, 448.0, 16.0), "wrong");
        let telling = |dtype, bound| is_conclusive(dtype, &expected(vec![100.0; 9], vec![bound; 9]));
        assert!(telling(DType::I32, 0.0) && !telling(DType::I32, 1.0) && telling(DType::F32, 1.0));
        assert!(!telling(DType::Bool, 1.0) && !telling(DType::I8, f64::NAN));
    }

    #[test]
    fn one_of_several_right_values() {
        let mut wanted = expected(vec![3.0, 3.0], vec![5.0, 5.0]);
        wanted.also.insert(0, vec![5.0, 8.0]);
        for (found, wrong) in [(3, false), (5, false), (8, false), (4, true), (7, true)] {
            let compared = compare(DType::I8, &[found, 4], &wanted);
            assert_eq!(compared.wrong.map(|w| w.element), wrong.then_some(0), "{found}");
            assert_eq!(compared.judged, 2, "the second has a bound instead");
        }
    }

    #[test]
    fn wrong_elements_are_counted_up_to_the_last() {
        let wanted = expected(vec![1.0; 9], vec![0.0; 9]);
        let wrong = compare(DType::I8, &[1, 1, 7, 1, 7, 7, 1, 7, 1], &wanted).wrong.expect("four are wrong");
        assert_eq!((wrong.element, wrong.elements, wrong.last), (2, 4, 7));
        assert_eq!(compare(DType::I8, &[1; 9], &wanted).wrong, None);
    }

    #[test]
    fn what_is_not_addressed_keeps_its_bits() {
        let wanted = expected(vec![1.0, f64::NAN, 2.0], vec![0.0, UNTOUCHED, 0.0]);
        let compared = compare(DType::I8, &[1, 77, 2], &wanted);
        assert_eq!((compared.wrong, compared.judged), (None, 2));
        let poison = |bytes: &[u8]| touched(DType::I8, bytes, Before::Poison(0xa5), &wanted);
        assert_eq!((poison(&[1, 0xa5, 2]), poison(&[1, 0xff, 2])), (None, Some(1)));
        let held = |bytes: &[u8]| touched(DType::U4, bytes, Before::Contents(&[0x70, 0x00]), &wanted);
        assert_eq!((held(&[0x71, 0xf2]), held(&[0x61, 0x02])), (None, Some(1)));
        let high = |bytes: &[u8]| touched(DType::U4, bytes, Before::Poison(0xa5), &wanted);
        assert_eq!((high(&[0xa1, 2]), high(&[0x51, 2])), (None, Some(1)));
    }

    #[test]
    fn gaps_do_not_make_an_output_telling() {
        let gaps = expected(vec![0.0; 200], [vec![UNTOUCHED; 199], vec![9.0]].concat());
        assert!(!is_conclusive(DType::F32, &gaps));
        assert!(
            !is_conclusive(DType::F32, &expected(vec![0.0; 3], vec![UNTOUCHED; 3])),
            "nothing is written"
        );
    }
}
