//! [`Target`]: what a kernel must run on. Declared in the spec or the metadata, never probed, so that a machine
//! without a GPU computes the same cache key.

use std::fmt;

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

/// An NVIDIA architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Arch {
    /// Hopper with its architecture-specific instructions (wgmma, setmaxnreg): compute capability exactly 9.0.
    Sm90a,
}

/// An x86-64 micro-architecture level of the psABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum CpuLevel {
    /// AVX2, BMI1/2, F16C, FMA, LZCNT, MOVBE.
    X86_64V3,
}

impl Arch {
    /// The word used in specs and by NVRTC.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Arch::Sm90a => "sm_90a",
        }
    }

    /// The compute capability that runs this architecture's cubins.
    #[must_use]
    pub fn compute_capability(self) -> (i32, i32) {
        match self {
            Arch::Sm90a => (9, 0),
        }
    }

    /// Bytes of shared memory that a block may ask for, on a device of this compute capability (CUDA C++ Programming
    /// Guide, table of technical specifications).
    #[must_use]
    pub fn shared_memory_max(self) -> u32 {
        match self {
            Arch::Sm90a => 227 << 10,
        }
    }
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
            ["sm_90a"] => Ok(Target::Cuda { arch: Arch::Sm90a, device: None }),
            ["sm_90a", device] if !device.is_empty() => {
                Ok(Target::Cuda { arch: Arch::Sm90a, device: Some((*device).to_owned()) })
            }
            _ => Err(format!(
                "unknown target `{text}`: expected `sm_90a`, `sm_90a:DEVICE`, `host` or \
                 `host:{DEFAULT_TRIPLE}:x86-64-v3`"
            )),
        }
    }

    /// The default host target.
    #[must_use]
    pub fn host() -> Target {
        Target::Host { triple: DEFAULT_TRIPLE.to_owned(), level: CpuLevel::X86_64V3 }
    }

    /// Whether evidence from `device`, as it names itself (`NVIDIA H200, sm_90, driver 580`, `host x86_64`), can be of a
    /// kernel for this target. Some do not say their architecture.
    #[must_use]
    pub fn suits(&self, device: &str) -> bool {
        let words: Vec<&str> = device.split([',', ' ']).collect();
        let is_host = words.first() == Some(&"host");
        match self {
            Target::Host { .. } => is_host,
            Target::Cuda { arch, device: narrowed } => {
                let capability = arch.name().trim_end_matches(['a', 'f']);
                let is_it = words.iter().all(|word| !word.starts_with("sm_") || *word == capability);
                let name = device.split(',').next().unwrap_or_default().to_lowercase();
                let is_named = narrowed.as_ref().is_none_or(|narrow| name.contains(&narrow.to_lowercase()));
                !is_host && is_it && is_named
            }
        }
    }

    /// Whether kernels for this target run on the CPU.
    #[must_use]
    pub fn is_host(&self) -> bool {
        matches!(self, Target::Host { .. })
    }
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
        ] {
            assert_eq!(target(of).suits(device), suits, "{device} for {of}");
        }
    }

    #[test]
    fn round_trips_and_refuses() {
        for text in ["sm_90a", "sm_90a:h200", "host:x86_64-unknown-linux-gnu:x86-64-v3"] {
            assert_eq!(Target::parse(text).map(|t| t.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(Target::parse("host"), Ok(Target::host()));
        for bad in ["sm_80", "", "host:riscv64:v", "sm_90a:"] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }
}
