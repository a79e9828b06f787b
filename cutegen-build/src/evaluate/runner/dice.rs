//! [`Dice`]: numbers that nobody can foretell. What a runner draws with them decides no verdict's inputs; those are the
//! judge's.

use std::hash::{BuildHasher as _, RandomState};

use crate::evaluate::inputs::mix;

/// A stream of numbers from the system's randomness.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    /// The next number.
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }

    /// One of them.
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let at = self.roll().checked_rem(all.len() as u64)?;
        all.get(at as usize)
    }
}
