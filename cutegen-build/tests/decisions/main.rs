//! The decisions of whole searches on the host, under a scripted judge: what is proposed, what is tried in which order,
//! what each verdict leads to, what wins, and the lock. Everything but the judge is the real thing. The judge takes
//! verdicts and times from a script instead of launches and a clock, so that a decision depends on nothing else.
//!
//! `golden/` holds the decisions. A change that moves code must leave them byte for byte; one that decides otherwise
//! says so by changing them: `UPDATE_GOLDEN=1 cargo test -p cutegen-build --features search --test decisions`.
//! `CUTEGEN_DECISIONS=FOLDER` also writes them there with every digest, to compare two builds on one machine.
//!
//! With `CUTEGEN_SAMPLE` above 1, as in `.ci/run`, five searches are taken; otherwise all, a minute of two cores more.
//!
//! This test has its own `main`: the command that searches, its compile workers and its judge are this binary. Needs an
//! installed toolchain and g++, and is skipped without; `CUTEGEN_REQUIRE_TOOLCHAIN=1` makes that a failure.

mod judge;
#[expect(dead_code, reason = "which searches a sample takes is not drawn")]
#[path = "../sample/mod.rs"]
mod sample;
mod search;
mod told;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cutegen_build::evaluate::{JUDGE, VARIABLE};
use cutegen_build::toolchain::{Places, Toolchain, locate};

use judge::{Expected, Script};
use told::Told;

/// A kernel, and the scripts of its searches, one after another: each finds locked what the one before has found.
const CASES: [(&str, &[Script]); 5] = [
    (
        "elementwise",
        &[
            Script { fastest: &["elementwise-v8"], sampled: true, ..Script::new("fresh") },
            Script {
                fastest: &["elementwise-v4"],
                refused: &["elementwise-v8"],
                sampled: true,
                ..Script::new("refused")
            },
        ],
    ),
    (
        "rowwise",
        &[
            Script {
                fastest: &["rowwise-u8-r1"],
                refused: &["rowwise-u8-r1"],
                sampled: true,
                ..Script::new("fresh")
            },
            Script::new("stays"),
        ],
    ),
    ("contraction", &[Script::new("fresh")]),
    ("kinds", &[ONE_KIND, KINDS]),
    ("given", &[GIVEN]),
];

/// A strategy, a budget and a seed of a caller: the two that were proposed last are tried, and no other.
const GIVEN: Script = Script {
    fastest: &["elementwise-v8", "elementwise-v32", "elementwise-v16"],
    sampled: true,
    given: Some((2, 77)),
    expected: Some(Expected { judged: &["elementwise-v32"], answer: &["elementwise-v32", "naive"] }),
    ..Script::new("backwards")
};

/// All finalists fall, and the next fastest of another kind is right. One of their kind is faster, and is not tried.
const KINDS: Script = Script {
    fastest: &["ring-v8", "ring-v4", "split-v16", "ring-v2", "plain-v1", "split-v32"],
    refused: &["ring-v8", "ring-v4", "split-v16"],
    sampled: true,
    renamed: &[
        ("elementwise-v1", "plain-v1"),
        ("elementwise-v2", "ring-v2"),
        ("elementwise-v4", "ring-v4"),
        ("elementwise-v8", "ring-v8"),
        ("elementwise-v16", "split-v16"),
        ("elementwise-v32", "split-v32"),
    ],
    expected: Some(Expected {
        judged: &["ring-v8", "ring-v4", "split-v16", "plain-v1"],
        answer: &["plain-v1", "naive"],
    }),
    ..Script::new("follows")
};

/// The same where what is left is of kinds that have fallen: none of it is tried.
const ONE_KIND: Script = Script {
    fastest: &["ring-v8", "ring-v4", "split-v16", "ring-v2", "ring-v1", "split-v32"],
    sampled: false,
    renamed: &[
        ("elementwise-v1", "ring-v1"),
        ("elementwise-v2", "ring-v2"),
        ("elementwise-v4", "ring-v4"),
        ("elementwise-v8", "ring-v8"),
        ("elementwise-v16", "split-v16"),
        ("elementwise-v32", "split-v32"),
    ],
    expected: Some(Expected { judged: &["ring-v8", "ring-v4", "split-v16"], answer: &["naive"] }),
    name: "none-follows",
    ..KINDS
};

/// Before the arguments of a search: a kernel, a script, a folder.
const SEARCH: &str = "--search";
/// How a search exits in which a compiler was not in time.
const LATE: u8 = 75;

fn main() -> ExitCode {
    if std::env::var(VARIABLE).as_deref() == Ok(JUDGE) {
        judge::serve();
        return ExitCode::SUCCESS;
    }
    cutegen_build::worker::become_worker_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [first, kernel, script, folder] if first == SEARCH => {
            match search::run(kernel, scripted(kernel, script), Path::new(folder)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(search::Late) => ExitCode::from(LATE),
            }
        }
        arguments if arguments.iter().any(|argument| argument == "--list") => {
            CASES.iter().for_each(|(kernel, _)| println!("{kernel}: test"));
            ExitCode::SUCCESS
        }
        arguments => tested(arguments),
    }
}

/// A script of a kernel, by name.
fn scripted(kernel: &str, name: &str) -> &'static Script {
    let of = CASES.iter().find(|(known, _)| *known == kernel).map(|(_, scripts)| *scripts);
    of.unwrap_or_default().iter().find(|script| script.name == name).expect("a script")
}

/// Runs the cases whose names hold one of the arguments.
fn tested(arguments: &[String]) -> ExitCode {
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(*filter));
    let chosen: Vec<_> = CASES.iter().filter(|(kernel, _)| wanted(kernel)).collect();
    let Some(toolchain) = toolchain() else {
        println!("skipped {} tests: no toolchain is installed", chosen.len());
        return u8::from(std::env::var_os("CUTEGEN_REQUIRE_TOOLCHAIN").is_some()).into();
    };
    let failed: Vec<&str> =
        chosen.iter().filter(|case| !passes(case, &toolchain)).map(|(kernel, _)| *kernel).collect();
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = chosen.len() - failed.len();
    println!("\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn toolchain() -> Option<Toolchain> {
    let places = Places::from_env().ok()?;
    locate(&places).ok().filter(|toolchain| toolchain.cxx.is_some())
}

fn passes((kernel, scripts): &(&str, &[Script]), toolchain: &Toolchain) -> bool {
    let passed = std::panic::catch_unwind(|| decided(kernel, scripts, &toolchain.dir)).is_ok();
    println!("test {kernel} ... {}", if passed { "ok" } else { "FAILED" });
    passed
}

/// Runs a kernel's searches, each in a process of its own, and compares what they decided with the golden file.
fn decided(kernel: &str, scripts: &[Script], toolchain: &Path) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("decisions").join(kernel);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder of an earlier run");
    }
    let taken = scripts.iter().filter(|script| script.sampled || sample::is_whole());
    for script in taken {
        compared(&format!("{kernel}-{}.txt", script.name), searched(kernel, script, &folder, toolchain));
    }
}

/// Holds decisions against the golden file of this name.
fn compared(name: &str, Told { whole, masked }: Told) {
    if let Some(out) = std::env::var_os("CUTEGEN_DECISIONS") {
        std::fs::create_dir_all(&out).expect("a folder");
        std::fs::write(Path::new(&out).join(name), whole).expect("written");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decisions/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(golden.parent().expect("a folder")).expect("made");
        std::fs::write(&golden, &masked).expect("written");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    if let Some(differs) = first_difference(&expected, &masked) {
        panic!("a search decides otherwise than {} says, {differs}", golden.display());
    }
}

/// Where these texts part.
fn first_difference(expected: &str, found: &str) -> Option<String> {
    let (mut expected, mut found) = (expected.split('\n'), found.split('\n'));
    for line in 1.. {
        match (expected.next(), found.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let [a, b] = [a, b].map(|line| line.unwrap_or("(the end)"));
                return Some(format!("from line {line}:\n    golden: {a}\n    now:    {b}"));
            }
        }
    }
    None
}

/// Searches of a machine that is too busy to compile in time, at most: a time-out of the compiler is no decision.
const ATTEMPTS: usize = 5;

/// One search. Its judge reads the script in `TMPDIR`, which it inherits, and leaves there what it was asked.
fn searched(kernel: &str, script: &Script, folder: &Path, toolchain: &Path) -> Told {
    let temporary: PathBuf = folder.join(script.name);
    for _ in 0..ATTEMPTS {
        if temporary.exists() {
            std::fs::remove_dir_all(&temporary).expect("the folder of an attempt");
        }
        std::fs::create_dir_all(&temporary).expect("a folder");
        script.write(&temporary);
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args([SEARCH, kernel, script.name]).arg(folder);
        command.env("TMPDIR", &temporary).env("CUTEGEN_HOME", temporary.join("home"));
        let status = command.env("CUTEGEN_TOOLCHAIN", toolchain).status().expect("this program starts");
        match status.code() {
            Some(0) => return Told::read(&temporary),
            Some(code) if code == i32::from(LATE) => {
                println!("{kernel}, {}: a compiler was not in time; again", script.name)
            }
            _ => panic!("the search of {kernel} by script `{}` failed: {status}", script.name),
        }
    }
    panic!("this machine compiles too slowly for this test");
}
