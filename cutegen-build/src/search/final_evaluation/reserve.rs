//! [`Reserve`]: what is judged where every finalist has fallen, to a late check such as compute-sanitizer's. Candidates of one
//! kind differ in numbers alone. What refused one refuses the next as well, so another kind follows. Pure.

use std::collections::{BTreeSet, VecDeque};

/// How many follow at most: each costs a whole gate.
const FOLLOWERS: usize = 6;

/// What is behind the finalists, best first, each with its kind.
pub(in crate::search) struct Reserve<T> {
    waiting: VecDeque<(String, T)>,
    /// Kinds of those that fell.
    fallen: BTreeSet<String>,
    /// How many may still follow.
    left: usize,
}

impl<T> Reserve<T> {
    /// Of these, best first.
    pub(in crate::search) fn of(waiting: impl IntoIterator<Item = (String, T)>) -> Self {
        Self { waiting: waiting.into_iter().collect(), fallen: BTreeSet::new(), left: FOLLOWERS }
    }

    /// One of this kind fell.
    pub(super) fn fell(&mut self, kind: String) {
        self.fallen.insert(kind);
    }

    /// One passed, and was too slow: those that are left are slower.
    pub(super) fn close(&mut self) {
        self.waiting.clear();
    }

    /// The best of a kind of which none fell.
    pub(super) fn next(&mut self) -> Option<T> {
        let at = self.waiting.iter().position(|(kind, _)| !self.fallen.contains(kind))?;
        self.left = self.left.checked_sub(1)?;
        self.waiting.remove(at).map(|(_, next)| next)
    }
}

#[cfg(test)]
mod tests {
    use super::{FOLLOWERS, Reserve};

    fn reserve() -> Reserve<u32> {
        let ranked =
            [("ring", 1), ("apart", 2), ("ring", 3), ("registers", 4), ("registers", 5), ("split", 6)];
        Reserve::of(ranked.map(|(kind, at)| (kind.to_owned(), at)))
    }

    #[test]
    fn the_best_of_another_kind_follows() {
        let mut reserve = reserve();
        for fell in ["ring", "apart"] {
            reserve.fell(fell.to_owned());
        }
        assert_eq!(reserve.next(), Some(4));
        assert_eq!(
            reserve.next(),
            Some(5),
            "the first of them did not compile; that is nothing against its kind"
        );
        reserve.fell("registers".to_owned());
        assert_eq!(reserve.next(), Some(6));
        reserve.fell("split".to_owned());
        assert_eq!(reserve.next(), None);
    }

    #[test]
    fn behind_one_that_was_too_slow_none_follows() {
        let mut reserve = reserve();
        reserve.fell("ring".to_owned());
        reserve.close();
        assert_eq!(reserve.next(), None);
    }

    #[test]
    fn so_many_follow_and_no_more() {
        let mut reserve = Reserve::of((0..100).map(|at| (at.to_string(), at)));
        let follow = std::iter::from_fn(|| {
            let next = reserve.next()?;
            reserve.fell(next.to_string());
            Some(next)
        });
        assert_eq!(follow.collect::<Vec<_>>(), (0..100).take(FOLLOWERS).collect::<Vec<_>>());
    }
}
