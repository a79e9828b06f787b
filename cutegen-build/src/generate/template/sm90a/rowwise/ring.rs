//! The space of `rowwise_ring.cu.in`: one resident launch, all blocks on a few rows, a ring of chunks in each.

use cutegen_spec::contract::{Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};

use super::layout::Layout;
use super::{Config, Point, SMEM_MAX, op};
use crate::generate::{ENTRY, Sketch};
use crate::plan::Plan;
use crate::print;

const TEMPLATE: &str = include_str!("../rowwise_ring.cu.in");

/// Multiprocessors of an H200: a row's blocks are resident at once, one on each.
const MULTIPROCESSORS: i64 = 132;

/// One point: `ring-x4t512u2k8n13`.
#[derive(Clone, Copy)]
struct Shape {
    vec: i64,
    threads: i64,
    unroll: i64,
    /// Chunks of a block's slice of a row.
    slice: i64,
    /// Chunks of the ring.
    stages: i64,
}

impl Shape {
    fn name(&self) -> String {
        format!("ring-x{}t{}u{}k{}n{}", self.vec, self.threads, self.unroll, self.slice, self.stages)
    }

    fn chunk(&self) -> i64 {
        self.threads * self.unroll * self.vec
    }

    /// Blocks of a row.
    fn blocks(&self, layout: &Layout<'_>) -> IntExpr {
        op(IntOp::CeilDiv, layout.columns.clone(), self.chunk() * self.slice)
    }
}

/// Every legal point.
pub(super) fn points(plan: &Plan, layout: &Layout<'_>) -> Vec<Point> {
    if !layout.is_whole() || layout.folds() > 0 {
        return Vec::new();
    }
    let vec = (16 / layout.widest()).max(1);
    let bytes: i64 = layout.kept().iter().sum();
    let mut points = Vec::new();
    for (threads, chunk_bytes) in [(512, 16384), (256, 8192)] {
        let unroll = chunk_bytes / (threads * vec * bytes);
        let stages = SMEM_MAX / chunk_bytes;
        for slice in [stages / 2, stages * 5 / 8, stages - 1] {
            let shape = Shape { vec, threads, unroll, slice, stages };
            if (1..=8).contains(&unroll) && layout.range.1 > shape.chunk() * slice {
                points.extend(point(plan, layout, shape));
            }
        }
    }
    points
}

fn point(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Option<Point> {
    let mut conditions = layout.vectors(shape.vec, true)?;
    conditions.extend(layout.at_most(shape.blocks(layout), MULTIPROCESSORS)?);
    Some(Point {
        name: format!("rowwise-{}", shape.name()),
        template: TEMPLATE,
        config: config(shape),
        entries: None,
        contract: contract(plan, layout, shape),
        conditions,
        tile: shape.chunk() * shape.slice,
        side: None,
        sketch: Sketch {
            kind: "ring",
            in_flight: shape.stages * shape.unroll * shape.vec * layout.kept().iter().sum::<i64>() / 2,
            registers: 64,
            meetings: 2 * layout.levels() as i64,
            reads: 1,
            settling: 0,
        },
    })
}

fn config(shape: Shape) -> String {
    let config = Config {
        home: "SHARED",
        vec: shape.vec,
        threads: shape.threads,
        unroll: shape.unroll,
        rows: 1,
        cluster: 1,
        unit: shape.vec.max(16),
        stages: shape.stages,
        once: true,
        streaming: true,
        early: false,
        whole: false,
        producer: true,
        pdl: false,
    };
    format!("{}\nconstexpr int SLICE_CHUNKS = {};", config.lines(), shape.slice)
}

fn contract(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Contract {
    let one = || IntExpr::Const(1);
    let blocks = shape.blocks(layout);
    let groups = IntExpr::op(IntOp::Div, IntExpr::Device(DeviceProp::SmCount), blocks.clone());
    let groups = IntExpr::op(IntOp::Min, op(IntOp::Max, groups, 1), layout.count.clone());
    let step = Step {
        entry: ENTRY.to_owned(),
        grid: [IntExpr::op(IntOp::Mul, blocks.clone(), groups), one(), one()],
        block: [IntExpr::Const(shape.threads + 32), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(shape.stages * shape.chunk() * layout.kept().iter().sum::<i64>()),
        args: print::all_args(&plan.spec, 2),
        pdl: false,
        co_resident: true,
    };
    let rows = || layout.count.clone();
    let partial = op(IntOp::Mul, IntExpr::op(IntOp::Mul, rows(), blocks), 8 * layout.statistics());
    let counters = op(IntOp::Mul, rows(), 4 * layout.levels() as i64);
    let workspace = vec![
        WorkspacePart { bytes: partial, initial: Initial::Undefined },
        WorkspacePart { bytes: counters, initial: Initial::Zeroed },
    ];
    Contract { workspace, steps: vec![step] }
}
