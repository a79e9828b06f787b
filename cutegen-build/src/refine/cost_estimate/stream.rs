//! The cost model of kernels that stream their tensors. It counts blocks, and those that fit at once. Little's law says what
//! their loads take. Barriers add to a block's life.

use cutegen_spec::contract::Step;

use super::{CostModel, extent, property, resident};
use crate::generate::{Candidate, StreamFeatures};
use crate::plan::Plan;
use crate::plan::cost::{Cost, cost};
use crate::plan::device_model::DeviceModel;

impl CostModel for StreamFeatures {
    fn nanoseconds(
        &self,
        device: &DeviceModel,
        plan: &Plan,
        candidate: &Candidate,
        axes: &[i64],
    ) -> Option<f64> {
        let rates = &device.rates.stream;
        let Cost { bytes, flops, .. } = cost(&plan.spec, &plan.schedule, axes);
        let again = if self.in_l2 || bytes < rates.kept_bytes { rates.again } else { 1.0 };
        // what is read more than once, in bytes that take as long
        let moved = bytes * (1.0 + (self.reads_percent as f64 / 100.0 - 1.0) / 2.0 / again);
        let (steps, tail_steps) =
            candidate.contract.steps.split_at(candidate.contract.steps.len() - self.tail_steps);
        let each = (moved / steps.len() as f64, flops / steps.len() as f64);
        let times = steps.iter().map(|step| time(device, step, (self, axes), each));
        let times = times.chain(tail_steps.iter().map(|step| time(device, step, (self, axes), (0.0, 0.0))));
        times.sum::<Option<f64>>()
    }
}

/// Nanoseconds of a step that moves so many bytes and does so many operations.
fn time(
    device: &DeviceModel,
    step: &Step,
    (features, axes): (&StreamFeatures, &[i64]),
    (bytes, flops): (f64, f64),
) -> Option<f64> {
    let (limits, rates, all) = (&device.limits, &device.rates.stream, &device.rates);
    let threads: i64 = extent(limits, &step.block, axes, 1)?;
    let fit = resident(
        limits,
        threads,
        features.registers,
        step.smem.eval(axes, &|prop| property(limits, prop, 1))?,
    )?;
    let blocks = extent(limits, &step.grid, axes, fit)? as f64;
    let clusters = extent(limits, &step.cluster, axes, 1)? > 1;
    let own = bytes / blocks * features.longest_percent as f64 / 100.0;
    let asks = (own / (threads * features.in_flight).max(1) as f64).ceil().max(1.0);
    let barrier =
        if clusters { rates.cluster_barrier } else { rates.barrier * (threads as f64 / 256.0).max(1.0) };
    let computing = flops / (blocks * threads as f64) * rates.operation;
    let late = if features.late { rates.late } else { 0.0 };
    let life = (asks + 0.6) * rates.latency
        + features.block_barriers as f64 * barrier
        + computing
        + late
        + rates.ramp * threads as f64
        + if threads > 512 { rates.crowded } else { 0.0 };
    let most = (blocks / limits.multiprocessors as f64).ceil();
    let at_once = (fit as f64).min(most);
    // few rounds come in whole ones; many even out
    let rounds = most / at_once;
    let rounds = if rounds < 4.0 { rounds.ceil() } else { rounds };
    let busiest = most * own / rates.bytes_per_ns_each;
    let launch = if step.pdl { all.launch - all.overlap } else { all.launch };
    let issued = flops / (limits.multiprocessors as f64 * rates.operations_each);
    Some(launch + (own * blocks / all.bytes_per_ns).max(life * rounds).max(busiest).max(issued) + 0.18 * life)
}
