//! Where a candidate of a log comes from, and what is known of its speed. Pure.

use cutegen_build::run_log::{Facts, Log, Outcome, Sequence};

/// The candidates that a candidate comes from, nearest first.
fn ancestors(log: &Log, candidate: Sequence) -> impl Iterator<Item = Sequence> {
    let before = |candidate: &Sequence| {
        let about = log.asked(*candidate)?.about?;
        // a log that was written by hand might lead round and round
        (about < *candidate).then_some(about)
    };
    std::iter::successors(Some(candidate), before).skip(1)
}

/// The kernel that a candidate changes: the nearest right one that it comes from.
pub(super) fn parent(log: &Log, candidate: Sequence) -> Option<Sequence> {
    ancestors(log, candidate).find(|ancestor| is_right(log, *ancestor))
}

/// Whether a candidate is a kernel that is right by all that is known.
pub(super) fn is_right(log: &Log, candidate: Sequence) -> bool {
    let is_right = log.verdict(candidate).is_some_and(|verdict| verdict.outcome.is_right());
    is_right && log.kernel(candidate).is_some()
}

/// Whether a judge passed a candidate at once or later, whatever the whole gate said.
pub(super) fn passed_screening(log: &Log, candidate: Sequence) -> bool {
    let mut verdicts = log.verdicts().filter(|(_, verdict)| verdict.candidate == candidate);
    verdicts.any(|(_, verdict)| verdict.outcome.is_right() || verdict.outcome == Outcome::WrongInFull)
}

/// What was last seen of a right candidate's speed.
pub(super) fn speed(log: &Log, candidate: Sequence) -> Option<&Facts> {
    let verdicts = log.verdicts().filter(|(_, verdict)| verdict.candidate == candidate);
    let timed = verdicts.map(|(_, verdict)| &verdict.facts).filter(|facts| !facts.speed.is_empty());
    timed.last().filter(|_| is_right(log, candidate))
}

/// The geometric mean of a candidate's speed-ups over another, by their times at the workloads that both have.
pub(super) fn times_over(facts: &Facts, other: &Facts) -> Option<f64> {
    let ratio = |speed: &cutegen_build::run_log::Speed| {
        let there = other.speed.iter().find(|there| there.workload == speed.workload)?;
        Some((there.micros / speed.micros).ln())
    };
    let logs: Vec<f64> = facts.speed.iter().filter_map(ratio).filter(|log| log.is_finite()).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}
