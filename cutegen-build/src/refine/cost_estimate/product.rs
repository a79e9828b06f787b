//! The cost model of matrix products. Tiles come in waves. A tile lasts as long as its slowest part: copies, products, or
//! reads of shared memory. No launch is faster than memory.

use super::{CostModel, H200, resident};
use crate::generate::{Candidate, ProductFeatures};
use crate::plan::Plan;
use crate::plan::cost::cost;

/// Operations of a multiprocessor a nanosecond: `mma.sync` on 16-bit floats.
const MMA_SYNC: f64 = 4700.0;
/// Bytes of a multiprocessor a nanosecond: from L2, and from shared memory.
const L2_EACH: f64 = 62.0;
const SMEM_EACH: f64 = 200.0;
/// What passes from a copy's request to its arrival.
const LATENCY: f64 = 750.0;
/// What a block's start and its epilogue take, for 4096 elements of a tile.
const RAMP: f64 = 900.0;
const EPILOGUE: f64 = 160.0;
/// Copies of a multiprocessor a nanosecond.
const COPIES: f64 = 14.0;

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
        let (elements, products) = ((bm + bn * self.products as f64) * bk, self.products as f64);
        let bytes = elements * self.element_bytes as f64;
        let in_flight = bytes * (self.stages - 1) as f64;
        let copied = (at_once * bytes / L2_EACH).max(at_once * bytes / self.access_bytes as f64 / COPIES);
        let stage = copied
            .max(at_once * 2.0 * products * bm * bn * bk / MMA_SYNC)
            .max(at_once * self.smem_reads as f64 / SMEM_EACH)
            .max(LATENCY * bytes / in_flight);
        let life = RAMP + tiles_k * stage + EPILOGUE * products * bm * bn / 4096.0;
        let waves = blocks / (H200.multiprocessors * at_once);
        let waves = if waves < 4.0 { waves.ceil() } else { waves };
        let moved = cost(&plan.spec, &plan.schedule, axes).bytes / H200.bytes_per_ns;
        Some(H200.launch + (life * waves).max(moved + RAMP))
    }
}
