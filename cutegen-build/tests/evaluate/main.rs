//! The gate on real compiled C++: honest kernels pass, and each of the corpus in `hostile` falls to the check that is
//! named beside it, and passes with that check off.
//!
//! The kernels of `wrong` are judged as those of a search.
//!
//! How a slow-down is planted for the timing's own bar is tried here too, on models of a device.
//!
//! This test has its own `main`, because the runner is this binary, re-executed.

mod baseline;
mod bench;
mod bodies;
mod content;
mod dispatched;
mod harmful;
mod honest;
mod hostile;
mod kernels;
mod lease;
mod maps;
mod memory;
mod planted;
#[path = "../planting/mod.rs"]
mod planting;
mod profiler;
#[path = "../sample/mod.rs"]
mod sample;
mod sandbox;
mod sanitizer;
#[path = "../scan/mod.rs"]
mod scan;
mod speed;
mod workloads;
#[path = "../wrong/mod.rs"]
mod wrong;

use std::process::ExitCode;

use cutegen_build::compile;
use cutegen_build::evaluate::{RUN, RUN_APART, VARIABLE, runner};

type Test = (&'static str, fn());

fn main() -> ExitCode {
    match std::env::var(VARIABLE).as_deref() {
        Ok(RUN) => std::process::exit(runner::main()),
        Ok(RUN_APART) => std::process::exit(runner::main_apart()),
        Ok(lease::HOLD) => {
            lease::hold();
            return ExitCode::SUCCESS;
        }
        Ok(compile::WORKER_KIND) => compile::worker_main(),
        Ok(_) | Err(_) => {}
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let all = [
        honest::TESTS,
        content::TESTS,
        dispatched::TESTS,
        hostile::TESTS,
        memory::TESTS,
        lease::TESTS,
        harmful::TESTS,
        sanitizer::TESTS,
        profiler::TESTS,
        baseline::TESTS,
        speed::TESTS,
        workloads::TESTS,
        planted::TESTS,
        sandbox::TESTS,
        maps::TESTS,
        wrong::TESTS,
    ]
    .concat();
    if arguments.iter().any(|a| a == "--list") {
        all.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
    let chosen: Vec<Test> = all.into_iter().filter(|(name, _)| wanted(name)).collect();
    let failed: Vec<&str> = chosen.iter().filter(|test| !passes(test)).map(|(name, _)| *name).collect();
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = chosen.len() - failed.len();
    println!("\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes((name, test): &Test) -> bool {
    let start = std::time::Instant::now();
    let passed = std::panic::catch_unwind(test).is_ok();
    println!("test {name} ... {} ({:.1?})", if passed { "ok" } else { "FAILED" }, start.elapsed());
    passed
}
