//! The space of `rowwise_across.cu.in` and `rowwise_across_split.cu.in`: rows that lie across memory.

use cutegen_spec::arch::Feature;
use cutegen_spec::contract::{Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::int_expr::{IntExpr, IntOp};

use super::layout::Layout;
use super::{Point, REGISTERS, op, split};
use crate::generate::template::fill::config;
use crate::generate::{ENTRY, StreamFeatures, hinted, hints};
use crate::plan::Plan;
use crate::plan::family::MemoryOrder;
use crate::print;

const TEMPLATE: &str = include_str!("../rowwise_across.cu.in");
const SPLIT: &str = include_str!("../rowwise_across_split.cu.in");

/// Bytes of static shared memory.
const SMEM_MAX: i64 = 48 * 1024;
/// Values that a thread may have under way.
const VALUES: std::ops::RangeInclusive<i64> = 4..=32;

/// Blocks that share the columns of a tile of rows: each has at least `part` columns, and there are `most` of them.
#[derive(Clone, Copy)]
struct Parts {
    part: i64,
    most: i64,
}

/// One point: `areg-x4t256l32u8-osd`, `aread-...`, `asplit-x1t256l32u8p256m64-os`.
#[derive(Clone, Copy)]
struct Shape {
    /// Rows of a thread, side by side.
    vec: i64,
    threads: i64,
    /// Threads side by side; the others of a block share their rows.
    lanes: i64,
    /// Columns of a thread at a time.
    unroll: i64,
    /// Whether columns stay in registers between passes.
    held: bool,
    parts: Option<Parts>,
    once: bool,
    streaming: bool,
    pdl: bool,
}

impl Shape {
    fn name(&self) -> String {
        let home = match (self.held, self.parts) {
            (_, Some(_)) => "asplit",
            (true, None) => "areg",
            (false, None) => "aread",
        };
        let parts = self.parts.map_or_else(String::new, |p| format!("p{}m{}", p.part, p.most));
        let Shape { vec, threads, lanes, unroll, .. } = self;
        hinted(format!("{home}-x{vec}t{threads}l{lanes}u{unroll}{parts}"), &self.hints())
    }

    fn hints(&self) -> String {
        hints(&[(self.once, 'o'), (self.streaming, 's'), (self.pdl, 'd')])
    }

    /// Threads that share a row.
    fn split(&self) -> i64 {
        self.threads / self.lanes
    }

    /// Columns that a block has at a time.
    fn chunk(&self) -> i64 {
        self.split() * self.unroll
    }

    /// Tiles of rows.
    fn tiles(&self, layout: &Layout<'_>) -> IntExpr {
        op(IntOp::CeilDiv, layout.count.clone(), self.lanes * self.vec)
    }

    /// Blocks of a tile.
    fn blocks(&self, layout: &Layout<'_>) -> Option<IntExpr> {
        let parts = self.parts?;
        Some(op(IntOp::Min, op(IntOp::CeilDiv, layout.columns.clone(), parts.part), parts.most))
    }

    fn config(&self) -> String {
        let load = if self.once { "ONCE" } else { "CACHED" };
        let store = if self.streaming { "STREAMING" } else { "CACHED" };
        let home = if self.held { "REGISTERS" } else { "GLOBAL" };
        let numbers =
            [("VEC", self.vec), ("THREADS", self.threads), ("LANES", self.lanes), ("UNROLL", self.unroll)];
        let parts = self.parts.map_or_else(
            || format!("constexpr bool PDL = {};", self.pdl),
            |p| format!("constexpr int64_t PART = {};\nconstexpr int PARTS_MAX = {};", p.part, p.most),
        );
        format!(
            "constexpr Row ROW = Row::{home};\n{}\nconstexpr Load LOAD = Load::{load};\n\
             [[maybe_unused]] constexpr Store STORE = Store::{store};\n{parts}",
            config(&numbers, &[])
        )
    }
}

/// Every legal point.
pub(super) fn points(plan: &Plan, layout: &Layout<'_>) -> Vec<Point> {
    if layout.memory_order() == MemoryOrder::Along {
        return Vec::new();
    }
    shapes(layout).into_iter().filter_map(|shape| point(plan, layout, shape)).collect()
}

/// The space, before what a plan forbids.
fn shapes(layout: &Layout<'_>) -> Vec<Shape> {
    let is_apart = layout.memory_order() == MemoryOrder::Apart;
    let mut widths = vec![if is_apart { 1 } else { (16 / layout.widest()).max(1) }, 1];
    widths.dedup();
    let mut all = Vec::new();
    for vec in widths {
        for lanes in [32, 64, 128, 256, 512] {
            for threads in [128, 256, 512, 1024].into_iter().filter(|threads| *threads >= lanes) {
                for unroll in [2, 4, 8, 16] {
                    let base = Shape {
                        vec,
                        threads,
                        lanes,
                        unroll,
                        held: false,
                        parts: None,
                        // elements beside those that one thread reads may be another's
                        once: !is_apart,
                        streaming: true,
                        pdl: layout.has(Feature::Pdl),
                    };
                    if is_worth_a_block(layout, &base) {
                        variants(layout, base, &mut all);
                    }
                }
            }
        }
    }
    all
}

/// Enough values under way, no more columns at a time than there are, and room for what threads know.
fn is_worth_a_block(layout: &Layout<'_>, shape: &Shape) -> bool {
    let smallest = shape.threads == 128 && shape.chunk() <= 16;
    VALUES.contains(&(shape.unroll * shape.vec))
        && (shape.chunk() < layout.range.1.saturating_mul(2) || smallest)
        && layout.statistics() * shape.threads * shape.vec * 8 <= SMEM_MAX
        && registers(layout, shape) <= REGISTERS / shape.threads
}

fn in_flight(layout: &Layout<'_>, shape: &Shape) -> i64 {
    shape.unroll * shape.vec * layout.kept().iter().sum::<i64>()
}

/// Registers of a thread, about.
fn registers(layout: &Layout<'_>, shape: &Shape) -> i64 {
    32 + in_flight(layout, shape) / 4 + shape.vec * (4 + 2 * layout.statistics())
}

fn variants(layout: &Layout<'_>, base: Shape, out: &mut Vec<Shape>) {
    let rereads = layout.levels() > 1 || layout.has_sinks();
    if rereads {
        out.push(Shape { held: true, ..base });
    }
    let deep = base.unroll * base.vec >= 8;
    if !rereads || deep {
        out.push(base);
    }
    let is_apart = layout.memory_order() == MemoryOrder::Apart;
    if base.threads == 256 && base.lanes == if is_apart { 256 } else { 32 } && (deep || is_apart) {
        out.extend(base.pdl.then_some(Shape { pdl: false, ..base }));
        out.push(Shape { once: false, streaming: false, ..base });
        for (part, most) in [(64, 64), (128, 64), (256, 128), (1024, 256)] {
            if layout.range.1 > part && base.chunk() <= part {
                out.push(Shape { parts: Some(Parts { part, most }), pdl: false, ..base });
            }
        }
    }
}

fn point(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Option<Point> {
    let mut conditions = layout.vectors(shape.vec, false)?;
    let most = if shape.held { shape.chunk() } else { i64::from(i32::MAX) };
    conditions.extend(layout.at_most(layout.columns.clone(), most)?);
    let blocks = match shape.blocks(layout) {
        Some(blocks) => IntExpr::op(IntOp::Mul, shape.tiles(layout), blocks),
        None => shape.tiles(layout),
    };
    conditions.extend(layout.at_most(blocks.clone(), i64::from(i32::MAX))?);
    Some(Point {
        name: format!("rowwise-{}", shape.name()),
        template: if shape.parts.is_some() { SPLIT } else { TEMPLATE },
        config: shape.config(),
        entries: shape.parts.map(|_| split::entries(layout, "@ROW_COUNT@, @COLUMNS@")),
        contract: contract(plan, layout, &shape, &blocks),
        conditions,
        tile: shape.chunk(),
        side: Some(shape.lanes * shape.vec),
        cost_features: cost_features(layout, &shape),
    })
}

fn cost_features(layout: &Layout<'_>, shape: &Shape) -> StreamFeatures {
    let (levels, passes) = (layout.levels() as i64, layout.passes() as i64);
    let written = i64::from(layout.has_sinks());
    let (kind, reads) = match (shape.held, shape.parts) {
        (_, Some(_)) => ("across, split", passes + written),
        (true, None) => ("across in registers", 1),
        (false, None) => ("across", levels + written),
    };
    StreamFeatures {
        kind,
        in_flight: in_flight(layout, shape),
        registers: registers(layout, shape),
        block_barriers: if shape.split() > 1 { 2 * levels } else { 0 },
        reads_percent: 100 * reads,
        longest_percent: 100,
        in_l2: false,
        late: layout.has_weights(),
        tail_steps: usize::from(shape.parts.is_some() && !layout.has_sinks()),
        hints: shape.hints(),
    }
}

fn contract(plan: &Plan, layout: &Layout<'_>, shape: &Shape, blocks: &IntExpr) -> Contract {
    let one = || IntExpr::Const(1);
    let step = |entry: String, blocks: &IntExpr| Step {
        entry,
        grid: [blocks.clone(), one(), one()],
        block: [IntExpr::Const(shape.threads), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: print::all_args(&plan.spec, usize::from(shape.parts.is_some())),
        pdl: shape.pdl,
        co_resident: false,
    };
    let Some(parts) = shape.blocks(layout) else {
        return Contract { workspace: Vec::new(), steps: vec![step(ENTRY.to_owned(), blocks)] };
    };
    let tiles = shape.tiles(layout);
    let last = if layout.has_sinks() { blocks } else { &tiles };
    let mut steps: Vec<Step> = (0..layout.passes()).map(|n| step(format!("{ENTRY}_{n}"), blocks)).collect();
    steps.push(step(format!("{ENTRY}_{}", layout.passes()), last));
    let partial =
        op(IntOp::Mul, IntExpr::op(IntOp::Mul, layout.count.clone(), parts), 8 * layout.statistics());
    Contract { workspace: vec![WorkspacePart { bytes: partial, initial: Initial::Undefined }], steps }
}
