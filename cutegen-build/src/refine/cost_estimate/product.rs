//! The cost model of matrix products. Tiles come in waves. A tile lasts as long as its slowest part: copies, products, or
//! reads of shared memory. No launch is faster than memory. Rates are those of the fastest
//! points of `results/runs/products/wgmma_h200`.

use super::{CostModel, H200, extent, resident};
use crate::generate::{Candidate, Instruction, ProductFeatures};
use crate::plan::Plan;
use crate::plan::cost::cost;

/// What passes from a copy's request to its arrival.
const LATENCY: f64 = 750.0;
/// What a block's start takes, and its epilogue for 4096 elements of a tile.
const RAMP: f64 = 900.0;
const EPILOGUE: f64 = 160.0;
/// What blocks that share k add, besides reading each other's sums.
const MEETING: f64 = 600.0;
/// Copies of threads of a multiprocessor a nanosecond; TMA copies boxes.
const COPIES: f64 = 14.0;

/// Operations of a multiprocessor's scalar cores a nanosecond. Beside each product with a weight they convert it, and half of
/// them hold rows: as many as of `CONVERTED` rows more.
const FMA: f64 = 400.0;
const CONVERTED: f64 = 2.0;

/// Bytes of a multiprocessor a nanosecond: of what comes from memory, where each comes once, and from L2.
const FROM_MEMORY: f64 = 40.0;
const FROM_L2: f64 = 110.0;

/// Operations of a multiprocessor a nanosecond, on 16-bit floats.
fn rate(instruction: Instruction) -> f64 {
    match instruction {
        Instruction::MmaSync => H200.mma_sync,
        Instruction::Wgmma => H200.wgmma,
        Instruction::Fma => FMA,
    }
}

/// Of two that run beside each other the longer, and somewhat more where they are as long.
fn norm(a: f64, b: f64) -> f64 {
    (a.powi(4) + b.powi(4)).powf(0.25)
}

/// What tiles copy of the factors.
struct Copies {
    rows: f64,
    columns: f64,
    /// Of all copies, what comes from memory.
    share: f64,
}

impl ProductFeatures {
    /// Nanoseconds of a tile of k for so many blocks of a multiprocessor.
    fn stage(&self, at_once: f64, copies: &Copies) -> f64 {
        let [bm, bn, bk] = self.tile.map(|extent| extent as f64);
        let products = self.products as f64;
        let bytes =
            (bm.min(copies.rows) + bn.min(copies.columns) * products) * bk * self.element_bytes as f64;
        let issued = match self.instruction {
            Instruction::MmaSync => at_once * bytes / self.access_bytes as f64 / COPIES,
            Instruction::Wgmma => 0.0,
            Instruction::Fma => at_once * bytes / self.access_bytes as f64 / COPIES,
        };
        let (rows, ahead) = match self.instruction {
            Instruction::Fma => (bm + CONVERTED, self.stages),
            Instruction::MmaSync | Instruction::Wgmma => (bm, self.stages - 1),
        };
        let of_byte = copies.share / FROM_MEMORY + (1.0 - copies.share) / FROM_L2;
        (at_once * bytes * of_byte)
            .max(issued)
            .max(at_once * 2.0 * products * rows * bn * bk / rate(self.instruction))
            .max(at_once * self.smem_reads as f64 / H200.smem_bytes_per_ns_each)
            .max(LATENCY / ahead as f64)
    }
}

impl CostModel for ProductFeatures {
    fn nanoseconds(&self, plan: &Plan, candidate: &Candidate, axes: &[i64]) -> Option<f64> {
        let number = |at: usize| Some(self.extents[at].eval_axes(axes)?.max(1) as f64);
        let (batches, rows, columns, terms) = (number(0)?, number(1)?, number(2)?, number(3)?);
        let [bm, bn, bk] = self.tile.map(|extent| extent as f64);
        let (tiles, products) = ([(rows / bm).ceil(), (columns / bn).ceil()], self.products as f64);
        let of_k = (terms / bk).ceil();
        let smem = candidate.contract.steps.last()?.smem.eval_axes(axes)?;
        let fit = resident(self.threads, self.registers, smem)? as f64;
        let all = batches * tiles[0] * tiles[1];
        // by stream-K blocks are as many as run at once, and have equal shares
        let (blocks, tiles_k) = if self.stream_k {
            let blocks = (H200.multiprocessors * fit).min(all * of_k);
            (blocks, all * of_k / blocks)
        } else {
            (all * self.splits as f64, (of_k / self.splits as f64).ceil())
        };
        let tiles_k = tiles_k * self.passes as f64;
        let launched = extent(&candidate.contract.steps.last()?.grid, axes, fit as i64)? as f64;
        let at_once = match self.instruction {
            // one ring after the other would hold all that fits, and half of it is for the next kernel
            Instruction::Fma => (launched / H200.multiprocessors).ceil(),
            Instruction::MmaSync | Instruction::Wgmma => fit.min((blocks / H200.multiprocessors).ceil()),
        };
        let once = rows + columns * products;
        let copied = tiles[1] * rows + tiles[0] * columns * products;
        let copies = Copies { rows, columns, share: once / copied };
        let results = products * bm * bn;
        let met = if self.stream_k { 2 } else { self.splits };
        let meeting = if met > 1 { MEETING + met as f64 * 4.0 * results / FROM_MEMORY } else { 0.0 };
        let tile = tiles_k * self.stage(at_once, &copies) + EPILOGUE * results / 4096.0 + meeting;
        let waves = blocks / (H200.multiprocessors * at_once);
        let waves = if waves < 4.0 { waves.ceil() } else { waves };
        let life = match self.instruction {
            Instruction::Fma => RAMP + tile * (blocks / launched).ceil(),
            Instruction::MmaSync | Instruction::Wgmma => (RAMP + tile) * waves,
        };
        let moved = cost(&plan.spec, &plan.schedule, axes).bytes / H200.bytes_per_ns;
        Some(H200.launch + norm(life, moved + RAMP))
    }
}
