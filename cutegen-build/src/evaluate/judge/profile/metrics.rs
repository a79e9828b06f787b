//! Which metrics are asked of `ncu`, and what they are called in facts. Names of Nsight Compute are those of its own sections
//! for compute capability 9.0. Pure.

use std::collections::BTreeMap;

/// A name of `ncu`, what we call it, and how many of our units one of bytes, seconds or whatever it counts is. Those of one
/// name of ours add up.
const METRICS: &[(&str, &str, f64)] = &[
    ("gpu__time_duration.sum", "time-us", 1e6),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram-percent", 1.0),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm-percent", 1.0),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor-cores-percent", 1.0),
    ("smsp__issue_active.avg.pct_of_peak_sustained_active", "issue-slots-percent", 1.0),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy-percent", 1.0),
    ("l1tex__t_sector_hit_rate.pct", "l1-hit-percent", 1.0),
    ("lts__t_sector_hit_rate.pct", "l2-hit-percent", 1.0),
    ("dram__bytes_read.sum", "dram-read-mb", 1e-6),
    ("dram__bytes_write.sum", "dram-write-mb", 1e-6),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "sectors-a-load", 1.0),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "sectors-a-store", 1.0),
    ("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "local-mb", SECTOR_MB),
    ("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "local-mb", SECTOR_MB),
    ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "shared-bank-conflicts", 1.0),
    ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "shared-bank-conflicts", 1.0),
    ("launch__registers_per_thread", "registers-a-thread", 1.0),
    ("launch__shared_mem_per_block_static", "shared-kb-a-block", 1e-3),
    ("launch__shared_mem_per_block_dynamic", "shared-kb-a-block", 1e-3),
    ("launch__waves_per_multiprocessor", "waves", 1.0),
];
/// A sector has 32 bytes.
const SECTOR_MB: f64 = 32e-6;

/// Cycles between two instructions of a warp: what all reasons add up to.
const LATENCY: &str = "smsp__average_warp_latency_per_inst_issued.ratio";
/// Why a warp issues no instruction in a cycle, as `ncu` calls it.
const STALLS: &[&str] = &[
    "long_scoreboard",
    "short_scoreboard",
    "barrier",
    "mio_throttle",
    "lg_throttle",
    "math_pipe_throttle",
    "gmma",
    "membar",
    "wait",
    "not_selected",
    "no_instruction",
    "branch_resolving",
    "drain",
];
/// So many reasons are told, the largest first.
const STALLS_MAX: usize = 4;
/// A reason below this many percent is none.
const STALL_LEAST: f64 = 1.0;

/// What is asked for.
pub(super) fn asked() -> Vec<String> {
    let plain = METRICS.iter().map(|(name, ..)| (*name).to_owned());
    plain.chain(STALLS.iter().map(|reason| stalled(reason))).chain([LATENCY.to_owned()]).collect()
}

/// Facts of a launch; what was not measured is left out.
pub(super) fn facts(metrics: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let mut facts = BTreeMap::new();
    for (name, ours, units) in METRICS {
        if let Some(value) = metrics.get(*name) {
            *facts.entry((*ours).to_owned()).or_default() += value * units;
        }
    }
    facts.extend(stalls(metrics));
    facts.into_iter().map(|(name, value)| (name, rounded(value))).collect()
}

/// The largest reasons, as shares of the cycles between two instructions.
fn stalls(metrics: &BTreeMap<String, f64>) -> Vec<(String, f64)> {
    let Some(latency) = metrics.get(LATENCY).filter(|latency| **latency > 0.0) else { return Vec::new() };
    let share = |reason: &'static str| Some((reason, 100.0 * metrics.get(&stalled(reason))? / latency));
    let mut shares: Vec<(&str, f64)> = STALLS.iter().copied().filter_map(share).collect();
    shares.retain(|(_, percent)| *percent >= STALL_LEAST);
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.truncate(STALLS_MAX);
    let named =
        |(reason, percent): (&str, f64)| (format!("stall-{}-percent", reason.replace('_', "-")), percent);
    shares.into_iter().map(named).collect()
}

fn stalled(reason: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio")
}

/// Four digits: more are noise of a single launch.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was written is read")
}
