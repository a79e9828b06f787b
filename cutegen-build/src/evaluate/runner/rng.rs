//! [`Rng`]: random numbers that a candidate cannot foretell. What a runner draws with them decides no verdict's inputs; those are the
//! judge's.

use std::hash::{BuildHasher as _, RandomState};

use crate::evaluate::rng::mix;

/// A stream of numbers from the system's randomness.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }

    /// A byte that is not zero, which memory often holds anyway.
    pub(super) fn byte(&mut self) -> u8 {
        1 + (self.next() % 255) as u8
    }

    /// A round of so many, but for the first where there are others: the first is what every judged launch is like.
    pub(super) fn round(&mut self, rounds: usize) -> usize {
        self.next().checked_rem(rounds.saturating_sub(1) as u64).map_or(0, |round| 1 + round as usize)
    }

    /// One of them.
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let at = self.next().checked_rem(all.len() as u64)?;
        all.get(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn every_round_but_the_first_comes_up() {
        let mut rng = Rng::new();
        let mut rounds = |of| (0..200).map(|_| rng.round(of)).collect::<BTreeSet<usize>>();
        assert_eq!(rounds(4), BTreeSet::from([1, 2, 3]));
        assert_eq!(
            (rounds(2), rounds(1), rounds(0)),
            (BTreeSet::from([1]), BTreeSet::from([0]), BTreeSet::from([0]))
        );
    }
}
