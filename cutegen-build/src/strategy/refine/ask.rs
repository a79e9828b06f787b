//! [`question`]: the prompt of a decision, with its values from the log. It decides nothing.

use super::attempts;
use super::decide::Wanted;
use super::graph;
use super::state::State;
use crate::experience::Hint;
use crate::generate::prompt::facts::Profile;
use crate::generate::prompt::step::{Notes, Round, Shown, Task};
use crate::generate::prompt::{self, Prompt};
use crate::plan::Plan;
use crate::run_log::{Ask, Facts, Outcome, Sequence};
use crate::strategy::{Question, correct, diagnosis, effort, fate};

/// What is asked of a generator.
pub(super) fn question(plan: &Plan, state: &State<'_>, wanted: Wanted) -> Question {
    let kit = prompt::kit(plan);
    let seed = correct::seed(state.log);
    let task = Task { plan, kit: &kit, seed: &seed };
    let prompt = match (wanted.ask, wanted.about) {
        (Ask::Whole, Some(answer)) => {
            correct::whole(&task, state.log, answer, &notes(state, wanted, |_| Vec::new()))
        }
        (Ask::Diagnose, Some(kernel)) => {
            let told = Wanted { ask: Ask::Diagnose, about: Some(kernel), round: 0, repeated: None };
            let seen = effort::seen(state.log, kernel);
            let hints = seen.map(|verdict| hints(plan, state, (verdict.outcome, &verdict.facts)));
            let hints = hints.unwrap_or_default();
            correct::diagnose(&task, state.log, kernel, &Notes { hints, ..fixes(state, told, kernel) })
        }
        (Ask::Patch, Some(kernel)) => correct::patch(&task, state.log, kernel, &fixes(state, wanted, kernel)),
        (Ask::Optimise, Some(parent)) => optimise(&task, state, wanted, parent),
        (Ask::First | Ask::Ideas | Ask::Variant, _) | (_, None) => first(&task, state, wanted),
    };
    Question { ask: wanted.ask, about: wanted.about, idea: None, prompt }
}

fn notes(state: &State<'_>, wanted: Wanted, attempts: impl Fn(&State<'_>) -> Vec<String>) -> Notes {
    let is_told = state.settings.attempt_log.is_on();
    let attempts = if is_told { attempts(state) } else { Vec::new() };
    Notes { attempts, repeated: wanted.repeated, ..Notes::default() }
}

/// The hints for what was seen of a kernel.
fn hints(plan: &Plan, state: &State<'_>, seen: (Outcome, &Facts)) -> Vec<Hint> {
    if state.settings.experience.is_on() { diagnosis::hints(plan, state.log, seen, None) } else { Vec::new() }
}

fn first(task: &Task<'_>, state: &State<'_>, wanted: Wanted) -> Prompt {
    // a start that is asked again is under way
    let under_way = usize::from(wanted.repeated.is_some());
    let over = &state.efforts[..state.efforts.len().saturating_sub(under_way)];
    task.first(&notes(state, wanted, |state| attempts::starts(state, over)))
}

/// Notes on what was tried before this kernel in its effort.
fn fixes(state: &State<'_>, wanted: Wanted, kernel: Sequence) -> Notes {
    let requests = state.efforts.last().map(|effort| effort.requests.as_slice()).unwrap_or_default();
    notes(state, wanted, |state| fate::others(state.log, requests, kernel))
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
    notes.hints = hints(task.plan, state, (Outcome::Right, facts));
    task.optimise(Shown { attempt: parent, source, facts }, &round, &notes)
}
