//! `branch` as its users meet it: a program gives ideas and kernels of them, a round is judged in one batch, and the best kernel is
//! accepted. Every decision stands in the log, which replays.

use std::path::PathBuf;

use cutegen_tests::{run, write};
use serde_json::Value;

use super::all;
use super::script::{Library, decided, edit, fenced, lanes, loses, optimised};

/// What a run of the scripted program comes to, entry by entry.
const DECISIONS: &[&str] = &[
    "first",
    "kernel",
    "compiled 2",
    "right 2",
    "ideas about 2",
    "ideas",
    "variant about 2",
    "variant about 2",
    "kernel",
    "compiled 9",
    "kernel",
    "refused 11",
    "diagnose about 11",
    "words",
    "patch about 11",
    "kernel",
    "compiled 16",
    "right 9",
    "right 16",
    "ideas about 9",
    "ideas",
    "variant about 9",
    "variant about 2",
    "repeat of 9",
    "kernel",
    "compiled 25",
    "right 25",
    "accepted 9",
];

const SETTINGS: &[&str] = &[
    "--strategy",
    "branch",
    "--set",
    "rounds=2",
    "--set",
    "ideas=2",
    "--set",
    "variants=1",
    "--set",
    "slowest=0",
];

/// A right kernel, two ideas of which the second is faulty at first, and two ideas that bring nothing.
fn answers() -> Vec<String> {
    let faulty = lanes(3).replace("sum = 0;", "sum = zero;");
    vec![
        fenced(&lanes(4)),
        "1. attempt 2: 32 lanes hide the latency of an addition. Predicted: 3x\n2. attempt 2: three lanes. Predicted: 1.1x\n"
            .to_owned(),
        optimised("3x", 32),
        fenced(&faulty),
        "`zero` is declared nowhere: begin the sum with 0.\n".to_owned(),
        edit("    float lanes[3] = {}, sum = zero;", "    float lanes[3] = {}, sum = 0;"),
        "- the same again\n- attempt 2: five lanes, predicted 1.2x\n".to_owned(),
        fenced(&lanes(32).replace("  for (int64_t i", "  // rows\n  for (int64_t i")),
        loses("1.2x", 5),
    ]
}

fn library(name: &str) -> Library {
    Library::with(name, &answers())
}

/// The value in a line of a log.
fn line(log: &str, number: usize) -> Value {
    serde_json::from_str(log.lines().nth(number).expect("a line")).expect("JSON")
}

#[test]
fn ideas_and_their_kernels_lead_to_an_accepted_one() {
    let library = library("branch-program");
    let ran = run(&mut library.refining_with(SETTINGS));
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    let log = library.log();
    assert_eq!(decided(&log), DECISIONS);
    assert!(all(&ran).contains("all of its rounds are over"), "{}", all(&ran));
    assert_eq!(library.asked().len(), answers().len(), "each answer was asked for once");
    // what a round's kernels are compared by is of one batch
    let batch = |number: usize| line(&log, number)["verdict"]["judge"]["batch"].clone();
    assert!(batch(18) == batch(19) && batch(18) != batch(4) && batch(18).is_string());
    let ideas = line(&log, 6)["candidate"]["content"]["ideas"].clone();
    assert_eq!((ideas[0]["about"].as_u64(), ideas[0]["predicted"].as_f64()), (Some(2), Some(3.0)), "{ideas}");
    assert_eq!(
        (line(&log, 7)["request"]["idea"].as_u64(), line(&log, 8)["request"]["idea"].as_u64()),
        (Some(1), Some(2))
    );
    let told = |request: usize, word: &str| {
        let prompt = library.prompt(request);
        assert!(prompt.contains(word), "request {request} does not say `{word}`:\n{prompt}");
    };
    told(2, "Give 2 ideas");
    told(3, "32 lanes hide the latency of an addition");
    told(4, "attempt 2: three lanes");
    told(7, "round 1, idea 1 for attempt 2: attempt 2: 32 lanes");
    told(7, "attempt 9 is right, ");
    told(7, "## Attempt 16\n"); // a slower kernel is kept
    let replayed = library.command(&["replay"]);
    assert!(replayed.ok && all(&replayed).contains("every prompt and decision"), "{}", all(&replayed));
    let path = library.log_path();
    let report = library.command(&["report", "--run", &path.display().to_string()]);
    assert!(
        report.stdout.contains("## Ideas") && report.stdout.contains("| 9 accepted |"),
        "{}",
        all(&report)
    );
    let best = report.stdout.lines().find(|line| line.contains("| 9 accepted | 9 | ")).unwrap_or_default();
    assert!(best.ends_with("x |"), "the whole gate hides no ratio: {}", report.stdout);
    assert!(
        report.stdout.contains("| 16 right |") && report.stdout.contains("| 24 repeat |"),
        "{}",
        report.stdout
    );
    is_banked(&library);
    // the ideas were for the best kernel
    write(&path, &log.replacen("\"about\":9,\"version\"", "\"about\":2,\"version\"", 1));
    let replayed = library.command(&["replay"]);
    assert!(replayed.code == Some(1) && all(&replayed).contains("diverged at step 20"), "{}", all(&replayed));
}

/// A run for another spec begins with the kernel that was accepted for this one, unless its lever is off.
fn is_banked(library: &Library) {
    let spec = "edition = 1\n[kernels.cubes]\naxes = { m = \"1..=64\", k = \"8..=64\" }\ninputs = { x = \"f32[m, k]\" }\n\
                outputs = { y = \"f32[m]\" }\nmath = \"y[m] = sum(k, x[m, k] * x[m, k] * x[m, k])\"\n\
                workloads = [{ m = 64, k = 64 }]\ntargets = [\"host\"]\n";
    write(&library.folder.join("specs/cubes.toml"), spec);
    let first = |name: &str, lever: &str| {
        let set = format!("bank={lever}");
        let ran = library.command(&["refine", "cubes", "--run", name, "--strategy", "branch", "--set", &set]);
        assert_eq!(ran.code, Some(4), "{}", all(&ran));
        line(&std::fs::read_to_string(log_of(library, name)).expect("a log"), 0)
    };
    let bank = first("banked", "1")["bank"].clone();
    assert_eq!((bank[0]["kernel"].as_str(), bank[1].is_null()), (Some("squares"), true), "{bank}");
    assert_eq!(bank[0]["source"].as_str(), Some(lanes(32).as_str()));
    assert_eq!(bank[0]["idea"].as_str(), Some("32 lanes hide latency."));
    assert!(first("bare", "0")["bank"].is_null());
    std::fs::remove_file(library.folder.join("specs/cubes.toml")).expect("removed");
}

/// The log of a run of any spec.
fn log_of(library: &Library, run: &str) -> PathBuf {
    let folders = std::fs::read_dir(library.folder.join("cutegen-runs")).expect("runs");
    let mut logs = folders.map(|folder| folder.expect("an entry").path().join(format!("{run}.jsonl")));
    logs.find(|log| log.is_file()).expect("a log")
}

#[test]
fn variants_are_awaited_together_and_answered_in_any_order() {
    let library = library("branch-exchange");
    let begin = [&["refine", "squares", "--run", "r"][..], SETTINGS].concat();
    assert_eq!(library.command(&begin).code, Some(4));
    let exchange = library.exchange("r");
    let reply = |number: usize, text: &str| write(&exchange.join(format!("{number}-reply.md")), text);
    let step = |code: i32| {
        let ran = library.command(&["step", "--json"]);
        assert_eq!(ran.code, Some(code), "{}", all(&ran));
        let values = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        values.into_iter().find(|value| value.get("state").is_some()).expect("where the run stands")
    };
    let [first, ideas, one, two] = [0, 1, 2, 8].map(|number| answers()[number].clone());
    reply(1, &first);
    assert_eq!(step(4)["sequence"].as_u64(), Some(5));
    reply(5, &ideas);
    let awaited = step(4);
    let others: Vec<Option<u64>> = awaited["others"]
        .as_array()
        .expect("others")
        .iter()
        .map(|other| other["sequence"].as_u64())
        .collect();
    assert_eq!((awaited["sequence"].as_u64(), others), (Some(7), vec![Some(8)]));
    assert!(exchange.join("7-prompt.md").is_file() && exchange.join("8-prompt.md").is_file());
    reply(8, &two);
    let awaited = step(4);
    assert_eq!((awaited["sequence"].as_u64(), awaited["others"].is_null()), (Some(7), true));
    let log = library.log_of("r");
    assert_eq!(
        decided(&log).last().map(String::as_str),
        Some("compiled 9"),
        "nothing is judged before its batch is whole"
    );
    reply(7, &one);
    step(4);
    let decided = decided(&library.log_of("r"));
    assert_eq!(
        decided[8..],
        ["kernel", "compiled 9", "kernel", "compiled 11", "right 9", "right 11", "ideas about 11"]
    );
    assert!(library.command(&["replay"]).ok);
}

#[test]
fn a_strategy_has_a_name_and_settings_of_its_own() {
    let library = library("branch-refused");
    let other = library.command(&["refine", "squares", "--strategy", "guess"]);
    assert!(all(&other).contains("no strategy `guess`; there are: refine, branch"), "{}", all(&other));
    let setting = library.command(&["refine", "squares", "--strategy", "branch", "--set", "losses=3"]);
    assert!(
        setting.code == Some(2) && all(&setting).contains("no setting `losses`; there are: warm-start"),
        "{}",
        all(&setting)
    );
}
