//! The space of `rowwise_apart.cu.in`: the ring whose blocks share rows, with threads of their own for seeing a row and for
//! writing it.

use cutegen_spec::contract::{Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};

use super::layout::Layout;
use super::{Config, Point, SMEM_MAX, op};
use crate::generate::{ENTRY, Sketch};
use crate::plan::Plan;
use crate::print;

const TEMPLATE: &str = include_str!("../rowwise_apart.cu.in");

/// Multiprocessors of an H200: a row's blocks are resident at once.
const MULTIPROCESSORS: i64 = 132;

/// Threads that write, and as many that see.
const THREADS: i64 = 256;

/// Threads beside those: one has chunks copied, a warp joins what blocks know.
const PRODUCERS: i64 = 128;

/// What these keep.
const PRODUCER_REGISTERS: i64 = 40;

/// Registers of a thread from the launch on, in eights.
const LAUNCH_REGISTERS: i64 = 65536 / (2 * THREADS + PRODUCERS) / 8 * 8;

/// Registers that a thread that writes needs beside weights and what it has of a chunk, one that sees, and those for chunks
/// that may not be whole.
const AT_WRITING: i64 = 48;
const AT_SEEING: i64 = 48;
const IN_PARTS: i64 = 16;

/// One point: `apart-x8u2k4n26`; `w3` where the weights of 3 chunks stay in registers of those who write, `s3` of those who
/// see.
#[derive(Clone, Copy)]
struct Shape {
    vec: i64,
    unroll: i64,
    /// Chunks of a block's slice of a row.
    slice: i64,
    /// Chunks of the ring.
    stages: i64,
    /// Registers of a thread that sees, in eights.
    seeing: i64,
    /// Chunks of the slice whose weights stay with those who see, and with those who write.
    seen: i64,
    weights: i64,
}

impl Shape {
    fn name(&self) -> String {
        let Shape { vec, unroll, slice, stages, .. } = self;
        let some =
            |letter: char, chunks: i64| if chunks > 0 { format!("{letter}{chunks}") } else { String::new() };
        let (weights, seen) = (some('w', self.weights), some('s', self.seen));
        format!("apart-x{vec}u{unroll}k{slice}n{stages}{weights}{seen}")
    }

    fn chunk(&self) -> i64 {
        THREADS * self.unroll * self.vec
    }

    /// Registers of a thread that writes: what the others leave.
    fn writing(&self) -> i64 {
        (in_all() - self.seeing).min(240) / 8 * 8
    }

    /// Blocks of a row.
    fn blocks(&self, layout: &Layout<'_>) -> IntExpr {
        op(IntOp::CeilDiv, layout.columns.clone(), self.chunk() * self.slice)
    }

    /// Whether nothing but whole chunks is on the way.
    fn is_whole(&self, layout: &Layout<'_>) -> bool {
        layout.is_chunks(self.chunk(), (layout.range.1 - 1) / (self.chunk() * self.slice) + 1)
    }

    /// What the first block of a row has of it, in percent of the mean.
    fn longest_percent(&self, layout: &Layout<'_>) -> i64 {
        let slice = self.chunk() * self.slice;
        layout.length().map_or(100, |length| 100 * slice.min(length) * ((length - 1) / slice + 1) / length)
    }
}

/// Registers of a thread that writes and of one that sees, together.
fn in_all() -> i64 {
    LAUNCH_REGISTERS * (2 * THREADS + PRODUCERS) / THREADS - PRODUCER_REGISTERS * PRODUCERS / THREADS
}

/// Every legal point.
pub(super) fn points(plan: &Plan, layout: &Layout<'_>) -> Vec<Point> {
    let is_one_pass = layout.passes() == 1 && layout.has_sinks();
    if !layout.is_whole() || layout.folds() > 0 || !is_one_pass {
        return Vec::new();
    }
    let rings = [8192, 4096].into_iter().filter_map(|bytes| ring(layout, bytes));
    let shapes = rings.flat_map(|shape| slices(layout, shape)).filter_map(|shape| weighing(layout, shape));
    shapes.filter_map(|shape| point(plan, layout, shape)).collect()
}

/// A ring of such chunks.
fn ring(layout: &Layout<'_>, chunk_bytes: i64) -> Option<Shape> {
    let bytes = layout.kept().iter().sum::<i64>();
    let vec = (16 / layout.widest()).max(1);
    let unroll = chunk_bytes / (THREADS * vec * bytes.max(1));
    let stages = (SMEM_MAX / chunk_bytes).min(64);
    let shape = Shape { vec, unroll, slice: stages / 2, stages, seeing: 0, seen: 0, weights: 0 };
    (bytes > 0 && (1..=8).contains(&unroll)).then_some(shape)
}

/// Slices of which the ring holds several: of rows of one length equal ones of whole chunks, the longest of them, of which
/// nearly all multiprocessors have one.
fn slices(layout: &Layout<'_>, ring: Shape) -> Vec<Shape> {
    let Some(length) = layout.length() else {
        return [ring.stages / 2, ring.stages / 4].map(|slice| Shape { slice, ..ring }).to_vec();
    };
    let is_equal = |slice: &i64| {
        let blocks = length / (ring.chunk() * slice);
        let busy = if blocks > 0 { MULTIPROCESSORS / blocks * blocks } else { 0 };
        length % (ring.chunk() * slice) == 0 && blocks > 1 && 100 * busy >= 95 * MULTIPROCESSORS
    };
    let most = ring.stages * 5 / 8;
    (2..=most).rev().filter(is_equal).take(3).map(|slice| Shape { slice, ..ring }).collect()
}

/// The same with as many weights in registers as these have room for, beside the next that do not stay: shared out evenly
/// where those who see need some too.
fn weighing(layout: &Layout<'_>, shape: Shape) -> Option<Shape> {
    let of_chunk = |bytes: &[i64]| (shape.unroll * shape.vec * bytes.iter().sum::<i64>() + 3) / 4;
    let (read, written) = (of_chunk(&layout.weights_of_reductions()), of_chunk(&layout.weights_of_sinks()));
    let parts = if shape.is_whole(layout) { 0 } else { IN_PARTS };
    let bare = parts + of_chunk(&layout.kept());
    let (seeing, writing) = (AT_SEEING + bare + read, AT_WRITING + bare + written);
    let room = in_all() - seeing - writing;
    let chunks = |room: i64, weights: i64| if weights > 0 { (room / weights).min(shape.slice) } else { 0 };
    let seen = if read > 0 { chunks(room, read + written) } else { 0 };
    let shape = Shape { seen, seeing: (seeing + seen * read + 7) / 8 * 8, ..shape };
    (room >= 0).then_some(Shape { weights: chunks(shape.writing() - writing, written), ..shape })
}

fn point(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Option<Point> {
    let mut conditions = layout.vectors(shape.vec, true)?;
    conditions.extend(layout.at_most(shape.blocks(layout), MULTIPROCESSORS)?);
    Some(Point {
        name: format!("rowwise-{}", shape.name()),
        template: TEMPLATE,
        config: config(layout, shape),
        entries: None,
        contract: contract(plan, layout, shape),
        conditions,
        tile: shape.chunk() * shape.slice,
        side: None,
        sketch: sketch(layout, shape),
    })
}

fn sketch(layout: &Layout<'_>, shape: Shape) -> Sketch {
    let bytes = layout.kept().iter().sum::<i64>();
    Sketch {
        kind: if shape.weights > 0 { "ring with weights, roles apart" } else { "ring, roles apart" },
        in_flight: shape.stages * shape.unroll * shape.vec * bytes / 2,
        registers: 64,
        meetings: 1,
        reads_percent: 100,
        longest_percent: shape.longest_percent(layout),
        in_l2: false,
        late: false,
        settling: 0,
        hints: String::new(),
    }
}

fn config(layout: &Layout<'_>, shape: Shape) -> String {
    let config = Config {
        home: "SHARED",
        vec: shape.vec,
        threads: THREADS,
        unroll: shape.unroll,
        rows: 1,
        cluster: 1,
        unit: shape.vec.max(16),
        stages: shape.stages,
        once: true,
        streaming: true,
        early: false,
        whole: shape.is_whole(layout),
        producer: true,
        in_l2: false,
        pdl: false,
    };
    let constants = [
        ("SLICE_CHUNKS", shape.slice),
        ("KEPT_CHUNKS", shape.slice),
        ("WEIGHT_CHUNKS", shape.weights),
        ("SEEN_CHUNKS", shape.seen),
        ("PRODUCERS", PRODUCERS),
        ("LAUNCH_REGISTERS", LAUNCH_REGISTERS),
        ("PRODUCER_REGISTERS", PRODUCER_REGISTERS),
        ("SEEN_REGISTERS", shape.seeing),
        ("REGISTERS", shape.writing()),
    ];
    let lines = constants.map(|(name, value)| format!("\nconstexpr int {name} = {value};"));
    config.lines() + &lines.concat()
}

fn contract(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Contract {
    let one = || IntExpr::Const(1);
    let blocks = shape.blocks(layout);
    let groups = IntExpr::op(IntOp::Div, IntExpr::Device(DeviceProp::SmCount), blocks.clone());
    let groups = IntExpr::op(IntOp::Min, op(IntOp::Max, groups, 1), layout.count.clone());
    let step = Step {
        entry: ENTRY.to_owned(),
        grid: [IntExpr::op(IntOp::Mul, blocks.clone(), groups), one(), one()],
        block: [IntExpr::Const(2 * THREADS + PRODUCERS), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(shape.stages * shape.chunk() * layout.kept().iter().sum::<i64>()),
        args: print::all_args(&plan.spec, 1),
        pdl: false,
        co_resident: true,
    };
    let places = IntExpr::op(IntOp::Mul, layout.count.clone(), blocks);
    let partial = op(IntOp::Mul, places, 8 * layout.statistics());
    let workspace = vec![WorkspacePart { bytes: partial, initial: Initial::Zeroed }];
    Contract { workspace, steps: vec![step] }
}
