//! What block times say: ratios of neighbouring blocks, their median, and how far it can be trusted. Pure.

use std::collections::BTreeMap;

use crate::evaluate::rng::Random;
use crate::outcome::Comparison;

/// Position of the candidate among a comparison's programs.
pub const CANDIDATE: usize = 0;

/// Position of the incumbent.
pub const INCUMBENT: usize = 1;

const RESAMPLES: usize = 2000;

/// Which program each block times: `rounds` rounds, made even, in which each of `programs` has its turn, every second one
/// the one before in reverse, so that a drift of the machine's speed takes from all alike. Two programs come as ABBA or
/// BAAB, as the seed has it.
#[must_use]
pub fn interleave(programs: usize, rounds: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed, 0, 0);
    let mut order = Vec::with_capacity(programs * rounds.next_multiple_of(2));
    for _ in 0..rounds.div_ceil(2) {
        let mut turns: Vec<usize> = (0..programs).collect();
        // Fisher and Yates
        for last in (1..programs).rev() {
            turns.swap(last, (random.next() % (last as u64 + 1)) as usize);
        }
        order.extend(turns.iter().chain(turns.iter().rev()));
    }
    order
}

/// Reads the block times of two [`interleave`]d programs; `None` when they do not form pairs.
#[must_use]
pub fn compare(order: &[usize], launches: u32, block_ns: &[u64], seed: u64) -> Option<Comparison> {
    if order.len() != block_ns.len() || order.is_empty() || launches == 0 {
        return None;
    }
    let blocks: Vec<(usize, f64)> = order.iter().copied().zip(block_ns.iter().map(|ns| *ns as f64)).collect();
    let ratios = blocks.chunks(2).map(log_ratio).collect::<Option<Vec<f64>>>()?;
    let (low, high) = interval(&ratios, seed)?;
    let micros = |program: usize| {
        let times = blocks.iter().filter(|(p, _)| *p == program).map(|(_, ns)| *ns).collect();
        Some(median(times)? / f64::from(launches) / 1e3)
    };
    Some(Comparison {
        candidate_us: micros(CANDIDATE)?,
        incumbent_us: micros(INCUMBENT)?,
        speedup: median(ratios.clone())?.exp(),
        low: low.exp(),
        high: high.exp(),
        samples: u32::try_from(ratios.len()).ok()?,
        pairs: blocks.chunks(2).map(|pair| both(pair, launches)).collect::<Option<_>>()?,
    })
}

/// Reads the block times of [`interleave`]d programs: each but the last against the last, round by round; `None` when they
/// do not form rounds.
#[must_use]
pub fn rankings(
    programs: usize,
    order: &[usize],
    launches: u32,
    block_ns: &[u64],
    seed: u64,
) -> Option<Vec<Comparison>> {
    let last = programs.checked_sub(1)?;
    if order.len() != block_ns.len() || !order.len().is_multiple_of(programs) {
        return None;
    }
    let rounds: Vec<BTreeMap<usize, u64>> = order
        .chunks(programs)
        .zip(block_ns.chunks(programs))
        .map(|(turns, ns)| turns.iter().copied().zip(ns.iter().copied()).collect())
        .collect();
    let pairs = [CANDIDATE, INCUMBENT].repeat(rounds.len());
    let against_last = |program: usize| {
        let both = |round: &BTreeMap<usize, u64>| Some([*round.get(&program)?, *round.get(&last)?]);
        let ns = rounds.iter().map(both).collect::<Option<Vec<_>>>()?.concat();
        compare(&pairs, launches, &ns, seed)
    };
    (0..last).map(against_last).collect()
}

/// The middle of `values`; `None` when there are none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

fn log_ratio(pair: &[(usize, f64)]) -> Option<f64> {
    let [candidate, incumbent] = both(pair, 1)?;
    Some((incumbent / candidate).ln())
}

/// Microseconds a launch of the candidate and of the incumbent in a pair of blocks of so many launches.
fn both(pair: &[(usize, f64)], launches: u32) -> Option<[f64; 2]> {
    let time = |program: usize| pair.iter().find(|(p, ns)| *p == program && *ns > 0.0).map(|(_, ns)| *ns);
    let micros = |program| Some(time(program)? / f64::from(launches) / 1e3);
    Some([micros(CANDIDATE)?, micros(INCUMBENT)?])
}

/// The central 95 % of the medians of seeded resamples.
fn interval(ratios: &[f64], seed: u64) -> Option<(f64, f64)> {
    let mut random = Random::new(seed, 1, 0);
    let mut resample = || {
        let pick = |_: &f64| ratios[(random.next() % ratios.len() as u64) as usize];
        median(ratios.iter().map(pick).collect())
    };
    let mut medians = (0..RESAMPLES).map(|_| resample()).collect::<Option<Vec<f64>>>()?;
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians.get((share * (RESAMPLES - 1) as f64).round() as usize).copied();
    Some((at(0.025)?, at(0.975)?))
}

#[cfg(test)]
mod tests {
    use super::{CANDIDATE, INCUMBENT, compare, interleave, median, rankings};

    /// Block times of a machine that slows down steadily, with the noise of `jitter` and one outlier.
    fn recorded(order: &[usize], candidate: f64, jitter: u64) -> Vec<u64> {
        let block = |(i, program): (usize, &usize)| {
            let base = if *program == CANDIDATE { candidate } else { 1.0 };
            let drift = 1.0 + 0.01 * i as f64;
            let noise = 1.0 + ((i as u64 * 7919 % 101) as f64 / 100.0 - 0.5) * jitter as f64 / 100.0;
            let outlier = if i == 9 { 5.0 } else { 1.0 };
            (300_000.0 * base * drift * noise * outlier) as u64
        };
        order.iter().enumerate().map(block).collect()
    }

    #[test]
    fn drift_and_outliers_do_not_make_a_winner() {
        let order = interleave(2, 30, 5);
        let times = recorded(&order, 1.0, 2);
        let aa = compare(&order, 10, &times, 5).expect("pairs");
        assert!(aa.low <= 1.0 && 1.0 <= aa.high && (aa.speedup - 1.0).abs() < 0.01, "{aa:?}");
        assert_eq!(aa.samples, 30);
        let own = |program| {
            order
                .iter()
                .zip(&times)
                .filter(move |(p, _)| **p == program)
                .map(|(_, ns)| *ns as f64 / 10.0 / 1e3)
        };
        assert!(
            aa.pairs.iter().map(|[ours, _]| *ours).eq(own(CANDIDATE)),
            "10 launches a block, microseconds"
        );
        assert!(aa.pairs.iter().map(|[_, theirs]| *theirs).eq(own(INCUMBENT)));
        assert_eq!(compare(&order, 10, &times, 5), Some(aa), "the interval is seeded");
    }

    #[test]
    fn a_planted_difference_is_found() {
        let order = interleave(2, 30, 6);
        for (candidate, found) in [(0.8, 1.25), (1.25, 0.8), (0.95, 1.0526)] {
            let c = compare(&order, 10, &recorded(&order, candidate, 2), 6).expect("pairs");
            assert!((c.speedup / found - 1.0).abs() < 0.02 && (c.low > 1.0) == (found > 1.0), "{c:?}");
            assert!((c.candidate_us / c.incumbent_us / candidate - 1.0).abs() < 0.05, "{c:?}");
        }
    }

    #[test]
    fn a_batch_is_ranked_as_its_programs_run() {
        let order = interleave(5, 8, 3);
        assert_eq!(order.len(), 40);
        for round in order.chunks(5) {
            let mut each = round.to_vec();
            each.sort_unstable();
            assert_eq!(each, [0, 1, 2, 3, 4], "each has its turn");
        }
        assert!(order[..5].iter().eq(order[5..10].iter().rev()), "and back");
        assert_ne!(order[..5], order[10..15], "in another order the next time");
        let slower = [1.25, 0.5, 1.0, 2.0, 1.0];
        let block = |(i, p): (usize, &usize)| (1e6 * slower[*p] * (1.0 + 0.002 * i as f64)) as u64;
        let ns: Vec<u64> = order.iter().enumerate().map(block).collect();
        let found = rankings(5, &order, 10, &ns, 3).expect("rounds");
        for (comparison, slower) in found.iter().zip(&slower[..4]) {
            assert!((comparison.speedup * slower - 1.0).abs() < 0.01, "{comparison:?} {slower}");
            assert_eq!(comparison.samples, 8);
        }
        assert_eq!(rankings(5, &order[1..], 10, &ns[1..], 3), None);
        assert_eq!(rankings(4, &order, 10, &ns, 3), None, "a round names no program twice");
        assert_eq!(rankings(1, &[0, 0], 1, &[1, 1], 0), Some(Vec::new()));
    }

    #[test]
    fn refuses_what_forms_no_pairs() {
        assert_eq!(compare(&[0, 1], 1, &[1], 0), None);
        assert_eq!(compare(&[0, 0], 1, &[1, 1], 0), None);
        assert_eq!(compare(&[0, 1], 1, &[0, 1], 0), None);
        assert_eq!(median(Vec::new()), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0, 9.0]), Some(2.5));
    }
}
