//! Which subjects a test takes: all of them, or with `CUTEGEN_SAMPLE=N` one in N, at least one. `CUTEGEN_SAMPLE_SEED`, which
//! CI sets to the commit, decides which. `.ci/full` takes all.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Whether all are taken.
pub(crate) fn is_whole() -> bool {
    rate() == 1
}

/// The subjects to take, in their order. They differ by their names.
pub(crate) fn of<T>(subjects: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
    let (all, seed) = (subjects.len(), std::env::var("CUTEGEN_SAMPLE_SEED").unwrap_or_default());
    let mut ranked: Vec<(u64, usize, T)> = subjects
        .into_iter()
        .enumerate()
        .map(|(at, subject)| (rank(&seed, &name(&subject)), at, subject))
        .collect();
    ranked.sort_by_key(|(rank, at, _)| (*rank, *at));
    ranked.truncate(all.div_ceil(rate()));
    ranked.sort_by_key(|(_, at, _)| *at);
    if !is_whole() {
        println!("  a sample: {} of {all}, by {seed}", ranked.len());
    }
    ranked.into_iter().map(|(_, _, subject)| subject).collect()
}

fn rate() -> usize {
    let given = std::env::var("CUTEGEN_SAMPLE").ok();
    given.map_or(1, |rate| {
        rate.parse().ok().filter(|rate| *rate > 0).expect("CUTEGEN_SAMPLE is a number of 1 and more")
    })
}

fn rank(seed: &str, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, name).hash(&mut hasher);
    hasher.finish()
}
