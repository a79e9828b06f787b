//! [`Point`]: one configuration of the mma.sync template, and which there are.

use super::super::Fill;

/// Tile, ring and warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Point {
    /// Whether the columns of y have the 16 rows of the instruction.
    pub(in super::super) swap: bool,
    /// Rows, columns and terms of a tile.
    pub(super) tile: [i64; 3],
    /// Tiles of k in shared memory at once.
    pub(super) stages: i64,
    /// Warps along the 16 and the 8 of the instruction, and along k.
    pub(super) warps: [i64; 3],
    /// Blocks that share the k of a tile.
    pub(super) splits: i64,
}

/// Registers of a thread by the estimate, above which ptxas 13.0 spills some: at 248 with a long rest, at 252 with none.
pub(super) const REGISTERS_OF_THREAD: i64 = 247;
/// Registers of a multiprocessor.
const REGISTERS: i64 = 65_536;
/// Shared memory of a block on every card since Ampere, and on those with most.
const SMEM: [i64; 2] = [99 << 10, 163 << 10];

impl Point {
    /// `t128x64x64s4w2x2x1`: tile, stages, warps; `x` for `t` where columns of y have the 16 rows of the instruction, `k4`
    /// where four blocks share k.
    pub(in super::super) fn name(&self) -> String {
        let ([bm, bn, bk], [wr, wc, wk]) = (self.tile, self.warps);
        let splits = if self.splits > 1 { format!("k{}", self.splits) } else { String::new() };
        format!("{}{bm}x{bn}x{bk}s{}w{wr}x{wc}x{wk}{splits}", if self.swap { "x" } else { "t" }, self.stages)
    }

    /// Threads of a block.
    pub(in super::super) fn threads(&self) -> i64 {
        32 * self.warps.iter().product::<i64>()
    }

    /// Instructions of a warp along either side and along k.
    fn instructions(&self) -> [i64; 3] {
        let [bm, bn, bk] = self.tile;
        let (r, c) = if self.swap { (bn, bm) } else { (bm, bn) };
        [r / self.warps[0] / 16, c / self.warps[1] / 8, bk / self.warps[2] / 16]
    }

    /// Bytes of the ring.
    fn ring(&self, products: i64) -> i64 {
        let [bm, bn, bk] = self.tile;
        (bm + products * bn) * bk * super::ELEMENT * self.stages
    }

    /// Bytes that one pass of the epilogue takes at least.
    fn pass(&self, products: i64) -> i64 {
        let (rows, pad) = if self.swap { (8 * self.warps[1], 4) } else { (16 * self.warps[0], 8) };
        products * self.warps[2] * rows * (self.tile[1] + pad) * 4
    }

    /// Bytes of shared memory.
    pub(in super::super) fn smem(&self, products: i64) -> i64 {
        self.ring(products).max(self.pass(products))
    }

    /// Registers of a thread, about: accumulators, two steps of fragments, copies and addresses.
    pub(super) fn registers(&self, products: i64) -> i64 {
        let [i, j, _] = self.instructions();
        let (r, c) = if self.swap { (products * i, j) } else { (i, products * j) };
        48 + products * i * j * 4 + 2 * (r * 4 + c * 2) + self.copies(products)
    }

    /// Registers where copies of both sides pass through them, four a piece.
    pub(super) fn staged_registers(&self, products: i64) -> i64 {
        self.registers(products) + 4 * self.copies(products)
    }

    /// Pieces of 16 bytes that a thread copies of a stage.
    pub(super) fn copies(&self, products: i64) -> i64 {
        self.ring(products) / self.stages / 16 / self.threads()
    }

    /// Bytes that the warps of a block read of a tile of k.
    pub(super) fn smem_reads(&self, products: i64) -> i64 {
        let [i, j, k] = self.instructions();
        let (r, c) = if self.swap { (products * i, j) } else { (i, products * j) };
        self.warps.iter().product::<i64>() * k * (r * 512 + c * 256)
    }

    /// Whether it is legal with so many products, on cards with no more shared memory than this.
    fn is_legal(&self, products: i64, most: i64) -> bool {
        let [bm, bn, bk] = self.tile;
        let [i, j, k] = self.instructions();
        let (r, c) = if self.swap { (bn, bm) } else { (bm, bn) };
        let whole = [i * self.warps[0] * 16, j * self.warps[1] * 8, k * self.warps[2] * 16] == [r, c, bk];
        let registers = self.registers(products);
        whole
            && self.smem(products) <= most
            && registers <= REGISTERS_OF_THREAD
            && registers * self.threads() <= REGISTERS
            && (3..=8).contains(&self.stages)
    }
}

/// Tiles, warps for few rows, where weights have the 16 rows of the instruction: rows, columns, terms; warps.
const FEW: [([i64; 3], [i64; 3]); 20] = [
    ([8, 16, 256], [1, 1, 4]),
    ([8, 32, 256], [1, 1, 4]),
    ([8, 32, 256], [2, 1, 4]),
    ([8, 64, 128], [1, 1, 4]),
    ([8, 64, 128], [2, 1, 2]),
    ([8, 64, 128], [4, 1, 1]),
    ([16, 16, 256], [1, 1, 4]),
    ([16, 32, 256], [1, 1, 4]),
    ([16, 32, 256], [2, 1, 4]),
    ([16, 64, 128], [2, 1, 2]),
    ([16, 64, 128], [4, 1, 1]),
    ([32, 32, 128], [1, 1, 4]),
    ([32, 64, 128], [2, 1, 2]),
    ([32, 64, 64], [4, 1, 1]),
    ([32, 128, 64], [4, 1, 1]),
    ([64, 32, 128], [2, 1, 2]),
    ([64, 64, 64], [2, 2, 1]),
    ([64, 64, 64], [4, 1, 1]),
    ([64, 128, 64], [4, 2, 1]),
    ([64, 128, 64], [4, 1, 1]),
];
/// The same for many, where rows of y have the 16 rows of the instruction.
const MANY: [([i64; 3], [i64; 3]); 12] = [
    ([64, 64, 64], [2, 2, 1]),
    ([64, 128, 64], [2, 2, 1]),
    ([128, 64, 64], [2, 2, 1]),
    ([128, 64, 64], [4, 2, 1]),
    ([128, 128, 32], [2, 2, 1]),
    ([128, 128, 64], [2, 2, 1]),
    ([128, 128, 64], [2, 4, 1]),
    ([128, 256, 32], [2, 4, 1]),
    ([256, 128, 32], [4, 2, 1]),
    ([128, 192, 32], [2, 4, 1]),
    ([128, 256, 64], [2, 4, 1]),
    ([256, 128, 64], [4, 2, 1]),
];

/// Every legal point with so many products, of `shared` bytes a block at most: as deep a ring as fits, and one of half its depth for more blocks of a multiprocessor.
pub(in super::super) fn points(products: i64, shared: i64) -> Vec<Point> {
    let tiles = FEW.iter().map(|tile| (true, tile)).chain(MANY.iter().map(|tile| (false, tile)));
    let mut found = Vec::new();
    for (swap, &(tile, warps)) in tiles {
        for most in SMEM.into_iter().filter(|most| *most <= shared) {
            for stages in
                depths(|stages| Point { swap, tile, stages, warps, splits: 1 }.is_legal(products, most))
            {
                let point = Point { swap, tile, stages, warps, splits: 1 };
                if !found.contains(&point) {
                    found.push(point);
                }
            }
        }
    }
    found
}

/// The deepest legal ring, and the next that two blocks share a multiprocessor with.
fn depths(is_legal: impl Fn(i64) -> bool) -> Vec<i64> {
    let Some(deepest) = (3..=8).rev().find(|stages| is_legal(*stages)) else { return Vec::new() };
    if deepest >= 6 { vec![deepest, deepest - 2, deepest / 2] } else { vec![deepest, 3] }
}

/// Blocks that fill a card: about as many as it has multiprocessors, and a few times as many.
const BLOCKS: std::ops::RangeInclusive<i64> = 100..=640;
/// Tiles of k that a part has at least.
const TILES_LEAST: i64 = 4;

impl Point {
    /// When blocks may share its k: with few rows, and a ring that is soon full.
    pub(super) fn fill(&self) -> Option<Fill> {
        let is_deep = self.swap && self.stages <= 6;
        is_deep.then_some(Fill { blocks: BLOCKS, terms_least: TILES_LEAST * self.tile[2] })
    }
}
