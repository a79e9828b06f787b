//! A run of each strategy that is killed at every point at which it can be: before, within and after each line of its log. What
//! follows must be what an undisturbed run has, byte for byte, and no recorded answer may be asked for again.
//!
//! Its answers and verdicts are scripted: no compiler and no device has a part in it. The run is this binary, re-executed; it kills
//! itself with SIGKILL, so that nothing is written or unlocked on the way out.
//!
//! Hostile replies go through the real compiler and the real judge on the host.

mod expected;
mod hostile;
mod script;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use cutegen_build::strategy::Strategy;
use script::Killer;

/// Before the arguments of a run: its strategy, its folder, and the point at which it is killed.
const RUN: &str = "--run-until";
/// Points that a run must have at least.
fn points_min(strategy: Strategy) -> usize {
    match strategy {
        Strategy::Refine => 190,
        Strategy::Branch => 150,
        Strategy::Islands => 140,
    }
}

fn main() -> ExitCode {
    cutegen_build::worker::become_worker_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [first, strategy, folder, at] if first == RUN => {
            let strategy = Strategy::named(strategy).expect("one of ours");
            script::run(strategy, Path::new(folder), Killer::at(at.parse().expect("a number")));
            ExitCode::SUCCESS
        }
        arguments if arguments.iter().any(|argument| argument == "--list") => {
            println!("kills: test\nhostile: test");
            ExitCode::SUCCESS
        }
        arguments => tested(arguments),
    }
}

fn is_wanted(arguments: &[String], test: &str) -> bool {
    let mut filters = arguments.iter().filter(|argument| !argument.starts_with("--")).peekable();
    filters.peek().is_none() || filters.any(|filter| test.contains(filter.as_str()))
}

fn tested(arguments: &[String]) -> ExitCode {
    let (mut passed, mut failed) = (0, Vec::new());
    if is_wanted(arguments, "kills") {
        let wrong: Vec<String> = Strategy::all().flat_map(kills).collect();
        passed += usize::from(wrong.is_empty());
        failed.extend(wrong);
    }
    if is_wanted(arguments, "hostile") {
        match hostile::falls() {
            Ok(wrong) => {
                passed += usize::from(wrong.is_empty());
                failed.extend(wrong);
            }
            Err(lacks) if std::env::var_os("CUTEGEN_REQUIRE_TOOLCHAIN").is_some() => failed.push(lacks),
            Err(lacks) => println!("skipped hostile: {lacks}"),
        }
    }
    failed.iter().for_each(|why| println!("{why}"));
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What went wrong with runs that were killed.
fn kills(strategy: Strategy) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole");
    assert!(go_on(strategy, &whole, usize::MAX), "an undisturbed run ends");
    let (log, points) = (script::text(&whole), script::points(&whole));
    let name = strategy.name();
    println!("{name}: {} lines, {points} points", log.lines().count());
    let mut failed = Vec::new();
    let least = points_min(strategy);
    if points < least {
        failed.push(format!("{name}: {points} points, {least} are asked for"));
    }
    failed.extend((0..points).filter_map(|point| {
        let own = folder.path().join(format!("killed-{point}"));
        killed(strategy, &own, (point, &log))
            .err()
            .map(|why| format!("{name}, killed at point {point}: {why}"))
    }));
    failed
}

/// A run that is killed at a point, and gone on with.
fn killed(strategy: Strategy, folder: &Path, (point, whole): (usize, &str)) -> Result<(), String> {
    if go_on(strategy, folder, point) {
        return Err("it was not killed".to_owned());
    }
    let (recorded, asked) = (script::recorded(folder), script::asked(folder).len());
    if !go_on(strategy, folder, usize::MAX) {
        return Err("it could not be gone on with".to_owned());
    }
    let again = script::asked(folder).split_off(asked);
    if let Some(request) = again.iter().find(|request| recorded.contains(request)) {
        return Err(format!("the answer to {request} was recorded, and asked for again"));
    }
    let log = script::text(folder);
    if log != whole {
        let line = log.lines().zip(whole.lines()).position(|(a, b)| a != b);
        return Err(format!("its log is another one, from line {line:?}"));
    }
    fs::remove_dir_all(folder).map_err(|error| error.to_string())
}

/// Whether a run came to its end.
fn go_on(strategy: Strategy, folder: &Path, point: usize) -> bool {
    let this = std::env::current_exe().expect("this program");
    let status = Command::new(this)
        .args([RUN, strategy.name()])
        .arg(folder)
        .arg(point.to_string())
        .status()
        .expect("starts");
    status.success()
}
