//! Every kernel of the library against NumPy: its reference, its naive kernels and its fallback on inputs whose results
//! `tests/golden/python/` computes without CuTeGen. Then the reverse: a wrong sign in any function of the language
//! turns a case red.
//!
//! This test has its own `main`: its parts share the cases, and the compile worker is this binary, re-executed. It needs
//! the toolchain's groups `compile` and `test`; without them it is reported as skipped, and
//! `CUTEGEN_REQUIRE_TOOLCHAIN=1` makes that a failure.

mod cases;
mod cuda;
mod fallback;
mod naive;
#[path = "../objects/mod.rs"]
mod objects;
mod parallel;
mod reference;
#[path = "../sample/mod.rs"]
mod sample;
mod signs;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use cases::Library;

/// A part of the test: its name, and what it found wrong.
type Part = (&'static str, fn(&Library) -> Vec<String>);

const PARTS: &[Part] = &[
    ("library::kernels_and_families", cases::kernels_and_families),
    ("values::numpy_gives_the_committed_values", cases::check),
    ("reference::values_are_numpys", reference::values),
    ("naive::host_stays_inside_the_bounds", naive::host),
    ("fallback::is_right_to_one_rounding", fallback::fallbacks),
    ("signs::every_wrong_sign_is_noticed", signs::planted),
    ("cuda::naive_kernels_compile", cuda::compile),
    ("cuda::device_references_compile", cuda::device_references),
];

/// Lines of a part that are printed.
const SHOWN: usize = 40;

fn main() -> ExitCode {
    if std::env::var_os(cutegen_build::compile::WORKER_VAR).is_some() {
        cutegen_build::compile::worker_main();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(*filter));
    let chosen: Vec<&Part> = PARTS.iter().filter(|(name, _)| wanted(name)).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        chosen.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let Some(library) = Library::computed() else {
        println!(
            "skipped {} tests: the toolchain's groups `compile` and `test` are not installed",
            chosen.len()
        );
        let required = std::env::var_os("CUTEGEN_REQUIRE_TOOLCHAIN").is_some();
        return if required { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    };
    let failed = chosen.iter().filter(|part| !passes(part, &library)).count();
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {} passed; {failed} failed; 0 ignored", chosen.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes((name, part): &Part, library: &Library) -> bool {
    let start = Instant::now();
    let wrong = std::panic::catch_unwind(|| part(library)).unwrap_or_else(|_| vec!["it panicked".to_owned()]);
    wrong.iter().take(SHOWN).for_each(|line| println!("  {line}"));
    if wrong.len() > SHOWN {
        println!("  and {} more", wrong.len() - SHOWN);
    }
    let verdict = if wrong.is_empty() { "ok" } else { "FAILED" };
    println!("test {name} ... {verdict} ({:.1} s)", start.elapsed().as_secs_f32());
    wrong.is_empty()
}

/// The folder of the workspace.
fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}
