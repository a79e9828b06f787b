//! The space of `rowwise_ring.cu.in`: one resident launch, all blocks on a few rows or each on one, a ring of chunks in
//! each.

use cutegen_spec::contract::Contract;
use cutegen_spec::int_expr::{IntExpr, IntOp};

use super::layout::Layout;
use super::slices::{PRODUCERS, Slices};
use super::{Point, REGISTERS, REREAD_MAX, op};
use crate::generate::StreamFeatures;
use crate::plan::Plan;

const TEMPLATE: &str = include_str!("../rowwise_ring.cu.in");

/// What is worth a ring: shorter rows are better held in registers.
const WORTH: i64 = 16 * 1024;

/// Bytes of a thread's part of a chunk, where weights are loaded ahead of it: more is not held in registers.
const AHEAD_MAX: i64 = 96;

/// What producers keep, of which one has chunks copied.
const PRODUCER_REGISTERS: i64 = 24;

/// Registers of a thread that reduces half a ring ahead where rows have any length: a layer norm spills with 120.
const AHEAD_REGISTERS: i64 = 240;

/// Registers that a thread needs beside weights and what it has of a chunk; and those for chunks that may not be whole.
const AT_WORK: i64 = 48;
const IN_PARTS: i64 = 32;

/// One point: `ring-x4t512u2k8n13`; `h8` where only 8 chunks of a slice are held, `b2` with two blocks beside each other, `w3`
/// where the weights of 3 chunks stay in registers, `a5` where 5 chunks of the next row are reduced ahead.
#[derive(Clone, Copy)]
struct Shape {
    vec: i64,
    threads: i64,
    unroll: i64,
    /// Chunks of a block's slice of a row.
    slice: i64,
    /// Of these what stays until it is written; the others are read again.
    held: i64,
    /// Chunks of the ring.
    stages: i64,
    /// Blocks of a multiprocessor: while the threads of one meet, another's work.
    beside: i64,
    /// Chunks of the slice whose weights stay in registers from row to row.
    weights: i64,
    /// Chunks of the next row whose statistics are taken before the blocks of this one meet.
    next: i64,
}

impl Shape {
    fn name(&self) -> String {
        let held = if self.held < self.slice { format!("h{}", self.held) } else { String::new() };
        let beside = if self.beside > 1 { format!("b{}", self.beside) } else { String::new() };
        let weights = if self.weights > 0 { format!("w{}", self.weights) } else { String::new() };
        let next = if self.next > 0 { format!("a{}", self.next) } else { String::new() };
        let Shape { vec, threads, unroll, slice, stages, .. } = self;
        format!("ring-x{vec}t{threads}u{unroll}k{slice}n{stages}{held}{beside}{weights}{next}")
    }

    fn chunk(&self) -> i64 {
        self.slices().chunk()
    }

    /// Registers of a thread that computes: its own from the launch on, in eights, and its part of what producers let go.
    fn registers(&self) -> i64 {
        let all = self.threads + PRODUCERS;
        let launched = REGISTERS / self.beside / all / 8 * 8;
        ((launched * all - PRODUCER_REGISTERS * PRODUCERS) / self.threads / 8 * 8).min(240)
    }

    fn slices(&self) -> Slices {
        let Shape { vec, threads, unroll, slice, stages, beside, .. } = *self;
        Slices { vec, threads, unroll, slice, stages, beside }
    }

    /// Whether a row of any length has one block.
    fn is_alone(&self, layout: &Layout<'_>) -> bool {
        layout.range.1 <= self.slices().length()
    }
}

/// Every legal point.
pub(super) fn points(plan: &Plan, layout: &Layout<'_>) -> Vec<Point> {
    if !layout.has_rings() || !layout.is_whole() || layout.folds() > 0 {
        return Vec::new();
    }
    let mut shapes = shared(layout);
    if layout.range.1.saturating_mul(bytes(layout)) >= WORTH {
        shapes.extend(alone(layout));
    }
    shapes.retain(|shape| shape.slice > 0);
    let weighing = shapes.iter().filter_map(|shape| weighing(layout, *shape)).collect::<Vec<_>>();
    shapes.extend(weighing);
    shapes.into_iter().filter_map(|shape| point(plan, layout, shape)).collect()
}

/// The same with as many of the sinks' weights in registers as these have room for, beside what a pass loads ahead.
fn weighing(layout: &Layout<'_>, shape: Shape) -> Option<Shape> {
    let of_chunk = |bytes: &[i64]| shape.slices().registers_of(bytes);
    let weights = of_chunk(&layout.weights_of_sinks());
    if weights == 0 || shape.held < shape.slice {
        return None;
    }
    let parts = if shape.slices().is_whole(layout) { 0 } else { IN_PARTS };
    let left = shape.registers() - AT_WORK - parts - of_chunk(&layout.kept()) - of_chunk(&layout.weights());
    let chunks = (left / weights).min(shape.slice);
    (chunks > 0).then_some(Shape { weights: chunks, ..shape })
}

/// Bytes of an element in the ring.
fn bytes(layout: &Layout<'_>) -> i64 {
    layout.kept().iter().sum::<i64>().max(1)
}

/// A ring of such chunks, where a thread has a few vectors of one.
fn ring(layout: &Layout<'_>, threads: i64, chunk_bytes: i64, beside: i64) -> Option<Shape> {
    let vec = (16 / layout.widest()).max(1);
    let unroll = chunk_bytes / (threads * vec * bytes(layout));
    let stages = layout.smem_for_rows() / beside / chunk_bytes;
    let shape =
        Shape { vec, threads, unroll, slice: stages, held: stages, stages, beside, weights: 0, next: 0 };
    let ahead = unroll * vec * (bytes(layout) + layout.weights().iter().sum::<i64>());
    let fits = !layout.has_weights() || ahead <= AHEAD_MAX;
    ((1..=8).contains(&unroll) && fits && stages > 1).then_some(shape)
}

/// Rings whose blocks share rows, which are too long for one.
fn shared(layout: &Layout<'_>) -> Vec<Shape> {
    let rings = [(512, 16384, 1), (256, 8192, 1), (256, 8192, 2)];
    let rings = rings.map(|(threads, bytes, beside)| ring(layout, threads, bytes, beside));
    let each = |of: fn(&Layout<'_>, Shape) -> Vec<Shape>| {
        rings.into_iter().flatten().flat_map(move |ring| of(layout, ring))
    };
    each(fitting).chain(each(ahead)).filter(|shape| !shape.is_alone(layout)).collect()
}

/// Slices that fit into the ring.
fn fitting(layout: &Layout<'_>, ring: Shape) -> Vec<Shape> {
    let slices = [ring.stages / 2, ring.stages * 5 / 8, ring.stages - 1];
    slices.map(|slice| Shape { slice, held: held(layout, slice, slice), ..ring }).to_vec()
}

/// Slices that fit beside those of the next row, or beside most of these: half a ring, where rows have one length or threads
/// registers for any, five eighths of it, and equal whole chunks of a row.
fn ahead(layout: &Layout<'_>, ring: Shape) -> Vec<Shape> {
    if layout.passes() > 1 || !layout.has_sinks() {
        return Vec::new();
    }
    let (half, most) = (ring.stages / 2, ring.stages * 5 / 8);
    let equal = (1..half).rev().find(|slice| layout.range.1 % (ring.chunk() * slice) == 0);
    let has_room = layout.length().is_some() || ring.registers() >= AHEAD_REGISTERS;
    let slices = [Some(half).filter(|_| has_room), Some(most), equal.filter(|slice| 2 * slice > half)];
    let next = |slice: i64| slice.min(ring.stages - slice);
    slices
        .into_iter()
        .flatten()
        .map(|slice| Shape { slice, held: slice, next: next(slice), ..ring })
        .collect()
}

/// The longest slices: whole rows, where they or what is left of them for a second time are not too long.
fn alone(layout: &Layout<'_>) -> Vec<Shape> {
    let rings = [(512, 16384, 1), (512, 32768, 1), (256, 8192, 2), (256, 16384, 2), (128, 8192, 4)];
    let rings = rings.into_iter().filter_map(|(threads, bytes, beside)| ring(layout, threads, bytes, beside));
    rings.filter_map(|shape| longest(layout, shape)).collect()
}

/// A slice of the whole row, if the ring has room beside it for half of the next; else a longer one than the ring,
/// where one pass gives all statistics, of the row or of an equal part of it.
fn longest(layout: &Layout<'_>, shape: Shape) -> Option<Shape> {
    let all = layout.range.1 / shape.chunk() + i64::from(layout.range.1 % shape.chunk() != 0);
    if all * 3 / 2 <= shape.stages {
        return Some(Shape { slice: all, held: held(layout, all, all), ..shape });
    }
    let most = shape.stages * 5 / 8;
    let reread = REREAD_MAX / shape.beside / (shape.chunk() * bytes(layout));
    let slices = [1, 2, 4, 8].map(|parts| (all + parts - 1) / parts);
    // blocks that share rows are alone on their multiprocessors
    let slices = slices.into_iter().take(if shape.beside > 1 { 1 } else { 4 });
    let slice = slices.into_iter().find(|slice| slice - most <= reread)?;
    let is_worth = layout.passes() == 1 && slice > shape.stages;
    is_worth.then(|| Shape { slice, held: held(layout, slice, most), ..shape })
}

/// Nothing stays where nothing is written along a row and one pass gives all statistics.
fn held(layout: &Layout<'_>, slice: i64, most: i64) -> i64 {
    if layout.has_sinks() || layout.passes() > 1 { slice.min(most) } else { 0 }
}

fn point(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Option<Point> {
    let mut conditions = layout.vectors(shape.vec, true)?;
    conditions
        .extend(layout.at_most(shape.slices().blocks(layout), layout.multiprocessors() * shape.beside)?);
    Some(Point {
        name: format!("rowwise-{}", shape.name()),
        template: TEMPLATE,
        config: config(layout, shape),
        entries: None,
        contract: contract(plan, layout, shape),
        conditions,
        tile: shape.slices().length(),
        side: None,
        cost_features: cost_features(layout, shape),
    })
}

fn cost_features(layout: &Layout<'_>, shape: Shape) -> StreamFeatures {
    let reread = if layout.has_sinks() { 100 * (shape.slice - shape.held) / shape.slice } else { 0 };
    let kind = match (shape.is_alone(layout), reread > 0) {
        // where reductions take weights as well, these tell more than when a row is looked at
        (false, _) if !layout.weights_of_reductions().is_empty() => match shape.weights {
            0 => "ring",
            some if some < shape.slice => "ring with weights",
            _ => "ring with all weights",
        },
        (false, _) => match (shape.next > 0, shape.weights > 0) {
            (false, false) => "ring",
            (false, true) => "ring with weights",
            (true, false) => "ring, a row ahead",
            (true, true) if shape.weights < shape.slice => "ring with weights, a row ahead",
            (true, true) => "ring with all weights, a row ahead",
        },
        (true, false) => "ring of a block",
        (true, true) => "ring of a block, again from L2",
    };
    StreamFeatures {
        kind,
        in_flight: shape.slices().in_flight(bytes(layout)),
        registers: 64,
        block_barriers: if shape.next > 0 { 1 } else { 2 * layout.passes() as i64 },
        reads_percent: 100 + reread,
        longest_percent: shape.slices().longest_percent(layout),
        in_l2: reread > 0,
        late: false,
        tail_steps: 0,
        hints: String::new(),
    }
}

fn config(layout: &Layout<'_>, shape: Shape) -> String {
    let own = [
        ("KEPT_CHUNKS", shape.held),
        ("WEIGHT_CHUNKS", shape.weights),
        ("NEXT_CHUNKS", shape.next),
        ("BESIDE", shape.beside),
        ("PRODUCER_REGISTERS", PRODUCER_REGISTERS),
        ("REGISTERS", shape.registers()),
    ];
    shape.slices().config(layout, &own)
}

fn contract(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Contract {
    // one block that has the row meets no other, but for one that looks ahead and leaves everything
    let met = op(IntOp::Min, op(IntOp::Sub, shape.slices().blocks(layout), 1), 1);
    let left = match shape.next {
        0 => IntExpr::op(IntOp::Mul, layout.count.clone(), met),
        _ => layout.count.clone(),
    };
    shape.slices().contract((plan, layout), shape.threads + PRODUCERS, left, !shape.is_alone(layout))
}
