//! The peer worker: the real script in a real Python, driven by the judge's end of its pipe.
//!
//! What needs PyTorch runs on its CPU device and is reported as skipped without it; `CUTEGEN_REQUIRE_TORCH=1` makes that
//! a failure. `CUTEGEN_PYTHON` names another interpreter than `python3`.

mod bench;
mod pipes;
mod values;

use std::process::ExitCode;

type Test = (&'static str, fn());

fn main() -> ExitCode {
    if let Some(folder) = std::env::var_os(pipes::STARTER) {
        pipes::starter(folder.as_ref());
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let wanted = |(name, _): &Test| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
    let plain: Vec<Test> = pipes::TESTS.iter().copied().filter(wanted).collect();
    let torch: Vec<Test> =
        [pipes::TORCH_TESTS, values::TORCH_TESTS].concat().into_iter().filter(wanted).collect();
    if arguments.iter().any(|a| a == "--list") {
        plain.iter().chain(&torch).for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let missing = if torch.is_empty() { None } else { bench::missing() };
    let chosen = if missing.is_some() { plain } else { [plain, torch.clone()].concat() };
    let failed: Vec<&str> = chosen.iter().filter(|test| !passes(test)).map(|(name, _)| *name).collect();
    let skipped = missing.map_or(0, |reason| skip(&torch, &reason));
    let required = skipped > 0 && std::env::var_os("CUTEGEN_REQUIRE_TORCH").is_some();
    let good = failed.is_empty() && !required;
    let passed = chosen.len() - failed.len();
    let verdict = if good { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {passed} passed; {} failed; {skipped} ignored {failed:?}",
        failed.len()
    );
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn skip(tests: &[Test], reason: &str) -> usize {
    tests.iter().for_each(|(name, _)| println!("test {name} ... skipped: {reason}"));
    tests.len()
}

fn passes((name, test): &Test) -> bool {
    let start = std::time::Instant::now();
    let passed = std::panic::catch_unwind(test).is_ok();
    println!("test {name} ... {} ({:.1?})", if passed { "ok" } else { "FAILED" }, start.elapsed());
    passed
}
