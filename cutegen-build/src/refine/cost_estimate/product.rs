//! The cost model of matrix products. Tiles come in waves. A tile lasts as long as its slowest part: copies, products, or
//! reads of shared memory. No launch is faster than memory. The constants are no fit to timings yet.

use super::{CostModel, H200, resident};
use crate::generate::{Candidate, Instruction, ProductFeatures};
use crate::plan::Plan;
use crate::plan::cost::cost;

/// What passes from a copy's request to its arrival.
const LATENCY: f64 = 750.0;
/// What a block's start takes, and its epilogue for 4096 elements of a tile.
const RAMP: f64 = 900.0;
const EPILOGUE: f64 = 160.0;
/// Copies of threads of a multiprocessor a nanosecond; TMA copies boxes.
const COPIES: f64 = 14.0;

/// Operations of a multiprocessor a nanosecond, on 16-bit floats.
fn rate(instruction: Instruction) -> f64 {
    match instruction {
        Instruction::MmaSync => H200.mma_sync,
        Instruction::Wgmma => H200.wgmma,
    }
}

impl ProductFeatures {
    /// Nanoseconds of a tile of k for so many blocks of a multiprocessor.
    fn stage(&self, at_once: f64) -> f64 {
        let [bm, bn, bk] = self.tile.map(|extent| extent as f64);
        let products = self.products as f64;
        let bytes = (bm + bn * products) * bk * self.element_bytes as f64;
        let issued = match self.instruction {
            Instruction::MmaSync => at_once * bytes / self.access_bytes as f64 / COPIES,
            Instruction::Wgmma => 0.0,
        };
        (at_once * bytes / H200.bytes_per_ns_each)
            .max(issued)
            .max(at_once * 2.0 * products * bm * bn * bk / rate(self.instruction))
            .max(at_once * self.smem_reads as f64 / H200.smem_bytes_per_ns_each)
            .max(LATENCY / (self.stages - 1) as f64)
    }
}

impl CostModel for ProductFeatures {
    fn nanoseconds(&self, plan: &Plan, candidate: &Candidate, axes: &[i64]) -> Option<f64> {
        let number = |at: usize| Some(self.extents[at].eval_axes(axes)?.max(1) as f64);
        let (batches, rows, columns, terms) = (number(0)?, number(1)?, number(2)?, number(3)?);
        let [bm, bn, bk] = self.tile.map(|extent| extent as f64);
        let blocks = batches * (rows / bm).ceil() * (columns / bn).ceil() * self.splits as f64;
        let tiles_k = ((terms / bk).ceil() / self.splits as f64).ceil();
        let smem = candidate.contract.steps.first()?.smem.eval_axes(axes)?;
        let fit = resident(self.threads, self.registers, smem)? as f64;
        let at_once = fit.min((blocks / H200.multiprocessors).ceil());
        let epilogue = EPILOGUE * self.products as f64 * bm * bn / 4096.0;
        let life = RAMP + tiles_k * self.stage(at_once) + epilogue;
        let waves = blocks / (H200.multiprocessors * at_once);
        let waves = if waves < 4.0 { waves.ceil() } else { waves };
        let moved = cost(&plan.spec, &plan.schedule, axes).bytes / H200.bytes_per_ns;
        Some(H200.launch + (life * waves).max(moved + RAMP))
    }
}
