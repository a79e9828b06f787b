//! [`DeviceModel`]: what a device has and reaches, in one table. Rooflines, cost models, templates and prompts read it, and
//! nothing else names a card. What every device of an architecture has is in [`Arch`].

#[cfg(feature = "search")]
pub(crate) mod rates;

use cutegen_spec::arch::Arch;
use cutegen_spec::target::Target;

/// Limits and rates of one device.
#[derive(Debug)]
pub struct DeviceModel {
    /// Such as `H200`.
    pub device: &'static str,
    /// The architecture that its targets declare.
    arch: Arch,
    /// What the architecture's devices are called.
    pub generation: &'static str,
    /// What it has.
    pub limits: Limits,
    /// What any kernel reaches at most.
    pub(super) ceilings: Ceilings,
    /// What cost estimates count with.
    #[cfg(feature = "search")]
    pub(crate) rates: rates::Rates,
}

/// What a device has.
#[derive(Debug)]
pub struct Limits {
    /// Multiprocessors.
    pub multiprocessors: i64,
    /// Threads of a multiprocessor.
    pub threads: i64,
    /// Registers of a multiprocessor.
    pub registers: i64,
    /// Bytes of shared memory of a multiprocessor.
    pub smem: i64,
    /// Blocks of a multiprocessor.
    pub blocks: i64,
    /// Bytes of the L2 cache.
    pub l2_bytes: f64,
}

/// What any kernel reaches at most.
#[derive(Debug)]
pub(super) struct Ceilings {
    /// Bytes a second from and to memory where this share of them is read, by ascending share.
    pub(super) streams: &'static [(f64, f64)],
    /// Operations a second of each unit.
    pub(super) flops_per_s: fn(Unit) -> f64,
    /// Bytes a second by the data sheet.
    pub(super) nominal_bytes_per_s: f64,
    /// Operations a second by the data sheet.
    pub(super) nominal_flops_per_s: fn(Unit) -> f64,
}

/// What computes, by the type that products are formed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Scalar cores in f32.
    VectorF32,
    /// Scalar cores in f64.
    VectorF64,
    /// Tensor cores on f16 or bf16.
    TensorHalf,
    /// Tensor cores on inputs rounded to TF32.
    TensorTf32,
    /// Tensor cores on 8-bit floats.
    TensorF8,
    /// Tensor cores on 8-bit integers.
    TensorI8,
    /// Tensor cores on f64.
    TensorF64,
}

/// NVIDIA H200 SXM: limits by the CUDA guide for compute capability 9.0.
///
/// Memory: the best that kernels of this project came to at 2 GB (3 GB for two reads) in committed runs: `softsign_f32`, with
/// one read for each write, `silu_mul`, with two, and `sum_131072`, which only reads; 4.8 TB/s nominal (H200 data sheet).
const H200: DeviceModel = DeviceModel {
    device: "H200",
    arch: Arch::Sm90a,
    generation: "Hopper",
    limits: Limits {
        multiprocessors: 132,
        threads: 2048,
        registers: 65536,
        smem: 228 << 10,
        blocks: 32,
        l2_bytes: 50e6,
    },
    ceilings: Ceilings {
        streams: &[(1.0 / 2.0, 4.29e12), (2.0 / 3.0, 4.39e12), (1.0, 4.68e12)],
        flops_per_s: h200,
        nominal_bytes_per_s: 4.8e12,
        nominal_flops_per_s: h200_nominal,
    },
    #[cfg(feature = "search")]
    rates: rates::H200,
};

/// Every device with figures.
static MODELS: [DeviceModel; 1] = [H200];

/// Operations a second of an H200 SXM, by its data sheet, without sparsity.
fn h200_nominal(unit: Unit) -> f64 {
    match unit {
        Unit::VectorF32 => 67e12,
        Unit::VectorF64 => 34e12,
        Unit::TensorHalf => 989e12,
        Unit::TensorTf32 => 494e12,
        Unit::TensorF8 | Unit::TensorI8 => 1979e12,
        Unit::TensorF64 => 67e12,
    }
}

/// The same as measured in short bursts, where that was; sustained rates are lower, for power.
fn h200(unit: Unit) -> f64 {
    match unit {
        Unit::TensorHalf => 830e12, // on bf16
        Unit::TensorF8 => 1600e12,  // with fast accumulation
        Unit::VectorF32 | Unit::VectorF64 | Unit::TensorTf32 | Unit::TensorI8 | Unit::TensorF64 => {
            h200_nominal(unit)
        }
    }
}

impl DeviceModel {
    /// The model of a target: of the device that it names, else of the architecture's device that was measured. `None` for the
    /// CPU, and for a device without figures.
    #[must_use]
    pub fn of(target: &Target) -> Option<&'static DeviceModel> {
        let Target::Cuda { arch, device } = target else { return None };
        let is_it = |model: &&DeviceModel| {
            model.arch == *arch && device.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(model.device))
        };
        MODELS.iter().find(is_it)
    }

    /// The model by which candidates of a target are chosen: its own, else the one that there is. Nothing may be right by it
    /// alone: what is fast is measured, and a launch asks its own device.
    #[must_use]
    pub fn ranking(target: &Target) -> &'static DeviceModel {
        Self::of(target).unwrap_or(&MODELS[0])
    }

    /// Operations a second of this unit.
    #[must_use]
    pub fn flops_per_s(&self, unit: Unit) -> f64 {
        (self.ceilings.flops_per_s)(unit)
    }

    /// Bytes a second where `read` of each are read: on a line between the streams that were measured, and what the first or
    /// the last of them has beyond.
    #[must_use]
    pub fn bytes_per_s(&self, read: f64) -> f64 {
        let streams = self.ceilings.streams;
        let between = streams.windows(2).find(|pair| (pair[0].0..pair[1].0).contains(&read));
        match (between, streams) {
            (Some([low, high]), _) => low.1 + (high.1 - low.1) * (read - low.0) / (high.0 - low.0),
            (_, [first, ..]) if read < first.0 => first.1,
            (_, streams) => streams.last().map_or(f64::INFINITY, |last| last.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceModel, MODELS};
    use cutegen_spec::target::Target;

    #[test]
    fn figures_are_of_the_named_device_or_none() {
        let of = |target: &str| DeviceModel::of(&Target::parse(target).expect("a target")).map(|c| c.device);
        assert_eq!(of("sm_90a"), Some("H200"));
        assert_eq!(of("sm_90a:h200"), Some("H200"));
        assert_eq!(of("sm_90a:gh200"), None);
        assert_eq!(of("sm_80"), None);
        assert_eq!(of("host"), None);
    }

    #[test]
    fn a_block_asks_for_less_than_a_multiprocessor_has() {
        for model in &MODELS {
            let block = i64::from(model.arch.shared_memory_max());
            assert!(block < model.limits.smem, "{}", model.device);
        }
    }
}
