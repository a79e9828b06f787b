//! Results against f64: every element, or elements drawn at random where a whole reference would take minutes.

use std::thread;

use half::bf16;

use crate::bound::Running;
use crate::draw::Draw;

/// Fewer elements are not worth a thread.
const SHARE_MIN: usize = 32;

/// Which elements are compared.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// All.
    Every,
    /// So many, drawn from a seed. Of the others it is only seen whether they were written.
    Drawn(usize, u64),
}

/// What a comparison saw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    /// Elements there.
    pub elements: usize,
    /// Elements compared.
    pub compared: usize,
    /// Elements out of their bound, or not a number.
    pub wrong: usize,
    /// The largest error as a share of its bound.
    pub worst: f64,
}

impl Verdict {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            compared: self.compared + other.compared,
            wrong: self.wrong + other.wrong,
            worst: self.worst.max(other.worst),
        }
    }
}

/// Compares what a kernel left, poisoned with NaN before, with what it should be.
pub fn judge(found: &[bf16], which: Which, expected: impl Fn(usize) -> Running + Sync) -> Verdict {
    let places = match which {
        Which::Every => (0..found.len()).collect(),
        Which::Drawn(count, seed) => below(found.len(), count, seed),
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = places.len().div_ceil(threads).max(SHARE_MIN);
    let expected = &expected;
    let seen = thread::scope(|scope| {
        let start = |chunk| scope.spawn(move || compare(found, chunk, expected));
        let started: Vec<_> = places.chunks(share).map(start).collect();
        let joined = started.into_iter().map(|thread| thread.join().expect("comparing does not panic"));
        joined.fold(Verdict::default(), Verdict::and)
    });
    let unwritten = found.iter().filter(|value| value.is_nan()).count();
    Verdict { elements: found.len(), wrong: seen.wrong + unwritten, ..seen }
}

/// `count` numbers below `n`.
fn below(n: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut draw = Draw::new(seed);
    (0..count).map(|_| ((u128::from(draw.word()) * n as u128) >> 64) as usize).collect()
}

fn compare(found: &[bf16], places: &[usize], expected: &(impl Fn(usize) -> Running + Sync)) -> Verdict {
    let mut verdict = Verdict { compared: places.len(), ..Verdict::default() };
    for &at in places.iter().filter(|at| !found[**at].is_nan()) {
        let share = expected(at).share(found[at].to_f64());
        verdict.worst = verdict.worst.max(share);
        verdict.wrong += usize::from(share.is_nan() || share > 1.0);
    }
    verdict
}
