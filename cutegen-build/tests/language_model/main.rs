//! Language models without one: endpoints on loopback sockets that fail in every way, jobs that spend from one ledger while they
//! are killed, and a key that must be nowhere. Each test has a time limit of its own, so that it fails rather than hangs.

mod canary;
mod faults;
mod jobs;
mod rest;
mod server;

use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A test: its name, its seconds, and what was wrong.
type Test = (&'static str, u64, fn() -> Vec<String>);

/// In order: the last one reads what the others wrote.
const TESTS: &[Test] = &[
    ("jobs_that_are_killed", 60, jobs::killed),
    ("faults", 120, faults::all),
    ("rest", 60, rest::all),
    ("the_key_is_nowhere", 30, canary::nowhere),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [jobs::SPEND, rest @ ..] => jobs::spend(rest),
        words if words.contains(&"--list") => {
            TESTS.iter().for_each(|(name, ..)| println!("{name}: test"));
            ExitCode::SUCCESS
        }
        words if std::env::var_os(canary::FOLDER).is_some() => tested(words),
        words => with_a_key(words),
    }
}

/// Runs this program again with a key in its environment and a folder for all that it writes, its output among that.
fn with_a_key(words: &[&str]) -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(words).env(canary::VARIABLE, canary::KEY).env(canary::FOLDER, folder.path());
    let status = again.env("TMPDIR", folder.path()).status().expect("starts");
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tested(words: &[&str]) -> ExitCode {
    let filters: Vec<&&str> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let wanted = |(name, ..): &&Test| filters.is_empty() || filters.iter().any(|word| name.contains(**word));
    let failed: Vec<bool> = TESTS.iter().filter(wanted).map(|test| !passes(test)).collect();
    let count = failed.iter().filter(|failed| **failed).count();
    let (verdict, passed) = (if count == 0 { "ok" } else { "FAILED" }, failed.len() - count);
    println!("\ntest result: {verdict}. {passed} passed; {count} failed; 0 ignored");
    if count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a test in a thread, which is left behind where it does not end.
fn passes(&(name, seconds, test): &Test) -> bool {
    let (sender, receiver) = mpsc::channel();
    let began = Instant::now();
    std::thread::spawn(move || sender.send(test()));
    let wrong = match receiver.recv_timeout(Duration::from_secs(seconds)) {
        Ok(wrong) => wrong,
        Err(mpsc::RecvTimeoutError::Timeout) => vec![format!("no end after {seconds} s")],
        Err(mpsc::RecvTimeoutError::Disconnected) => vec!["it panicked".to_owned()],
    };
    let verdict = if wrong.is_empty() { "ok" } else { "FAILED" };
    println!("test {name} ... {verdict} ({:.1} s)", began.elapsed().as_secs_f64());
    wrong.iter().for_each(|why| println!("  {why}"));
    wrong.is_empty()
}
