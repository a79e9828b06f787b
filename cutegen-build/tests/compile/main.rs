//! The compile worker in life: this binary is client and worker, so it brings its own `main`.
//!
//! Needs an installed toolchain (`cargo cutegen toolchain install`, or `CUTEGEN_TEST_INSTALL=1` here). Without one
//! the tests are reported as skipped; `CUTEGEN_REQUIRE_TOOLCHAIN=1` makes that a failure.

mod archs;
mod cache;
mod choices;
mod coverage;
mod cuda;
mod emulated;
mod flat;
mod flow;
mod foreign;
mod host;
mod hostile;
mod install;
mod kit;
#[path = "../bound/library.rs"]
mod library;
mod parts;
mod preludes;
mod products;
mod setup;
mod templates;
mod waits;
mod zygote;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

type Test = (&'static str, fn());

fn main() -> ExitCode {
    if std::env::var_os(cutegen_build::compile::WORKER_VAR).is_some() {
        cutegen_build::worker::become_worker_if_asked();
    }
    cache::write_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let tests: Vec<Test> = [
        install::TESTS,
        cuda::TESTS,
        host::TESTS,
        hostile::TESTS,
        preludes::TESTS,
        archs::TESTS,
        parts::TESTS,
        products::TESTS,
        choices::TESTS,
        coverage::TESTS,
        flat::TESTS,
        flow::TESTS,
        foreign::TESTS,
        kit::TESTS,
        emulated::TESTS,
        templates::TESTS,
        waits::TESTS,
        zygote::TESTS,
        cache::TESTS,
    ]
    .concat();
    let wanted =
        |test: &Test| filters.is_empty() || filters.iter().any(|filter| test.0.contains(filter.as_str()));
    let chosen: Vec<Test> = tests.into_iter().filter(wanted).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        chosen.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if !setup::is_available() {
        println!("skipped {} tests: no toolchain is installed", chosen.len());
        return if setup::is_required() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let failed = failed(&chosen);
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {} passed; {failed} failed; 0 ignored", chosen.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many fail. Two run at a time: most wait for one compiler.
fn failed(tests: &[Test]) -> usize {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            failed.fetch_add(usize::from(!passes(test)), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    failed.into_inner()
}

fn passes((name, test): &Test) -> bool {
    let started = Instant::now();
    let passed = catch_unwind(AssertUnwindSafe(test)).is_ok();
    println!(
        "test {name} ... {} ({:.1} s)",
        if passed { "ok" } else { "FAILED" },
        started.elapsed().as_secs_f32()
    );
    passed
}
