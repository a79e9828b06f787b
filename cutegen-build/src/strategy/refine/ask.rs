//! [`question`]: the prompt of a decision, with its values from the log. It decides nothing.

use super::attempts;
use super::decide::Wanted;
use super::effort::seen;
use super::graph;
use super::state::State;
use crate::generate::prompt::Prompt;
use crate::generate::prompt::facts::Profile;
use crate::generate::prompt::step::{Notes, Round, Shown, Task, Unread};
use crate::kit;
use crate::plan::Plan;
use crate::run_log::{self, Ask, Content, Diagnostic, Facts, Log, Outcome, Sequence};
use crate::strategy::Question;

/// What is asked of a generator.
pub(super) fn question(plan: &Plan, state: &State<'_>, wanted: Wanted) -> Question {
    let kit = kit::reference(&plan.target);
    let seed = seed(state.log);
    let task = Task { plan, kit: &kit, seed: &seed };
    let prompt = match (wanted.ask, wanted.about) {
        (Ask::Whole, Some(answer)) => whole(&task, state, wanted, answer),
        (Ask::Diagnose, Some(kernel)) => diagnose(&task, state, kernel),
        (Ask::Patch, Some(kernel)) => patch(&task, state, wanted, kernel),
        (Ask::Optimise, Some(parent)) => optimise(&task, state, wanted, parent),
        (Ask::First, _) | (_, None) => first(&task, state, wanted),
    };
    Question { ask: wanted.ask, about: wanted.about, prompt }
}

/// What marks derive from: the run, and the place that the request will have in it.
fn seed(log: &Log) -> String {
    let start = serde_json::to_string(&log.start).expect("a start has string keys and numbers");
    format!("{} {}", run_log::digest(&start), log.entries.len() + 1)
}

fn notes(state: &State<'_>, wanted: Wanted, attempts: impl Fn(&State<'_>) -> Vec<String>) -> Notes {
    let is_told = state.settings.attempt_log.is_on();
    let attempts = if is_told { attempts(state) } else { Vec::new() };
    Notes { attempts, rules: Vec::new(), repeated: wanted.repeated }
}

fn first(task: &Task<'_>, state: &State<'_>, wanted: Wanted) -> Prompt {
    // a start that is asked again is under way
    let under_way = usize::from(wanted.repeated.is_some());
    let over = &state.efforts[..state.efforts.len().saturating_sub(under_way)];
    task.first(&notes(state, wanted, |state| attempts::starts(state, over)))
}

/// A kernel with what was seen of it last.
fn shown<'a>(state: &State<'a>, kernel: Sequence, none: &'a Facts) -> (Shown<'a>, Outcome) {
    let verdict = seen(state.log, kernel);
    let source = state.log.kernel(kernel).map_or("", |kernel| &kernel.source);
    let shown = Shown { attempt: kernel, source, facts: verdict.map_or(none, |verdict| &verdict.facts) };
    (shown, verdict.map_or(Outcome::Compiled, |verdict| verdict.outcome))
}

fn diagnose(task: &Task<'_>, state: &State<'_>, kernel: Sequence) -> Prompt {
    let none = Facts::default();
    let (shown, outcome) = shown(state, kernel, &none);
    let wanted = Wanted { ask: Ask::Diagnose, about: Some(kernel), round: 0, repeated: None };
    task.diagnose(shown, outcome, &notes(state, wanted, |state| attempts::fixes(state, kernel)))
}

fn patch(task: &Task<'_>, state: &State<'_>, wanted: Wanted, kernel: Sequence) -> Prompt {
    let none = Facts::default();
    let (shown, outcome) = shown(state, kernel, &none);
    let words = words(state.log, kernel).unwrap_or_default();
    task.patch(shown, outcome, words, &notes(state, wanted, |state| attempts::fixes(state, kernel)))
}

/// The last diagnosis of a kernel.
fn words(log: &Log, kernel: Sequence) -> Option<&str> {
    let answers = log.candidates().filter(|(_, candidate)| {
        let request = candidate.request.and_then(|request| log.request(request));
        request.is_some_and(|request| request.ask == Ask::Diagnose && request.about == Some(kernel))
    });
    answers.last().map(|(_, candidate)| candidate.text.as_str())
}

fn optimise(task: &Task<'_>, state: &State<'_>, wanted: Wanted, parent: Sequence) -> Prompt {
    let none = Facts::default();
    let facts = state.right_verdict(parent).map_or(&none, |verdict| &verdict.facts);
    let source = state.log.kernel(parent).map_or("", |kernel| &kernel.source);
    let is_late = state.settings.late_profile.is_on() && wanted.round + 1 < state.settings.profile_depth;
    let round = Round {
        stage: state.stage(wanted.round),
        demand: graph::demand(task.plan).filter(|_| wanted.round == 0),
        profile: if is_late { Profile::Late } else { Profile::Shown },
    };
    let mut notes = notes(state, wanted, attempts::rounds);
    if state.settings.attempt_log.is_on() {
        notes.rules = attempts::rules(state);
    }
    task.optimise(Shown { attempt: parent, source, facts }, &round, &notes)
}

fn whole(task: &Task<'_>, state: &State<'_>, wanted: Wanted, answer: Sequence) -> Prompt {
    let candidate = state.log.candidate(answer);
    let none: Vec<Diagnostic> =
        vec![Diagnostic { line: None, message: "there is no source in it".to_owned() }];
    let problems = match candidate.map(|candidate| &candidate.content) {
        Some(Content::Unreadable(problems)) => problems,
        Some(Content::Kernel(_) | Content::Words | Content::Repeat { .. }) | None => &none,
    };
    let (ask, about) = origin(state.log, answer);
    let unread = Unread {
        text: candidate.map_or("", |candidate| &candidate.text),
        problems,
        source: about.and_then(|about| state.log.kernel(about)).map(|kernel| kernel.source.as_str()),
        is_round: ask == Ask::Optimise,
    };
    task.whole(unread, &notes(state, wanted, |_| Vec::new()))
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
