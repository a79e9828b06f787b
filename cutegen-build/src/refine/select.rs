//! Which of many candidates a search compiles: the best by forecast and a few outsiders that the forecast would leave
//! out; then what lies around the fastest of them.

use std::collections::BTreeSet;

use super::forecast::forecast;
use super::{Trial, geomean, ranked};
use crate::generate::Candidate;
use crate::plan::Plan;

/// Tried by forecast, and tried although.
pub const SELECTED: (usize, usize) = (12, 4);

/// A forecast errs by so much: what is farther behind the best than this is for outsiders.
const TRUSTED: f64 = 1.15;
/// What a forecast says is as fast as a fast one, by this much, lies around it.
const AROUND: f64 = 1.05;
/// How many of the fastest are looked around, and what is tried around each: of the same shape with one hint more or
/// less, and of other shapes.
const FASTEST: usize = 2;
const HINTS_AROUND: usize = 3;
const SHAPES_AROUND: usize = 2;

/// The candidates that are tried first: all where nothing tells them apart beforehand. The best at each workload are
/// among them, so that each range of an axis can have its own.
#[must_use]
pub fn select(plan: &Plan, space: &[Candidate]) -> Vec<Candidate> {
    let (by_forecast, outsiders) = SELECTED;
    let order = order(plan, space);
    if space.len() <= by_forecast + outsiders || order.is_empty() {
        return space.to_vec();
    }
    let mut chosen = best_of_each(plan, space, by_forecast / 2);
    let near = order.partition_point(|(score, _)| *score <= order[0].0 * TRUSTED);
    let (firsts, alike) = one_of_each(space, &order[..near]);
    let more: Vec<usize> = firsts.into_iter().filter(|at| !chosen.contains(at)).collect();
    chosen.extend(more.into_iter().take(by_forecast - chosen.len()));
    let alike: Vec<usize> = alike.into_iter().filter(|at| !chosen.contains(at)).collect();
    chosen.extend(evenly(&alike, by_forecast - chosen.len()));
    let others: Vec<usize> = order.iter().map(|(_, at)| *at).filter(|at| !chosen.contains(at)).collect();
    chosen.extend(apart(space, &chosen, &others, by_forecast + outsiders - chosen.len()));
    chosen.into_iter().map(|at| space[at].clone()).collect()
}

/// What is tried next: of the kinds of the fastest, what has not been tried and should be as fast; first what differs from
/// them in one hint, which no forecast tells apart.
#[must_use]
pub fn around(plan: &Plan, space: &[Candidate], history: &[Trial]) -> Vec<Candidate> {
    let mut tried: BTreeSet<&str> = history.iter().map(|trial| trial.candidate.name.as_str()).collect();
    let order = order(plan, space);
    let mut found = Vec::new();
    for trial in ranked(history).into_iter().take(FASTEST) {
        let Some(own) = score(plan, &trial.candidate) else { continue };
        let is_near = |score: f64| (score / own).max(own / score) < AROUND;
        let near = order.iter().filter(|(score, _)| is_near(*score)).map(|(_, at)| &space[*at]);
        let near = near.filter(|c| kind(c) == kind(&trial.candidate) && !tried.contains(c.name.as_str()));
        let (hinted, others): (Vec<_>, Vec<_>) = near.partition(|c| differs_by_a_hint(c, &trial.candidate));
        for candidate in evenly(&hinted, HINTS_AROUND).chain(evenly(&others, SHAPES_AROUND)) {
            tried.insert(&candidate.name);
            found.push((*candidate).clone());
        }
    }
    found
}

fn kind(candidate: &Candidate) -> Option<&'static str> {
    candidate.sketch.as_ref().map(|sketch| sketch.kind)
}

/// Whether these are one shape, and one has a hint that the other lacks.
fn differs_by_a_hint(a: &Candidate, b: &Candidate) -> bool {
    let ((a, of_a), (b, of_b)) = (a.shape(), b.shape());
    let lacks = |hints: &str, other: &str| hints.chars().filter(|hint| !other.contains(*hint)).count();
    a == b && lacks(of_a, of_b) + lacks(of_b, of_a) == 1
}

/// The best by forecast at each workload, in turn, until there are so many.
fn best_of_each(plan: &Plan, space: &[Candidate], count: usize) -> Vec<usize> {
    let best_first = |axes: Vec<i64>| {
        let forecasts = space.iter().enumerate().filter_map(|(at, c)| Some((forecast(plan, c, &axes)?, at)));
        let mut order: Vec<(f64, usize)> = forecasts.collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        one_of_each(space, &order).0
    };
    let orders: Vec<Vec<usize>> = workloads(plan).map(best_first).collect();
    let mut chosen = Vec::new();
    for place in 0..count {
        for order in &orders {
            match order.get(place) {
                Some(at) if chosen.len() < count && !chosen.contains(at) => chosen.push(*at),
                _ => {}
            }
        }
    }
    chosen
}

/// Extents of the declared workloads.
fn workloads(plan: &Plan) -> impl Iterator<Item = Vec<i64>> + '_ {
    plan.spec.workloads.iter().filter_map(|workload| plan.spec.bind(&workload.axes).ok())
}

/// The geometric mean of the forecasts at all workloads; none where one is not claimed.
fn score(plan: &Plan, candidate: &Candidate) -> Option<f64> {
    let forecasts = workloads(plan).map(|axes| forecast(plan, candidate, &axes));
    let forecasts = forecasts.collect::<Option<Vec<_>>>()?;
    Some(geomean(&forecasts))
}

/// All that have a forecast, best first.
fn order(plan: &Plan, space: &[Candidate]) -> Vec<(f64, usize)> {
    let scores = space.iter().enumerate().filter_map(|(at, c)| Some((score(plan, c)?, at)));
    let mut order: Vec<(f64, usize)> = scores.collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order
}

/// Of each shape what is best by forecast, whatever its hints; and the others.
fn one_of_each(space: &[Candidate], order: &[(f64, usize)]) -> (Vec<usize>, Vec<usize>) {
    let mut shapes = BTreeSet::new();
    order.iter().map(|(_, at)| *at).partition(|at| shapes.insert(space[*at].shape().0))
}

/// The best of each kind that has none among the chosen, then what lies evenly among the others.
fn apart(space: &[Candidate], chosen: &[usize], others: &[usize], count: usize) -> Vec<usize> {
    let kind = |at: &usize| kind(&space[*at]);
    let mut kinds: BTreeSet<_> = chosen.iter().map(kind).collect();
    let mut found: Vec<usize> =
        others.iter().copied().filter(|at| kinds.insert(kind(at))).take(count).collect();
    let left: Vec<usize> = others.iter().copied().filter(|at| !found.contains(at)).collect();
    found.extend(evenly(&left, count - found.len()));
    found
}

/// So many of `all`, from the middle of equal parts.
fn evenly<T>(all: &[T], count: usize) -> impl Iterator<Item = &T> {
    let count = count.min(all.len());
    (0..count).map(move |n| &all[(2 * n + 1) * all.len() / (2 * count)])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cutegen_spec::edition::spec_file;
    use cutegen_spec::target::Target;

    use super::{SELECTED, around, differs_by_a_hint, evenly, select};
    use crate::evaluate::Outcome;
    use crate::generate::template::Templates;
    use crate::generate::{Candidate, Feedback, Generator as _};
    use crate::plan::Plan;
    use crate::refine::Trial;

    const SOFTMAX: &str = "edition = 1\n[kernels.softmax]\naxes = { m = '1..=65536', d = 4096 }\n\
        inputs = { x = 'bf16[m, d]' }\noutputs = { y = 'bf16[m, d]' }\nmath = 'y[m, d] = softmax(d, x[m, d])'\n\
        workloads = [{ m = 16 }, { m = 16384 }]\n";

    fn space() -> (Plan, Vec<Candidate>) {
        space_of(SOFTMAX)
    }

    fn space_of(specs: &str) -> (Plan, Vec<Candidate>) {
        let document = spec_file(specs, &Default::default());
        assert_eq!(document.errors, []);
        let plan = Plan::new(&document.kernels[0], &Target::parse("sm_90a").expect("a target"));
        let space = Templates { toolchain: String::new() }.propose(&plan, &Feedback::default());
        (plan, space)
    }

    #[test]
    fn a_few_are_selected_and_every_kind_is_among_them() {
        let (plan, space) = space();
        let selected = select(&plan, &space);
        assert!(
            space.len() > 20 && selected.len() == SELECTED.0 + SELECTED.1,
            "{} of {}",
            selected.len(),
            space.len()
        );
        let names: BTreeSet<&str> = selected.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names.len(), selected.len());
        let kinds: BTreeSet<&str> = selected.iter().filter_map(|c| Some(c.sketch.as_ref()?.kind)).collect();
        assert!(kinds.len() >= 4, "{kinds:?}");
    }

    #[test]
    fn rows_too_long_for_a_block_are_tried_by_way_of_l2() {
        let (plan, space) = space_of(&SOFTMAX.replace("d = 4096", "d = 131_072"));
        let selected = select(&plan, &space);
        let kinds: BTreeSet<&str> = selected.iter().filter_map(|c| Some(c.sketch.as_ref()?.kind)).collect();
        for kind in ["ring of a block, again from L2", "global memory, again from L2"] {
            assert!(kinds.contains(kind), "{kinds:?}");
        }
    }

    #[test]
    fn what_differs_in_one_hint_lies_around() {
        let (plan, space) = space();
        let named = |name: &str| space.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name}"));
        let best = named("rowwise-reg-x8t256u2q1c1-osd");
        for (other, expected) in [("od", true), ("sd", true), ("os", true), ("d", false), ("s", false)] {
            let other = named(&format!("rowwise-reg-x8t256u2q1c1-{other}"));
            assert_eq!(differs_by_a_hint(best, other), expected, "{}", other.name);
        }
        assert!(!differs_by_a_hint(best, named("rowwise-reg-x8t512u1q1c1-os")), "another shape");
        let history = [trial(best, 4.0), trial(named("rowwise-reg-x8t256u2q1c1-os"), 3.0)];
        let found = around(&plan, &space, &history);
        let near = found.iter().filter(|c| differs_by_a_hint(best, c)).count();
        assert_eq!(near, 2, "`os` was tried: {:?}", found.iter().map(|c| &c.name).collect::<Vec<_>>());
        assert!(found.iter().any(|c| c.shape().0 != best.shape().0), "and other shapes");
    }

    /// One that passed, with this speed-up at both workloads.
    fn trial(candidate: &Candidate, speedup: f64) -> Trial {
        let outcome = Outcome::Passed { correctness: Default::default(), performance: None };
        let mut trial = Trial::new(candidate.clone(), outcome, 2);
        (trial.speedups, trial.again) = (vec![Some(speedup); 2], true);
        trial
    }

    #[test]
    fn what_has_no_forecast_is_all_tried() {
        let (plan, mut space) = space();
        space.iter_mut().for_each(|candidate| candidate.sketch = None);
        assert_eq!(select(&plan, &space).len(), space.len());
    }

    #[test]
    fn parts_are_even() {
        let picked = |all: &[i32], count| evenly(all, count).copied().collect::<Vec<_>>();
        assert_eq!(picked(&[0, 1, 2, 3, 4, 5, 6, 7], 2), [2, 6]);
        assert_eq!(picked(&[0, 1], 4), [0, 1]);
        assert!(picked(&[], 4).is_empty());
    }
}
