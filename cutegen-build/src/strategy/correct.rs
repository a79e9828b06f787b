//! Prompts that correct an answer, alike for all strategies: to give it whole, to say why its kernel failed, to change that. Their
//! values come of the log; what else is told, and when one is asked, is decided elsewhere.

use super::effort::seen;
use crate::generate::prompt::Prompt;
use crate::generate::prompt::step::{Notes, Shown, Task, Unread};
use crate::run_log::{self, Ask, Content, Diagnostic, Facts, Log, Outcome, Sequence};

/// What marks derive from: the run, and the place that the request will have in it.
pub(super) fn seed(log: &Log) -> String {
    let start = serde_json::to_string(&log.start).expect("a start has string keys and numbers");
    format!("{} {}", run_log::digest(&start), log.entries.len() + 1)
}

/// Why a kernel failed.
pub(super) fn diagnose(task: &Task<'_>, log: &Log, kernel: Sequence, notes: &Notes) -> Prompt {
    let none = Facts::default();
    let (shown, outcome) = shown(log, kernel, &none);
    task.diagnose(shown, outcome, notes)
}

/// The change that the last words on a kernel describe.
pub(super) fn patch(task: &Task<'_>, log: &Log, kernel: Sequence, notes: &Notes) -> Prompt {
    let none = Facts::default();
    let (shown, outcome) = shown(log, kernel, &none);
    task.patch(shown, outcome, words(log, kernel).unwrap_or_default(), notes)
}

/// An answer as a whole source.
pub(super) fn whole(task: &Task<'_>, log: &Log, answer: Sequence, notes: &Notes) -> Prompt {
    let candidate = log.candidate(answer);
    let none: Vec<Diagnostic> =
        vec![Diagnostic { line: None, message: "there is no source in it".to_owned() }];
    let problems = match candidate.map(|candidate| &candidate.content) {
        Some(Content::Unreadable(problems)) => problems,
        Some(
            Content::Kernel(_)
            | Content::Sweep(_)
            | Content::Words
            | Content::Ideas(_)
            | Content::Repeat { .. },
        )
        | None => &none,
    };
    let (ask, about) = origin(log, answer);
    let unread = Unread {
        text: candidate.map_or("", |candidate| &candidate.text),
        problems,
        source: about.and_then(|about| log.kernel(about)).map(|kernel| kernel.source.as_str()),
        is_round: matches!(ask, Ask::Optimise | Ask::Variant),
    };
    task.whole(unread, notes)
}

/// A kernel with what was seen of it last.
fn shown<'a>(log: &'a Log, kernel: Sequence, none: &'a Facts) -> (Shown<'a>, Outcome) {
    let verdict = seen(log, kernel);
    let source = log.kernel(kernel).map_or("", |kernel| &kernel.source);
    let shown = Shown { attempt: kernel, source, facts: verdict.map_or(none, |verdict| &verdict.facts) };
    (shown, verdict.map_or(Outcome::Compiled, |verdict| verdict.outcome))
}

/// The last diagnosis of a kernel.
fn words(log: &Log, kernel: Sequence) -> Option<&str> {
    let answers = log.candidates().filter(|(_, candidate)| {
        let request = candidate.request.and_then(|request| log.request(request));
        request.is_some_and(|request| request.ask == Ask::Diagnose && request.about == Some(kernel))
    });
    answers.last().map(|(_, candidate)| candidate.text.as_str())
}

/// What an answer was first asked for, and the kernel that it was to change.
fn origin(log: &Log, answer: Sequence) -> (Ask, Option<Sequence>) {
    let mut at = answer;
    loop {
        let request = log.candidate(at).and_then(|candidate| log.request(candidate.request?));
        match request.map(|request| (request.ask, request.about)) {
            // an answer stands behind its request, so this comes to an end
            Some((Ask::Whole, Some(before))) if before < at => at = before,
            Some(found) => return found,
            None => return (Ask::First, None),
        }
    }
}
