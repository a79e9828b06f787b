//! The file that `bench --results` writes and `report --results` reads: times with all their samples.

use std::path::Path;

use cutegen_spec::record::{GATE, Timing};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::outfile::OutFile;

/// Version of the file.
pub(crate) const VERSION: u32 = 1;

/// A run of `bench`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Results {
    /// [`VERSION`] when it was written.
    pub(crate) version: u32,
    /// Version of the program.
    pub(crate) cutegen: String,
    /// Revision of the gate whose protocol timed it.
    pub(crate) gate: u32,
    pub(crate) kernels: Vec<Kernel>,
}

/// One kernel on one target.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Kernel {
    pub(crate) kernel: String,
    pub(crate) target: String,
    pub(crate) key: String,
    pub(crate) family: String,
    /// Empty where nothing was timed.
    pub(crate) device: String,
    /// Of the inputs.
    pub(crate) seed: u64,
    pub(crate) times: Vec<Times>,
    /// Incumbents that are not here or cannot do it, with the reason.
    pub(crate) not_timed: Vec<String>,
    /// Why the card's state was not read.
    pub(crate) not_watched: Option<String>,
    /// Why the locked kernel could not be timed.
    pub(crate) failed: Vec<String>,
}

/// A workload against one incumbent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Times {
    pub(crate) variant: String,
    /// Moved at least.
    pub(crate) bytes: f64,
    /// Operations at least.
    pub(crate) flops: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) roof: Option<Roof>,
    pub(crate) timing: Timing,
    /// Of each pair of blocks the kernel's and the incumbent's microseconds a launch.
    pub(crate) pairs: Vec<[f64; 2]>,
    /// The same without pause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sustained_pairs: Vec<[f64; 2]>,
}

/// The least time on the target's device.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Roof {
    pub(crate) micros: f64,
    /// `memory` or `compute`.
    pub(crate) bound: String,
    pub(crate) device: String,
}

impl Results {
    /// Of no kernel yet.
    pub(crate) fn new() -> Self {
        let cutegen = env!("CARGO_PKG_VERSION").to_owned();
        Self { version: VERSION, cutegen, gate: GATE, kernels: Vec::new() }
    }

    /// Writes the file.
    pub(crate) fn write(&self, file: OutFile) -> Result<(), Failure> {
        let text = serde_json::to_string(self).map_err(|error| file.failure(error))?;
        file.write(text.as_bytes())
    }
}

impl Kernel {
    /// What failed, with the kernel's name and what to do.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        let (kernel, target) = (&self.kernel, &self.target);
        let told = |why: &String| {
            let run = format!("run: cargo cutegen verify {kernel} --target {target}");
            Failure::Disagreement(format!("{kernel} on {target} {why}\n{run}"))
        };
        self.failed.iter().map(told).collect()
    }
}

impl Times {
    /// Whether bytes take longer than operations: by the roof, else by what the family is known for.
    pub(crate) fn is_bound_by_memory(&self, family: &str) -> bool {
        match &self.roof {
            Some(roof) => roof.bound == "memory",
            None => family != "contraction",
        }
    }
}

/// Reads a file of results.
pub(crate) fn read(path: &Path) -> Result<Results, Failure> {
    let failed = |why: String| {
        let path = path.display();
        Failure::Usage(format!("{path}: {why}\nwrite it again: cargo cutegen bench --results {path}"))
    };
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let results: Results = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    match results.version {
        VERSION => Ok(results),
        other => Err(failed(format!("version {other} is not {VERSION}"))),
    }
}
