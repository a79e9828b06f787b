//! The cost model of kernels that stream their tensors. It counts blocks, and those that fit at once. Little's law says what
//! their loads take. Barriers add to a block's life.

use cutegen_spec::contract::Step;

use super::{CostModel, H200, device, extent, resident};
use crate::generate::{Candidate, StreamFeatures};
use crate::plan::Plan;
use crate::plan::cost::{Cost, cost};

impl CostModel for StreamFeatures {
    fn nanoseconds(&self, plan: &Plan, candidate: &Candidate, axes: &[i64]) -> Option<f64> {
        let Cost { bytes, flops, .. } = cost(&plan.spec, &plan.schedule, axes);
        let again = if self.in_l2 || bytes < H200.l2_bytes { H200.l2_speed_up } else { 1.0 };
        // what is read more than once, in bytes that take as long
        let moved = bytes * (1.0 + (self.reads_percent as f64 / 100.0 - 1.0) / 2.0 / again);
        let (steps, tail_steps) =
            candidate.contract.steps.split_at(candidate.contract.steps.len() - self.tail_steps);
        let each = (moved / steps.len() as f64, flops / steps.len() as f64);
        let times = steps.iter().map(|step| time(step, self, axes, each));
        let times = times.chain(tail_steps.iter().map(|step| time(step, self, axes, (0.0, 0.0))));
        times.sum::<Option<f64>>()
    }
}

/// Nanoseconds of a step that moves so many bytes and does so many operations.
fn time(step: &Step, features: &StreamFeatures, axes: &[i64], (bytes, flops): (f64, f64)) -> Option<f64> {
    let threads: i64 = extent(&step.block, axes, 1)?;
    let fit = resident(threads, features.registers, step.smem.eval(axes, &|prop| device(prop, 1))?)?;
    let blocks = extent(&step.grid, axes, fit)? as f64;
    let clusters = extent(&step.cluster, axes, 1)? > 1;
    let own = bytes / blocks * features.longest_percent as f64 / 100.0;
    let asks = (own / (threads * features.in_flight).max(1) as f64).ceil().max(1.0);
    let barrier =
        if clusters { H200.cluster_barrier } else { H200.barrier * (threads as f64 / 256.0).max(1.0) };
    let computing = flops / (blocks * threads as f64) * H200.operation;
    let late = if features.late { H200.late } else { 0.0 };
    let life = (asks + 0.6) * H200.latency
        + features.block_barriers as f64 * barrier
        + computing
        + late
        + H200.ramp * threads as f64
        + if threads > 512 { H200.crowded } else { 0.0 };
    let most = (blocks / H200.multiprocessors).ceil();
    let at_once = (fit as f64).min(most);
    // few rounds come in whole ones; many even out
    let rounds = most / at_once;
    let rounds = if rounds < 4.0 { rounds.ceil() } else { rounds };
    let busiest = most * own / H200.bytes_per_ns_each;
    let launch = if step.pdl { H200.launch - H200.overlap } else { H200.launch };
    let issued = flops / (H200.multiprocessors * H200.operations);
    Some(
        launch + (own * blocks / H200.bytes_per_ns).max(life * rounds).max(busiest).max(issued) + 0.18 * life,
    )
}
