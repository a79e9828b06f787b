//! The shapes of `rowwise.cu.in`: how a row lies among threads, where it stays between its passes, with which hints; and
//! which of them are worth a try by rows' lengths, streams and weights. Of a plan it knows no more than that.

use cutegen_spec::arch::Feature;
use cutegen_spec::int_expr::IntExpr;

use super::super::layout::Layout;
use super::super::{REGISTERS, REREAD_MAX};
use crate::generate::{hinted, hints};

/// Threads of a multiprocessor.
const THREADS: i64 = 2048;
/// Bytes that rows leave of what a multiprocessor has for L1 and shared memory.
const L1_ASIDE: i64 = 27 * 1024;
/// What a multiprocessor has of rows at least, where they are in L1: fewer do not keep memory busy.
const NEAR_LEAST: i64 = 64 * 1024;
/// What a thread needs besides fragments and values.
const REGISTERS_APART: i64 = 32;

/// Bytes that are moved of an element, at least: of fewer (quantised rows) the instructions tell, which reading again adds to.
const NEAR_MOVED: i64 = 4;
/// Bytes that a thread of 32 registers has of a row and of weights at a time, at most, where rows have one length and where they
/// have any; by what NVRTC says of local memory.
const NEAR_HELD: i64 = 48;
const NEAR_HELD_OF_ANY: i64 = 32;

/// Rows of which a few fit a warp even by single elements.
const SHORT: i64 = 256;

/// Where a row lies between its passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Registers,
    Shared,
    Global,
}

/// The cache eviction priority of what is read again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EvictionPriority {
    Normal,
    /// It is evicted last from L2, and so many blocks share a multiprocessor at most.
    LastFromL2(i64),
    /// It is evicted last from L1, and a multiprocessor has as many threads as it can.
    LastFromL1,
}

/// One point: `reg-x8t256u2q1c1-osw`.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) home: Home,
    /// Elements of a vector.
    pub(super) vec: i64,
    /// Threads of a row in a block.
    pub(super) threads: i64,
    /// Vectors of a thread at a time.
    pub(super) unroll: i64,
    /// Rows of a block.
    pub(super) rows: i64,
    /// Blocks of a row.
    pub(super) cluster: i64,
    /// Loads past L1.
    pub(super) once: bool,
    /// Stores first to be evicted.
    pub(super) streaming: bool,
    /// Weights are loaded before the first reduction.
    pub(super) early: bool,
    /// Begins while the last kernel ends.
    pub(super) pdl: bool,
    /// Of rows in flight, which are read again.
    pub(super) eviction: EvictionPriority,
}

impl Shape {
    pub(super) fn name(&self) -> String {
        let home = match self.home {
            Home::Registers => "reg",
            Home::Shared => "smem",
            Home::Global => "read",
        };
        let Shape { vec, threads, unroll, rows, cluster, .. } = self;
        let eviction = match self.eviction {
            EvictionPriority::Normal => String::new(),
            EvictionPriority::LastFromL2(beside) => format!("b{beside}"),
            EvictionPriority::LastFromL1 => "n".to_owned(),
        };
        hinted(format!("{home}-x{vec}t{threads}u{unroll}q{rows}c{cluster}{eviction}"), &self.hints())
    }

    pub(super) fn hints(&self) -> String {
        hints(&[(self.once, 'o'), (self.streaming, 's'), (self.early, 'w'), (self.pdl, 'd')])
    }

    /// Elements that the blocks of a row hold at a time.
    pub(super) fn capacity(&self) -> i64 {
        self.threads * self.unroll * self.vec * self.cluster
    }

    pub(super) fn block(&self) -> i64 {
        self.threads * self.rows
    }
}

/// The space, before what a plan forbids.
pub(super) fn shapes(layout: &Layout<'_>) -> Vec<Shape> {
    let wide = (16 / layout.widest()).max(1);
    let base = Shape {
        home: Home::Registers,
        vec: wide,
        threads: 32,
        unroll: 1,
        rows: 1,
        cluster: 1,
        once: true,
        streaming: true,
        early: false,
        pdl: layout.has(Feature::Pdl),
        eviction: EvictionPriority::Normal,
    };
    let mut all = Vec::new();
    in_registers(layout, base, &mut all);
    for (threads, unroll, cluster) in [
        (256, 2, 1),
        (512, 2, 1),
        (512, 4, 1),
        (1024, 2, 1),
        (256, 4, 2),
        (512, 2, 2),
        (512, 4, 4),
        (512, 4, 8),
        (512, 4, 16),
    ] {
        let shape = Shape { home: Home::Shared, threads, unroll, cluster, ..base };
        if is_worth_shared(layout, &shape) {
            all.extend(with_hints(layout, shape));
        }
    }
    for (vec, threads, unroll) in [(wide, 256, 4), (wide, 512, 4), (wide, 1024, 2), (1, 256, 8), (1, 1024, 8)]
    {
        all.push(Shape { home: Home::Global, vec, threads, unroll, ..base });
    }
    for (threads, unroll, beside) in [(1024, 4, 1), (512, 4, 2)] {
        let shape = Shape {
            home: Home::Global,
            threads,
            unroll,
            eviction: EvictionPriority::LastFromL2(beside),
            ..base
        };
        if is_worth_l2(layout, beside) {
            all.push(shape);
        }
    }
    in_l1(layout, base, &mut all);
    all
}

/// Rows that a block reads again from L1.
fn in_l1(layout: &Layout<'_>, base: Shape, out: &mut Vec<Shape>) {
    for (threads, unroll) in [(256, 1), (256, 2), (512, 1), (512, 2), (1024, 1), (1024, 2)] {
        let shape =
            Shape { home: Home::Global, eviction: EvictionPriority::LastFromL1, threads, unroll, ..base };
        if is_worth_l1(layout, &shape) {
            out.extend(with_hints(layout, shape));
        }
    }
}

/// Rows that fit into L1 for all blocks of a multiprocessor, and are enough to keep memory busy.
fn is_worth_l1(layout: &Layout<'_>, shape: &Shape) -> bool {
    let bytes = layout.kept().iter().sum::<i64>();
    let held = shape.unroll * shape.vec * (bytes + layout.weights().iter().sum::<i64>());
    let longest = layout.range.1.min(near_most(layout, shape));
    // one depth is enough where a row may have any length, which takes registers as well
    let usual = held <= NEAR_HELD_OF_ANY && 2 * held > NEAR_HELD_OF_ANY;
    layout.has_sinks()
        && bytes + layout.written() >= NEAR_MOVED
        && held <= NEAR_HELD
        && layout.length().map_or(usual, |length| length == longest)
        && longest >= shape.capacity()
        && longest * bytes >= NEAR_LEAST * shape.threads / THREADS
}

/// Elements of the longest row that fits into L1 for all blocks of a multiprocessor.
pub(super) fn near_most(layout: &Layout<'_>, shape: &Shape) -> i64 {
    (layout.smem() - L1_ASIDE) * shape.threads / THREADS / layout.kept().iter().sum::<i64>().max(1)
}

/// Shared memory is for rows that registers hold badly.
fn is_worth_shared(layout: &Layout<'_>, shape: &Shape) -> bool {
    let slice = layout.range.1 / shape.cluster;
    layout.is_whole()
        && layout.has(Feature::Bulk)
        && (shape.cluster == 1 || layout.has(Feature::Cluster))
        && slice * layout.kept().iter().sum::<i64>() >= 4096
        && slice >= shape.threads * shape.vec
}

/// Rows that are too long for other homes, and few enough at a time for L2.
fn is_worth_l2(layout: &Layout<'_>, beside: i64) -> bool {
    let row = layout.range.1.saturating_mul(layout.kept().iter().sum::<i64>());
    layout.passes() == 1
        && layout.has_sinks()
        && row >= layout.smem_for_rows() / 4
        && row.saturating_mul(beside) <= REREAD_MAX
}

fn in_registers(layout: &Layout<'_>, base: Shape, out: &mut Vec<Shape>) {
    let aligned: &[(i64, i64)] = &[
        (8, 16),
        (8, 32),
        (16, 8),
        (16, 16),
        (32, 4),
        (32, 8),
        (64, 1),
        (64, 2),
        (64, 4),
        (128, 1),
        (128, 2),
        (256, 1),
        (256, 2),
        (512, 1),
        (1024, 1),
    ];
    for (threads, rows) in aligned {
        for unroll in [1, 2, 4, 8] {
            let shape = Shape { threads: *threads, rows: *rows, unroll, ..base };
            let short = layout.range.1 <= SHORT;
            let scalar = Shape { vec: 1, unroll: if short { unroll } else { unroll * 4 }, ..shape };
            let telling = layout.length().is_some() || [32, 128, 512].contains(threads);
            let usual = short || (*rows <= 8 && scalar.unroll >= 8);
            if base.vec > 1 && is_worth_registers(layout, &scalar) && usual && telling {
                out.push(scalar);
            }
            if !is_worth_registers(layout, &shape) {
                continue;
            }
            out.extend(with_hints(layout, shape));
        }
    }
    let clusters: &[i64] = if layout.has(Feature::Cluster) { &[2, 4, 8] } else { &[] };
    for &cluster in clusters {
        for threads in [128, 256, 512, 1024] {
            for unroll in [1, 2, 4] {
                let shape = Shape { threads, unroll, cluster, ..base };
                let telling = layout.length().is_some() || [256, 1024].contains(&threads);
                if is_worth_registers(layout, &shape) && shape.capacity() / cluster >= 1024 && telling {
                    out.extend(with_hints(layout, shape));
                }
            }
        }
    }
}

/// The shape with all hints that its kernel knows, where rows have one length and a block has few: when weights come, how
/// is loaded, stored and launched. Bulk copies have no such loads, and only what is written along a row is stored so.
fn with_hints(layout: &Layout<'_>, shape: Shape) -> Vec<Shape> {
    let in_registers = shape.home == Home::Registers;
    let weights = in_registers && layout.has_weights() && shape.threads >= 32 && shape.cluster == 1;
    let most = layout.length().is_some() && shape.rows <= 4;
    let either = |free: bool| if free { &[true, false][..] } else { &[true][..] };
    let mut all = Vec::new();
    for pdl in either(most && layout.has(Feature::Pdl)) {
        for once in either(most && in_registers) {
            for streaming in either(most && layout.has_sinks()) {
                let shape = Shape { once: *once, streaming: *streaming, pdl: *pdl && shape.pdl, ..shape };
                all.push(shape);
                all.extend(weights.then_some(Shape { early: true, ..shape }));
            }
        }
    }
    all
}

/// Fits some row without wasting more than half of the threads on the longest.
fn is_worth_registers(layout: &Layout<'_>, shape: &Shape) -> bool {
    let (least, most) = layout.range;
    let fits = least <= shape.capacity() && shape.capacity() < most.saturating_mul(2).max(64 * shape.vec);
    // one depth is enough where a row may have any length, and few rows a block
    let usual =
        shape.unroll == if shape.vec == 1 { 16 } else { 4 } && shape.block() <= shape.threads.max(128);
    let alone = shape.rows == 1 || layout.count != IntExpr::Const(1);
    fits && alone && (least == most || usual) && fits_registers(layout, shape)
}

fn fits_registers(layout: &Layout<'_>, shape: &Shape) -> bool {
    let budget = (REGISTERS / shape.block()).min(255);
    held(layout, shape) <= budget && shape.unroll * shape.vec <= 64
}

/// Registers of a thread.
pub(super) fn registers(layout: &Layout<'_>, shape: &Shape) -> i64 {
    match (shape.home, shape.eviction) {
        (Home::Registers, _) => held(layout, shape),
        (_, EvictionPriority::LastFromL1) => REGISTERS / THREADS,
        _ => REGISTERS_APART + 16,
    }
}

/// Those of one that holds its part of a row.
fn held(layout: &Layout<'_>, shape: &Shape) -> i64 {
    let values = shape.unroll * shape.vec;
    let along: i64 = layout.kept().iter().map(|bytes| values * bytes).sum::<i64>() / 4;
    // values of narrow elements have registers beside the elements' own
    let widened = if layout.kept().iter().all(|bytes| *bytes == 4) { 0 } else { values };
    along + widened + REGISTERS_APART
}
