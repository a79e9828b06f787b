//! The space of `rowwise.cu.in`: one launch, a row to a part of a warp, a block or a cluster. What each shape asks of the device
//! and of shapes of tensors; which shapes there are is in `shape.rs`.

mod shape;

use cutegen_spec::contract::{Contract, Step};
use cutegen_spec::int_expr::{IntExpr, IntOp};

use super::layout::Layout;
use super::{Config, Point, op};
use crate::generate::{ENTRY, StreamFeatures};
use crate::plan::Plan;
use crate::plan::family::MemoryOrder;
use crate::print;
use shape::{EvictionPriority, Home, Shape, near_most, registers, shapes};

const TEMPLATE: &str = include_str!("../rowwise.cu.in");

/// Barriers of a block, one a chunk.
const STAGES: i64 = 64;
/// Bytes of shared memory of a multiprocessor beyond what one block may ask for.
const RESERVED: i64 = 1024;

/// Every legal point.
pub(super) fn points(plan: &Plan, layout: &Layout<'_>) -> Vec<Point> {
    if layout.memory_order() != MemoryOrder::Along {
        return Vec::new();
    }
    shapes(layout).into_iter().filter_map(|shape| point(plan, layout, shape)).collect()
}

fn cost_features(layout: &Layout<'_>, shape: &Shape) -> StreamFeatures {
    let bytes = shape.unroll * shape.vec * layout.kept().iter().sum::<i64>();
    let passes = layout.passes() as i64;
    let reads = passes + i64::from(layout.has_sinks());
    let (kind, in_flight, reads_percent) = match (shape.home, shape.cluster) {
        (Home::Global, _) if matches!(shape.eviction, EvictionPriority::LastFromL2(_)) => {
            ("global memory, again from L2", bytes, 100 * reads)
        }
        (Home::Global, _) if shape.eviction == EvictionPriority::LastFromL1 => {
            ("global memory, again from L1", bytes, 100)
        }
        (Home::Registers, 1) => ("registers", bytes, 100),
        (Home::Registers, _) => ("registers of a cluster", bytes, 100),
        // a row's copies are all under way at once
        (Home::Shared, 1) => ("shared memory", 4 * bytes, 100),
        (Home::Shared, _) => ("shared memory of a cluster", 4 * bytes, 100),
        (Home::Global, _) => ("global memory", bytes, 100 * reads),
    };
    let block_barriers = if shape.threads > 32 { 2 * passes } else { 0 };
    StreamFeatures {
        kind,
        in_flight,
        registers: registers(layout, shape),
        block_barriers,
        reads_percent,
        longest_percent: 100,
        in_l2: matches!(shape.eviction, EvictionPriority::LastFromL2(_)),
        late: layout.has_weights() && !shape.early,
        tail_steps: 0,
        hints: shape.hints(),
    }
}

fn point(plan: &Plan, layout: &Layout<'_>, shape: Shape) -> Option<Point> {
    let shared = shape.home == Home::Shared;
    let unit = if shared { shape.vec.max(16) } else { shape.vec };
    let mut conditions = layout.vectors(shape.vec, shared)?;
    let smem = match shape.eviction {
        _ if shared => smem(layout, &shape, unit),
        // it is not used, but no more blocks fit
        EvictionPriority::LastFromL2(beside) => IntExpr::Const((layout.smem() + RESERVED) / (beside + 1)),
        EvictionPriority::Normal | EvictionPriority::LastFromL1 => IntExpr::Const(0),
    };
    match shape.home {
        Home::Registers => conditions.extend(layout.at_most(layout.columns.clone(), shape.capacity())?),
        Home::Shared => {
            conditions.extend(layout.at_most(smem.clone(), layout.smem_for_rows())?);
            let chunks =
                op(IntOp::CeilDiv, layout.slice(shape.cluster, unit), shape.capacity() / shape.cluster);
            conditions.extend(layout.at_most(chunks, STAGES)?);
        }
        Home::Global if shape.eviction == EvictionPriority::LastFromL1 => {
            conditions.extend(layout.at_most(layout.columns.clone(), near_most(layout, &shape))?);
        }
        Home::Global => conditions.extend(layout.at_most(layout.columns.clone(), i64::from(i32::MAX))?),
    }
    conditions.dedup();
    Some(Point {
        name: format!("rowwise-{}", shape.name()),
        template: TEMPLATE,
        config: config(layout, &shape, unit).lines(),
        entries: None,
        contract: contract(plan, layout, &shape, smem),
        conditions,
        tile: shape.capacity(),
        side: None,
        cost_features: cost_features(layout, &shape),
    })
}

/// Bytes of the chunks of one block, of the streams that belong to the row.
fn smem(layout: &Layout<'_>, shape: &Shape, unit: i64) -> IntExpr {
    let chunk = shape.capacity() / shape.cluster;
    let chunks = op(IntOp::CeilDiv, layout.slice(shape.cluster, unit), chunk);
    op(IntOp::Mul, chunks, chunk * layout.kept().iter().sum::<i64>())
}

fn contract(plan: &Plan, layout: &Layout<'_>, shape: &Shape, smem: IntExpr) -> Contract {
    let one = || IntExpr::Const(1);
    let blocks = op(IntOp::Mul, op(IntOp::CeilDiv, layout.count.clone(), shape.rows), shape.cluster);
    let step = Step {
        entry: ENTRY.to_owned(),
        grid: [blocks, one(), one()],
        block: [IntExpr::Const(shape.block()), one(), one()],
        cluster: [IntExpr::Const(shape.cluster), one(), one()],
        smem,
        args: print::all_args(&plan.spec, 0),
        pdl: shape.pdl,
        co_resident: false,
    };
    Contract { workspace: Vec::new(), steps: vec![step] }
}

fn config(layout: &Layout<'_>, shape: &Shape, unit: i64) -> Config {
    Config {
        home: match shape.home {
            Home::Registers => "REGISTERS",
            Home::Shared => "SHARED",
            Home::Global => "GLOBAL",
        },
        vec: shape.vec,
        threads: shape.threads,
        unroll: shape.unroll,
        rows: shape.rows,
        cluster: shape.cluster,
        unit,
        stages: if shape.home == Home::Shared { STAGES } else { 1 },
        once: shape.once,
        streaming: shape.streaming,
        early: shape.early,
        whole: layout.is_chunks(shape.capacity(), 1),
        producer: false,
        eviction: match shape.eviction {
            EvictionPriority::Normal => "NOWHERE",
            EvictionPriority::LastFromL2(_) => "L2",
            EvictionPriority::LastFromL1 => "L1",
        },
        pdl: shape.pdl,
    }
}
