//! A cost estimate of a candidate's time, before it is compiled. Each sort of kernel has a [`CostModel`]. An estimate ranks;
//! what is fast is measured. Knows no device: figures are a [`DeviceModel`]'s.

mod product;
mod stream;

use cutegen_spec::int_expr::{DeviceProp, IntExpr};

use crate::generate::{Candidate, CostFeatures};
use crate::plan::Plan;
use crate::plan::device_model::{DeviceModel, Limits};

/// Estimates times from features.
trait CostModel {
    /// Nanoseconds of one launch at `axes`; none where it does not fit the device.
    fn nanoseconds(
        &self,
        device: &DeviceModel,
        plan: &Plan,
        candidate: &Candidate,
        axes: &[i64],
    ) -> Option<f64>;
}

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
    let device = DeviceModel::ranking(&plan.target);
    Some(model.nanoseconds(device, plan, candidate, axes)? / 1e3)
}

/// Blocks of this size that fit on a multiprocessor.
fn resident(limits: &Limits, threads: i64, registers: i64, smem: i64) -> Option<i64> {
    let by_registers = limits.registers / (threads * registers.clamp(16, 255)).max(1);
    let by_smem = limits.smem / (smem + 1024);
    let fit = limits.blocks.min(limits.threads / threads.max(1)).min(by_registers).min(by_smem);
    (fit > 0).then_some(fit)
}

fn extent(limits: &Limits, dims: &[IntExpr; 3], axes: &[i64], fit: i64) -> Option<i64> {
    dims.iter().map(|dim| dim.eval(axes, &|prop| property(limits, prop, fit))).product()
}

fn property(limits: &Limits, prop: DeviceProp, fit: i64) -> Option<i64> {
    Some(match prop {
        DeviceProp::SmCount => limits.multiprocessors,
        DeviceProp::MaxActiveClusters => limits.multiprocessors / 2,
        DeviceProp::MaxBlocksPerSm => fit,
        DeviceProp::DeviceSmem => limits.smem,
    })
}
