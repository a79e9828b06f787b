//! [`Roof`]: the time that a kernel takes at least, from its [`Cost`] and what its device reaches at most. Knows no device:
//! a target is declared, and its figures are a [`DeviceModel`]'s.
//!
//! A roof is a floor of the time and no forecast. It counts each byte once from memory, so a working set that stays
//! in a cache may beat it.

use cutegen_spec::dtype::DType;
use cutegen_spec::spec::{KernelSpec, Multiply};

use super::Plan;
use super::cost::Cost;
use super::device_model::{DeviceModel, Unit};
use super::family::{self, Family};

/// Which ceiling is the lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Bytes take longer than operations.
    Memory,
    /// Operations take longer than bytes.
    Compute,
}

/// The least time of one launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// Microseconds.
    pub micros: f64,
    /// What it is due to.
    pub bound: Bound,
}

impl DeviceModel {
    /// The roof of this much work.
    #[must_use]
    pub fn roof(&self, unit: Unit, cost: &Cost) -> Roof {
        let (memory, compute) =
            (cost.bytes / self.bytes_per_s(cost.read()), cost.flops / self.flops_per_s(unit));
        let bound = if memory >= compute { Bound::Memory } else { Bound::Compute };
        Roof { micros: memory.max(compute) * 1e6, bound }
    }
}

/// A time in microseconds at these extents.
pub type Micros = Box<dyn Fn(&[i64]) -> f64>;

/// The roof of so much work of a plan, and the device that it is of; `None` where there are no figures.
#[must_use]
pub fn roof(plan: &Plan, work: &Cost) -> Option<(Roof, &'static DeviceModel)> {
    let device = DeviceModel::of(&plan.target)?;
    Some((device.roof(unit(plan), work), device))
}

/// The roof of a launch, microseconds; `None` where there are no figures.
#[must_use]
pub fn micros(plan: &Plan, axes: &[i64]) -> Option<f64> {
    let work = super::cost::cost(&plan.spec, &plan.schedule, axes);
    roof(plan, &work).map(|(roof, _)| roof.micros)
}

/// The least time of a launch, microseconds, by what data sheets promise at most: of the bytes, of which a third may lie
/// in a cache that a rotation covers three times, and of a contraction's operations; other math may be simplified. A
/// shorter time is no time of that kernel. `None` where there are no figures.
#[must_use]
pub fn floor(plan: &Plan) -> Option<Micros> {
    const CACHED: f64 = 1.0 / 3.0;
    let device = DeviceModel::of(&plan.target)?;
    let flops_per_s = match plan.family {
        Family::Contraction { .. } => fastest(device, unit(plan)),
        _ => f64::INFINITY,
    };
    let (spec, schedule) = (plan.spec.clone(), plan.schedule.clone());
    Some(Box::new(move |axes| {
        let cost = super::cost::cost(&spec, &schedule, axes);
        let memory = cost.bytes * (1.0 - CACHED) / device.ceilings.nominal_bytes_per_s;
        memory.max(cost.flops / flops_per_s) * 1e6
    }))
}

/// Operations a second that no kernel exceeds whose products are formed in this unit's type. Tensor cores come to products of
/// f32 as accurate as scalar cores' from operands split into bf16: at least three products for each (Ootomo and Yokota,
/// "Recovering single precision accuracy from Tensor Cores", 2022).
fn fastest(device: &DeviceModel, unit: Unit) -> f64 {
    match unit {
        Unit::VectorF32 => (device.ceilings.nominal_flops_per_s)(Unit::TensorHalf) / 3.0,
        unit => (device.ceilings.nominal_flops_per_s)(unit),
    }
}

/// The unit whose rate bounds a plan: the fastest that any of its sums of products may have. What stands around the
/// sums is counted at the same rate, which keeps the roof a floor.
#[must_use]
pub fn unit(plan: &Plan) -> Unit {
    let vector = match plan.spec.precision.accumulate {
        DType::F64 => Unit::VectorF64,
        _ => Unit::VectorF32,
    };
    let dtypes = |tensors: &[usize]| tensors.iter().map(|tensor| plan.spec.tensors[*tensor].dtype).collect();
    let found: Vec<Vec<DType>> = match &plan.family {
        Family::Contraction { operands, .. } => vec![dtypes(operands)],
        _ => family::products(&plan.schedule).iter().map(|tensors| dtypes(tensors)).collect(),
    };
    let units = found.into_iter().filter_map(|operands| tensor_unit(&plan.spec, operands));
    let rate = DeviceModel::ranking(&plan.target).ceilings.nominal_flops_per_s;
    units.max_by(|a, b| rate(*a).total_cmp(&rate(*b))).unwrap_or(vector)
}

/// The tensor cores that multiply these types, which are as wide as the widest.
fn tensor_unit(spec: &KernelSpec, mut operands: Vec<DType>) -> Option<Unit> {
    operands.sort_by_key(|dtype| dtype.bits());
    match (operands.last()?, spec.precision.multiply) {
        (_, _) if spec.precision.accumulate == DType::F64 => Some(Unit::TensorF64),
        (DType::F32, Multiply::Tf32) => Some(Unit::TensorTf32),
        (DType::F16 | DType::Bf16, _) => Some(Unit::TensorHalf),
        (DType::F8e4m3 | DType::F8e5m2, _) => Some(Unit::TensorF8),
        (DType::I8 | DType::U8, _) => Some(Unit::TensorI8),
        (DType::F64, _) => Some(Unit::TensorF64),
        (DType::F32 | DType::I32 | DType::I64 | DType::Bool | DType::I4 | DType::U4, _) => None,
    }
}

impl Bound {
    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, unit};
    use crate::plan::Plan;
    use crate::plan::cost::{Cost, cost};
    use crate::plan::device_model::{DeviceModel, Unit};
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;
    use cutegen_spec::target::Target;

    fn plan(dtype: &str, math: &str, more: &str) -> Plan {
        let text = format!(
            "edition = 1\n[kernels.one]\naxes = {{ m = 8192, n = 4096, k = 2048 }}\n\
             inputs = {{ a = \"{dtype}[m, k]\", b = \"{dtype}[n, k]\" }}\noutputs = {{ y = \"{dtype}[m, n]\" }}\n\
             math = \"{math}\"\ntargets = [\"sm_90a\"]\n{more}"
        );
        let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
        Plan::all(&kernels).remove(0)
    }

    const GEMM: &str = "y[m, n] = sum(k, a[m, k] * b[n, k])";

    #[test]
    fn the_multiplied_type_decides_the_unit() {
        assert_eq!(unit(&plan("bf16", GEMM, "")), Unit::TensorHalf);
        assert_eq!(unit(&plan("f16", GEMM, "")), Unit::TensorHalf);
        assert_eq!(unit(&plan("f32", GEMM, "")), Unit::VectorF32);
        assert_eq!(unit(&plan("f64", GEMM, "")), Unit::TensorF64);
        assert_eq!(unit(&plan("bf16", GEMM, "precision = { accumulate = \"f64\" }")), Unit::TensorF64);
    }

    #[test]
    fn a_product_of_f32_may_be_split_into_three_of_bf16() {
        let axes = [8192, 4096, 2048];
        let flops = 2.0 * 8192.0 * 4096.0 * 2048.0;
        let micros =
            |dtype: &str, more: &str| super::floor(&plan(dtype, GEMM, more)).expect("figures")(&axes);
        assert!((micros("f32", "") - flops / (989e12 / 3.0) * 1e6).abs() < 1e-6);
        assert!((micros("bf16", "") - flops / 989e12 * 1e6).abs() < 1e-6);
        assert!((micros("f32", "precision = { multiply = \"tf32\" }") - flops / 494e12 * 1e6).abs() < 1e-6);
    }

    #[test]
    fn only_sums_of_products_get_tensor_cores() {
        let outer = "y[m, n] = max(k, a[m, k] * b[n, k])";
        assert_eq!(unit(&plan("bf16", outer, "")), Unit::VectorF32);
        assert_eq!(unit(&plan("f64", outer, "")), Unit::VectorF64);
    }

    #[test]
    fn sums_of_products_have_them_in_any_family() {
        let planned = |axes: &str, tensors: &str, math: &str| {
            let head = "edition = 1\n[kernels.one]\ntargets = ['sm_90a']";
            let text = format!("{head}\naxes = {{ {axes} }}\n{tensors}\nmath = '''{math}'''");
            Plan::all(&spec_file(&text, &Settings::default()).into_kernels().expect("right specs")).remove(0)
        };
        let conv = planned(
            "c = 8, o = 4, h = 64, r = 3, p = 'h - 2'",
            "inputs = { x = 'bf16[c, h]', w = 'bf16[o, c, r]' }\noutputs = { y = 'bf16[o, p]' }",
            "y[o, p] = sum((c, r), x[c, p + r] * w[o, c, r])",
        );
        assert_eq!((conv.family.name(), unit(&conv)), ("window", Unit::TensorHalf));
        let heads = "inputs = { q = 'f8e4m3[t, d]', k = 'f8e4m3[s, d]', v = 'bf16[s, d]' }";
        let attention = planned(
            "t = 4, s = 6, d = 8",
            &format!("{heads}\noutputs = {{ o = 'bf16[t, d]' }}"),
            "p[t, s] = softmax(s, sum(d, q[t, d] * k[s, d]))\no[t, d] = sum(s, p[t, s] * v[s, d])",
        );
        assert!(attention.family.is("attention"));
        assert_eq!(unit(&attention), Unit::TensorF8, "the faster of two keeps the roof a floor");
        let norm = planned(
            "t = 4, d = 8",
            "inputs = { x = 'bf16[t, d]' }\noutputs = { y = 'bf16[t, d]' }",
            "y[t, d] = rms_norm(d, x[t, d], 1e-5)",
        );
        assert_eq!(unit(&norm), Unit::VectorF32, "squares are no products of matrices");
    }

    #[test]
    fn a_large_gemm_is_bound_by_compute() {
        let plan = plan("bf16", GEMM, "");
        let cost = cost(&plan.spec, &plan.schedule, &[8192, 4096, 2048]);
        let roof = DeviceModel::of(&plan.target).map(|c| c.roof(unit(&plan), &cost)).expect("figures");
        // 2 * 8192 * 4096 * 2048 operations at 830e12 a second
        assert_eq!(roof.bound, Bound::Compute);
        assert!((roof.micros - 165.589_1).abs() < 1e-3, "{}", roof.micros);
    }

    #[test]
    fn nothing_is_faster_than_its_floor() {
        let plan = plan("bf16", GEMM, "");
        let floor = super::floor(&plan).expect("figures");
        // 2 * 8192 * 4096 * 2048 operations at 989e12 a second; then 1 x 4096 x 2048, two thirds of 16.8 MB at 4.8 TB/s
        assert!((floor(&[8192, 4096, 2048]) - 138.967_6).abs() < 1e-3);
        assert!((floor(&[1, 4096, 2048]) - 2.331_9).abs() < 1e-3, "{}", floor(&[1, 4096, 2048]));
    }

    #[test]
    fn a_stream_is_bound_by_memory() {
        let cost = Cost { bytes: 429e6, written: 214.5e6, flops: 429e6 };
        let roof = DeviceModel::of(&Target::parse("sm_90a").expect("a target")).expect("figures");
        assert_eq!(roof.roof(Unit::VectorF32, &cost).bound, Bound::Memory);
        assert!((roof.roof(Unit::VectorF32, &cost).micros - 100.0).abs() < 1e-9);
    }

    #[test]
    fn reads_are_faster_than_writes() {
        let ceilings = DeviceModel::of(&Target::parse("sm_90a").expect("a target")).expect("figures");
        let at = |written: f64| {
            let cost = Cost { bytes: 1e12, written, flops: 0.0 };
            (ceilings.roof(Unit::VectorF32, &cost).micros / 1e3).recip() * 1e3
        };
        for (written, rate) in
            [(1e12, 4.29), (5e11, 4.29), (1e12 / 3.0, 4.39), (1e12 / 6.0, 4.535), (0.0, 4.68)]
        {
            assert!((at(written) - rate).abs() < 1e-9, "{written}: {}", at(written));
        }
        let nothing = Cost { bytes: 0.0, written: 0.0, flops: 0.0 };
        assert!(ceilings.roof(Unit::VectorF32, &nothing).micros.abs() < 1e-12);
    }
}
