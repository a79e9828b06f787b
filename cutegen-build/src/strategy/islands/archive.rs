//! [`Archive`]: the best right kernel of each cell, whichever island it is of. Knows scores and no log.

use std::collections::BTreeMap;

use super::cell::Cell;
use crate::run_log::Sequence;

/// The best of each cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Archive(BTreeMap<Cell, (Sequence, f64)>);

impl Archive {
    /// Takes a kernel in, where it is the first of its cell or beats the one there.
    fn add(&mut self, kernel: Sequence, cell: Cell, score: f64) {
        let is_best = self.0.get(&cell).is_none_or(|(_, there)| score > *there);
        if is_best {
            self.0.insert(cell, (kernel, score));
        }
    }

    /// Of these kernels.
    pub(super) fn of(kernels: impl Iterator<Item = (Sequence, Cell, f64)>) -> Self {
        let mut archive = Self::default();
        kernels.for_each(|(kernel, cell, score)| archive.add(kernel, cell, score));
        archive
    }

    /// The kernel of the highest score.
    pub(super) fn first(&self) -> Option<Sequence> {
        let all = self.0.values().copied().reduce(|best, other| if other.1 > best.1 { other } else { best });
        all.map(|(kernel, _)| kernel)
    }

    /// Kernels to show beside a parent: the best of all, then up to `others` from cells that are neither's, the better first.
    pub(super) fn beside(
        &self,
        (parent, cell): (Sequence, Cell),
        best: Option<(Sequence, Cell)>,
        others: usize,
    ) -> Vec<Sequence> {
        let is_other = |there: &Cell| *there != cell && best.is_none_or(|(_, of_best)| *there != of_best);
        let mut rest: Vec<(Sequence, f64)> =
            self.0.iter().filter(|(there, _)| is_other(there)).map(|(_, entry)| *entry).collect();
        rest.sort_by(|a, b| b.1.total_cmp(&a.1));
        let best = best.map(|(best, _)| best).filter(|best| *best != parent);
        best.into_iter().chain(rest.into_iter().take(others).map(|(kernel, _)| kernel)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Archive, Cell};

    fn cell(memory: u8) -> Cell {
        Cell { memory, compute: 0, parallelism: 0 }
    }

    fn archive() -> Archive {
        let kernels = [(2, 0, 1.0), (5, 1, 1.5), (9, 2, 1.2), (12, 3, 1.1), (15, 1, 1.4)];
        Archive::of(kernels.into_iter().map(|(kernel, memory, score)| (kernel, cell(memory), score)))
    }

    #[test]
    fn a_cell_keeps_its_best() {
        let mut archive = archive();
        assert_eq!((archive.0.len(), archive.first()), (4, Some(5)), "15 is slower than 5");
        archive.add(20, cell(1), 1.6);
        assert_eq!((archive.0.len(), archive.first()), (4, Some(20)));
        assert_eq!(Archive::default().first(), None);
    }

    #[test]
    fn beside_a_parent_stand_the_best_and_two_of_other_cells() {
        let archive = archive();
        assert_eq!(archive.beside((12, cell(3)), Some((5, cell(1))), 2), [5, 9, 2]);
        assert_eq!(
            archive.beside((5, cell(1)), Some((5, cell(1))), 2),
            [9, 12],
            "the best is not shown beside itself"
        );
        assert_eq!(
            archive.beside((15, cell(1)), Some((5, cell(1))), 2),
            [5, 9, 12],
            "a weaker one of the best one's cell"
        );
        assert_eq!(archive.beside((12, cell(3)), Some((5, cell(1))), 0), [5]);
        assert!(Archive::default().beside((12, cell(3)), None, 2).is_empty());
    }
}
