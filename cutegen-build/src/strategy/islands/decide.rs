//! [`decide`]: from where a run stands to what happens next. Words and prompts are another file's.

use super::state::State;
use super::step::{Move, Stand};
use crate::run_log::{Ask, Sequence};
use crate::strategy::Stop;
use crate::strategy::decision::is_enough;

/// What happens next.
pub(super) type Decision = crate::strategy::decision::Decision<Wanted>;

/// What is wanted of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub ask: Ask,
    /// What it is about; none for a first kernel.
    pub about: Option<Sequence>,
    /// Whose turn it is.
    pub island: usize,
    /// The attempt that the last answer to it repeated.
    pub repeated: Option<Sequence>,
}

/// What happens next, where no kernel waits for a verdict; none while answers are awaited.
pub(super) fn decide(state: &State<'_>) -> Option<Decision> {
    let is_spent = state.requests >= state.settings.requests;
    let going_on = state.open().find_map(|(step, stand)| match stand {
        Stand::Open(on) => Some(wanted(state, step.island, on)),
        Stand::Awaits | Stand::Over(_) => None,
    });
    let is_awaited = state.open().any(|(_, stand)| stand == Stand::Awaits);
    let stop = if is_spent { Some(Stop::Budget) } else { stop(state) };
    match (going_on, stop) {
        (Some(wanted), None) => Some(Decision::Ask(wanted)),
        (_, None) if may_begin(state) => Some(Decision::Ask(begin(state))),
        _ if is_awaited => None,
        // steps are neither open nor over while one of them waits
        (_, stop) => Some(Decision::finish(state.log, state.best(), stop.unwrap_or(Stop::Budget))),
    }
}

/// The request for a move of a step.
fn wanted(state: &State<'_>, island: usize, on: Move) -> Wanted {
    let of = |ask, about, repeated| Wanted { ask, about, island, repeated };
    match on {
        Move::Whole(answer) => of(Ask::Whole, Some(answer), None),
        Move::Patch(kernel) => of(Ask::Patch, Some(kernel), None),
        Move::Again { request, repeated } => {
            let before = state.log.request(request);
            let ask = before.map_or(Ask::First, |request| request.ask);
            of(ask, before.and_then(|request| request.about), Some(repeated))
        }
    }
}

/// Whether the island whose turn it is may begin a step.
fn may_begin(state: &State<'_>) -> bool {
    let turn = state.turn();
    let (mut open, mut is_busy) = (0, false);
    for (step, _) in state.open() {
        open += 1;
        is_busy |= step.island == turn;
    }
    open < state.settings.parallel && !is_busy
}

/// The step of the island whose turn it is: what failed last is repaired; then its best kernel is changed, or one of another
/// island where its own stagnates; without a right kernel there, it begins from nothing.
fn begin(state: &State<'_>) -> Wanted {
    let island = state.turn();
    let of = |ask, about| Wanted { ask, about, island, repeated: None };
    if let Some(failed) = state.repairable(island) {
        return of(Ask::Diagnose, Some(failed));
    }
    let own = state.elite(island);
    match migrant(state, island).or(own) {
        Some(parent) => of(Ask::Optimise, Some(parent)),
        None => of(Ask::First, None),
    }
}

/// The best kernel of another island, for one that stagnates: of the next one, then of the one after it.
fn migrant(state: &State<'_>, island: usize) -> Option<Sequence> {
    let (here, count) = (&state.islands[island], state.settings.islands);
    if !state.settings.migration.is_on() || here.quiet < state.settings.stagnation || count < 2 {
        return None;
    }
    let others = (0..count - 1).map(|step| (island + 1 + (here.taken + step) % (count - 1)) % count);
    others.filter_map(|other| state.elite(other)).find(|elite| !here.members.contains(elite))
}

/// Why no further step begins.
fn stop(state: &State<'_>) -> Option<Stop> {
    let best = state.best()?;
    if is_enough(state.log, best, state.right(best)) {
        return Some(Stop::Enough);
    }
    let share = state.right(best).and_then(|verdict| verdict.facts.roofline());
    if share.is_some_and(|share| share >= state.settings.roofline_share) {
        return Some(Stop::Roofline);
    }
    (state.turns_without_gain() >= state.settings.turns_without_gain).then_some(Stop::NoGain)
}
