//! Prompts that correct an answer, alike for all strategies: to give it whole, to say why its kernel failed, to change that. Their
//! values come of the log; what else is told, and when one is asked, is decided elsewhere.

use super::effort::seen;
use crate::generate::prompt::Prompt;
use crate::generate::prompt::step::{Notes, Shown, Task, Unread};
use crate::run_log::{self, Ask, Content, Diagnostic, Facts, Log, Outcome, Request, Sequence};

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
    let origin = origin(log, answer);
    let about = origin.and_then(|(_, request)| request.about);
    let unread = Unread {
        text: candidate.map_or("", |candidate| &candidate.text),
        problems,
        source: about.and_then(|about| log.kernel(about)).map(|kernel| kernel.source.as_str()),
        words: origin.and_then(|(at, request)| carried_out(log, at, request)),
        is_round: origin.is_some_and(|(_, request)| matches!(request.ask, Ask::Optimise | Ask::Variant)),
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

/// The words that a request is to carry out: a diagnosis, or an idea of the last answer with ideas before it.
fn carried_out<'a>(log: &'a Log, at: Sequence, request: &Request) -> Option<&'a str> {
    match (request.ask, request.about, request.idea) {
        (Ask::Patch, Some(kernel), _) => words(log, kernel),
        (Ask::Variant, _, Some(number)) => {
            let before = log.candidates().take_while(|(answer, _)| *answer < at);
            let ideas = before.filter_map(|(_, candidate)| match &candidate.content {
                Content::Ideas(ideas) => Some(ideas),
                _ => None,
            });
            let idea = ideas.last()?.get((number as usize).checked_sub(1)?)?;
            Some(idea.text.as_str())
        }
        _ => None,
    }
}

/// The request that an answer came of first, before it was asked for whole.
fn origin(log: &Log, answer: Sequence) -> Option<(Sequence, &Request)> {
    let mut at = answer;
    loop {
        let sequence = log.candidate(at)?.request?;
        let request = log.request(sequence)?;
        match (request.ask, request.about) {
            // an answer stands behind its request, so this comes to an end
            (Ask::Whole, Some(before)) if before < at => at = before,
            _ => return Some((sequence, request)),
        }
    }
}
