//! Which of many candidates a search compiles: the best by cost estimate, and a few outsiders that the cost estimate would leave
//! out; then what lies around the fastest of them.

use std::collections::{BTreeMap, BTreeSet};

use cutegen_spec::eligibility::Eligibility;

use super::cost_estimate::cost_estimate;
use super::{Trial, geomean, ranked};
use crate::generate::{Candidate, CostFeatures};
use crate::plan::Plan;

/// How many are tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quota {
    /// By cost estimate, of these what is best at one of the workloads, in turn: what is best over all of them may be
    /// best nowhere.
    of_each: usize,
    by_forecast: usize,
    /// Tried although.
    outsiders: usize,
}

/// Of kernels that stream their tensors.
const STREAMS: Quota = Quota { of_each: 10, by_forecast: 12, outsiders: 4 };
/// Of products at each workload, and of all: their cost estimates tell less apart, and each range of rows has its own.
const OF_WORKLOAD: usize = 4;
const PRODUCTS_MOST: usize = 40;

impl Quota {
    fn of(plan: &Plan, space: &[Candidate]) -> Self {
        if !space.iter().any(Candidate::is_product) {
            return STREAMS;
        }
        let of_each = (OF_WORKLOAD * workloads(plan).count()).clamp(STREAMS.of_each, PRODUCTS_MOST - 4);
        Self { of_each, by_forecast: of_each + 2, outsiders: 6 }
    }
}

/// Tried beside those: candidates that have no cost estimate, in the order in which they were proposed.
pub(super) const UNESTIMATED: usize = 8;
/// A cost estimate errs by so much: what is farther behind the best than this is for outsiders.
const TRUSTED: f64 = 1.15;
/// Of products that cost estimates put within this each kind has its turn.
const KINDS_WITHIN: f64 = 1.3;
/// What a cost estimate says is as fast as a fast one, by this much, lies around it.
const AROUND: f64 = 1.08;
/// How many of the fastest are looked around, and what is tried around each: of the same shape with one hint more or
/// less, and of other shapes.
const FASTEST: usize = 2;
const HINTS_AROUND: usize = 4;
const SHAPES_AROUND: usize = 3;

/// The candidates that are tried first: all where nothing tells them apart beforehand. The best at each workload are
/// among them, so that each range of an axis can have its own, and one that is eligible at any extents and addresses.
#[must_use]
pub fn select(plan: &Plan, space: &[Candidate]) -> Vec<Candidate> {
    let Quota { of_each, by_forecast, outsiders } = Quota::of(plan, space);
    let order = order(plan, space);
    let unestimated: Vec<usize> = (0..space.len()).filter(|at| space[*at].cost_features.is_none()).collect();
    let is_small = space.len() - unestimated.len() <= by_forecast + outsiders;
    if is_small && unestimated.len() <= UNESTIMATED || order.is_empty() {
        return space.to_vec();
    }
    let mut chosen = best_of_each(plan, space, of_each);
    let near = order.partition_point(|(score, _)| *score <= order[0].0 * TRUSTED);
    let (firsts, alike) = one_of_each(space, &order[..near]);
    let more: Vec<usize> = firsts.into_iter().filter(|at| !chosen.contains(at)).collect();
    chosen.extend(more.into_iter().take(by_forecast.saturating_sub(chosen.len())));
    let alike: Vec<usize> = alike.into_iter().filter(|at| !chosen.contains(at)).collect();
    chosen.extend(evenly(&alike, by_forecast.saturating_sub(chosen.len())));
    chosen.extend(anywhere(space, &chosen, &order));
    let others: Vec<usize> = order.iter().map(|(_, at)| *at).filter(|at| !chosen.contains(at)).collect();
    chosen.extend(apart(space, &chosen, &others, (by_forecast + outsiders).saturating_sub(chosen.len())));
    chosen.extend(unestimated.into_iter().take(UNESTIMATED));
    chosen.into_iter().map(|at| space[at].clone()).collect()
}

/// The best by cost estimate of those that are always eligible, unless one is chosen.
fn anywhere(space: &[Candidate], chosen: &[usize], order: &[(f64, usize)]) -> Option<usize> {
    let is_anywhere = |at: &usize| space[*at].eligibility == Eligibility::default();
    let has_one = chosen.iter().any(is_anywhere);
    order.iter().map(|(_, at)| *at).filter(|_| !has_one).find(is_anywhere)
}

/// What is tried next: of the kinds of the fastest, what has not been tried and should be as fast; first what differs from
/// them in one hint, which no cost estimate tells apart.
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
    candidate.cost_features.as_ref().map(CostFeatures::kind)
}

/// Whether these are one shape, and one has a hint that the other lacks.
fn differs_by_a_hint(a: &Candidate, b: &Candidate) -> bool {
    let ((a, of_a), (b, of_b)) = (a.shape(), b.shape());
    let lacks = |hints: &str, other: &str| hints.chars().filter(|hint| !other.contains(*hint)).count();
    a == b && lacks(of_a, of_b) + lacks(of_b, of_a) == 1
}

/// The best by cost estimate at each workload, in turn, until there are so many.
fn best_of_each(plan: &Plan, space: &[Candidate], count: usize) -> Vec<usize> {
    let best_first = |axes: Vec<i64>| {
        let estimates =
            space.iter().enumerate().filter_map(|(at, c)| Some((cost_estimate(plan, c, &axes)?, at)));
        let mut order: Vec<(f64, usize)> = estimates.collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let firsts = one_of_each(space, &order).0;
        let near = order.partition_point(|(score, _)| *score <= order[0].0 * KINDS_WITHIN);
        if space.iter().any(Candidate::is_product) { by_turns(space, firsts, &order[..near]) } else { firsts }
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

/// The same in another order: of those that are near, the best of each kind, then the second of each.
fn by_turns(space: &[Candidate], mut all: Vec<usize>, near: &[(f64, usize)]) -> Vec<usize> {
    let is_near: BTreeSet<usize> = near.iter().map(|(_, at)| *at).collect();
    let (mut seen, mut turns) = (BTreeMap::new(), BTreeMap::new());
    for at in all.iter().filter(|at| is_near.contains(at)) {
        let turn: &mut usize = seen.entry(kind(&space[*at])).or_default();
        turns.insert(*at, *turn);
        *turn += 1;
    }
    all.sort_by_key(|at| turns.get(at).copied().unwrap_or(usize::MAX));
    all
}

/// Extents of the declared workloads.
fn workloads(plan: &Plan) -> impl Iterator<Item = Vec<i64>> + '_ {
    plan.spec.workloads.iter().filter_map(|workload| plan.spec.bind(&workload.axes).ok())
}

/// The geometric mean of the cost estimates at all workloads; none where one is not claimed.
fn score(plan: &Plan, candidate: &Candidate) -> Option<f64> {
    let estimates = workloads(plan).map(|axes| cost_estimate(plan, candidate, &axes));
    let estimates = estimates.collect::<Option<Vec<_>>>()?;
    Some(geomean(&estimates))
}

/// All that have a cost estimate, best first.
fn order(plan: &Plan, space: &[Candidate]) -> Vec<(f64, usize)> {
    let scores = space.iter().enumerate().filter_map(|(at, c)| Some((score(plan, c)?, at)));
    let mut order: Vec<(f64, usize)> = scores.collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order
}

/// Of each shape what is best by cost estimate, whatever its hints; and the others.
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
mod tests;
