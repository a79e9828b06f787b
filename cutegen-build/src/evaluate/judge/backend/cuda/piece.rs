//! [`Piece`]: what the gate's kernel `cutegen_pieces` is told to do with a range of memory.

use cutegen_runtime::cuda::CUdeviceptr;

/// The kernel's name in the gate's cubin.
pub(super) const ENTRY: &str = "cutegen_pieces";
/// Threads of a block, which does one piece after another.
pub(super) const THREADS: u32 = 256;

/// What becomes of a range; numbered as `kernels.cu` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Copy = 0,
    Fill = 1,
    Guard = 2,
    Differ = 3,
    Damage = 4,
}

/// A range, and where it is copied from or compared with, the byte that fills it, or its place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) at: CUdeviceptr,
    pub(super) from: u64,
    pub(super) bytes: u64,
    /// Where its first byte stands among those of all pieces; what is compared is found by it.
    pub(super) position: u64,
}

/// The pieces as `kernels.cu` reads them.
pub(super) fn table(pieces: &[Piece]) -> Vec<u8> {
    let words = |piece: &Piece| [piece.at, piece.from, piece.bytes, piece.kind as u64, piece.position];
    pieces.iter().flat_map(words).flat_map(u64::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::{Kind, Piece, table};

    #[test]
    fn a_piece_is_five_words() {
        let piece = Piece { kind: Kind::Differ, at: 1, from: 2, bytes: 3, position: 4 };
        let words: Vec<u64> =
            table(&[piece]).chunks(8).map(|w| u64::from_le_bytes(w.try_into().expect("8"))).collect();
        assert_eq!(words, [1, 2, 3, 3, 4]);
    }
}
