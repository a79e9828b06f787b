//! The gate on a real device: honest kernels pass, each planted fault gets its outcome, the sanitizer sees what the
//! gate cannot, Nsight Compute counts what a kernel must move, and one cubin timed against itself is as fast as itself.
//!
//! Without a driver the tests are reported as skipped, but for those that compile the corpora and the copies; `CUTEGEN_REQUIRE_GPU=1` makes that a failure. Kernels are
//! compiled here (NVRTC and a C++ compiler), or taken from the folder `CUTEGEN_GPU_FIXTURES`, which
//! `--prepare FOLDER` fills on a machine that has both.
//!
//! This test has its own `main`, because compiler and runner are this binary, re-executed.

mod bars;
mod bench;
mod corpora;
mod faults;
mod fixtures;
mod incumbents;
mod measured;
#[path = "../planting/mod.rs"]
mod planting;
mod products;
mod profile;
mod rings;
mod rows;
mod sanitized;
#[path = "../scan/mod.rs"]
mod scan;
mod sharing;
mod specs;
mod speed;
mod table;
mod template;
mod tensor_maps;
mod user_launch;

use std::process::ExitCode;

use cutegen_build::evaluate::{RUN, RUN_APART, VARIABLE, runner};

type Test = (&'static str, fn());

/// What needs a compiler and no device.
const COMPILED: &[Test] = &[corpora::COMPILED, bars::COMPILED];

fn main() -> ExitCode {
    match std::env::var(VARIABLE).as_deref() {
        Ok(RUN) => std::process::exit(runner::main()),
        Ok(RUN_APART) => std::process::exit(runner::main_apart()),
        Ok(_) => cutegen_build::compile::worker_main(),
        Err(_) => {}
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|a| a == "--prepare") {
        fixtures::prepare(arguments.get(at + 1).expect("--prepare FOLDER").as_ref());
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    // minutes each, and nobody else's work beside them
    let measurements = if filters.iter().any(|f| f.contains("bars")) { bars::MEASUREMENTS } else { &[] };
    let all: Vec<Test> = [
        COMPILED,
        faults::TESTS,
        sharing::TESTS,
        template::TESTS,
        template::PARTS,
        rows::TESTS,
        rings::TESTS,
        sanitized::TESTS,
        profile::TESTS,
        speed::TESTS,
        tensor_maps::TESTS,
        user_launch::TESTS,
        specs::TESTS,
        products::TESTS,
        incumbents::TESTS,
        measured::TESTS,
        corpora::TESTS,
        bars::TESTS,
        measurements,
    ]
    .concat();
    let chosen: Vec<Test> = all
        .into_iter()
        .filter(|(name, _)| filters.is_empty() || filters.iter().any(|f| name.contains(*f)))
        .collect();
    if arguments.iter().any(|a| a == "--list") {
        chosen.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (compiled, chosen): (Vec<Test>, Vec<Test>) =
        chosen.into_iter().partition(|(name, _)| COMPILED.iter().any(|(compiled, _)| compiled == name));
    let compiles = match fixtures::no_toolchain() {
        Some(reason) => skip(&compiled, &reason, "CUTEGEN_REQUIRE_TOOLCHAIN"),
        None => run(&compiled),
    };
    let runs = match missing() {
        Some(reason) => skip(&chosen, &reason, "CUTEGEN_REQUIRE_GPU"),
        None => run(&chosen),
    };
    if compiles && runs { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Why nothing can run here.
fn missing() -> Option<String> {
    if let Err(error) = cutegen_runtime::cuda::context(0) {
        return Some(format!("no GPU: {error}"));
    }
    fixtures::missing()
}

fn skip(chosen: &[Test], reason: &str, required: &str) -> bool {
    chosen.iter().for_each(|(name, _)| println!("test {name} ... skipped: {reason}"));
    println!("\ntest result: ok. 0 passed; 0 failed; {} ignored", chosen.len());
    chosen.is_empty() || std::env::var_os(required).is_none()
}

fn run(chosen: &[Test]) -> bool {
    let failed: Vec<&str> = chosen.iter().filter(|test| !passes(test)).map(|(name, _)| *name).collect();
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = chosen.len() - failed.len();
    println!("\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored {failed:?}", failed.len());
    failed.is_empty()
}

fn passes((name, test): &Test) -> bool {
    let start = std::time::Instant::now();
    let passed = std::panic::catch_unwind(test).is_ok();
    println!("test {name} ... {} ({:.1?})", if passed { "ok" } else { "FAILED" }, start.elapsed());
    passed
}
