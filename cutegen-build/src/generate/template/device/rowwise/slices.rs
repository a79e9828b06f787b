//! [`Slices`]: rows in slices, one for each block that has a part of a row, each with a ring of chunks: how many blocks a row
//! has, what they are configured with, and their one resident launch. It must not know what the warps of a block do.

use cutegen_spec::contract::{Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};

use super::layout::Layout;
use super::{Config, op};
use crate::generate::ENTRY;
use crate::plan::Plan;
use crate::print;

/// Threads beside those that compute: a warpgroup, which alone can hand over registers.
pub(super) const PRODUCERS: i64 = 128;

/// How a block works on its slices.
#[derive(Clone, Copy)]
pub(super) struct Slices {
    pub(super) vec: i64,
    /// Threads that have a chunk together.
    pub(super) threads: i64,
    pub(super) unroll: i64,
    /// Chunks of a block's slice of a row.
    pub(super) slice: i64,
    /// Chunks of the ring.
    pub(super) stages: i64,
    /// Blocks of a multiprocessor: while the threads of one meet, another's work.
    pub(super) beside: i64,
}

impl Slices {
    /// Whether a slice has a chunk, as it has not where little shared memory cuts the ring short.
    pub(super) fn has_chunks(&self) -> bool {
        self.slice > 0
    }

    /// Elements of a chunk.
    pub(super) fn chunk(&self) -> i64 {
        self.threads * self.unroll * self.vec
    }

    /// Elements of a slice.
    pub(super) fn length(&self) -> i64 {
        self.chunk() * self.slice
    }

    /// Registers that a thread's part of a chunk takes, of streams of so many bytes an element.
    pub(super) fn registers_of(&self, bytes: &[i64]) -> i64 {
        (self.unroll * self.vec * bytes.iter().sum::<i64>() + 3) / 4
    }

    /// Bytes that a thread has on the way, about.
    pub(super) fn in_flight(&self, bytes: i64) -> i64 {
        self.stages * self.unroll * self.vec * bytes / 2
    }

    /// Blocks of a row.
    pub(super) fn blocks(&self, layout: &Layout<'_>) -> IntExpr {
        op(IntOp::CeilDiv, layout.columns.clone(), self.length())
    }

    /// Whether nothing but whole chunks is on the way.
    pub(super) fn is_whole(&self, layout: &Layout<'_>) -> bool {
        layout.is_chunks(self.chunk(), (layout.range.1 - 1) / self.length() + 1)
    }

    /// What the first block of a row has of it, in percent of the mean.
    pub(super) fn longest_percent(&self, layout: &Layout<'_>) -> i64 {
        let slice = self.length();
        layout.length().map_or(100, |length| 100 * slice.min(length) * ((length - 1) / slice + 1) / length)
    }

    /// The lines of `@CONFIG@`, with those of a template's own.
    pub(super) fn config(&self, layout: &Layout<'_>, own: &[(&str, i64)]) -> String {
        let config = Config {
            home: "SHARED",
            vec: self.vec,
            threads: self.threads,
            unroll: self.unroll,
            rows: 1,
            cluster: 1,
            unit: self.vec.max(16),
            stages: self.stages,
            once: true,
            streaming: true,
            early: false,
            whole: self.is_whole(layout),
            producer: true,
            eviction: "NOWHERE",
            pdl: false,
        };
        let constants = [("SLICE_CHUNKS", self.slice), ("PRODUCERS", PRODUCERS)];
        let lines =
            constants.iter().chain(own).map(|(name, value)| format!("\nconstexpr int {name} = {value};"));
        config.lines() + &lines.collect::<String>()
    }

    /// As many groups of blocks as have room, a row each in turn, of so many threads a block; `left` rows have statistics in
    /// the workspace.
    pub(super) fn contract(
        &self,
        (plan, layout): (&Plan, &Layout<'_>),
        threads: i64,
        left: IntExpr,
        co_resident: bool,
    ) -> Contract {
        let one = || IntExpr::Const(1);
        let blocks = self.blocks(layout);
        let places = op(IntOp::Mul, IntExpr::Device(DeviceProp::SmCount), self.beside);
        let groups = IntExpr::op(IntOp::Div, places, blocks.clone());
        let groups = IntExpr::op(IntOp::Min, op(IntOp::Max, groups, 1), layout.count.clone());
        let step = Step {
            entry: ENTRY.to_owned(),
            grid: [IntExpr::op(IntOp::Mul, blocks.clone(), groups), one(), one()],
            block: [IntExpr::Const(threads), one(), one()],
            cluster: ones(),
            smem: IntExpr::Const(self.stages * self.chunk() * layout.kept().iter().sum::<i64>()),
            args: print::all_args(&plan.spec, 1),
            pdl: false,
            co_resident,
        };
        let partial = op(IntOp::Mul, IntExpr::op(IntOp::Mul, left, blocks), 8 * layout.statistics());
        let workspace = vec![WorkspacePart { bytes: partial, initial: Initial::Zeroed }];
        Contract { workspace, steps: vec![step] }
    }
}
