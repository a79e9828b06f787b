//! The elementwise template, with a few of its configurations, on the device.

use cutegen_build::evaluate::{Candidate, Outcome};

use crate::Test;
use crate::bench;

pub(crate) const TESTS: &[Test] =
    &[("template::configurations_are_right", configurations_are_right), ("template::speeds", speeds)];

const TEMPLATE: &str = include_str!("../../src/generate/template/sm90a/elementwise.cu.in");
const PRELUDE: &str = include_str!("../../src/generate/template/sm90a/prelude.cuh.in");

/// Bytes of a vector, unroll, threads, loads, stores, persistent.
type Config = (u32, u32, u32, &'static str, &'static str, bool);

const CONFIGS: &[Config] = &[
    (16, 1, 128, "ONCE", "STREAMING", false),
    (16, 2, 256, "ONCE", "STREAMING", false),
    (16, 4, 128, "ONCE", "STREAMING", false),
    (16, 4, 256, "ONCE", "STREAMING", false),
    (16, 4, 256, "CACHED", "CACHED", false),
    (16, 4, 256, "ONCE", "STREAMING", true),
    (32, 2, 256, "ONCE", "STREAMING", false),
    (16, 8, 128, "ONCE", "CACHED", false),
];

/// Large enough for the roof: 100 MB each way.
const LARGE: [i64; 2] = [4096, 8192];

fn source((vec, unroll, threads, load, store, _): Config) -> String {
    let config = format!(
        "constexpr int VEC_BYTES = {vec};\nconstexpr int UNROLL = {unroll};\nconstexpr int THREADS = {threads};\n\
         constexpr Load LOAD = Load::{load};\nconstexpr Store STORE = Store::{store};"
    );
    let types = "using Elements = tuple<bf16, bf16, bf16>;\n\
                 constexpr bool READ[] = {true, true, false};\nconstexpr bool WRITTEN[] = {false, false, true};";
    let holes = [
        ("@HEADER@", "// y = silu(g) * x"),
        ("@PRELUDE@", &PRELUDE.replace("@NARROW@", "true")),
        ("@CONFIG@", &config),
        ("@TYPES@", types),
        ("@MEMBERS@", ""),
        ("@BODY@", "    v[2] = cg_silu(v[1]) * v[0];"),
        ("@ENTRY@", "candidate"),
        ("@PARAMS@", "bf16* t0, bf16* t1, bf16* t2, int64_t a0, int64_t a1"),
        ("@LENGTH@", "a0 * a1"),
        ("@SCALARS@", ""),
        ("@POINTERS@", "t0, t1, t2"),
    ];
    holes.iter().fold(TEMPLATE.to_owned(), |text, (hole, filling)| text.replace(hole, filling))
}

fn candidate(config: Config) -> Candidate {
    let (vec, unroll, threads, .., persistent) = config;
    let tiles = format!("ceil_div(a0 * a1, {})", vec / 2 * unroll * threads);
    let grid = if persistent { format!("min({tiles}, sm_count * max_blocks_per_sm)") } else { tiles };
    let contract = bench::STEP.replace("ceil_div(a0 * a1, 256)", &grid).replace("256", &threads.to_string());
    let aligned = "t0 aligned 16 and t1 aligned 16 and t2 aligned 16";
    bench::eligible(&source(config), &["candidate"], &contract, aligned)
}

pub(crate) fn sources() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    CONFIGS.iter().map(|config| (source(*config), vec!["candidate"]))
}

fn configurations_are_right() {
    let mut judge = bench::judge();
    for config in CONFIGS {
        let outcome = judge.full(&[candidate(*config), bench::honest()]).expect("the machine works");
        assert!(matches!(outcome, Outcome::Passed { .. }), "{config:?}: {outcome}");
    }
}

fn speeds() {
    let mut judge = bench::judge();
    let bytes = 3.0 * 2.0 * LARGE.iter().product::<i64>() as f64;
    for config in CONFIGS {
        let compared =
            judge.compare(&candidate(*config), &bench::honest(), &LARGE).expect("the machine works");
        let timed = compared.expect("both are timed");
        let rate = bytes / timed.candidate_us / 1e6;
        println!(
            "    {config:?}: {:.1} us, {rate:.2} TB/s, {:.3} of the plain kernel",
            timed.candidate_us, timed.speedup
        );
    }
}
