//! From where a run stands to what happens next: [`under_way`] within a round, [`begin`] behind it. Words and prompts are another
//! file's.

use super::state::{Phase, Round, State, Variant};
use crate::run_log::{Ask, Sequence};
use crate::strategy::Stop;
use crate::strategy::decision::is_enough;
use crate::strategy::effort::Move;

/// What happens behind a round.
pub(super) type Decision = crate::strategy::decision::Decision<Wanted>;

/// What is wanted of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Ideas for the seeds.
    Ideas,
    /// A kernel of an idea of the last round.
    Variant {
        /// From 1.
        idea: u32,
        /// The kernel that it changes.
        seed: Sequence,
        /// From 1: which of the idea's variants it is.
        number: usize,
    },
    /// The correction of an answer to one of the last round's variants.
    Correct {
        ask: Ask,
        about: Sequence,
        /// The variant's place in the round.
        variant: usize,
    },
}

/// What the round that is under way asks for, whatever else is awaited.
pub(super) fn under_way(state: &State<'_>) -> Option<Wanted> {
    let is_spent = state.requests >= state.settings.requests;
    let round = state.rounds.last().filter(|_| !is_spent)?;
    unasked(state, round).or_else(|| correction(state, round))
}

/// The next round, or the end, where nothing is awaited.
pub(super) fn begin(state: &State<'_>) -> Decision {
    let Some(best) = state.best() else { return Decision::Done(Stop::NoKernel) };
    match stop(state, best) {
        None => Decision::Ask(Wanted::Ideas),
        Some(stop) => Decision::finish(state.log, Some(best), stop),
    }
}

/// The next variant of a round: one of each idea before a second one of any, since requests may run out.
fn unasked(state: &State<'_>, round: &Round) -> Option<Wanted> {
    let ideas = state.ideas(round);
    let asked = round.variants.len();
    if asked >= ideas.len() * state.settings.variants {
        return None;
    }
    let place = asked % ideas.len();
    let seed = State::seed(round, &ideas[place])?;
    Some(Wanted::Variant { idea: u32::try_from(place + 1).ok()?, seed, number: asked / ideas.len() + 1 })
}

/// The next correction of a round's variants.
fn correction(state: &State<'_>, round: &Round) -> Option<Wanted> {
    let of = |(place, variant): (usize, &Variant)| {
        let (ask, about) = match state.phase(variant) {
            Phase::Open(Move::Whole(answer)) => (Ask::Whole, answer),
            Phase::Open(Move::Diagnose(kernel)) => (Ask::Diagnose, kernel),
            Phase::Open(Move::Patch(kernel)) => (Ask::Patch, kernel),
            Phase::Open(Move::Again { .. }) | Phase::Waits | Phase::Over(_) => return None,
        };
        Some(Wanted::Correct { ask, about, variant: place })
    };
    round.variants.iter().enumerate().find_map(of)
}

/// Why no further round begins.
fn stop(state: &State<'_>, best: Sequence) -> Option<Stop> {
    let settings = state.settings;
    let share = state.right_verdict(best).and_then(|verdict| verdict.facts.roofline());
    if is_enough(state.log, best, state.right_verdict(best)) {
        Some(Stop::Enough)
    } else if share.is_some_and(|share| share >= settings.roofline_share) {
        Some(Stop::Roofline)
    } else if state.rounds.len() >= settings.rounds {
        Some(Stop::Rounds)
    } else {
        // ideas without a kernel are worth nothing
        (state.requests + 2 > settings.requests).then_some(Stop::Budget)
    }
}
