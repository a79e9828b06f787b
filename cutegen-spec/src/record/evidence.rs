//! [`Evidence`]: what was run to accept a variant, and how fast it was, so that a reader can judge the judging and
//! run it again. Every field that version 1 of the record did not have from its first day may be absent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::seeds::Seeds;

/// Revision of this program's gate: a change to what it checks or how it times makes older evidence older.
pub const GATE: u32 = 8;

/// Names of what a variant is timed against.
pub mod incumbent {
    /// The kernel printed from the math.
    pub const NAIVE: &str = "naive";
    /// The same kernel once more: what the clock makes of no difference. Only where a kernel is timed again.
    pub const ITSELF: &str = "itself";
    /// The variant that was locked before.
    pub const LOCKED: &str = "locked";
    /// The fastest algorithm of cuBLASLt's heuristics.
    pub const CUBLASLT: &str = "cublaslt";
    /// PyTorch, an operator at a time.
    pub const TORCH_EAGER: &str = "torch-eager";
    /// PyTorch, compiled.
    pub const TORCH_COMPILE: &str = "torch-compile";
}

/// What was run to accept a variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Evidence {
    /// Revision of the gate that judged it.
    pub gate: u32,
    /// Device and, for a GPU, driver that it was judged on.
    pub device: String,
    /// What was drawn from which seed; older records have one `seed` for everything.
    #[serde(alias = "seed")]
    pub seeds: Seeds,
    /// Names of what was checked, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Shapes judged, as axis extents.
    pub shapes: Vec<String>,
    /// Those of them where the reference computed a sample of each output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sampled: Vec<String>,
    /// Distributions judged.
    pub distributions: Vec<String>,
    /// Elements compared.
    pub elements: u64,
    /// Elements without a usable bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<u64>,
    /// Outputs and distributions that tell nothing of each other, and at how many shapes: `y, cancelling: 3 of 14 shapes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_counted: Vec<String>,
    /// Where the reference was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceOn>,
    /// Largest error as a share of the bound.
    pub worst_share: f64,
    /// What RMS errors were held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Bit-equal repeats.
    pub repeats: u32,
    /// Outcome of compute-sanitizer: `clean: TOOLS`, in older records `clean`, or `not run: REASON`.
    pub sanitizer: String,
    /// Isolation that the system did not give the workers; empty when all was enforced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_enforced: Vec<String>,
    /// Seconds that the judging took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_seconds: Option<f64>,
    /// Incumbents that it was not timed against, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_timed: Vec<String>,
    /// By which gate, and on what, the timings were taken, where that was not this judging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_by: Option<TimedBy>,
    /// Timings: one per workload and incumbent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timings: Vec<Timing>,
}

/// An earlier judging, whose timings a later one kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TimedBy {
    /// Revision of its gate.
    pub gate: u32,
    /// Device and, for a GPU, driver.
    pub device: String,
}

impl Evidence {
    /// Whether this program knows the gates that it speaks of. What a later one calls passed is no evidence here.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.latest_gate() <= GATE
    }

    /// The later of the gates that judged and timed.
    #[must_use]
    pub fn latest_gate(&self) -> u32 {
        self.gate.max(self.timed_by.as_ref().map_or(0, |by| by.gate))
    }

    /// Who took the timings.
    #[must_use]
    pub fn timed_by(&self) -> TimedBy {
        let here = || TimedBy { gate: self.gate, device: self.device.clone() };
        self.timed_by.clone().unwrap_or_else(here)
    }

    /// Whether compute-sanitizer looked at it, and found nothing.
    #[must_use]
    pub fn is_sanitized(&self) -> bool {
        self.sanitizer == "clean" || self.sanitizer.starts_with("clean: ")
    }

    /// The name of the device that the timings were taken on, as a device gives it; what is behind a comma is the driver.
    #[must_use]
    pub fn timed_on(&self) -> &str {
        let device = self.timed_by.as_ref().map_or(&self.device, |by| &by.device);
        device.split(',').next().unwrap_or("").trim()
    }
}

/// Where a reference was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceOn {
    /// On the device that the candidate ran on.
    Device,
    /// On the CPU.
    Host,
}

/// A workload timed against one incumbent, interleaved in one process. The figures beside `incumbent` are of bursts,
/// which decide.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Timing {
    /// Axis extents.
    pub workload: BTreeMap<String, i64>,
    /// Median time of a launch, microseconds.
    pub micros: f64,
    /// The incumbent's name, see [`incumbent`].
    pub incumbent: String,
    /// Which one that was, in words, where the name does not say all: its version, its algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What the incumbent computes otherwise than the spec asks, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// The incumbent's median, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incumbent_micros: Option<f64>,
    /// Median ratio, incumbent over candidate.
    pub speedup: f64,
    /// Lower end of the 95 % bootstrap interval of the ratio.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Paired samples.
    pub samples: u32,
    /// Least time by the device's data sheet, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roof_micros: Option<f64>,
    /// The same under lasting load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Figures>,
    /// How the device was clocked meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
}

/// What one protocol of timing found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figures {
    /// Median time of a launch, microseconds.
    pub micros: f64,
    /// The incumbent's, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incumbent_micros: Option<f64>,
    /// Median ratio, incumbent over candidate.
    pub speedup: f64,
    /// Lower end of the 95 % bootstrap interval of the ratio.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Paired samples. Of one there is no interval: the incumbent is so much slower that it was timed once.
    pub samples: u32,
}

/// Clocks and power while a workload was timed: lowest and highest seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Clocks {
    /// Of the multiprocessors, MHz.
    pub sm_mhz: [u32; 2],
    /// Of the memory, MHz.
    pub mem_mhz: [u32; 2],
    /// Power draw, watts.
    pub watts: [u32; 2],
    /// Why the device held its clocks down, in words; empty when it did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttle: Vec<String>,
}

impl Figures {
    /// The interval of the ratio; none where there was a single sample.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        (self.samples > 1).then_some((self.low, self.high))
    }
}

impl Timing {
    /// The figures of the bursts.
    #[must_use]
    pub fn burst(&self) -> Figures {
        Figures {
            micros: self.micros,
            incumbent_micros: self.incumbent_micros,
            speedup: self.speedup,
            low: self.low,
            high: self.high,
            samples: self.samples,
        }
    }
}

impl ReferenceOn {
    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ReferenceOn::Device => "device",
            ReferenceOn::Host => "host",
        }
    }
}
