//! [`question`]: the prompt of a decision, with its values from the log. It decides nothing.

use super::attempts;
use super::decide::Wanted;
use super::state::State;
use crate::experience::Hint;
use crate::generate::prompt::facts::Profile;
use crate::generate::prompt::step::{Manner, Notes, Shown, Task, Wish};
use crate::generate::prompt::{self, Prompt};
use crate::plan::Plan;
use crate::run_log::{Ask, Banked, Facts, Outcome, Sequence};
use crate::strategy::{Question, correct, diagnosis, effort, fate};

/// What is asked of a generator.
pub(super) fn question(plan: &Plan, state: &State<'_>, wanted: Wanted) -> Question {
    let kit = prompt::kit(plan);
    let seed = correct::seed(state.log);
    let task = Task { plan, kit: &kit, seed: &seed };
    match wanted {
        Wanted::Ideas => {
            Question { ask: Ask::Ideas, about: state.best(), idea: None, prompt: ideas(&task, state) }
        }
        Wanted::Variant { idea, seed, number } => {
            let prompt = variant(&task, state, (idea, seed), number);
            Question { ask: Ask::Variant, about: Some(seed), idea: Some(idea), prompt }
        }
        Wanted::Correct { ask, about, variant } => {
            let prompt = corrected(&task, state, (ask, about), variant);
            Question { ask, about: Some(about), idea: None, prompt }
        }
    }
}

fn ideas(task: &Task<'_>, state: &State<'_>) -> Prompt {
    let none = Facts::default();
    let seeds = state.seeds();
    let shown: Vec<Shown<'_>> = seeds.iter().map(|seed| shown(state, *seed, &none)).collect();
    let attempts = if state.settings.ideas_tried.is_on() { attempts::ideas(state) } else { Vec::new() };
    // a profile draws attention from structure, so the first ideas come without it
    let profile = if state.rounds.is_empty() { Profile::Late } else { Profile::Shown };
    let wish = Wish { count: state.settings.ideas, bank: bank(state), profile };
    task.ideas(&shown, &wish, &Notes { attempts, ..Notes::default() })
}

fn variant(task: &Task<'_>, state: &State<'_>, (idea, seed): (u32, Sequence), number: usize) -> Prompt {
    let none = Facts::default();
    let ideas = state.rounds.last().map(|round| state.ideas(round)).unwrap_or_default();
    let text = ideas.get(idea as usize - 1).map_or("", |idea| idea.text.as_str());
    let manner = Manner { number, of: state.settings.variants };
    let seed = shown(state, seed, &none);
    let hints = hints(task.plan, state, (Outcome::Right, seed.facts));
    task.variant(seed, text, manner, bank(state), &hints)
}

/// An answer that could not be read, or a kernel that failed, with what was tried in its place.
fn corrected(task: &Task<'_>, state: &State<'_>, (ask, about): (Ask, Sequence), variant: usize) -> Prompt {
    let requests = state.rounds.last().and_then(|round| round.variants.get(variant));
    let requests = requests.map(|variant| variant.requests.as_slice()).unwrap_or_default();
    let notes = Notes { attempts: fate::others(state.log, requests, about), ..Notes::default() };
    match ask {
        Ask::Diagnose => {
            let seen = effort::seen(state.log, about);
            let hints = seen.map(|verdict| hints(task.plan, state, (verdict.outcome, &verdict.facts)));
            correct::diagnose(task, state.log, about, &Notes { hints: hints.unwrap_or_default(), ..notes })
        }
        Ask::Patch => correct::patch(task, state.log, about, &notes),
        _ => correct::whole(task, state.log, about, &Notes::default()),
    }
}

/// The hints for what was seen of a kernel.
fn hints(plan: &Plan, state: &State<'_>, seen: (Outcome, &Facts)) -> Vec<Hint> {
    if state.settings.experience.is_on() { diagnosis::hints(plan, state.log, seen, None) } else { Vec::new() }
}

/// A right kernel with its times.
fn shown<'a>(state: &State<'a>, kernel: Sequence, none: &'a Facts) -> Shown<'a> {
    let source = state.log.kernel(kernel).map_or("", |kernel| &kernel.source);
    let facts = state.right_verdict(kernel).map_or(none, |verdict| &verdict.facts);
    Shown { attempt: kernel, source, facts }
}

fn bank<'a>(state: &State<'a>) -> &'a [Banked] {
    if state.settings.bank.is_on() { &state.log.start.bank } else { &[] }
}
