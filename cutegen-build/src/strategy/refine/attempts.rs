//! Notes for prompts, a line each, derived from the log alone: what was tried, what came of it, and what that teaches. Hypotheses
//! and compilers' messages are foreign text: whoever prints these lines quotes them.

use std::collections::BTreeMap;

use super::state::{Aim, Effort, State};
use crate::generate::prompt::facts;
use crate::run_log::{Log, Sequence};
use crate::strategy::fate::{became, check, points};
use crate::strategy::points::chosen;

/// Bytes of a hypothesis in a line.
const HYPOTHESIS_MAX: usize = 200;

/// What each of these efforts came to that was a start and gave no right kernel.
pub(super) fn starts(state: &State<'_>, efforts: &[Effort]) -> Vec<String> {
    let failed = efforts.iter().filter(|effort| effort.aim == Aim::Start && state.child(effort).is_none());
    failed.flat_map(|effort| ended(state, effort)).collect()
}

/// Every round that is over, and every kernel that was submitted unasked.
pub(super) fn rounds(state: &State<'_>) -> Vec<String> {
    let rounds = state.rounds();
    let over = rounds.iter().enumerate().filter_map(|(number, (effort, parent))| {
        let stage = state.stage(number).name();
        let (reply, answer) = (effort.answer?, chosen(state.log, effort.answer?));
        let hypothesis = hypothesis(state, effort);
        let ratio = ratio(state, answer, *parent);
        let became = became(state.log, answer);
        let round = format!(
            "round {} ({stage}), attempt {answer} from {parent}: {hypothesis}{became}{ratio}",
            number + 1
        );
        Some(std::iter::once(round).chain(points(state.log, reply, Some(*parent))))
    });
    let submitted = state.log.candidates().filter(|(_, candidate)| candidate.request.is_none());
    let submitted = submitted.map(|(sequence, _)| chosen(state.log, sequence)).map(|sequence| {
        let best = state.best().unwrap_or(sequence);
        format!(
            "attempt {sequence}, submitted: {}{}",
            became(state.log, sequence),
            ratio(state, sequence, best)
        )
    });
    over.flatten().chain(submitted).collect()
}

/// What the log teaches: structures that lost twice, checks that caught two, spills that never paid.
pub(super) fn rules(state: &State<'_>) -> Vec<String> {
    let rounds = state.rounds();
    let lost =
        rounds.iter().filter(|(effort, _)| !state.is_gain(effort)).filter_map(|(effort, _)| effort.answer);
    let lost = lost.map(|answer| chosen(state.log, answer));
    let lost: Vec<Sequence> = lost.filter(|answer| state.log.kernel(*answer).is_some()).collect();
    let of_best = state.best().and_then(|best| structure(state.log, best));
    let structures =
        grouped(&lost, |kernel| structure(state.log, kernel).filter(|s| Some(s) != of_best.as_ref()));
    let kernels: Vec<Sequence> =
        state.log.candidates().map(|(sequence, _)| chosen(state.log, sequence)).collect();
    let checks = grouped(&kernels, |kernel| check(state.log, kernel));
    let spills = grouped(&lost, |kernel| has_spills(state, kernel).then(|| "local memory".to_owned()));
    let told = |groups: BTreeMap<String, Vec<Sequence>>, says: &dyn Fn(&str, &str) -> String| {
        let twice = groups.into_iter().filter(|(_, of)| of.len() >= 2);
        twice.map(|(what, of)| says(&what, &list(&of))).collect::<Vec<_>>()
    };
    let mut rules =
        told(structures, &|what, of| format!("a structure of {what} lost in attempts {of}: take another"));
    rules.extend(told(checks, &|what, of| format!("attempts {of} fell to the same: {what}")));
    rules.extend(told(spills, &|_, of| {
        format!("attempts {of} had local memory (spills) and brought no gain")
    }));
    rules
}

/// The kernels by what is said of each, in order.
fn grouped(
    kernels: &[Sequence],
    key: impl Fn(Sequence) -> Option<String>,
) -> BTreeMap<String, Vec<Sequence>> {
    let mut groups: BTreeMap<String, Vec<Sequence>> = BTreeMap::new();
    for kernel in kernels {
        if let Some(key) = key(*kernel) {
            groups.entry(key).or_default().push(*kernel);
        }
    }
    groups
}

fn list(of: &[Sequence]) -> String {
    of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How a source is built, as far as its text shows: launches, headers of the kit, CuTe.
fn structure(log: &Log, kernel: Sequence) -> Option<String> {
    let source = &log.kernel(kernel)?.source;
    let comments = source.lines().take_while(|line| line.trim_start().starts_with("//"));
    let launches: usize = comments.map(|line| line.matches("@ENTRY@").count()).sum();
    let named = |line: &str| line.trim().strip_prefix("#include <kit/")?.strip_suffix(">").map(str::to_owned);
    let mut headers: Vec<String> = source.lines().filter_map(named).collect();
    headers.extend(source.contains("#include <cute/").then(|| "CuTe".to_owned()));
    headers.sort();
    headers.dedup();
    let with = if headers.is_empty() { "no headers".to_owned() } else { headers.join(", ") };
    Some(format!("{launches} launches with {with}"))
}

fn has_spills(state: &State<'_>, kernel: Sequence) -> bool {
    let kernels = state.log.verdict(kernel).map(|verdict| &verdict.facts.kernels);
    kernels
        .is_some_and(|kernels| kernels.iter().any(|kernel| kernel.local_bytes.is_some_and(|bytes| bytes > 0)))
}

/// What a start came to.
fn ended(state: &State<'_>, effort: &Effort) -> Vec<String> {
    let Some(reply) = effort.answer else { return Vec::new() };
    let answer = chosen(state.log, reply);
    let came = format!("attempt {answer}: {}", became(state.log, answer));
    std::iter::once(came).chain(points(state.log, reply, None)).collect()
}

/// What a round's answers say that they change, and what they predict.
fn hypothesis(state: &State<'_>, effort: &Effort) -> String {
    let answers = effort.requests.iter().filter_map(|request| Some(state.log.answer(*request)?.0));
    let kernels = answers.filter_map(|answer| state.log.kernel(chosen(state.log, answer)));
    let Some(kernel) = kernels.into_iter().find(|kernel| kernel.hypothesis.is_some()) else {
        return String::new();
    };
    let text = facts::line(kernel.hypothesis.as_deref().unwrap_or_default(), HYPOTHESIS_MAX);
    let predicted = kernel.predicted.map_or_else(String::new, |by| format!(" (predicted {by:.2})"));
    format!("{text}{predicted}; ")
}

fn ratio(state: &State<'_>, kernel: Sequence, over: Sequence) -> String {
    let by = state.over(kernel, over).filter(|_| kernel != over);
    by.map_or_else(String::new, |by| format!(", {by:.3} times attempt {over}"))
}
