//! The gate's verdict on the contents of one output: poison, bounds and the baseline, by the gate's own functions.

use cutegen_build::evaluate::Expected;
use cutegen_build::evaluate::judge::rms::{Rule, apart, moments};
use cutegen_build::evaluate::judge::{compare, element};
use cutegen_build::plan::Plan;
use cutegen_build::plan::sums::only_sums;

/// One output of one case.
pub(crate) struct Judged {
    pub(crate) rule: Rule,
    pub(crate) expected: Expected,
    /// What the trusted kernel wrote.
    pub(crate) baseline: Vec<u8>,
}

/// The rule for output `t` of a plan.
pub(crate) fn rule(plan: &Plan, t: usize) -> Rule {
    let dtype = plan.spec.tensors[t].dtype;
    Rule { dtype, accumulate: plan.spec.precision.accumulate, only_sums: only_sums(plan) }
}

/// The check that `found` falls to, with its arithmetic.
pub(crate) fn fault(judged: &Judged, found: &[u8]) -> Option<(&'static str, String)> {
    let Judged { rule, expected, baseline } = judged;
    if let Some(w) = compare::compare(rule.dtype, found, expected).wrong {
        let (error, bound) = ((w.found - w.expected).abs(), w.bound);
        let said = format!(
            "element {} is {:e}, not {:e}: {error:e} of {bound:e} allowed",
            w.element, w.found, w.expected
        );
        return Some(("values", said));
    }
    let apart = apart(&moments(*rule, found, expected), &moments(*rule, baseline, expected))?;
    Some(("rms", format!("{apart:?}")))
}

/// Memory before a launch: of the first, and of the second.
pub(crate) const POISON: [u8; 2] = [0xff, 0xa5];

/// An output of so many elements, poisoned.
pub(crate) fn poisoned(rule: Rule, elements: usize, poison: u8) -> Vec<u8> {
    vec![poison; element::bytes(rule.dtype, elements)]
}
