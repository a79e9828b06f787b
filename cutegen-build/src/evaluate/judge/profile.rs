//! Nsight Compute on a right candidate: our own runner under `ncu`, one launch at a workload. What it measures is a fact for
//! whatever writes the next candidate; no verdict depends on it.
//!
//! Clocks stay as they are. Caches are flushed before each of the passes in which `ncu` launches a kernel again, so that a
//! kernel finds what it finds while it is timed: inputs in DRAM.

mod csv;
mod metrics;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cutegen_spec::contract::Contract;

use super::backend::MemoryBackend;
use super::candidate::Candidate;
use super::case::contents;
use super::checker::Checker;
use super::instrumented::{self, Instrumented, Look, Watched, beside, side_by_side};
use super::runner_slot::{Halt, code, settle};
use crate::evaluate::error::Error;
use crate::evaluate::rng::mix;
use crate::evaluate::wire::arena::Alignment;
use crate::evaluate::wire::worker::Workers;
use crate::outcome::Distribution;

/// One launch, in as many passes as the metrics need; or the exit.
const DEADLINE: Duration = Duration::from_secs(60);
/// A launch that takes more memory is not looked at: a runner under a tool has all of it on the host too.
const BYTES_MOST: u64 = 4 << 30;
/// Where NVIDIA's packages put the versions of Nsight Compute.
const PACKAGED: &str = "/opt/nvidia/nsight-compute";
/// What a shell finds programs with, for `ncu` may be a script.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What Nsight Compute says of a candidate.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Profiled {
    /// Names of ours, which end in the unit, each with its value. Where a contract has several steps, `ENTRY.` precedes each.
    Metrics(BTreeMap<String, f64>),
    /// It could not be asked, or did not come through.
    NotRun {
        /// Why.
        reason: String,
    },
}

/// Finds `ncu` in the folders of `path`, in `cuda_home`, where CUDA is usually installed, or where it has a package of its
/// own: there the latest.
#[must_use]
pub fn locate(path: Option<&OsStr>, cuda_home: Option<&OsStr>) -> Option<PathBuf> {
    located(path, cuda_home, [Path::new("/usr/local/cuda"), Path::new(PACKAGED)])
}

/// The same, where CUDA and packages of Nsight Compute lie elsewhere.
fn located(
    path: Option<&OsStr>,
    cuda_home: Option<&OsStr>,
    [usual, packaged]: [&Path; 2],
) -> Option<PathBuf> {
    let on_path = path.into_iter().flat_map(std::env::split_paths);
    let homes = cuda_home.map(PathBuf::from).into_iter().chain([usual.to_owned()]);
    let folders = on_path.chain(homes.map(|home| home.join("bin"))).chain(latest_first(packaged));
    folders.map(|folder| folder.join("ncu")).find_map(|file| file.canonicalize().ok())
}

/// The folders of a folder, named by versions.
fn latest_first(packaged: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(packaged).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let version = |folder: &PathBuf| -> Vec<u32> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    };
    folders.sort_by_key(version);
    folders.reverse();
    folders
}

impl<D: MemoryBackend> Checker<D> {
    /// Launches a candidate once at these extents under `ncu`.
    pub(in crate::evaluate) fn profile(
        &mut self,
        candidate: &Candidate,
        axes: &[i64],
        ncu: &Path,
    ) -> Result<Profiled, Error> {
        Ok(settle(self.try_profile(candidate, axes, ncu))?.unwrap_or_else(|outcome| not_run(&*outcome)))
    }

    fn try_profile(&mut self, candidate: &Candidate, axes: &[i64], ncu: &Path) -> Result<Profiled, Halt> {
        let loaded = self.runner.load(std::slice::from_ref(candidate))?;
        let Some((variant, image)) = self.dispatch(&loaded, axes, Alignment::Allocator)? else {
            return Ok(not_run(&format!("is not eligible at {axes:?}")));
        };
        if image.bytes > BYTES_MOST {
            return Ok(not_run(&format!("a launch at {axes:?} takes {} bytes", image.bytes)));
        }
        let (seed, contract) = (mix(self.settings.seed), candidate.contract.clone());
        let scalars = self.cases.scalars(&self.spec, seed, Distribution::Normal);
        let contents = contents(&self.spec, seed, axes, Distribution::Normal)?;
        let look = Look { code: code(variant), contract, image, axes: axes.to_vec(), scalars, contents };
        let (arena, jobs) = side_by_side(&[&look], &self.settings.checks)?;
        let log = self.runner.fresh(".ncu.csv");
        let run = Instrumented {
            workers: under(&self.settings.workers, ncu, &candidate.contract, &log),
            folder: self.runner.folder().to_owned(),
            log,
            arena: arena.fd(),
            jobs,
            deadline: DEADLINE,
        };
        let _alone = self.runner.lease.alone();
        Ok(said(run.watched()?, &candidate.contract))
    }
}

/// Starts runners under `ncu`, which writes to `log` and leaves the pipes to the runner.
fn under(workers: &Workers, ncu: &Path, contract: &Contract, log: &Path) -> Workers {
    let entries: Vec<&str> = contract.steps.iter().map(|step| step.entry.as_str()).collect();
    let mut args: Vec<String> =
        ["--csv", "--page", "raw", "--print-units", "base", "--log-file"].map(str::to_owned).to_vec();
    args.push(log.display().to_string());
    // nothing that lies in the working folder is read
    let fixed = ["--config-file", "off", "--target-processes", "all", "--clock-control", "none"];
    args.extend(fixed.map(str::to_owned));
    args.extend(["--cache-control", "all", "--kernel-name-base", "mangled"].map(str::to_owned));
    args.extend(["--print-kernel-base", "mangled", "--kernel-name"].map(str::to_owned));
    args.push(format!("regex:^({})$", entries.join("|")));
    args.extend(["--launch-count".to_owned(), entries.len().to_string()]);
    args.extend(["--metrics".to_owned(), metrics::asked().join(",")]);
    let folder = || beside(log);
    // its parts meet in the one folder, and it copies files of its own to the other
    let mut own: Vec<(OsString, OsString)> = vec![("TMPDIR".into(), folder()), ("HOME".into(), folder())];
    own.push(("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT".into(), "1".into()));
    if !workers.env.iter().any(|(name, _)| name == "PATH") {
        own.push(("PATH".into(), PATH.into()));
    }
    instrumented::under(workers, ncu, args, own)
}

/// Metrics only of a launch that came to its end.
fn said(watched: Watched, contract: &Contract) -> Profiled {
    let (told, report) = match watched {
        Watched::NotStarted { reason, report } => (reason, report),
        Watched::Ended { answer: Some(answer), report, .. } => (format!("answered {answer}"), report),
        Watched::Ended { answer: None, status, report } => {
            let launches = csv::launches(&report);
            let facts = named(&launches, contract.steps.len());
            if !facts.is_empty() {
                return Profiled::Metrics(facts);
            }
            let status = status.map_or("not in time".to_owned(), |status| format!("with {status}"));
            (format!("ended {status} and no metrics"), report)
        }
    };
    let errors = csv::errors(&report);
    not_run(&if errors.is_empty() { told } else { format!("{told}: {errors}") })
}

/// The facts of these launches; of several steps, each under its entry.
fn named(launches: &[csv::Launch], steps: usize) -> BTreeMap<String, f64> {
    let (mut facts, mut seen) = (BTreeMap::new(), BTreeMap::<&str, usize>::new());
    for launch in launches {
        let count = seen.entry(&launch.kernel).or_default();
        *count += 1;
        let prefix = match (steps, *count) {
            (0 | 1, _) => String::new(),
            (_, 1) => format!("{}.", launch.kernel),
            (_, again) => format!("{}#{again}.", launch.kernel),
        };
        let own = metrics::facts(&launch.metrics);
        facts.extend(own.into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)));
    }
    facts
}

fn not_run(why: &dyn fmt::Display) -> Profiled {
    Profiled::NotRun { reason: why.to_string() }
}

#[cfg(test)]
mod tests;
