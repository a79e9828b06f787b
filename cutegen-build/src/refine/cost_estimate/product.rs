//! The cost model of matrix products. Tiles come in waves. A tile lasts as long as its slowest part: copies, products, or
//! reads of shared memory. No launch is faster than memory.

use super::{CostModel, extent, resident};
use crate::generate::{Candidate, Fetched, Instruction, ProductFeatures};
use crate::plan::Plan;
use crate::plan::cost::cost;
use crate::plan::device_model::DeviceModel;
use crate::plan::device_model::rates::ProductRates;

/// Operations of a multiprocessor a nanosecond, on 16-bit floats.
fn rate(rates: &ProductRates, instruction: Instruction) -> f64 {
    match instruction {
        Instruction::MmaSync => rates.mma_sync_each,
        Instruction::Wgmma => rates.wgmma_each,
        Instruction::Fma => rates.fma_each,
    }
}

/// Of two that run beside each other the longer, and somewhat more where they are as long.
fn norm(a: f64, b: f64) -> f64 {
    (a.powi(4) + b.powi(4)).powf(0.25)
}

/// Blocks that a multiprocessor runs at once: the fullest one, whose units they share, and on average, since memory serves all
/// multiprocessors and gives those with more of them more.
struct Blocks {
    at_once: f64,
    on_average: f64,
}

/// A multiprocessor takes so many times its share of memory at most.
const SHARES_MOST: f64 = 3.0;

/// What tiles copy of the factors.
struct Copies {
    rows: f64,
    columns: f64,
    /// Of all copies, what comes from memory.
    share: f64,
}

impl ProductFeatures {
    /// Nanoseconds of a tile of k for so many blocks of a multiprocessor.
    fn stage(&self, rates: &ProductRates, Blocks { at_once, on_average }: Blocks, copies: &Copies) -> f64 {
        let [bm, bn, bk] = self.tile.map(|extent| extent as f64);
        let products = self.products as f64;
        let bytes =
            (bm.min(copies.rows) + bn.min(copies.columns) * products) * bk * self.element_bytes as f64;
        let issued = match self.instruction {
            Instruction::MmaSync => at_once * bytes / self.access_bytes as f64 / rates.copies_each,
            Instruction::Wgmma => 0.0,
            Instruction::Fma => at_once * bytes / self.access_bytes as f64 / rates.copies_each,
        };
        let (rows, ahead) = match self.instruction {
            Instruction::Fma => (bm + rates.converted, self.stages),
            Instruction::MmaSync | Instruction::Wgmma => (bm, self.stages - 1),
        };
        let from_memory = copies.share * bytes;
        let from_l2 = (self.asked(bytes, copies) - from_memory).max(0.0);
        let copied =
            on_average * from_memory / rates.from_memory_each + at_once * from_l2 / rates.from_l2_each;
        copied
            .max(issued)
            .max(at_once * 2.0 * products * rows * bn * bk / rate(rates, self.instruction))
            .max(at_once * self.smem_reads as f64 / rates.smem_bytes_each)
            .max(rates.latency / ahead as f64)
    }
}

impl ProductFeatures {
    /// Bytes that a block asks L2 for, of a tile of so many; a line that it wants a part of counts whole.
    fn asked(&self, bytes: f64, copies: &Copies) -> f64 {
        let Fetched::Straddling { rows, lines, .. } = self.fetched else { return bytes };
        let of = |at: usize, most: f64| (rows[at] as f64).min(most) * lines[at] as f64;
        let all = of(0, copies.rows) + of(1, copies.columns) * self.products as f64;
        all * self.tile[2] as f64 * self.element_bytes as f64
    }

    /// Tiles along rows of y and along columns: clusters are whole.
    fn tiles(&self, rows: f64, columns: f64) -> [f64; 2] {
        let [high, wide] = match self.fetched {
            Fetched::Straddling { cluster, .. } => cluster.map(|tiles| tiles as f64),
            Fetched::Tile => [1.0, 1.0],
        };
        let [bm, bn, _] = self.tile.map(|extent| extent as f64);
        [high * (rows / (high * bm)).ceil(), wide * (columns / (wide * bn)).ceil()]
    }
}

impl CostModel for ProductFeatures {
    fn nanoseconds(
        &self,
        device: &DeviceModel,
        plan: &Plan,
        candidate: &Candidate,
        axes: &[i64],
    ) -> Option<f64> {
        let (limits, rates) = (&device.limits, &device.rates.product);
        let multiprocessors = limits.multiprocessors as f64;
        let number = |at: usize| Some(self.extents[at].eval_axes(axes)?.max(1) as f64);
        let (batches, rows, columns, terms) = (number(0)?, number(1)?, number(2)?, number(3)?);
        let [bm, bn, bk] = self.tile.map(|extent| extent as f64);
        let (tiles, products) = (self.tiles(rows, columns), self.products as f64);
        let of_k = (terms / bk).ceil();
        let smem = candidate.contract.steps.last()?.smem.eval_axes(axes)?;
        let fit = resident(limits, self.threads, self.registers, smem)? as f64;
        let all = batches * tiles[0] * tiles[1];
        // by stream-K blocks are as many as run at once, and have equal shares
        let (blocks, tiles_k) = if self.stream_k {
            let blocks = (multiprocessors * fit).min(all * of_k);
            (blocks, all * of_k / blocks)
        } else {
            (all * self.splits as f64, (of_k / self.splits as f64).ceil())
        };
        let tiles_k = tiles_k * self.passes as f64;
        let launched = extent(limits, &candidate.contract.steps.last()?.grid, axes, fit as i64)? as f64;
        let at_once = match self.instruction {
            // one ring after the other would hold all that fits, and half of it is for the next kernel
            Instruction::Fma => (launched / multiprocessors).ceil(),
            Instruction::MmaSync | Instruction::Wgmma => fit.min((blocks / multiprocessors).ceil()),
        };
        let once = rows + columns * products;
        let copied = tiles[1] * rows + tiles[0] * columns * products;
        let copies = Copies { rows, columns, share: once / copied };
        let results = products * bm * bn;
        let met = if self.stream_k { 2 } else { self.splits };
        let meeting =
            if met > 1 { rates.meeting + met as f64 * 4.0 * results / rates.from_memory_each } else { 0.0 };
        let waves = blocks / (multiprocessors * at_once);
        let waves = if waves < 4.0 { waves.ceil() } else { waves };
        let on_average = match self.instruction {
            Instruction::Fma => at_once,
            Instruction::MmaSync | Instruction::Wgmma => {
                (blocks / (multiprocessors * waves)).max(at_once / SHARES_MOST)
            }
        };
        let stage = self.stage(rates, Blocks { at_once, on_average }, &copies);
        let tile = tiles_k * stage + rates.epilogue * results / 4096.0 + meeting;
        let life = match self.instruction {
            Instruction::Fma => rates.ramp + tile * (blocks / launched).ceil(),
            Instruction::MmaSync | Instruction::Wgmma => (rates.ramp + tile) * waves,
        };
        let moved = cost(&plan.spec, &plan.schedule, axes).bytes / device.rates.bytes_per_ns;
        Some(device.rates.launch + norm(life, moved + rates.ramp))
    }
}
