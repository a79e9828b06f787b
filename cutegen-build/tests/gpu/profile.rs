//! Nsight Compute on kernels whose traffic is known: what they must read and write, how they read it, and which of their two
//! kernels does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cutegen_build::evaluate::Candidate;
use cutegen_build::evaluate::judge::profile::{Profiled, locate};

use crate::Test;
use crate::bench::{self, PRELUDE, STEP};

pub(crate) const TESTS: &[Test] = &[
    ("profile::a_streaming_kernel_reads_its_inputs_once", a_streaming_kernel_reads_its_inputs_once),
    ("profile::strides_show_in_sectors", strides_show_in_sectors),
    ("profile::two_kernels_are_told_apart", two_kernels_are_told_apart),
];

/// Each tensor has 64 MiB, more than a cache of an H100.
const AXES: [i64; 2] = [4096, 8192];
/// Megabytes of a tensor.
const TENSOR: f64 = (AXES[0] * AXES[1] * 2) as f64 / 1e6;

/// Goes down columns: each thread of a warp reads another sector.
const STRIDED: &str = "
extern \"C\" __global__ void candidate(PARAMETERS) {
  const long long i = INDEX;
  if (i < m * n) { const long long j = i % m * n + i / m; y[j] = one(x[j], g[j]); }
}";

/// One half of the elements each.
const HALVES: &str = "
extern \"C\" __global__ void front(PARAMETERS) {
  const long long i = INDEX, half = m * n / 2;
  if (i < half) y[i] = one(x[i], g[i]);
}
extern \"C\" __global__ void back(PARAMETERS) {
  const long long i = INDEX + m * n / 2;
  if (i < m * n) y[i] = one(x[i], g[i]);
}";
const ENTRIES: [&str; 2] = ["front", "back"];

pub(crate) fn sources() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    [(STRIDED, vec!["candidate"]), (HALVES, ENTRIES.to_vec())]
        .into_iter()
        .map(|(kernel, entries)| (format!("{PRELUDE}{kernel}"), entries))
}

/// Nsight Compute; that it is not here is said, and fails where it is required.
fn ncu() -> Option<PathBuf> {
    let (path, home) = (std::env::var_os("PATH"), std::env::var_os("CUDA_HOME"));
    let found = locate(path.as_deref(), home.as_deref());
    if found.is_none() {
        skipped("no ncu");
    }
    found
}

fn skipped(reason: &str) {
    println!("    skipped: {reason}");
    assert!(std::env::var_os("CUTEGEN_REQUIRE_NCU").is_none(), "it is required");
}

/// What is measured of a candidate; none where this user may not read counters.
fn measured(candidate: &Candidate, ncu: &Path) -> Option<BTreeMap<String, f64>> {
    match bench::judge().profile(candidate, &AXES, ncu).expect("the machine works") {
        Profiled::Metrics(metrics) => {
            println!("    {metrics:?}");
            Some(metrics)
        }
        Profiled::NotRun { reason } if reason.contains("ERR_NVGPUCTRPERM") => {
            skipped(&reason);
            None
        }
        Profiled::NotRun { reason } => panic!("{reason}"),
    }
}

/// Whether a metric is what it must be, give or take a fifth.
fn about(metrics: &BTreeMap<String, f64>, name: &str, wanted: f64) {
    let found = metrics.get(name).unwrap_or_else(|| panic!("no {name}"));
    assert!((found / wanted - 1.0).abs() <= 0.2, "{name}: {found}, not about {wanted}");
}

fn within(metrics: &BTreeMap<String, f64>, name: &str, least: f64, most: f64) {
    let found = metrics.get(name).unwrap_or_else(|| panic!("no {name}"));
    assert!((least..=most).contains(found), "{name}: {found}, not in {least}..={most}");
}

fn a_streaming_kernel_reads_its_inputs_once() {
    let Some(ncu) = ncu() else { return };
    let Some(metrics) = measured(&bench::honest(), &ncu) else { return };
    about(&metrics, "dram-read-mb", 2.0 * TENSOR);
    // what is written last may stay in the cache
    within(&metrics, "dram-write-mb", 0.1 * TENSOR, 1.2 * TENSOR);
    about(&metrics, "sectors-a-load", 2.0);
    about(&metrics, "sectors-a-store", 2.0);
    within(&metrics, "dram-percent", 30.0, 100.0);
    within(&metrics, "occupancy-percent", 40.0, 100.0);
    within(&metrics, "registers-a-thread", 8.0, 64.0);
    within(&metrics, "l2-hit-percent", 0.0, 60.0);
    // no H100 moves more than 5 TB/s
    within(&metrics, "time-us", 3.0 * TENSOR / 5.0, 2000.0);
    within(&metrics, "stall-long-scoreboard-percent", 10.0, 100.0);
    for name in ["local-mb", "shared-bank-conflicts", "tensor-cores-percent", "shared-kb-a-block"] {
        within(&metrics, name, 0.0, 0.0);
    }
}

fn strides_show_in_sectors() {
    let Some(ncu) = ncu() else { return };
    let strided = bench::candidate(&format!("{PRELUDE}{STRIDED}"), &["candidate"], STEP);
    let Some(metrics) = measured(&strided, &ncu) else { return };
    about(&metrics, "sectors-a-load", 32.0);
    about(&metrics, "sectors-a-store", 32.0);
}

fn two_kernels_are_told_apart() {
    let Some(ncu) = ncu() else { return };
    let step = |entry: &str| STEP.replace("candidate", entry).replace("a0 * a1, 256", "a0 * a1, 512");
    let contract = ENTRIES.map(step).concat();
    let halves = bench::candidate(&format!("{PRELUDE}{HALVES}"), &ENTRIES, &contract);
    let Some(metrics) = measured(&halves, &ncu) else { return };
    for entry in ENTRIES {
        about(&metrics, &format!("{entry}.dram-read-mb"), TENSOR);
    }
    assert!(metrics.keys().all(|name| name.contains('.')), "each is of one kernel");
}
