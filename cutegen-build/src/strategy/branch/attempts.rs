//! Notes for prompts, a line each, derived from the log alone: the ideas that were tried, and what came of their variants. Ideas and
//! compilers' messages are foreign text: whoever prints these lines quotes them.

use super::state::{Phase, Round, State, Variant};
use crate::generate::prompt::facts;
use crate::run_log::{Idea, Sequence};
use crate::strategy::fate::{became, points};
use crate::strategy::points::chosen;

/// Bytes of an idea in a line.
const IDEA_MAX: usize = 200;

/// Every idea of the rounds so far with the points of its variants, and every kernel that was submitted unasked.
pub(super) fn ideas(state: &State<'_>) -> Vec<String> {
    let rounds = (1..).zip(&state.rounds);
    let ideas = rounds.flat_map(|(number, round)| {
        let ideas = (1..).zip(state.ideas(round));
        ideas.flat_map(move |(place, idea)| {
            let tried = tried(state, (number, round), (place, idea));
            std::iter::once(tried).chain(swept(state, round, place))
        })
    });
    let submitted = state.log.candidates().filter(|(_, candidate)| candidate.request.is_none());
    let submitted = submitted
        .map(|(sequence, _)| chosen(state.log, sequence))
        .map(|sequence| format!("attempt {sequence}, submitted: {}", became(state.log, sequence)));
    ideas.chain(submitted).collect()
}

/// An idea, and what came of it.
fn tried(state: &State<'_>, (number, round): (usize, &Round), (place, idea): (u32, &Idea)) -> String {
    let seed = State::seed(round, idea);
    let from = seed.map_or_else(String::new, |seed| format!(" for attempt {seed}"));
    let text = facts::line(&idea.text, IDEA_MAX);
    let came: Vec<String> = variants(round, place).filter_map(|variant| came(state, variant)).collect();
    let came = if came.is_empty() { "not tried".to_owned() } else { came.join("; ") };
    format!("round {number}, idea {place}{from}: {text}: {came}")
}

/// Points of the last answers to an idea's variants.
fn swept(state: &State<'_>, round: &Round, place: u32) -> Vec<String> {
    let answers = variants(round, place).filter_map(|variant| Some((variant.answer?, variant.aim.seed)));
    answers.flat_map(|(answer, seed)| points(state.log, answer, Some(seed))).collect()
}

fn variants(round: &Round, place: u32) -> impl Iterator<Item = &Variant> {
    round.variants.iter().filter(move |variant| variant.aim.idea == place)
}

/// What came of a variant: its speed-up, or why it is not right.
fn came(state: &State<'_>, variant: &Variant) -> Option<String> {
    let answer = chosen(state.log, variant.answer?);
    let over = |kernel: Sequence| state.over(kernel, variant.aim.seed);
    Some(match state.phase(variant) {
        Phase::Over(Some(kernel)) => match over(kernel) {
            Some(by) => format!("attempt {kernel} is right, {by:.3} times attempt {}", variant.aim.seed),
            None => format!("attempt {kernel}: {}", became(state.log, kernel)),
        },
        Phase::Over(None) | Phase::Open(_) | Phase::Waits => {
            format!("attempt {answer}: {}", became(state.log, answer))
        }
    })
}
