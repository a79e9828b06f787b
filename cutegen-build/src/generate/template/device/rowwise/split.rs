//! The space of `rowwise_split.cu.in`: a launch a level, many blocks a row, partial results in the workspace.

use cutegen_spec::contract::{Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::int_expr::{IntExpr, IntOp};

use super::layout::Layout;
use super::{Config, Point, op};
use crate::generate::{ENTRY, StreamFeatures};
use crate::plan::Plan;
use crate::plan::family::MemoryOrder;
use crate::print;

const TEMPLATE: &str = include_str!("../rowwise_split.cu.in");

/// The shortest row that is worth several launches.
const WORTH: i64 = 32 * 1024;

/// One point: `split-x4t256u4p16384m512`.
#[derive(Clone, Copy)]
struct Shape {
    vec: i64,
    threads: i64,
    unroll: i64,
    /// Elements that are worth a block.
    part: i64,
    /// Most blocks of a row.
    most: i64,
}

impl Shape {
    fn name(&self) -> String {
        format!("split-x{}t{}u{}p{}m{}", self.vec, self.threads, self.unroll, self.part, self.most)
    }

    /// Blocks of a row.
    fn parts(&self, layout: &Layout<'_>) -> IntExpr {
        op(IntOp::Min, op(IntOp::CeilDiv, layout.columns.clone(), self.part), self.most)
    }
}

/// Every legal point.
pub(super) fn points(plan: &Plan, layout: &Layout<'_>) -> Vec<Point> {
    if layout.range.1 < WORTH || layout.memory_order() != MemoryOrder::Along {
        return Vec::new();
    }
    let wide = (16 / layout.widest()).max(1);
    let shapes = [
        (wide, 256, 4, 8192, 1024),
        (wide, 256, 4, 16384, 528),
        (wide, 512, 4, 16384, 264),
        (wide, 512, 4, 32768, 264),
        (1, 512, 8, 16384, 528),
    ];
    let shapes = shapes.map(|(vec, threads, unroll, part, most)| Shape { vec, threads, unroll, part, most });
    shapes.into_iter().filter_map(|shape| point(plan, layout, shape)).collect()
}

fn point(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Option<Point> {
    let blocks = IntExpr::op(IntOp::Mul, layout.count.clone(), shape.parts(layout));
    let mut conditions = layout.vectors(shape.vec, false)?;
    conditions.extend(layout.at_most(layout.columns.clone(), i64::from(i32::MAX))?);
    conditions.extend(layout.at_most(blocks.clone(), i64::from(i32::MAX))?);
    Some(Point {
        name: format!("rowwise-{}", shape.name()),
        template: TEMPLATE,
        config: config(layout, shape),
        entries: Some(entries(layout, "@COLUMNS@")),
        contract: contract(plan, layout, shape, &blocks),
        conditions,
        tile: shape.part,
        side: None,
        cost_features: StreamFeatures {
            kind: "split rows",
            in_flight: shape.unroll * shape.vec * layout.kept().iter().sum::<i64>(),
            registers: 48,
            block_barriers: 2,
            reads_percent: 100 * (layout.passes() as i64 + i64::from(layout.has_sinks())),
            longest_percent: 100,
            in_l2: false,
            late: layout.has_weights(),
            tail_steps: usize::from(!layout.has_sinks()),
            hints: String::new(),
        },
    })
}

fn config(layout: &Layout<'_>, shape: Shape) -> String {
    let parts = ((layout.range.1 - 1) / shape.part + 1).min(shape.most);
    let config = Config {
        home: "GLOBAL",
        vec: shape.vec,
        threads: shape.threads,
        unroll: shape.unroll,
        rows: 1,
        cluster: 1,
        unit: shape.vec,
        stages: 1,
        once: true,
        streaming: true,
        early: false,
        whole: layout.is_chunks(shape.threads * shape.unroll * shape.vec, parts),
        producer: false,
        eviction: "NOWHERE",
        pdl: false,
    };
    format!(
        "{}\nconstexpr int64_t PART = {};\nconstexpr int PARTS_MAX = {};\nconstexpr bool BY_PART = {};",
        config.lines(),
        shape.part,
        shape.most,
        layout.has_weights()
    )
}

/// A kernel a pass, and one that writes, each over `extents`.
pub(super) fn entries(layout: &Layout<'_>, extents: &str) -> String {
    let passes = layout.passes();
    let call = |n: usize| match n {
        _ if n == passes => "finish".to_owned(),
        _ if layout.merges() => "reduce_both".to_owned(),
        _ => format!("reduce<{n}>"),
    };
    let one = |n: usize| {
        format!(
            "extern \"C\" __global__ void __launch_bounds__(BLOCK) @ENTRY@_{n}(\n    @PARAMS@, uint2* w0@FOLD@) {{\n  \
             @AXES@\n  {}(Math{{@MEMBERS@}}, {extents}, w0);\n}}\n",
            call(n)
        )
    };
    (0..=passes).map(one).collect()
}

fn contract(plan: &Plan, layout: &Layout<'_>, shape: Shape, blocks: &IntExpr) -> Contract {
    let one = || IntExpr::Const(1);
    let step = |n: usize, blocks: &IntExpr| Step {
        entry: format!("{ENTRY}_{n}"),
        grid: [blocks.clone(), one(), one()],
        block: [IntExpr::Const(shape.threads), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: print::all_args(&plan.spec, 1),
        pdl: false,
        co_resident: false,
    };
    let last = if layout.has_sinks() { blocks } else { &layout.count };
    let mut steps: Vec<Step> = (0..layout.passes()).map(|n| step(n, blocks)).collect();
    steps.push(step(layout.passes(), last));
    let partial = op(IntOp::Mul, blocks.clone(), 8 * layout.statistics());
    Contract { workspace: vec![WorkspacePart { bytes: partial, initial: Initial::Undefined }], steps }
}
