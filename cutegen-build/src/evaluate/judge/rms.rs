//! The root mean square of an output's errors against that of a trusted baseline on the same case. Pure: it knows sums
//! over elements, not who made them, so a device may add them up instead.
//!
//! An output is right when `rms(found - value) <= 2 rms(baseline - value) + rms(slack) + largest / sqrt(count)`. The
//! 2 is that of test T3 in the gate's rules (as in PyTorch Inductor's accuracy check and FlashAttention's tests). The
//! rest follows from the bound. Where `e` is the error before an output's own rounding, the bound is
//! `e + ud (abs(value) + e) + hd` for a dtype narrower than the accumulation type, else `e`; so `e` is known, and the
//! rounding itself is left to the baseline, which has it too.
//!
//! - Slack in general: `7/8 e`. A bound holds for single elements. Over many, of a function's k <= 8 documented
//!   roundings the last is the result's own and has no sign that stays, which leaves (k - 1) / k. A sum reaches less:
//!   an accumulator that truncates loses half an ulp on average, a rounding that wanders a seventh of `2 sqrt(n) u`.
//! - Slack of what is nothing but sums of products: T3 leaves out the part that wanders, `2 sqrt(n)`, and keeps the one
//!   that drifts, `n / 8`. That is `f(n) e` with `f = sqrt(n) / (16 + sqrt(n))`. The bound is
//!   `(2 sqrt(n) + n / 8) u` times the sum of magnitudes, which is at least `abs(value)`; so `e / (u abs(value))` is at
//!   least `2 sqrt(n) + n / 8`, and solving that for `n` gives at least the true one. `f` grows with `n`: never less is
//!   allowed than T3 does, and as much where no terms cancel. The general 7/8 stays the most.
//! - `largest / sqrt(count)`: the errors of a few elements are no population, and the baseline may be right by luck. So
//!   one element may err by all of its `e`, and a single one is judged by its bound alone.
//!
//! Left out are integers, gaps, elements with several right values, values that are not finite, bounds that are not,
//! and infinities found, which the bound judges. A NaN found counts, and is never right.

use cutegen_spec::dtype::DType;

use super::compare::nothing;
use super::element;
use super::reference::Expected;
use crate::outcome::Apart;

/// What an output's errors add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Elements that count.
    pub count: u64,
    /// Sum of squared errors.
    pub squares: f64,
    /// Sum of squared values of the reference.
    pub value_squares: f64,
    /// Sum of the squared slack of each.
    pub slack_squares: f64,
    /// The largest error, before the output's own rounding, that a bound allows.
    pub largest: f64,
}

/// How slack follows from a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The output's dtype.
    pub dtype: DType,
    /// What a kernel accumulates in.
    pub accumulate: DType,
    /// Whether the math is nothing but sums of products of inputs.
    pub only_sums: bool,
}

/// The most of `e` that is slack.
pub(in crate::evaluate) const MOST: f64 = 0.875;
/// How much larger than the baseline's errors a candidate's may be.
const RATIO: f64 = 2.0;

/// Adds up an output's errors.
#[must_use]
pub fn moments(rule: Rule, bytes: &[u8], expected: &Expected) -> Moments {
    let mut moments = Moments::default();
    for element in (0..expected.value.len()).filter(|e| counts(rule.dtype, expected, *e)) {
        let (value, bound) = (expected.value[element], expected.bound[element]);
        moments.add(rule, element::read(rule.dtype, bytes, element), value, bound);
    }
    moments
}

/// What is wrong with `found`, which the baseline's errors do not excuse.
#[must_use]
pub fn apart(found: &Moments, baseline: &Moments) -> Option<Apart> {
    if found.count == 0 || baseline.count == 0 {
        return None;
    }
    let count = found.count as f64;
    let slack = (found.slack_squares / count).sqrt() + found.largest / count.sqrt();
    let limit = RATIO * baseline.rms() + slack;
    let within = found.rms() <= limit;
    (!within).then(|| Apart { found: found.rms(), baseline: baseline.rms(), limit })
}

/// The most of an output's root mean square that a baseline's own errors may be, beside its last rounding.
const TRUSTED: f64 = 0.02;

/// What is wrong with a baseline, where bounds tell right from wrong: a reference for others is close to right itself.
#[must_use]
pub fn untrusted(dtype: DType, baseline: &Moments) -> Option<Apart> {
    let of_values = (baseline.value_squares / baseline.count as f64).sqrt();
    let limit = (TRUSTED + dtype.unit_roundoff()) * of_values + nothing(dtype);
    let is_off = baseline.count > 0 && baseline.rms() > limit;
    is_off.then(|| Apart { found: baseline.rms(), baseline: 0.0, limit })
}

impl Moments {
    /// The root of the mean square of the errors.
    #[must_use]
    pub fn rms(&self) -> f64 {
        (self.squares / self.count as f64).sqrt()
    }

    fn add(&mut self, rule: Rule, found: f64, value: f64, bound: f64) {
        if found.is_infinite() {
            return;
        }
        let e = rule.before_rounding(value, bound);
        self.count += 1;
        self.squares += (found - value).powi(2);
        self.value_squares += value.powi(2);
        self.slack_squares += (rule.share(value, e) * e).powi(2);
        self.largest = self.largest.max(e);
    }
}

impl Rule {
    /// The part of a bound that is not the output's own rounding.
    fn before_rounding(self, value: f64, bound: f64) -> f64 {
        let (u, h) = (self.dtype.unit_roundoff(), self.dtype.underflow());
        if u > self.accumulate.unit_roundoff() {
            ((bound - u * value.abs() - h) / (1.0 + u)).max(0.0)
        } else {
            bound
        }
    }

    /// How much of `e` is slack.
    fn share(self, value: f64, e: f64) -> f64 {
        let roundings = e / (self.accumulate.unit_roundoff() * value.abs());
        if !self.only_sums || !roundings.is_finite() {
            return MOST;
        }
        // x^2 / 8 + 2 x = roundings
        let root = (64.0 + 8.0 * roundings).sqrt() - 8.0;
        (root / (16.0 + root)).min(MOST)
    }
}

fn counts(dtype: DType, expected: &Expected, element: usize) -> bool {
    dtype.is_float()
        && expected.is_compared(element)
        && expected.value[element].is_finite()
        && expected.bound[element].is_finite()
        && !expected.also.contains_key(&element)
}

#[cfg(test)]
mod tests {
    use super::{Moments, Rule, apart, moments, untrusted};
    use crate::evaluate::judge::element;
    use crate::evaluate::judge::reference::{Expected, UNTOUCHED};
    use cutegen_spec::dtype::DType;
    use std::collections::BTreeMap;

    const U: f64 = 1.0 / 16_777_216.0;
    const SUMS: Rule = Rule { dtype: DType::F32, accumulate: DType::F32, only_sums: true };
    const ANY: Rule = Rule { only_sums: false, ..SUMS };

    fn case(value: f64, bound: f64, count: usize) -> Expected {
        Expected { value: vec![value; count], bound: vec![bound; count], also: BTreeMap::new() }
    }

    /// The moments of an output in which every element errs by so many roundings.
    fn erring(rule: Rule, expected: &Expected, roundings: f64) -> Moments {
        let mut bytes = vec![0; element::bytes(rule.dtype, expected.value.len())];
        for (i, value) in expected.value.iter().enumerate() {
            element::write(rule.dtype, &mut bytes, i, value * (1.0 + roundings * U));
        }
        moments(rule, &bytes, expected)
    }

    fn near(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-9, "{found:e}, not {wanted:e}");
    }

    #[test]
    fn slack_of_sums_is_what_drifts() {
        for n in [1.0_f64, 16.0, 64.0, 900.0] {
            let bound = 2.0 * n.sqrt() + n / 8.0;
            near(SUMS.share(1.0, bound * U) * bound, n / 8.0);
            // cancelling terms make n look larger: more is allowed, never less
            assert!(SUMS.share(0.1, bound * U) > SUMS.share(1.0, bound * U));
        }
        assert_eq!((SUMS.share(0.0, U), SUMS.share(1.0, 1.0), ANY.share(1.0, U)), (0.875, 0.875, 0.875));
    }

    #[test]
    fn rounding_of_a_narrow_output_is_no_slack() {
        let rule = Rule { dtype: DType::Bf16, ..ANY };
        let (u, h) = (DType::Bf16.unit_roundoff(), DType::Bf16.underflow());
        let (value, e) = (3.0, 0.125);
        near(rule.before_rounding(value, e + u * (value + e) + h), e);
        assert_eq!(rule.before_rounding(value, u * value), 0.0, "a saturated or a tolerated one");
        assert_eq!(ANY.before_rounding(value, e), e);
    }

    #[test]
    fn twice_the_baseline_and_the_slack() {
        let wanted = case(1.0, 10.0 * U, 10_000);
        let (exact, two) = (erring(SUMS, &wanted, 0.0), erring(SUMS, &wanted, 2.0));
        // 16 terms: 2 of drift, a tenth of one for a lucky baseline
        for (roundings, baseline, right) in [(2.0, exact, true), (4.0, exact, false), (6.0, two, true)] {
            assert_eq!(apart(&erring(SUMS, &wanted, roundings), &baseline).is_none(), right, "{roundings}");
        }
        let apart = apart(&erring(SUMS, &wanted, 8.0), &two).expect("8 is more than 4 and 2.1");
        near(apart.limit, (2.0 * 2.0 + 2.0 + 0.1) * U);
        near(apart.found, 8.0 * U);
    }

    #[test]
    fn a_single_element_has_its_bound() {
        let wanted = case(1.0, 10.0 * U, 1);
        let exact = erring(SUMS, &wanted, 0.0);
        assert_eq!(apart(&erring(SUMS, &wanted, 10.0), &exact), None);
        assert!(apart(&erring(SUMS, &wanted, 14.0), &exact).is_some());
    }

    #[test]
    fn only_what_has_a_number_and_a_bound_counts() {
        let mut wanted = case(1.0, U, 8);
        (wanted.value[0], wanted.value[1]) = (f64::NAN, f64::INFINITY);
        (wanted.bound[2], wanted.bound[3]) = (f64::INFINITY, UNTOUCHED);
        wanted.also.insert(4, vec![2.0]);
        let mut bytes = [0; 32];
        (0..8).for_each(|i| element::write(DType::F32, &mut bytes, i, if i < 5 { 9.0 } else { 1.0 }));
        element::write(DType::F32, &mut bytes, 5, f64::INFINITY);
        let found = moments(SUMS, &bytes, &wanted);
        assert_eq!((found.count, found.squares), (2, 0.0));
        element::write(DType::F32, &mut bytes, 6, f64::NAN);
        let wrong = moments(SUMS, &bytes, &wanted);
        assert!(apart(&wrong, &found).is_some(), "NaN is never right");
        assert_eq!(apart(&wrong, &Moments::default()), None, "nothing to compare with");
        let integers = moments(Rule { dtype: DType::I32, ..SUMS }, &[0; 32], &case(1.0, 0.0, 8));
        assert_eq!(integers, Moments::default());
    }

    #[test]
    fn a_baseline_errs_by_two_percent_at_most() {
        let of = |dtype, share: f64| {
            let mut bytes = vec![0; element::bytes(dtype, 64)];
            (0..64).for_each(|i| element::write(dtype, &mut bytes, i, 4.0 * (1.0 + share)));
            let rule = Rule { dtype, ..ANY };
            untrusted(dtype, &moments(rule, &bytes, &case(4.0, 4.0, 64)))
        };
        assert!(of(DType::F32, 0.019).is_none() && of(DType::F32, 0.021).is_some());
        assert!(of(DType::F8e4m3, 0.0625).is_none(), "its own rounding is no error of the math");
        let apart = of(DType::F32, 0.5).expect("half of it");
        near(apart.found, 2.0);
        assert!(untrusted(DType::F32, &Moments::default()).is_none());
    }
}
