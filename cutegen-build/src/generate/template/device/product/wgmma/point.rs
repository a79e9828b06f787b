//! [`Point`]: one configuration of the wgmma template, and which there are.

use super::super::Fill;
use crate::generate::template::device::lanes::gcd;

/// Who computes a tile of y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    /// Warpgroups of a block share it.
    Cooperative,
    /// Two warpgroups take turns, and the epilogue of one runs beside the main loop of the other.
    PingPong,
}

/// What the blocks of a cluster share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cluster {
    /// One block.
    None,
    /// Two tiles of rows and their columns.
    Columns,
    /// Two tiles of columns and their rows.
    Rows,
    /// So many parts of the k of one tile.
    Terms(i64),
}

/// Blocks that share the k of tiles through the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// None.
    Whole,
    /// So many of each tile.
    Parts(i64),
    /// As many as run at once: each has as much of the k of all tiles (stream-K).
    StreamK,
}

/// Tile, warpgroups and cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Whether columns of y are on the 64-row side of the instruction.
    pub(super) swap: bool,
    pub(super) schedule: Schedule,
    /// Of a tile: the 64-row side, and the other.
    pub(super) sides: [i64; 2],
    /// Warpgroups that multiply.
    pub(super) consumers: i64,
    pub(super) cluster: Cluster,
    /// Blocks of a multiprocessor.
    pub(super) blocks: i64,
    pub(super) split: Split,
}

/// How y is stored: by TMA after a cast, or with math.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Sums that share a factor.
    pub(super) sums: i64,
    /// Whether results are a cast of the sum, which TMA stores.
    pub(super) cast: bool,
    /// Whether factors are planes, whose sums are promoted to accumulators of their own.
    pub(super) planes: bool,
    /// Whether k runs through memory, of either factor.
    pub(super) k_major: [bool; 2],
    /// Whether each batch has columns of its own.
    pub(super) batched_columns: bool,
}

/// What is in shared memory at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    /// Tiles of k.
    pub(super) stages: i64,
    /// Boxes of y of a warpgroup: the next is written while one is stored.
    pub(super) boxes: i64,
}

/// Terms of a tile.
pub(super) const BK: i64 = 64;
/// Bytes of an element.
const ELEMENT: i64 = 2;
/// Shared memory of a block: all of it, and half of a multiprocessor's.
const SMEM: [i64; 2] = [227 << 10, 113 << 10];
/// Stages of a ring, at most.
const STAGES: std::ops::RangeInclusive<i64> = 3..=12;

impl Point {
    /// `g128x256s4`: tile and stages; `p` for `g` in ping-pong, `x` where columns of y have the 64 rows of the
    /// instruction; `w3` warpgroups, `z4` blocks of a cluster that share k, `k` blocks that share it through the workspace, `e`
    /// for stream-K, `h` for half a multiprocessor.
    pub(super) fn name(&self, shape: Shape) -> String {
        let letter = match (self.swap, self.schedule) {
            (true, _) => "x",
            (false, Schedule::PingPong) => "p",
            (false, Schedule::Cooperative) => "g",
        };
        let [bm, bn] = self.sides;
        let cluster = match self.cluster {
            Cluster::Terms(parts) => format!("z{parts}"),
            Cluster::None | Cluster::Columns | Cluster::Rows => String::new(),
        };
        let half = if self.blocks > 1 { "h" } else { "" };
        let splits = match self.split {
            Split::Whole => "",
            Split::Parts(_) => "k",
            Split::StreamK => "e",
        };
        format!(
            "{letter}{bm}x{bn}s{}w{}{cluster}{splits}{half}",
            self.ring(shape).map_or(0, |ring| ring.stages),
            self.consumers
        )
    }

    /// Rows and columns of a tile of y.
    pub(super) fn tile(&self) -> [i64; 2] {
        let [left, right] = self.sides;
        if self.swap { [right, left] } else { [left, right] }
    }

    /// Rows and columns of y of what a cluster computes.
    pub(super) fn cluster_tile(&self) -> [i64; 2] {
        let [rows, columns] = self.tile();
        match self.cluster {
            Cluster::Columns => [2 * rows, columns],
            Cluster::Rows => [rows, 2 * columns],
            Cluster::None | Cluster::Terms(_) => [rows, columns],
        }
    }

    /// Blocks whose tiles of y are neighbours.
    pub(super) fn neighbours(&self) -> i64 {
        if matches!(self.cluster, Cluster::Columns | Cluster::Rows) { 2 } else { 1 }
    }

    /// Blocks of each tile that share its k through the workspace, as an argument.
    pub(super) fn splits(&self) -> i64 {
        if let Split::Parts(parts) = self.split { parts } else { 1 }
    }

    /// Blocks of a cluster that share k.
    pub(super) fn parts(&self) -> i64 {
        if let Cluster::Terms(parts) = self.cluster { parts } else { 1 }
    }

    /// Rows of A and of B that a block loads of a tile.
    pub(super) fn loaded(&self) -> [i64; 2] {
        let [rows, columns] = self.tile();
        match self.cluster {
            Cluster::Columns => [rows, columns / 2],
            Cluster::Rows => [rows / 2, columns],
            Cluster::None | Cluster::Terms(_) => [rows, columns],
        }
    }

    /// Whether registers move from the producer to those that multiply.
    pub(super) fn is_specialised(&self) -> bool {
        !self.swap && self.consumers > 1
    }

    /// Registers of a thread that produces, and of one that multiplies.
    pub(super) fn moved_registers(&self, shape: Shape) -> [i64; 2] {
        match (self.is_specialised(), self.consumers) {
            (false, _) => [0, 0],
            (true, 3) => [32, 160],
            (true, _) if self.accumulators(shape) > 176 => [24, 240],
            (true, _) => [40, 232],
        }
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> i64 {
        128 * self.consumers + if self.is_specialised() { 128 } else { 32 }
    }

    /// Threads of a tile.
    fn tile_threads(&self) -> i64 {
        if self.schedule == Schedule::PingPong { 128 } else { 128 * self.consumers }
    }

    /// Accumulators of a thread, with promoted ones.
    fn accumulators(&self, shape: Shape) -> i64 {
        let sums = if shape.planes { 2 * shape.sums } else { shape.sums };
        self.sides[0] * self.sides[1] * sums / self.tile_threads()
    }

    /// Whether one instruction multiplies both right operands of a pair.
    pub(super) fn is_joint(&self, shape: Shape) -> bool {
        shape.sums == 2 && !self.swap && 2 * self.sides[1] <= 256
    }

    /// Registers of a thread, about.
    pub(super) fn registers(&self, shape: Shape) -> i64 {
        if self.is_specialised() { 168 } else { self.accumulators(shape) + 40 }
    }

    /// Bytes of a stage.
    fn stage(&self, shape: Shape) -> i64 {
        let [left, right] = self.sides;
        let (lefts, rights) = if self.swap { (shape.sums, 1) } else { (1, shape.sums) };
        BK * ELEMENT * (lefts * left + rights * right)
    }

    /// Columns and rows of a box of y.
    pub(super) fn y_box(&self) -> [i64; 2] {
        let right = self.sides[1];
        if self.swap { [BK, right] } else { [gcd(right, 64), 64] }
    }

    /// Bytes of shared memory with so many stages and boxes of y: the order and alignment of `struct Shared`.
    fn bytes(&self, shape: Shape, ring: Ring) -> i64 {
        let [wide, high] = self.y_box();
        let finish = if shape.cast {
            self.consumers * ring.boxes * wide * high * ELEMENT
        } else {
            self.consumers * shape.sums * 4 * 2560
        };
        let [left, right] = self.sides;
        let sums = (4 * (self.parts() - 1) * left * right * shape.sums).max(16);
        let barriers = 8 + 16 * ring.stages + 16 + 4 * self.consumers;
        up(up(ring.stages * self.stage(shape), 1024) + up(finish, 16) + sums + barriers, 1024)
    }

    /// The deepest ring that fits, then two boxes for each warpgroup; none where three stages do not fit.
    pub(super) fn ring(&self, shape: Shape) -> Option<Ring> {
        let most = SMEM[usize::from(self.blocks > 1)];
        let all = STAGES.rev().flat_map(|stages| [2, 1].map(|boxes| Ring { stages, boxes }));
        all.into_iter().find(|ring| self.bytes(shape, *ring) <= most)
    }

    /// Bytes of shared memory.
    pub(super) fn smem(&self, shape: Shape) -> i64 {
        self.ring(shape).map_or(0, |ring| self.bytes(shape, ring))
    }

    /// Bytes that warpgroups read of a stage.
    pub(super) fn smem_reads(&self, shape: Shape) -> i64 {
        let [left, right] = self.sides;
        let lefts = if self.is_joint(shape) { 1 } else { shape.sums };
        BK * ELEMENT * (lefts * left + self.tile_threads() / 128 * shape.sums * right)
    }

    /// Whether there is such a kernel: registers without spills, boxes that are whole swizzles, a ring.
    fn is_legal(&self, shape: Shape) -> bool {
        let of_schedule = match (self.cluster, self.schedule) {
            (Cluster::Columns | Cluster::Rows, Schedule::Cooperative) if self.consumers > 1 => 176,
            _ => 208,
        };
        let most = if self.consumers == 3 { 96 } else { of_schedule };
        let most = if shape.cast { most } else { most.min(192) };
        // 192 beside the batch of descriptors along columns spilled 24 and 32 bytes
        let is_tight = shape.planes && shape.batched_columns && !shape.k_major[1];
        let most = if is_tight { most.min(176) } else { most };
        let is_whole = |at: usize| shape.k_major[at] || gcd(self.loaded()[at], 64) >= 16;
        self.accumulators(shape) <= most
            && self.ring(shape).is_some()
            && is_whole(0)
            && is_whole(1)
            && (self.schedule == Schedule::Cooperative || shape.sums == 1 || self.sides[0] == 64)
    }
}

fn up(bytes: i64, to: i64) -> i64 {
    (bytes + to - 1) / to * to
}

/// Tiles of y where rows have the 64 rows of the instruction: sides and warpgroups.
const MANY: [([i64; 2], i64); 9] = [
    ([128, 256], 2),
    ([256, 128], 2),
    ([128, 192], 2),
    ([256, 192], 2),
    ([128, 224], 2),
    ([128, 128], 2),
    ([64, 256], 1),
    ([64, 128], 1),
    ([192, 192], 3),
];
/// The same in ping-pong.
const TURNS: [[i64; 2]; 5] = [[128, 128], [128, 160], [128, 192], [64, 256], [64, 128]];
/// Columns of the instruction where rows of y are few.
const FEW: [i64; 5] = [8, 16, 32, 64, 128];
/// Parts of k over a cluster: the other side, parts, blocks of a multiprocessor.
const PARTS: [(i64, i64, i64); 4] = [(64, 2, 2), (64, 2, 1), (64, 4, 2), (128, 2, 1)];

/// Every legal point.
pub(super) fn points(shape: Shape) -> Vec<Point> {
    let one = |sides: [i64; 2], consumers: i64| Point {
        swap: false,
        schedule: Schedule::Cooperative,
        sides,
        consumers,
        cluster: Cluster::None,
        blocks: 1,
        split: Split::Whole,
    };
    let tiles = MANY.iter().map(|(sides, consumers)| one(*sides, *consumers));
    let turns = TURNS.iter().map(|sides| Point { schedule: Schedule::PingPong, ..one(*sides, 2) });
    let clusters = [Cluster::None, Cluster::Columns, Cluster::Rows];
    let many = tiles.chain(turns).flat_map(|point| clusters.map(|cluster| Point { cluster, ..point }));
    let few = FEW.iter().flat_map(|rows| {
        let swapped = |left: i64, consumers: i64| Point { swap: true, ..one([left, *rows], consumers) };
        let alone = [swapped(64, 1), Point { blocks: 2, ..swapped(64, 1) }, swapped(128, 2), swapped(128, 1)];
        let parts = PARTS.map(|(left, parts, blocks)| Point {
            cluster: Cluster::Terms(parts),
            blocks,
            ..swapped(left, left / 64)
        });
        alone.into_iter().chain(parts)
    });
    many.chain(few).filter(|point| point.is_legal(shape)).collect()
}

/// Blocks that fill a card: about as many as it has multiprocessors, and a few times as many.
const BLOCKS: std::ops::RangeInclusive<i64> = 100..=400;
/// Tiles of k that a part has at least.
const TILES_LEAST: i64 = 8;

impl Point {
    /// When blocks may share its k through the workspace: small tiles, alone.
    pub(super) fn fill(&self) -> Option<Fill> {
        self.may_split().then_some(Fill { blocks: BLOCKS, terms_least: TILES_LEAST * BK })
    }

    fn may_split(&self) -> bool {
        let alone = self.cluster == Cluster::None && self.schedule == Schedule::Cooperative;
        alone && self.sides.iter().all(|side| *side <= 128)
    }

    /// The same tile by stream-K: with few rows, whose weights bound the time.
    pub(super) fn stream_k(&self) -> Option<Point> {
        (self.swap && self.may_split()).then_some(Point { split: Split::StreamK, ..*self })
    }
}
