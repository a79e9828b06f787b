//! A cost estimate of a candidate's time, before it is compiled. Each sort of kernel has a [`CostModel`]. An estimate ranks;
//! what is fast is measured. Knows figures of a device, and no device.

mod product;
mod stream;

use cutegen_spec::int_expr::{DeviceProp, IntExpr};

use crate::generate::{Candidate, CostFeatures};
use crate::plan::Plan;

/// Estimates times from features.
trait CostModel {
    /// Nanoseconds of one launch at `axes`; none where it does not fit the device.
    fn nanoseconds(&self, plan: &Plan, candidate: &Candidate, axes: &[i64]) -> Option<f64>;
}

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
    /// What one multiprocessor reads of its shared memory for tensor cores.
    smem_bytes_per_ns_each: f64,
    /// Operations of one multiprocessor a nanosecond on 16-bit floats, by instruction.
    mma_sync: f64,
    wgmma: f64,
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
    smem_bytes_per_ns_each: 200.0,
    mma_sync: 4700.0,
    wgmma: 6300.0,
};

/// Microseconds of one launch at `axes`; none where the candidate has no cost features or does not claim that shape.
#[must_use]
pub fn cost_estimate(plan: &Plan, candidate: &Candidate, axes: &[i64]) -> Option<f64> {
    let features = candidate.cost_features.as_ref()?;
    if !candidate.eligibility.holds(axes, &vec![0; plan.spec.tensors.len()]) {
        return None;
    }
    let model: &dyn CostModel = match features {
        CostFeatures::Stream(features) => features,
        CostFeatures::Product(features) => features,
    };
    Some(model.nanoseconds(plan, candidate, axes)? / 1e3)
}

/// Blocks of this size that fit on a multiprocessor.
fn resident(threads: i64, registers: i64, smem: i64) -> Option<i64> {
    let by_registers = H200.registers / (threads * registers.clamp(16, 255)).max(1);
    let by_smem = H200.smem / (smem + 1024);
    let fit = H200.blocks.min(H200.threads / threads.max(1)).min(by_registers).min(by_smem);
    (fit > 0).then_some(fit)
}

fn extent(dims: &[IntExpr; 3], axes: &[i64], fit: i64) -> Option<i64> {
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
