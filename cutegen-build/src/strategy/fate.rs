//! What became of an attempt, in a line for prompts, from the log alone. Compilers' messages are foreign text: whoever prints a
//! line quotes it.

use super::effort::seen;
use super::points::{chosen, times};
use crate::generate::prompt::facts;
use crate::run_log::{Content, Log, Outcome, Point, Sequence};

/// Bytes of a reason in a line.
const REASON_MAX: usize = 160;
/// Points of a sweep that have a line.
const POINTS_MAX: usize = 8;

/// Answers to these requests and what became of them, but for words and for one kernel.
pub(super) fn others(log: &Log, requests: &[Sequence], kernel: Sequence) -> Vec<String> {
    let answers = requests.iter().filter_map(|request| log.answer(*request));
    let others = answers
        .filter(|(answer, candidate)| *answer != log.reply(kernel) && candidate.content != Content::Words);
    let told = |answer| format!("attempt {answer}: {}", became(log, answer));
    others
        .flat_map(|(answer, _)| std::iter::once(told(chosen(log, answer))).chain(points(log, answer, None)))
        .collect()
}

/// A line for each point of a sweep: its values, what became of it, and how fast it is over another kernel; the first few of many.
pub(super) fn points(log: &Log, answer: Sequence, over: Option<Sequence>) -> Vec<String> {
    let line = |(kernel, point): (Sequence, &Point)| {
        let ratio = over.and_then(|over| Some((over, times(log, kernel, over)?)));
        let ratio = ratio.map_or_else(String::new, |(over, by)| format!(", {by:.3} times attempt {over}"));
        format!("point {kernel} of attempt {answer}, {point}: {}{ratio}", became(log, kernel))
    };
    let count = log.points(answer).count();
    let more =
        (count > POINTS_MAX).then(|| format!("and {} more points of attempt {answer}", count - POINTS_MAX));
    log.points(answer).take(POINTS_MAX).map(line).chain(more).collect()
}

/// The check that a candidate fell to.
pub(super) fn check(log: &Log, kernel: Sequence) -> Option<String> {
    let found = seen(log, kernel)?.facts.mismatch.as_ref()?;
    Some(facts::line(&format!("check {} at inputs {}", found.check, found.inputs), REASON_MAX))
}

/// What became of an answer, with the first thing that was said of it.
pub(super) fn became(log: &Log, answer: Sequence) -> String {
    let reason = |text: &str| facts::line(text, REASON_MAX);
    match log.content(answer) {
        Some(Content::Sweep(_)) => "not judged".to_owned(),
        Some(Content::Repeat { of }) => format!("the kernel of attempt {of} again"),
        Some(Content::Unreadable(problems)) => {
            let first = problems.first().map_or("no source", |problem| problem.message.as_str());
            format!("unreadable: {}", reason(first))
        }
        Some(Content::Words | Content::Ideas(_)) | None => "no kernel".to_owned(),
        Some(Content::Kernel(_)) => match seen(log, answer) {
            None => "not judged".to_owned(),
            Some(verdict) => {
                let why = check(log, answer)
                    .or_else(|| verdict.facts.diagnostics.first().map(|first| first.message.clone()))
                    .or_else(|| verdict.facts.sanitizer.first().cloned())
                    .or_else(|| verdict.facts.reason.clone());
                let why = why.filter(|_| !verdict.outcome.is_right() && verdict.outcome != Outcome::Compiled);
                let why = why.map_or_else(String::new, |why| format!(": {}", reason(&why)));
                format!("{}{why}", facts::word(verdict.outcome))
            }
        },
    }
}
