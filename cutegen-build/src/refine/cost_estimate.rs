//! A cost estimate of a candidate's time from what is known before it is compiled: how many blocks it has, how many of them
//! fit, how much each asks memory for before it waits (Little's law), and how often its threads meet. It ranks; what
//! is fast is measured. Knows figures of a device, and no device.

use cutegen_spec::contract::Step;
use cutegen_spec::int_expr::DeviceProp;

use crate::generate::{Candidate, CostFeatures};
use crate::plan::Plan;
use crate::plan::cost::{Cost, cost};

/// What a device does, in bytes and nanoseconds.
struct Machine {
    multiprocessors: f64,
    bytes_per_ns: f64,
    /// What one multiprocessor takes from memory at most.
    bytes_per_ns_each: f64,
    /// What a load adds to a block's life.
    latency: f64,
    /// What loads behind the reductions add to it, which wait for no result of them and are not early either.
    late: f64,
    launch: f64,
    /// What of it a programmatic launch hides behind the kernel before.
    overlap: f64,
    /// What an operation of the math adds to a thread's life, with its conversions and addresses.
    operation: f64,
    /// Such operations of a multiprocessor, a nanosecond.
    operations: f64,
    /// A block's start, by its threads.
    ramp: f64,
    /// What a block of more threads than half of the most adds to its life.
    crowded: f64,
    /// One barrier of a block, by 256 threads and of as many at least.
    barrier: f64,
    /// The same of a cluster.
    cluster_barrier: f64,
    threads: i64,
    registers: i64,
    smem: i64,
    blocks: i64,
    /// What stays in L2 is read again faster by so much.
    l2_bytes: f64,
    l2_speed_up: f64,
}

/// NVIDIA H200 SXM: limits by the CUDA guide for compute capability 9.0, rates as measured. Times are those with which the
/// least is lost by what a search tries of 14 of 27 kernels whose points are all timed (`bars::sweep`; they are in
/// `tests/compile/choices/`), with each time a twentieth off, too; of the other 13 it then lost 0.5 % at most.
const H200: Machine = Machine {
    multiprocessors: 132.0,
    bytes_per_ns: 4100.0,
    bytes_per_ns_each: 62.0,
    latency: 103.0,
    late: 480.0,
    launch: 1000.0,
    overlap: 300.0,
    operation: 1.39,
    operations: 189.0,
    ramp: 0.076,
    crowded: 351.0,
    barrier: 67.0,
    cluster_barrier: 170.0,
    threads: 2048,
    registers: 65536,
    smem: 233_472,
    blocks: 32,
    l2_bytes: 40e6,
    l2_speed_up: 1.8,
};

/// Microseconds of one launch at `axes`; none where the candidate has no cost features or does not claim that shape.
#[must_use]
pub fn cost_estimate(plan: &Plan, candidate: &Candidate, axes: &[i64]) -> Option<f64> {
    let cost_features = candidate.cost_features.as_ref()?;
    if !candidate.eligibility.holds(axes, &vec![0; plan.spec.tensors.len()]) {
        return None;
    }
    let Cost { bytes, flops, .. } = cost(&plan.spec, &plan.schedule, axes);
    let again = if cost_features.in_l2 || bytes < H200.l2_bytes { H200.l2_speed_up } else { 1.0 };
    // what is read more than once, in bytes that take as long
    let moved = bytes * (1.0 + (cost_features.reads_percent as f64 / 100.0 - 1.0) / 2.0 / again);
    let (steps, tail_steps) =
        candidate.contract.steps.split_at(candidate.contract.steps.len() - cost_features.tail_steps);
    let each = (moved / steps.len() as f64, flops / steps.len() as f64);
    let times = steps.iter().map(|step| time(step, cost_features, axes, each));
    let times = times.chain(tail_steps.iter().map(|step| time(step, cost_features, axes, (0.0, 0.0))));
    Some(times.sum::<Option<f64>>()? / 1e3)
}

/// Nanoseconds of a step that moves so many bytes and does so many operations.
fn time(step: &Step, cost_features: &CostFeatures, axes: &[i64], (bytes, flops): (f64, f64)) -> Option<f64> {
    let threads: i64 = extent(&step.block, axes, 1)?;
    let fit = resident(threads, cost_features.registers, step.smem.eval(axes, &|prop| device(prop, 1))?)?;
    let blocks = extent(&step.grid, axes, fit)? as f64;
    let clusters = extent(&step.cluster, axes, 1)? > 1;
    let own = bytes / blocks * cost_features.longest_percent as f64 / 100.0;
    let asks = (own / (threads * cost_features.in_flight).max(1) as f64).ceil().max(1.0);
    let barrier =
        if clusters { H200.cluster_barrier } else { H200.barrier * (threads as f64 / 256.0).max(1.0) };
    let computing = flops / (blocks * threads as f64) * H200.operation;
    let late = if cost_features.late { H200.late } else { 0.0 };
    let life = (asks + 0.6) * H200.latency
        + cost_features.block_barriers as f64 * barrier
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

/// Blocks of this size that fit on a multiprocessor.
fn resident(threads: i64, registers: i64, smem: i64) -> Option<i64> {
    let by_registers = H200.registers / (threads * registers.clamp(16, 255)).max(1);
    let by_smem = H200.smem / (smem + 1024);
    let fit = H200.blocks.min(H200.threads / threads.max(1)).min(by_registers).min(by_smem);
    (fit > 0).then_some(fit)
}

fn extent(dims: &[cutegen_spec::int_expr::IntExpr; 3], axes: &[i64], fit: i64) -> Option<i64> {
    dims.iter().map(|dim| dim.eval(axes, &|prop| device(prop, fit))).product()
}

fn device(prop: DeviceProp, fit: i64) -> Option<i64> {
    Some(match prop {
        DeviceProp::SmCount => H200.multiprocessors as i64,
        DeviceProp::MaxActiveClusters => H200.multiprocessors as i64 / 2,
        DeviceProp::MaxBlocksPerSm => fit,
        DeviceProp::DeviceSmem => H200.smem,
    })
}
