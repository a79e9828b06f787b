//! [`question`]: the prompt of a decision, with its values from the log. It decides nothing.

use super::decide::Wanted;
use super::nearest;
use super::state::State;
use super::step::{Aim, Stand, Step};
use crate::experience::Hint;
use crate::generate::prompt::beside::Beside;
use crate::generate::prompt::facts::{self, Profile};
use crate::generate::prompt::step::{Notes, Round, Shown, Stage, Task};
use crate::generate::prompt::{self, Prompt};
use crate::plan::Plan;
use crate::run_log::{Ask, Banked, Facts, Outcome, Sequence};
use crate::strategy::fate::{self, became};
use crate::strategy::{Question, correct, diagnosis, effort, points};

/// Bytes of a hypothesis in a line.
const HYPOTHESIS_MAX: usize = 200;

/// What is asked of a generator.
pub(super) fn question(plan: &Plan, state: &State<'_>, wanted: Wanted) -> Question {
    let kit = prompt::kit(plan);
    let seed = correct::seed(state.log);
    let task = Task { plan, kit: &kit, seed: &seed };
    let prompt = match (wanted.ask, wanted.about) {
        (Ask::Whole, Some(answer)) => correct::whole(&task, state.log, answer, &notes(state, wanted)),
        (Ask::Diagnose, Some(kernel)) => diagnose(&task, state, wanted, kernel),
        (Ask::Patch, Some(kernel)) => correct::patch(&task, state.log, kernel, &notes(state, wanted)),
        (Ask::Optimise, Some(parent)) => optimise(&task, state, wanted, parent),
        (Ask::First | Ask::Ideas | Ask::Variant, _) | (_, None) => first(&task, state, wanted),
    };
    Question { ask: wanted.ask, about: wanted.about, idea: None, prompt }
}

fn first(task: &Task<'_>, state: &State<'_>, wanted: Wanted) -> Prompt {
    let beside = if state.settings.seeds.is_on() { seeded(task.plan, state) } else { Vec::new() };
    task.first(&Notes { beside, ..notes(state, wanted) })
}

fn diagnose(task: &Task<'_>, state: &State<'_>, wanted: Wanted, kernel: Sequence) -> Prompt {
    let seen = effort::seen(state.log, kernel);
    let hints = seen.map(|verdict| hints(task.plan, state, wanted, (verdict.outcome, &verdict.facts)));
    let hints = hints.unwrap_or_default();
    correct::diagnose(task, state.log, kernel, &Notes { hints, ..notes(state, wanted) })
}

fn optimise(task: &Task<'_>, state: &State<'_>, wanted: Wanted, parent: Sequence) -> Prompt {
    let none = Facts::default();
    let facts = state.right(parent).map_or(&none, |verdict| &verdict.facts);
    let source = state.log.kernel(parent).map_or("", |kernel| &kernel.source);
    // the role of the notes takes the place of a stage
    let round = Round { stage: Stage::Structure, demand: None, profile: Profile::Shown };
    let notes = Notes {
        hints: hints(task.plan, state, wanted, (Outcome::Right, facts)),
        beside: if state.settings.archive.is_on() { others(state, parent) } else { Vec::new() },
        ..notes(state, wanted)
    };
    task.optimise(Shown { attempt: parent, source, facts }, &round, &notes)
}

/// The hints for what was seen of a kernel, of the island's role or of all.
fn hints(plan: &Plan, state: &State<'_>, wanted: Wanted, seen: (Outcome, &Facts)) -> Vec<Hint> {
    let role = Some(state.settings.role(wanted.island)).filter(|_| state.settings.hint_subsets.is_on());
    if state.settings.experience.is_on() { diagnosis::hints(plan, state.log, seen, role) } else { Vec::new() }
}

/// The role of the island, and what it tried.
fn notes(state: &State<'_>, wanted: Wanted) -> Notes {
    let own = state.steps.iter().filter(|step| step.island == wanted.island);
    let over = own.filter(|step| matches!(step.stand(state.log), Stand::Over(_)));
    let is_told = state.settings.attempt_log.is_on();
    let attempts = if is_told { over.flat_map(|step| lines(state, step)).collect() } else { Vec::new() };
    let role = Some(state.settings.role(wanted.island));
    Notes { attempts, repeated: wanted.repeated, role, ..Notes::default() }
}

/// What a step came to, and what each point of a sweep came to.
fn lines(state: &State<'_>, step: &Step) -> Vec<String> {
    let Some(answer) = step.answer else { return Vec::new() };
    let parent = match step.aim {
        Aim::Change { parent } => Some(parent),
        Aim::Seed | Aim::Repair { .. } => None,
    };
    let points = fate::points(state.log, answer, parent);
    std::iter::once(line(state, step, points::chosen(state.log, answer))).chain(points).collect()
}

fn line(state: &State<'_>, step: &Step, answer: Sequence) -> String {
    let became = became(state.log, answer);
    let kernel = state.log.kernel(answer);
    let hypothesis = kernel.and_then(|kernel| kernel.hypothesis.as_deref());
    let hypothesis =
        hypothesis.map_or_else(String::new, |text| format!("{}; ", facts::line(text, HYPOTHESIS_MAX)));
    match step.aim {
        Aim::Seed => format!("attempt {answer}, from nothing: {became}"),
        Aim::Repair { of } => format!("attempt {answer}, a repair of {of}: {became}"),
        Aim::Change { parent } => {
            let ratio = state.over(answer, parent);
            let ratio = ratio.map_or_else(String::new, |by| format!(", {by:.3} times attempt {parent}"));
            format!("attempt {answer} from {parent}: {hypothesis}{became}{ratio}")
        }
    }
}

/// The best kernel and those of other cells, for a look at other ways.
fn others(state: &State<'_>, parent: Sequence) -> Vec<Beside> {
    let best = state.best();
    let best_cell = best.map(|best| (best, state.cell(best)));
    let all = state.archive.beside((parent, state.cell(parent)), best_cell, state.settings.beside);
    let of_parent = state.score(parent);
    let told = |kernel: Sequence| {
        let source = state.log.kernel(kernel)?.source.clone();
        let ratio = state.score(kernel).zip(of_parent).map(|(own, parent)| own / parent);
        let ratio = ratio.map_or_else(String::new, |by| format!("; about {by:.2} times attempt {parent}"));
        let which = if Some(kernel) == best { "the best so far" } else { "another way" };
        let cell = state.cell(kernel).words();
        Some(Beside { title: format!("Attempt {kernel}, {which} ({cell}){ratio}:"), source })
    };
    all.into_iter().filter_map(told).collect()
}

/// The verified kernel that this first request is shown; each has its turn.
fn seeded(plan: &Plan, state: &State<'_>) -> Vec<Beside> {
    let before = state.steps.iter().filter(|step| step.aim == Aim::Seed).count();
    let seed = state.log.start.bank.get(before);
    let title = |seed: &Banked| {
        let shared = nearest::nearness(plan, seed) * 100.0;
        format!(
            "A verified kernel of another computation, {}, which shares {shared:.0} % of its parts:",
            seed.family
        )
    };
    let told =
        |seed: &Banked| format!("// math: {}\n{}", facts::line(&seed.math, HYPOTHESIS_MAX), seed.source);
    seed.map(|seed| Beside { title: title(seed), source: told(seed) }).into_iter().collect()
}
