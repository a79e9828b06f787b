//! [`decide`]: from where a run stands to what happens next. Words and prompts are another file's.

use super::state::{Aim, State};
use crate::run_log::{Ask, Sequence};
use crate::strategy::Stop;
use crate::strategy::decision::is_enough;
use crate::strategy::effort::{Move, Stand};

/// A child that is slower than this over the best kernel is never gone on from.
const LOSS: f64 = 0.9;

/// What happens next.
pub(super) type Decision = crate::strategy::decision::Decision<Wanted>;

/// What is wanted of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub ask: Ask,
    /// What it is about; none for a first kernel.
    pub about: Option<Sequence>,
    /// The round that it belongs to, from 0.
    pub round: usize,
    /// The attempt that the last answer to it repeated.
    pub repeated: Option<Sequence>,
}

/// What happens next, where no kernel waits for a verdict and no request for an answer.
pub(super) fn decide(state: &State<'_>) -> Decision {
    let is_spent = state.requests >= state.settings.requests;
    match state.stand() {
        _ if is_spent => Decision::finish(state.log, state.best(), Stop::Budget),
        Some(Stand::Open(on)) => Decision::Ask(wanted(state, on)),
        Some(Stand::Right(_) | Stand::Failed(_)) | None => begin(state),
    }
}

/// The request for a move of the effort that is under way.
fn wanted(state: &State<'_>, on: Move) -> Wanted {
    let round = state.rounds().len().saturating_sub(1);
    let of = |ask, about, repeated| Wanted { ask, about, round, repeated };
    match on {
        Move::Whole(answer) => of(Ask::Whole, Some(answer), None),
        Move::Diagnose(kernel) => of(Ask::Diagnose, Some(kernel), None),
        Move::Patch(kernel) => of(Ask::Patch, Some(kernel), None),
        Move::Again { request, repeated } => {
            let before = state.log.request(request);
            of(before.map_or(Ask::First, |r| r.ask), before.and_then(|r| r.about), repeated)
        }
    }
}

/// The next effort, or the end.
fn begin(state: &State<'_>) -> Decision {
    let new = |ask, about| Decision::Ask(Wanted { ask, about, round: state.rounds().len(), repeated: None });
    if let Some(of) = unrepaired(state).filter(|_| state.fixes_left(state.efforts.len()) > 0) {
        return new(Ask::Diagnose, Some(of));
    }
    let Some(best) = state.best() else {
        let starts = state.efforts.iter().filter(|effort| effort.aim == Aim::Start).count();
        let is_over = starts >= state.settings.starts || !state.refuted.is_empty();
        return if is_over { Decision::Done(Stop::NoKernel) } else { new(Ask::First, None) };
    };
    match stop(state, best) {
        Some(stop) => Decision::finish(state.log, state.best(), stop),
        None => new(Ask::Optimise, Some(parent(state, best))),
    }
}

/// The kernel that the whole gate refused last, unless a repair was tried.
fn unrepaired(state: &State<'_>) -> Option<Sequence> {
    let of = *state.refuted.last()?;
    (!state.efforts.iter().any(|effort| effort.aim == Aim::Repair { of })).then_some(of)
}

/// Why no further round begins.
fn stop(state: &State<'_>, best: Sequence) -> Option<Stop> {
    let share = state.right_verdict(best).and_then(|verdict| verdict.facts.roofline());
    if is_enough(state.log, best, state.right_verdict(best)) {
        Some(Stop::Enough)
    } else if !state.settings.stop_rule.is_on() {
        None
    } else if share.is_some_and(|share| share >= state.settings.roofline_share) {
        Some(Stop::Roofline)
    } else {
        (state.rounds_without_gain() >= state.settings.rounds_without_gain).then_some(Stop::NoGain)
    }
}

/// The kernel that the next round changes: the best, or for a while one that lost a little against it.
fn parent(state: &State<'_>, best: Sequence) -> Sequence {
    if !state.settings.start_from_best.is_on() {
        return state.right.last().copied().unwrap_or(best);
    }
    let last = state.rounds().last().and_then(|(effort, _)| state.child(effort));
    let is_near = |child: &Sequence| state.over(*child, best).is_some_and(|by| by >= LOSS);
    let candidate = last.filter(|child| state.right.contains(child) && *child != best).filter(is_near);
    candidate.filter(|child| losses(state, *child, best) <= state.settings.losses).unwrap_or(best)
}

/// How many rounds led from the best kernel to this one.
fn losses(state: &State<'_>, kernel: Sequence, best: Sequence) -> usize {
    let mut losses = 0;
    let mut at = kernel;
    for (effort, parent) in state.rounds().into_iter().rev() {
        if at != best && state.child(effort) == Some(at) {
            losses += 1;
            at = parent;
        }
    }
    losses
}
