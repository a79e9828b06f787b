//! [`Point`]: one configuration of the template without tensor cores, and which there are.

use super::super::Fill;

/// Warps, what each has of a stage, ring and launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Point {
    /// Rows of y, at most.
    pub(super) rows: i64,
    /// Columns of a lane.
    pub(super) columns: i64,
    /// Lanes along columns: one where all are along k.
    pub(super) lanes: i64,
    /// Warps along columns and along k.
    pub(super) warps: [i64; 2],
    /// Pieces of a column that a thread has of a stage.
    pub(super) unroll: i64,
    /// Stages of the ring.
    pub(super) stages: i64,
    /// Blocks of a multiprocessor.
    pub(super) blocks: i64,
    /// Blocks that share the k of a tile.
    pub(super) splits: i64,
}

/// What decides how much a point takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Shape {
    /// Sums that share the rows.
    pub(in super::super) sums: i64,
    /// Bytes of an element.
    pub(in super::super) element: i64,
    /// Whether k runs through the memory of the weights, else columns.
    pub(in super::super) k_major: bool,
    /// Whether k runs through the memory of the rows, else they are read element by element.
    pub(in super::super) rows_k_major: bool,
}

/// Bytes of a copy.
pub(super) const PIECE: i64 = 16;
/// Shared memory of half a multiprocessor, without what the system takes of it.
const SMEM: i64 = 112 << 10;
/// Registers of half a multiprocessor.
const REGISTERS: i64 = 32_768;
/// Sums of a lane, at most.
const SUMS_MOST: i64 = 64;
/// Stages of a ring.
const STAGES: std::ops::RangeInclusive<i64> = 2..=12;

impl Point {
    /// `v1x8s3w1x8u1`: rows, columns of a lane, stages, warps along columns and k, pieces of a column; `l4` where four lanes
    /// are along columns, `b2` where a multiprocessor has two blocks, `k4` where four blocks share k.
    pub(in super::super) fn name(&self) -> String {
        let [along_n, along_k] = self.warps;
        let several = |letter: char, number: i64| {
            if number > 1 { format!("{letter}{number}") } else { String::new() }
        };
        let [lanes, blocks, splits] = [('l', self.lanes), ('b', self.blocks), ('k', self.splits)]
            .map(|(letter, number)| several(letter, number));
        format!(
            "v{}x{}{lanes}s{}w{along_n}x{along_k}u{}{blocks}{splits}",
            self.rows, self.columns, self.stages, self.unroll
        )
    }

    /// Threads of a block.
    pub(in super::super) fn threads(&self) -> i64 {
        32 * self.warps.iter().product::<i64>()
    }

    /// Rows, columns and terms of a tile.
    pub(in super::super) fn tile(&self, shape: Shape) -> [i64; 3] {
        let [along_n, along_k] = self.warps;
        let terms = along_k * self.unroll * 32 / self.lanes * PIECE / shape.element;
        [self.rows, along_n * self.lanes * self.columns, terms]
    }

    /// Bytes of a stage.
    pub(super) fn stage(&self, shape: Shape) -> i64 {
        PIECE * self.threads() * shape.sums * self.columns * self.unroll
    }

    /// Bytes of weights that a block has on their way.
    pub(in super::super) fn in_flight(&self, shape: Shape) -> i64 {
        self.stages * self.stage(shape)
    }

    /// Bytes of shared memory: the ring, and sums of two tiles.
    pub(in super::super) fn smem(&self, shape: Shape) -> i64 {
        let [rows, columns, _] = self.tile(shape);
        self.in_flight(shape) + 2 * 4 * shape.sums * self.warps[1] * rows * columns
    }

    /// Sums of a lane.
    fn sums(&self, shape: Shape) -> i64 {
        shape.sums * self.rows * self.columns
    }

    /// Registers of a thread, about: sums, pieces of weights and of rows, addresses.
    pub(in super::super) fn registers(&self, shape: Shape) -> i64 {
        // an element that is read alone has a register until it is packed, and its rows have addresses
        let of_rows = if shape.rows_k_major { PIECE / 4 } else { PIECE / shape.element + 2 };
        let pieces = shape.sums * self.columns * PIECE / 4 + self.rows * of_rows;
        24 + self.sums(shape) + pieces * self.unroll + 2 * self.rows
    }

    /// Bytes that threads read of a tile of k: weights from shared memory, rows by way of L1.
    pub(super) fn reads(&self, shape: Shape) -> i64 {
        self.stage(shape) + PIECE * self.threads() * self.rows * self.unroll
    }

    /// Whether it takes half a multiprocessor at most.
    fn is_legal(&self, shape: Shape) -> bool {
        self.sums(shape) <= SUMS_MOST
            && self.smem(shape) <= SMEM
            && self.registers(shape) * self.threads() <= REGISTERS
            && STAGES.contains(&self.stages)
    }
}

/// Columns of a lane, warps along columns and k, pieces of a column.
const WARPS: [(i64, [i64; 2], i64); 12] = [
    (8, [1, 8], 1),
    (8, [2, 4], 1),
    (8, [4, 1], 1),
    (4, [1, 8], 1),
    (4, [2, 4], 1),
    (4, [4, 2], 1),
    (4, [8, 1], 1),
    (4, [1, 4], 2),
    (4, [4, 4], 1),
    (2, [1, 8], 2),
    (2, [4, 2], 2),
    (2, [4, 4], 1),
];
/// Where columns run through memory: lanes along columns, warps along columns and k.
const ALONG_COLUMNS: [(i64, [i64; 2]); 6] =
    [(4, [1, 8]), (4, [2, 4]), (8, [1, 8]), (8, [2, 4]), (8, [1, 4]), (16, [1, 8])];
/// Blocks of a multiprocessor, and which part of the room a ring takes.
const RINGS: [(i64, i64); 3] = [(1, 1), (2, 1), (2, 2)];

/// Every legal point for so many rows: a deep ring in one or two blocks of a multiprocessor, and half of it in two.
pub(in super::super) fn points(rows: i64, shape: Shape) -> Vec<Point> {
    let one = Point { rows, columns: 1, lanes: 1, warps: [1, 1], unroll: 1, stages: 2, blocks: 1, splits: 1 };
    let along_k = WARPS.map(|(columns, warps, unroll)| Point { columns, warps, unroll, ..one });
    let columns = PIECE / shape.element;
    let along_columns = ALONG_COLUMNS.map(|(lanes, warps)| Point { columns, lanes, warps, ..one });
    let mut found = Vec::new();
    for point in if shape.k_major { along_k.as_slice() } else { &along_columns } {
        for (blocks, part) in RINGS {
            let of = |stages: i64| Point { stages, blocks, ..*point };
            let deepest = STAGES.rev().find(|stages| of(*stages).is_legal(shape));
            let point = deepest.map(|stages| of(stages / part)).filter(|point| point.is_legal(shape));
            found.extend(point.filter(|point| !found.contains(point)));
        }
    }
    found
}

/// Blocks that fill a card: about as many as it has multiprocessors, and a few times as many.
const BLOCKS: std::ops::RangeInclusive<i64> = 100..=640;
/// Tiles of k that a part has at least.
const TILES_LEAST: i64 = 2;

impl Point {
    /// When blocks may share its k.
    pub(super) fn fill(&self, shape: Shape) -> Fill {
        Fill { blocks: BLOCKS, terms_least: TILES_LEAST * self.tile(shape)[2] }
    }
}
