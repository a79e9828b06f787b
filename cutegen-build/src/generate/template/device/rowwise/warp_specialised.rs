//! The space of `rowwise_warp_specialised.cu.in`: the ring whose blocks share rows, as a warp-specialised pipeline. Its
//! reduction warps and its epilogue warps work on different rows. Entries that are locked call it `apart`, so names keep that.

use super::layout::Layout;
use super::slices::{PRODUCERS, Slices};
use super::{Point, REGISTERS};
use crate::generate::StreamFeatures;
use crate::plan::Plan;

const TEMPLATE: &str = include_str!("../rowwise_warp_specialised.cu.in");

/// Threads of the reduction warps, and groups of epilogue warps with as many: each is a warpgroup.
const THREADS: i64 = 128;
const EPILOGUE_GROUPS: i64 = 2;

/// What producers keep, of which one has chunks copied and a warp joins what blocks know.
const PRODUCER_REGISTERS: i64 = 88;

/// All threads, and registers of each from the launch on, in eights.
const ALL: i64 = (EPILOGUE_GROUPS + 1) * THREADS + PRODUCERS;
const LAUNCH_REGISTERS: i64 = REGISTERS / ALL / 8 * 8;

/// Chunks whose weights stay with the reduction warps, at most.
const REDUCTION_WEIGHTS_MOST: i64 = 8;

/// Elements that a thread has of a chunk, at most.
const ELEMENTS: i64 = 16;

/// Registers of a thread beside weights and its part of a chunk; NVRTC reports local memory where there are fewer. An epilogue
/// warp needs two more for each turn of a row.
const OF_EPILOGUE: i64 = 32;
const OF_REDUCTION: i64 = 64;
/// What chunks that may not be whole take besides.
const IN_PARTS: i64 = 32;

/// Kinds of its points.
const WITH_WEIGHTS: &str = "warp-specialised ring with weights";
const WITHOUT: &str = "warp-specialised ring";

/// One point: `apart-x8u2k4n26`. With `w3` the weights of 3 chunks stay in registers of the epilogue warps, with `s3` in those of
/// the reduction warps.
#[derive(Clone, Copy)]
struct Shape {
    slices: Slices,
    /// Registers of a thread of the reduction warps, in eights.
    reduction: i64,
    /// Chunks of the slice whose weights stay with the reduction warps, and with the epilogue warps.
    reduction_weights: i64,
    epilogue_weights: i64,
}

impl Shape {
    fn name(&self) -> String {
        let Slices { vec, unroll, slice, stages, .. } = self.slices;
        let some =
            |letter: char, chunks: i64| if chunks > 0 { format!("{letter}{chunks}") } else { String::new() };
        let (weights, seen) = (some('w', self.epilogue_weights), some('s', self.reduction_weights));
        format!("apart-x{vec}u{unroll}k{slice}n{stages}{weights}{seen}")
    }

    /// Registers of a thread of the epilogue warps: what is left over.
    fn epilogue(&self) -> i64 {
        ((in_all() - self.reduction) / EPILOGUE_GROUPS).min(240) / 8 * 8
    }
}

/// Registers of one thread of the reduction warps and one of each epilogue group, together.
fn in_all() -> i64 {
    (LAUNCH_REGISTERS * ALL - PRODUCER_REGISTERS * PRODUCERS) / THREADS
}

/// Every legal point.
pub(super) fn points(plan: &Plan, layout: &Layout<'_>) -> Vec<Point> {
    let is_one_pass = layout.passes() == 1 && layout.has_sinks();
    if !layout.has_rings() || !layout.is_whole() || layout.folds() > 0 || !is_one_pass {
        return Vec::new();
    }
    let rings = [8192, 4096].into_iter().filter_map(|bytes| ring(layout, bytes));
    let shapes = rings
        .flat_map(|ring| cut(layout, ring))
        .filter(Slices::has_chunks)
        .filter_map(|slices| weighing(layout, slices));
    shapes.filter_map(|shape| point(plan, layout, shape)).collect()
}

/// A ring of such chunks.
fn ring(layout: &Layout<'_>, chunk_bytes: i64) -> Option<Slices> {
    let bytes = layout.kept().iter().sum::<i64>();
    let vec = (16 / layout.widest()).max(1);
    let unroll = chunk_bytes / (THREADS * vec * bytes.max(1));
    let stages = (layout.smem_for_rows() / chunk_bytes).min(64);
    let slices = Slices { vec, threads: THREADS, unroll, slice: stages / 2, stages, beside: 1 };
    (bytes > 0 && (1..=ELEMENTS / vec).contains(&unroll)).then_some(slices)
}

/// Slices of which the ring holds several: of rows of one length equal ones of whole chunks, the longest of them, of which
/// nearly all multiprocessors have one.
fn cut(layout: &Layout<'_>, ring: Slices) -> Vec<Slices> {
    let Some(length) = layout.length() else {
        let even = |slice: i64| slice / EPILOGUE_GROUPS * EPILOGUE_GROUPS;
        return [ring.stages / 4, ring.stages / 8]
            .map(|slice| Slices { slice: even(slice), ..ring })
            .to_vec();
    };
    let multiprocessors = layout.multiprocessors();
    let is_equal = |slices: &Slices| {
        let blocks = length / slices.length();
        let busy = if blocks > 0 { multiprocessors / blocks * blocks } else { 0 };
        slices.slice % EPILOGUE_GROUPS == 0
            && length % slices.length() == 0
            && blocks > 1
            && 100 * busy >= 95 * multiprocessors
    };
    let all = (2..=ring.stages * 5 / 8).rev().map(|slice| Slices { slice, ..ring });
    all.filter(is_equal).take(3).collect()
}

/// The same with as many weights in registers as these have room for.
fn weighing(layout: &Layout<'_>, slices: Slices) -> Option<Shape> {
    let of_chunk = |bytes: &[i64]| slices.registers_of(bytes);
    let (read, written) = (of_chunk(&layout.weights_of_reductions()), of_chunk(&layout.weights_of_sinks()));
    let parts = if slices.is_whole(layout) { 0 } else { IN_PARTS };
    let bare = parts + of_chunk(&layout.kept());
    let turns = slices.slice / EPILOGUE_GROUPS;
    let (reduction, epilogue) = (OF_REDUCTION + bare, OF_EPILOGUE + 2 * turns + bare);
    // the reduction warps keep all that they need, or load it anew
    let all = read * slices.slice;
    let room = in_all() - EPILOGUE_GROUPS * (epilogue + 2 * written);
    let reduction_weights = if read > 0 && slices.slice <= REDUCTION_WEIGHTS_MOST && reduction + all <= room {
        slices.slice
    } else {
        0
    };
    let reduction = (reduction + if reduction_weights > 0 { all } else { read } + 7) / 8 * 8;
    let shape = Shape { slices, reduction_weights, reduction, epilogue_weights: 0 };
    let epilogue_weights = staying(shape.epilogue() - epilogue, written, turns)?;
    Some(Shape { epilogue_weights, ..shape })
}

/// Chunks whose weights stay where there is room for so many registers: all, or as many as leave it to two that do not, the
/// next and the one before it.
fn staying(room: i64, weights: i64, chunks: i64) -> Option<i64> {
    let taken = |some: i64| weights * if some < chunks { some + 2 } else { chunks };
    (0..=chunks).rev().find(|some| taken(*some) <= room).map(|some| if weights > 0 { some } else { 0 })
}

fn point(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Option<Point> {
    let slices = shape.slices;
    let mut conditions = layout.vectors(slices.vec, true)?;
    conditions.extend(layout.at_most(slices.blocks(layout), layout.multiprocessors())?);
    Some(Point {
        name: format!("rowwise-{}", shape.name()),
        template: TEMPLATE,
        config: config(layout, shape),
        entries: None,
        contract: slices.contract((plan, layout), ALL, layout.count.clone(), true),
        conditions,
        tile: slices.length(),
        side: None,
        cost_features: cost_features(layout, shape),
    })
}

fn cost_features(layout: &Layout<'_>, shape: Shape) -> StreamFeatures {
    StreamFeatures {
        kind: if shape.epilogue_weights > 0 { WITH_WEIGHTS } else { WITHOUT },
        in_flight: shape.slices.in_flight(layout.kept().iter().sum()),
        registers: 64,
        block_barriers: 1,
        reads_percent: 100,
        longest_percent: shape.slices.longest_percent(layout),
        in_l2: false,
        late: false,
        tail_steps: 0,
        hints: String::new(),
    }
}

fn config(layout: &Layout<'_>, shape: Shape) -> String {
    let own = [
        ("BESIDE", 1),
        ("WRITERS", EPILOGUE_GROUPS),
        ("KEPT_CHUNKS", shape.slices.slice),
        ("WEIGHT_CHUNKS", shape.epilogue_weights),
        ("SEEN_CHUNKS", shape.reduction_weights),
        ("LAUNCH_REGISTERS", LAUNCH_REGISTERS),
        ("PRODUCER_REGISTERS", PRODUCER_REGISTERS),
        ("SEEN_REGISTERS", shape.reduction),
        ("REGISTERS", shape.epilogue()),
    ];
    shape.slices.config(layout, &own)
}
