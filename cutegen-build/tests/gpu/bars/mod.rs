//! What the gate promises of itself, measured on a device: how often it errs between equals, what it sees of a small
//! difference, how long it takes, and what its runners can know. `CUTEGEN_GPU_REPORT=FOLDER` keeps every sample as
//! `bars_PART.json`, as far as a run came; `tests/bench/gpu_gate.py` makes rows of them.
//!
//! Measurements take minutes each and only run where a filter names them; `CUTEGEN_BARS_ONLY` and
//! `CUTEGEN_BARS_SECONDS` bound those that go over many kernels.

mod a_a;
mod budget;
mod copies;
mod full_gate;
mod maps;
mod peer_a_a;
mod recovery;
mod screening;
mod search;
mod slow_down;
mod sweep;

use std::path::Path;

use cutegen_build::evaluate::device::clocks::CardId;
use cutegen_build::evaluate::{Comparison, Lease};
use cutegen_runtime::cuda::CudaContext;
use serde::Serialize;

use crate::Test;

/// Short ones.
pub(crate) const TESTS: &[Test] = &[
    ("bars::maps", maps::nothing_of_the_judge_is_in_a_runner),
    ("bars::recovery", recovery::another_runner_is_soon_there),
];

/// Minutes each: only what a filter names is run.
pub(crate) const MEASUREMENTS: &[Test] = &[
    ("bars::a_a", a_a::equals_seldom_win),
    ("bars::slow_down", slow_down::two_percent_are_seen),
    ("bars::screening", screening::candidates_are_screened_soon),
    ("bars::full_gate", full_gate::finalists_are_judged_soon),
    ("bars::sweep", sweep::points_are_timed),
    ("bars::copies", copies::kernels_are_as_fast_as_copies),
    ("bars::peer_a_a", peer_a_a::a_cubin_is_itself_in_another_worker),
];

/// What of these needs a compiler and no device.
pub(crate) const COMPILED: Test = ("bars::copies_compile", copies::copies_compile);

/// Sources of ours that only these need.
pub(crate) fn own_sources() -> impl Iterator<Item = String> {
    copies::sources()
}

/// Sources that only these need.
pub(crate) fn sources() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    [a_a::renamed_source(), maps::source(), slow_down::source()].into_iter()
}

/// The source of a reference that only these need.
pub(crate) fn reference() -> String {
    slow_down::reference()
}

/// A comparison of a kernel with itself.
#[derive(Serialize)]
struct Equal {
    /// How the two sides differ.
    path: &'static str,
    axes: [i64; 2],
    traffic_bytes: i64,
    seed: u64,
    #[serde(flatten)]
    comparison: Comparison,
}

impl Equal {
    fn new(path: &'static str, axes: [i64; 2], seed: u64, comparison: Comparison) -> Self {
        Self { path, axes, traffic_bytes: 6 * axes[0] * axes[1], seed, comparison }
    }
}

/// How far from 1 the median ratio is, at the size where it is farthest.
fn apart(sizes: &[[i64; 2]], rows: &[&Equal]) -> f64 {
    let at = |axes: &[i64; 2]| {
        let ratios = rows.iter().filter(|row| row.axes == *axes).map(|row| row.comparison.speedup);
        (median(ratios) - 1.0).abs()
    };
    sizes.iter().map(at).fold(0.0, f64::max)
}

/// The lease by which the gate times on a device; there must be one, as others may prepare there meanwhile.
fn leased(context: &CudaContext) -> Lease {
    let uuid = context.uuid().expect("the driver says it").bytes.map(|byte| byte.cast_unsigned());
    let lease = Lease::named(&std::env::temp_dir(), CardId::from_uuid(uuid).name());
    drop(lease.shared());
    assert_eq!(lease.missing(), None, "nothing keeps others off the device");
    lease
}

/// Writes a part of the report, where one is asked for.
fn keep(part: &str, rows: &impl Serialize) {
    if let Some(folder) = std::env::var_os("CUTEGEN_GPU_REPORT") {
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = Path::new(&folder).join(format!("bars_{part}.json"));
        std::fs::write(path, serde_json::to_string_pretty(rows).expect("JSON")).expect("written");
    }
}

/// The middle of some samples.
fn median(samples: impl IntoIterator<Item = f64>) -> f64 {
    cutegen_build::evaluate::stats::median(samples.into_iter().collect()).expect("samples")
}
