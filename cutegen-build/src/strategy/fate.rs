//! What became of an attempt, in a line for prompts, from the log alone. Compilers' messages are foreign text: whoever prints a
//! line quotes it.

use super::effort::seen;
use crate::generate::prompt::facts;
use crate::run_log::{Content, Log, Outcome, Sequence};

/// Bytes of a reason in a line.
const REASON_MAX: usize = 160;

/// Answers to these requests and what became of them, but for words and for one kernel.
pub(super) fn others(log: &Log, requests: &[Sequence], kernel: Sequence) -> Vec<String> {
    let answers = requests.iter().filter_map(|request| log.answer(*request));
    let others =
        answers.filter(|(answer, candidate)| *answer != kernel && candidate.content != Content::Words);
    others.map(|(answer, _)| format!("attempt {answer}: {}", became(log, answer))).collect()
}

/// The check that a candidate fell to.
pub(super) fn check(log: &Log, kernel: Sequence) -> Option<String> {
    let found = seen(log, kernel)?.facts.mismatch.as_ref()?;
    Some(facts::line(&format!("check {} at inputs {}", found.check, found.inputs), REASON_MAX))
}

/// What became of an answer, with the first thing that was said of it.
pub(super) fn became(log: &Log, answer: Sequence) -> String {
    let reason = |text: &str| facts::line(text, REASON_MAX);
    match log.candidate(answer).map(|candidate| &candidate.content) {
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
