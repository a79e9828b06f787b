//! The bank: accepted kernels of other specs, as examples. What a log has for it, and which of many a run of a plan shows; both are
//! frozen in the run's first line, so that nothing else is read again.

use crate::plan::Plan;
use crate::run_log::{Banked, Log, Outcome, Start, digest};
use crate::strategy::setting::{Lever, count};

/// The longest source that is shown, in bytes.
const SOURCE_MAX: usize = 16 << 10;
/// The longest idea, in characters.
const IDEA_MAX: usize = 300;

/// The kernel that a run had accepted last, where its source is not too long.
#[must_use]
pub fn of(plan: &Plan, log: &Log) -> Option<Banked> {
    let accepted = log.verdicts().filter(|(_, verdict)| verdict.outcome == Outcome::Accepted);
    let (_, last) = accepted.last()?;
    let kernel = log.kernel(last.candidate).filter(|kernel| kernel.source.len() <= SOURCE_MAX)?;
    let right = log
        .verdicts()
        .filter(|(_, verdict)| verdict.candidate == last.candidate && verdict.outcome == Outcome::Right);
    let idea = kernel.hypothesis.as_ref().map(|text| text.chars().take(IDEA_MAX).collect());
    Some(Banked {
        kernel: log.start.kernel.clone(),
        family: plan.family.name().to_owned(),
        math: plan.spec.math_text.trim().to_owned(),
        digest: digest(&kernel.source),
        source: kernel.source.clone(),
        idea,
        over_naive: right.last().and_then(|(_, verdict)| verdict.facts.over_naive()),
    })
}

/// How many kernels a run shows which begins so.
#[must_use]
pub fn shown(start: &Start) -> usize {
    if Lever::of(start, "bank").is_on() { count(start, "bank-kernels", 1) } else { 0 }
}

/// The kernels that a run of a plan shows: those of its family first, of these the ones that gained most. None twice.
#[must_use]
pub fn choose(plan: &Plan, mut all: Vec<Banked>, count: usize) -> Vec<Banked> {
    let is_alike = |kernel: &Banked| kernel.family == plan.family.name();
    let gain = |kernel: &Banked| kernel.over_naive.unwrap_or(0.0);
    all.sort_by(|one, other| {
        let by_family = is_alike(other).cmp(&is_alike(one));
        let by_gain = by_family.then(gain(other).total_cmp(&gain(one)));
        by_gain.then_with(|| one.digest.to_string().cmp(&other.digest.to_string()))
    });
    all.dedup_by(|one, other| one.digest == other.digest);
    all.truncate(count);
    all
}
