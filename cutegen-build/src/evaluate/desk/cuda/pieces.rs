//! [`Pieces`]: copies, fills and comparisons of many regions in one launch. A rotation has thousands of regions, and a
//! call of the driver for each takes longer than what is timed on them.

use cutegen_runtime::cuda::CUdeviceptr;

use super::super::kernels::{Kernels, NONE, Word};
use crate::evaluate::error::Error;

/// Bytes of a piece at most.
const LARGEST: u64 = 64 << 10;
/// Threads of a block, which does one piece after another.
const THREADS: u64 = 256;

/// What becomes of a piece; numbered as `kernels.cu` has it.
#[derive(Clone, Copy)]
enum Kind {
    Copy = 0,
    Fill = 1,
    Guard = 2,
    Differ = 3,
}

/// A list of what is to be done, in no order.
#[derive(Default)]
pub(super) struct Pieces {
    words: Vec<u64>,
}

impl Pieces {
    /// Fills a range with one byte.
    pub(super) fn fill(&mut self, at: CUdeviceptr, bytes: u64, byte: u8) {
        self.add(at, bytes, Kind::Fill, &|_| byte.into());
    }

    /// Patterns a guard at this place of its arena.
    pub(super) fn guard(&mut self, at: CUdeviceptr, bytes: u64, place: u64) {
        self.add(at, bytes, Kind::Guard, &|offset| place + offset);
    }

    /// Copies a range.
    pub(super) fn copy(&mut self, at: CUdeviceptr, bytes: u64, from: CUdeviceptr) {
        self.add(at, bytes, Kind::Copy, &|offset| from + offset);
    }

    /// Notes whether two ranges differ.
    pub(super) fn differ(&mut self, at: CUdeviceptr, bytes: u64, other: CUdeviceptr) {
        self.add(at, bytes, Kind::Differ, &|offset| other + offset);
    }

    fn add(&mut self, at: CUdeviceptr, bytes: u64, kind: Kind, from: &dyn Fn(u64) -> u64) {
        for offset in (0..bytes).step_by(LARGEST as usize) {
            let length = LARGEST.min(bytes - offset);
            self.words.extend([at + offset, from(offset), length, kind as u64]);
        }
    }

    /// Does all of it, in the stream's order; whether nothing that was compared differs, which waits.
    pub(super) fn equal(self, kernels: &Kernels) -> Result<bool, Error> {
        let first = kernels.clear(&[NONE])?;
        self.launch(kernels, first)?;
        Ok(kernels.results(1)? == [NONE])
    }

    /// Does all of it, in the stream's order; nothing may be compared.
    pub(super) fn go(self, kernels: &Kernels) -> Result<(), Error> {
        self.launch(kernels, 0)
    }

    fn launch(self, kernels: &Kernels, first: CUdeviceptr) -> Result<(), Error> {
        let count = self.words.len() as u64 / 4;
        if count == 0 {
            return Ok(());
        }
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let words = [Word::Wide(kernels.table(&bytes)?), Word::Wide(count), Word::Wide(first)];
        kernels.go("cutegen_pieces", count * THREADS, &words)
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, Pieces};

    #[test]
    fn long_ranges_are_cut() {
        let mut pieces = Pieces::default();
        pieces.copy(1000, 2 * LARGEST + 5, 9000);
        pieces.fill(7, 0, 1);
        pieces.guard(0, 1, 77);
        let expected = [
            [1000, 9000, LARGEST, 0],
            [1000 + LARGEST, 9000 + LARGEST, LARGEST, 0],
            [1000 + 2 * LARGEST, 9000 + 2 * LARGEST, 5, 0],
            [0, 77, 1, 2],
        ];
        assert_eq!(pieces.words, expected.concat());
    }
}
