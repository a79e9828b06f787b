//! [`Pieces`]: many ranges of memory written or compared in one launch. A rotation has thousands of them, and a call of
//! the driver for each takes longer than what is timed on them.

use cutegen_runtime::cuda::CUdeviceptr;

use super::super::kernels::{Kernels, NONE, Word};
use crate::evaluate::cuda::memory::DeviceMemory;
use crate::evaluate::error::Error;
use crate::evaluate::protocol::Region;

/// Bytes of a piece at least, where its range has as many.
const LEAST: u64 = 64 << 10;
/// Pieces that ranges are cut into at most, beside a last one of each.
const MOST: u64 = 8192;
/// Pieces start where 16 bytes can be taken at once, if their range does.
const STEP: u64 = 16;
/// Threads of a block, which does one piece after another.
const THREADS: u64 = 256;

/// What becomes of a range; numbered as `kernels.cu` has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Copy = 0,
    Fill = 1,
    Guard = 2,
    Differ = 3,
    Damage = 4,
}

/// A range, and where it is copied from or compared with, the byte that fills it, or its place in the arena.
#[derive(Clone, Copy)]
struct Range {
    kind: Kind,
    at: CUdeviceptr,
    from: u64,
    bytes: u64,
}

/// A list of what is to be done, in no order.
#[derive(Default)]
pub(super) struct Pieces {
    ranges: Vec<Range>,
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
        self.ranges.push(Range { kind, at: memory.at(region)?, from, bytes: region.bytes });
        Ok(())
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
        let bytes: Vec<u8> = pieces.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        let words = [Word::Wide(kernels.table(&bytes)?), Word::Wide(count), Word::Wide(first)];
        kernels.go("cutegen_pieces", count * THREADS, &words)
    }

    /// The ranges cut up, in the words of a `Piece` of `kernels.cu`.
    fn cut(&self) -> Vec<[u64; 5]> {
        let total: u64 = self.ranges.iter().map(|range| range.bytes).sum();
        let most = total.div_ceil(MOST).next_multiple_of(STEP).max(LEAST);
        let mut pieces = Vec::with_capacity(self.ranges.len());
        for (Range { kind, at, from, bytes }, start) in self.ranges.iter().zip(self.starts()) {
            for offset in (0..*bytes).step_by(most as usize) {
                let from = if *kind == Kind::Fill { *from } else { from + offset };
                pieces.push([at + offset, from, most.min(bytes - offset), *kind as u64, start + offset]);
            }
        }
        pieces
    }

    /// Where each range starts among the bytes of all.
    fn starts(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().scan(0, |end, range| {
            *end += range.bytes;
            Some(*end - range.bytes)
        })
    }

    fn found(&self, position: u64) -> Found {
        let starts = self.starts().take_while(|start| *start <= position);
        let (range, start) = starts.enumerate().last().unwrap_or_default();
        Found { range, byte: position - start }
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Kind, LEAST, MOST, Pieces, Range};

    fn pieces(ranges: &[(Kind, u64, u64, u64)]) -> Pieces {
        let range = |(kind, at, from, bytes): &(Kind, u64, u64, u64)| Range {
            kind: *kind,
            at: *at,
            from: *from,
            bytes: *bytes,
        };
        Pieces { ranges: ranges.iter().map(range).collect() }
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
            [1000, 9000, LEAST, 0, 0],
            [1000 + LEAST, 9000 + LEAST, LEAST, 0, LEAST],
            [1000 + 2 * LEAST, 9000 + 2 * LEAST, 5, 0, 2 * LEAST],
            [64, 200, LEAST, 1, 2 * LEAST + 5],
            [64 + LEAST, 200, 1, 1, 3 * LEAST + 5],
            [0, 77, 1, 4, 3 * LEAST + 6],
        ];
        assert_eq!(pieces.cut(), expected);
    }

    #[test]
    fn pieces_grow_with_what_there_is_and_stay_aligned() {
        let bytes = 3 * LEAST * MOST + 5;
        let cut = pieces(&[(Kind::Differ, 1 << 40, 1 << 41, bytes)]).cut();
        assert_eq!(cut.len() as u64, MOST);
        assert!(cut.iter().all(|piece| piece[0] % 16 == 0 && piece[1] % 16 == 0));
        assert_eq!(cut.iter().map(|piece| piece[2]).sum::<u64>(), bytes);
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
