//! [`Pieces`]: many ranges of memory written or compared in one launch. A rotation has thousands of them, and a call of
//! the driver for each takes longer than what is timed on them.

use cutegen_runtime::cuda::CUdeviceptr;

use super::super::kernels::{Kernels, NONE, Word};
use super::piece::{self, Kind, Piece};
use crate::evaluate::device::memory::DeviceMemory;
use crate::evaluate::error::Error;
use crate::evaluate::wire::protocol::Region;

/// Bytes of a piece at least, where its range has as many.
const LEAST: u64 = 64 << 10;
/// Pieces that ranges are cut into at most, beside a last one of each.
const MOST: u64 = 8192;
/// Pieces start where 16 bytes can be taken at once, if their range does.
const STEP: u64 = 16;

/// A list of what is to be done, in no order.
#[derive(Default)]
pub(super) struct Pieces {
    /// Whole, each where the one before it ends.
    ranges: Vec<Piece>,
}

/// A byte that is not as it must be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Which of the list's ranges has it, from 0.
    pub(super) range: usize,
    /// Where in that range.
    pub(super) byte: u64,
}

impl Pieces {
    /// Fills a region with one byte.
    pub(super) fn fill(&mut self, memory: &DeviceMemory, region: Region, byte: u8) -> Result<(), Error> {
        self.add(Kind::Fill, (memory, region), byte.into())
    }

    /// Patterns a guard of the arena.
    pub(super) fn guard(&mut self, arena: &DeviceMemory, guard: Region) -> Result<(), Error> {
        self.add(Kind::Guard, (arena, guard), guard.offset)
    }

    /// Looks for damage in a guard of the arena.
    pub(super) fn damage(&mut self, arena: &DeviceMemory, guard: Region) -> Result<(), Error> {
        self.add(Kind::Damage, (arena, guard), guard.offset)
    }

    /// Copies into a region what lies at `offset` of other memory.
    pub(super) fn copy(
        &mut self,
        to: &DeviceMemory,
        region: Region,
        from: &DeviceMemory,
        offset: u64,
    ) -> Result<(), Error> {
        self.add(Kind::Copy, (to, region), from.at(Region { offset, bytes: region.bytes })?)
    }

    /// Compares a region with what lies at `offset` of other memory.
    pub(super) fn differ(
        &mut self,
        memory: &DeviceMemory,
        region: Region,
        other: &DeviceMemory,
        offset: u64,
    ) -> Result<(), Error> {
        self.add(Kind::Differ, (memory, region), other.at(Region { offset, bytes: region.bytes })?)
    }

    fn add(&mut self, kind: Kind, (memory, region): (&DeviceMemory, Region), from: u64) -> Result<(), Error> {
        self.push(kind, memory.at(region)?, from, region.bytes);
        Ok(())
    }

    fn push(&mut self, kind: Kind, at: CUdeviceptr, from: u64, bytes: u64) {
        let position = self.ranges.last().map_or(0, |last| last.position + last.bytes);
        self.ranges.push(Piece { kind, at, from, bytes, position });
    }

    /// Does all of it, in the stream's order; nothing may be compared.
    pub(super) fn go(self, kernels: &Kernels) -> Result<(), Error> {
        self.launch(kernels, 0)
    }

    /// Does all of it, in the stream's order, and waits: the first byte of the first compared range that is not as it
    /// must be.
    pub(super) fn first(self, kernels: &Kernels) -> Result<Option<Found>, Error> {
        self.launch(kernels, kernels.clear(&[NONE])?)?;
        Ok(kernels.first()?.map(|position| self.found(position)))
    }

    fn launch(&self, kernels: &Kernels, first: CUdeviceptr) -> Result<(), Error> {
        let pieces = self.cut();
        if pieces.is_empty() {
            return Ok(());
        }
        let count = pieces.len() as u64;
        let words =
            [Word::Wide(kernels.table(&piece::table(&pieces))?), Word::Wide(count), Word::Wide(first)];
        kernels.go(piece::ENTRY, count * u64::from(piece::THREADS), &words)
    }

    /// The ranges cut up.
    fn cut(&self) -> Vec<Piece> {
        let total: u64 = self.ranges.iter().map(|range| range.bytes).sum();
        let most = total.div_ceil(MOST).next_multiple_of(STEP).max(LEAST);
        let mut pieces = Vec::with_capacity(self.ranges.len());
        for range in &self.ranges {
            for offset in (0..range.bytes).step_by(most as usize) {
                pieces.push(Piece {
                    kind: range.kind,
                    at: range.at + offset,
                    from: if range.kind == Kind::Fill { range.from } else { range.from + offset },
                    bytes: most.min(range.bytes - offset),
                    position: range.position + offset,
                });
            }
        }
        pieces
    }

    /// The range that has this position: the last of those that start there, as one without bytes has none.
    fn found(&self, position: u64) -> Found {
        let range = self.ranges.partition_point(|range| range.position <= position).saturating_sub(1);
        Found { range, byte: position - self.ranges[range].position }
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Kind, LEAST, MOST, Piece, Pieces};

    fn pieces(ranges: &[(Kind, u64, u64, u64)]) -> Pieces {
        let mut pieces = Pieces::default();
        ranges.iter().for_each(|(kind, at, from, bytes)| pieces.push(*kind, *at, *from, *bytes));
        pieces
    }

    #[test]
    fn long_ranges_are_cut() {
        let pieces = pieces(&[
            (Kind::Copy, 1000, 9000, 2 * LEAST + 5),
            (Kind::Fill, 7, 1, 0),
            (Kind::Fill, 64, 200, LEAST + 1),
            (Kind::Damage, 0, 77, 1),
        ]);
        let expected = [
            (Kind::Copy, [1000, 9000, LEAST, 0]),
            (Kind::Copy, [1000 + LEAST, 9000 + LEAST, LEAST, LEAST]),
            (Kind::Copy, [1000 + 2 * LEAST, 9000 + 2 * LEAST, 5, 2 * LEAST]),
            (Kind::Fill, [64, 200, LEAST, 2 * LEAST + 5]),
            (Kind::Fill, [64 + LEAST, 200, 1, 3 * LEAST + 5]),
            (Kind::Damage, [0, 77, 1, 3 * LEAST + 6]),
        ]
        .map(|(kind, [at, from, bytes, position])| Piece { kind, at, from, bytes, position });
        assert_eq!(pieces.cut(), expected);
    }

    #[test]
    fn pieces_grow_with_what_there_is_and_stay_aligned() {
        let bytes = 3 * LEAST * MOST + 5;
        let cut = pieces(&[(Kind::Differ, 1 << 40, 1 << 41, bytes)]).cut();
        assert_eq!(cut.len() as u64, MOST);
        assert!(cut.iter().all(|piece| piece.at % 16 == 0 && piece.from % 16 == 0));
        assert_eq!(cut.iter().map(|piece| piece.bytes).sum::<u64>(), bytes);
    }

    #[test]
    fn a_position_is_of_one_range() {
        let pieces = pieces(&[
            (Kind::Damage, 0, 0, 10),
            (Kind::Damage, 0, 0, 0),
            (Kind::Differ, 0, 0, LEAST + 1),
            (Kind::Differ, 0, 0, 3),
        ]);
        let found = |position| {
            let Found { range, byte } = pieces.found(position);
            (range, byte)
        };
        assert_eq!([found(0), found(9)], [(0, 0), (0, 9)]);
        assert_eq!([found(10), found(10 + LEAST)], [(2, 0), (2, LEAST)]);
        assert_eq!([found(11 + LEAST), found(13 + LEAST)], [(3, 0), (3, 2)]);
    }
}
