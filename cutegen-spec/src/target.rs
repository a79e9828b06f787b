//! [`Target`]: what a kernel must run on. Declared in the spec or the metadata, never probed, so that a machine
//! without a GPU computes the same cache key.

use std::fmt;

use crate::arch::{self, Arch, Feature};

/// The default triple of the `host` target.
pub const DEFAULT_TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// A declared target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Target {
    /// An NVIDIA architecture, optionally narrowed to one device: `sm_90a`, `sm_90a:h200`.
    Cuda {
        /// The architecture that NVRTC compiles for.
        arch: Arch,
        /// The device that the kernels are tuned for, when the entry is not for the whole architecture.
        device: Option<String>,
    },
    /// The CPU: `host`, or `host:TRIPLE:LEVEL`.
    Host {
        /// The target triple of the object file.
        triple: String,
        /// The instruction-set level, checked at run time.
        level: CpuLevel,
    },
}

/// An x86-64 micro-architecture level of the psABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum CpuLevel {
    /// AVX2, BMI1/2, F16C, FMA, LZCNT, MOVBE.
    X86_64V3,
}

impl CpuLevel {
    /// The word used in specs and by the C++ compiler's `-march`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CpuLevel::X86_64V3 => "x86-64-v3",
        }
    }
}

impl Target {
    /// Reads a target; `host` alone means the default triple at x86-64-v3.
    pub fn parse(text: &str) -> Result<Target, String> {
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            ["host"] => Ok(Target::host()),
            ["host", triple, "x86-64-v3"] if *triple == DEFAULT_TRIPLE => Ok(Target::host()),
            [name] => Target::cuda(name, None).ok_or_else(|| unknown(text)),
            [name, device] if words(device).next().is_some() => {
                Target::cuda(name, Some(device)).ok_or_else(|| unknown(text))
            }
            _ => Err(unknown(text)),
        }
    }

    fn cuda(name: &str, device: Option<&str>) -> Option<Target> {
        let arch = Arch::named(name)?;
        Some(Target::Cuda { arch, device: device.map(str::to_owned) })
    }

    /// The default host target.
    #[must_use]
    pub fn host() -> Target {
        Target::Host { triple: DEFAULT_TRIPLE.to_owned(), level: CpuLevel::X86_64V3 }
    }

    /// Whether kernels for this target run on, and are meant for, a device of this name and compute capability.
    #[must_use]
    pub fn runs_on(&self, name: &str, capability: (u32, u32)) -> bool {
        match self {
            Target::Host { .. } => false,
            Target::Cuda { arch, device } => {
                arch.runs_on(capability) && device.as_ref().is_none_or(|narrow| is_named(name, narrow))
            }
        }
    }

    /// Whether evidence from `device`, as it names itself (`NVIDIA H200, sm_90, driver 580`, `host x86_64`), can be of a
    /// kernel for this target. Some do not say their architecture.
    #[must_use]
    pub fn suits(&self, device: &str) -> bool {
        let parts: Vec<&str> = device.split([',', ' ']).collect();
        let is_host = parts.first() == Some(&"host");
        match self {
            Target::Host { .. } => is_host,
            Target::Cuda { arch, device: narrowed } => {
                let runs = |word: &str| arch::capability(word).is_some_and(|on| arch.runs_on(on));
                let is_it = parts.iter().all(|word| !word.starts_with("sm_") || runs(word));
                let name = device.split(',').next().unwrap_or_default();
                !is_host && is_it && narrowed.as_ref().is_none_or(|narrow| is_named(name, narrow))
            }
        }
    }

    /// The architecture of a GPU target.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        match self {
            Target::Cuda { arch, .. } => Some(*arch),
            Target::Host { .. } => None,
        }
    }

    /// Whether its kernels may use this; the CPU's have none of it.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.arch().is_some_and(|arch| arch.has(feature))
    }

    /// Bytes of shared memory that a block may ask for; 0 on the CPU.
    #[must_use]
    pub fn shared_memory_max(&self) -> u32 {
        self.arch().map_or(0, Arch::shared_memory_max)
    }

    /// What blocks have of shared memory on smaller devices that run its kernels; one that is narrowed to a device has no others.
    #[must_use]
    pub fn smaller_shared_memory(&self) -> Vec<u32> {
        match self {
            Target::Cuda { arch, device: None } => arch.smaller_shared_memory(),
            Target::Cuda { device: Some(_), .. } | Target::Host { .. } => Vec::new(),
        }
    }

    /// Whether kernels for this target run on the CPU.
    #[must_use]
    pub fn is_host(&self) -> bool {
        matches!(self, Target::Host { .. })
    }
}

/// Whether the words of `narrow` stand in a device's name, whole and one after the other: `h200` in `NVIDIA H200`, not in
/// `NVIDIA GH200 480GB`.
fn is_named(name: &str, narrow: &str) -> bool {
    let (name, narrow): (Vec<String>, Vec<String>) = (words(name).collect(), words(narrow).collect());
    name.windows(narrow.len().max(1)).any(|words| *words == narrow)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric());
    parts.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase)
}

fn unknown(text: &str) -> String {
    let archs: Vec<&str> = Arch::all().map(Arch::name).collect();
    format!(
        "unknown target `{text}`: expected one of `{}`, one of these narrowed as in `sm_90a:h200`, `host` or \
         `host:{DEFAULT_TRIPLE}:x86-64-v3`",
        archs.join("`, `")
    )
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Cuda { arch, device: None } => f.write_str(arch.name()),
            Target::Cuda { arch, device: Some(device) } => write!(f, "{}:{device}", arch.name()),
            Target::Host { triple, level } => write!(f, "host:{triple}:{}", level.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;
    use crate::arch::Arch;

    #[test]
    fn evidence_is_of_a_device_that_runs_the_target() {
        let target = |text| Target::parse(text).expect("a target");
        let (h200, host) = ("NVIDIA H200, sm_90, driver 580 (CUDA 13.0)", "host x86_64");
        for (of, device, suits) in [
            ("host", host, true),
            ("host", h200, false),
            ("host", "", false),
            ("sm_90a", h200, true),
            ("sm_90a", "NVIDIA H200, driver 580.95", true),
            ("sm_90a", host, false),
            ("sm_90a", "NVIDIA B200, sm_100, driver 580", false),
            ("sm_90a:h200", h200, true),
            ("sm_90a:h200", "NVIDIA H100 80GB HBM3, sm_90", false),
            ("sm_90a:h200", "NVIDIA GH200 480GB, sm_90", false),
            ("sm_90", h200, true),
            ("sm_80", "NVIDIA A10, sm_86, driver 580", true),
            ("sm_80", "Orin, sm_87", false),
            ("sm_89:rtx 4090", "NVIDIA GeForce RTX 4090, sm_89", true),
            ("sm_89:l40", "NVIDIA L40S, sm_89", false),
            ("sm_100f", "NVIDIA B300, sm_103", true),
        ] {
            assert_eq!(target(of).suits(device), suits, "{device} for {of}");
        }
    }

    #[test]
    fn round_trips_and_refuses() {
        for arch in Arch::all() {
            let target = Target::Cuda { arch, device: None };
            assert_eq!(Target::parse(arch.name()), Ok(target));
        }
        for text in ["sm_90a", "sm_90a:h200", "sm_120f", "host:x86_64-unknown-linux-gnu:x86-64-v3"] {
            assert_eq!(Target::parse(text).map(|t| t.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(Target::parse("host"), Ok(Target::host()));
        for bad in ["sm_87", "sm_100a", "", "host:riscv64:v", "sm_90a:", "sm_90a:-"] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }
}
