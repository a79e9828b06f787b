//! The space of `rowwise_apart.cu.in`: the ring whose blocks share rows, with threads of their own for seeing a row and for
//! writing it.

use super::layout::Layout;
use super::slices::{MULTIPROCESSORS, PRODUCERS, Slices};
use super::{Point, SMEM_MAX};
use crate::generate::Sketch;
use crate::plan::Plan;

const TEMPLATE: &str = include_str!("../rowwise_apart.cu.in");

/// Threads that write, and as many that see.
const THREADS: i64 = 256;

/// What producers keep, of which one has chunks copied and a warp joins what blocks know.
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
    slices: Slices,
    /// Registers of a thread that sees, in eights.
    seeing: i64,
    /// Chunks of the slice whose weights stay with those who see, and with those who write.
    seen: i64,
    weights: i64,
}

impl Shape {
    fn name(&self) -> String {
        let Slices { vec, unroll, slice, stages, .. } = self.slices;
        let some =
            |letter: char, chunks: i64| if chunks > 0 { format!("{letter}{chunks}") } else { String::new() };
        let (weights, seen) = (some('w', self.weights), some('s', self.seen));
        format!("apart-x{vec}u{unroll}k{slice}n{stages}{weights}{seen}")
    }

    /// Registers of a thread that writes: what the others leave.
    fn writing(&self) -> i64 {
        (in_all() - self.seeing).min(240) / 8 * 8
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
    let shapes = rings.flat_map(|ring| cut(layout, ring)).filter_map(|slices| weighing(layout, slices));
    shapes.filter_map(|shape| point(plan, layout, shape)).collect()
}

/// A ring of such chunks.
fn ring(layout: &Layout<'_>, chunk_bytes: i64) -> Option<Slices> {
    let bytes = layout.kept().iter().sum::<i64>();
    let vec = (16 / layout.widest()).max(1);
    let unroll = chunk_bytes / (THREADS * vec * bytes.max(1));
    let stages = (SMEM_MAX / chunk_bytes).min(64);
    let slices = Slices { vec, threads: THREADS, unroll, slice: stages / 2, stages, beside: 1 };
    (bytes > 0 && (1..=8).contains(&unroll)).then_some(slices)
}

/// Slices of which the ring holds several: of rows of one length equal ones of whole chunks, the longest of them, of which
/// nearly all multiprocessors have one.
fn cut(layout: &Layout<'_>, ring: Slices) -> Vec<Slices> {
    let Some(length) = layout.length() else {
        return [ring.stages / 2, ring.stages / 4].map(|slice| Slices { slice, ..ring }).to_vec();
    };
    let is_equal = |slices: &Slices| {
        let blocks = length / slices.length();
        let busy = if blocks > 0 { MULTIPROCESSORS / blocks * blocks } else { 0 };
        length % slices.length() == 0 && blocks > 1 && 100 * busy >= 95 * MULTIPROCESSORS
    };
    let all = (2..=ring.stages * 5 / 8).rev().map(|slice| Slices { slice, ..ring });
    all.filter(is_equal).take(3).collect()
}

/// The same with as many weights in registers as these have room for, beside the next that do not stay: shared out evenly
/// where those who see need some too.
fn weighing(layout: &Layout<'_>, slices: Slices) -> Option<Shape> {
    let of_chunk = |bytes: &[i64]| slices.registers_of(bytes);
    let (read, written) = (of_chunk(&layout.weights_of_reductions()), of_chunk(&layout.weights_of_sinks()));
    let parts = if slices.is_whole(layout) { 0 } else { IN_PARTS };
    let bare = parts + of_chunk(&layout.kept());
    let (seeing, writing) = (AT_SEEING + bare + read, AT_WRITING + bare + written);
    let room = in_all() - seeing - writing;
    let chunks = |room: i64, weights: i64| if weights > 0 { (room / weights).min(slices.slice) } else { 0 };
    let seen = if read > 0 { chunks(room, read + written) } else { 0 };
    let shape = Shape { slices, seen, seeing: (seeing + seen * read + 7) / 8 * 8, weights: 0 };
    (room >= 0).then_some(Shape { weights: chunks(shape.writing() - writing, written), ..shape })
}

fn point(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Option<Point> {
    let slices = shape.slices;
    let mut conditions = layout.vectors(slices.vec, true)?;
    conditions.extend(layout.at_most(slices.blocks(layout), MULTIPROCESSORS)?);
    Some(Point {
        name: format!("rowwise-{}", shape.name()),
        template: TEMPLATE,
        config: config(layout, shape),
        entries: None,
        contract: slices.contract((plan, layout), 2 * THREADS + PRODUCERS, layout.count.clone(), true),
        conditions,
        tile: slices.length(),
        side: None,
        sketch: sketch(layout, shape),
    })
}

fn sketch(layout: &Layout<'_>, shape: Shape) -> Sketch {
    Sketch {
        kind: if shape.weights > 0 { "ring with weights, roles apart" } else { "ring, roles apart" },
        in_flight: shape.slices.in_flight(layout.kept().iter().sum()),
        registers: 64,
        meetings: 1,
        reads_percent: 100,
        longest_percent: shape.slices.longest_percent(layout),
        in_l2: false,
        late: false,
        settling: 0,
        hints: String::new(),
    }
}

fn config(layout: &Layout<'_>, shape: Shape) -> String {
    let own = [
        ("KEPT_CHUNKS", shape.slices.slice),
        ("WEIGHT_CHUNKS", shape.weights),
        ("SEEN_CHUNKS", shape.seen),
        ("LAUNCH_REGISTERS", LAUNCH_REGISTERS),
        ("PRODUCER_REGISTERS", PRODUCER_REGISTERS),
        ("SEEN_REGISTERS", shape.seeing),
        ("REGISTERS", shape.writing()),
    ];
    shape.slices.config(layout, &own)
}
