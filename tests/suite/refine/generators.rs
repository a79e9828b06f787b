//! Generators in order, and warm starts both ways: a program is asked only where no template meets `accept`, its kernel wins then and
//! is found by later searches, and a run begins from what is known.

use cutegen_tests::{Ran, run, write};
use serde_json::Value;

use super::all;
use super::script::{Library, decided, fenced};

/// Its template is several times as fast as its naive kernel.
const ROWS: &str = "
edition = 1
[kernels.squares]
axes = { m = '1..=16', d = 512 }
inputs = { x = 'f32[m, d]' }
outputs = { y = 'f32[m, d]' }
math = 'y[m, d] = softmax(d, x[m, d])'
workloads = [{ m = 16 }]
targets = ['host']
";

/// Templates compute sines. It is four wherever it is a number, which a program may know.
const FOURS: &str = "
edition = 1
[kernels.squares]
axes = { n = '1..=16384' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = '''
a[n] = sin(x[n]) * sin(x[n]) + cos(x[n]) * cos(x[n])
b[n] = sin(x[n] / 2) * sin(x[n] / 2) + cos(x[n] / 2) * cos(x[n] / 2)
c[n] = sin(x[n] / 4) * sin(x[n] / 4) + cos(x[n] / 4) * cos(x[n] / 4)
d[n] = sin(x[n] / 8) * sin(x[n] / 8) + cos(x[n] / 8) * cos(x[n] / 8)
y[n] = a[n] + b[n] + c[n] + d[n]
'''
workloads = [{ n = 16384 }]
targets = ['host']
";

/// Templates are far from it, and a kernel without sines is far beyond.
const FAR: &str = "accept = { min-speedup = 3 }\n";
const TOO_FAR: &str = "accept = { min-speedup = 1000000 }\n";

/// The kernel without sines.
fn without_sines(four: &str) -> String {
    let source = r#"// contract:
// steps = [{ entry = "@ENTRY@", args = ["ptr(x)", "ptr(y)", "axis(n)"] }]
#include <cstdint>
extern "C" __attribute__((visibility("default"), externally_visible)) void @ENTRY@(void** params) {
  const float* x = *static_cast<const float**>(params[0]);
  float* y = *static_cast<float**>(params[1]);
  const int64_t n = *static_cast<const int64_t*>(params[2]);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - x[i] + FOUR;
}
"#;
    fenced(&source.replace("FOUR", four))
}

fn library(name: &str, spec: &str) -> Library {
    let library = Library::with(name, &[without_sines("4.0f"), without_sines("(5.0f - 1.0f)")]);
    write(&library.folder.join("specs/squares.toml"), spec);
    library
}

/// `tune` with these arguments, and the scripted program.
fn tune(library: &Library, args: &[&str]) -> Ran {
    let program = library.folder.join("program.py").display().to_string();
    let answers = library.folder.join("answers").display().to_string();
    run(&mut library.cutegen(&[&["tune"], args, &["--", "python3", &program, &answers]].concat()))
}

fn was_asked(library: &Library) -> bool {
    library.folder.join("answers/asks").exists()
}

/// The entries of a log without numbers. A template that a busy machine times as fast enough goes through the gate, and is too slow.
fn but_slow(log: &str) -> Vec<String> {
    let entries = decided(log).into_iter().filter(|entry| !entry.starts_with("too-slow"));
    entries.map(|entry| entry.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end().to_owned()).collect()
}

fn events(ran: &Ran, name: &str) -> Vec<Value> {
    let values = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.filter(|value| value["event"] == name).collect()
}

#[test]
fn a_template_that_meets_accept_is_the_cheapest() {
    let library = library("generators-template", ROWS);
    let ran = tune(&library, &["--generators", "template,model", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    assert!(events(&ran, "asking").is_empty() && !was_asked(&library), "{}", all(&ran));
    assert_eq!(events(&ran, "tuned")[0]["faster"], 1, "{}", all(&ran));
    assert!(!library.folder.join("cutegen-runs").exists(), "no run began");
}

#[test]
fn a_program_is_asked_once_where_templates_miss_accept_and_searches_find_its_kernel() {
    let library = library(
        "generators-model",
        &format!("{FOURS}{FAR}search = {{ generators = ['template', 'model'] }}\n"),
    );
    let ran = tune(&library, &["--json"]);
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    let asking = events(&ran, "asking");
    assert!(
        asking.len() == 1 && asking[0]["kind"] == "model" && asking[0]["after"] == "template",
        "{asking:?}"
    );
    assert_eq!((asking[0]["min-speedup"].as_f64(), library.asked()), (Some(3.0), vec![1]), "{asking:?}");
    assert_eq!(events(&ran, "tuned")[0]["faster"], 1, "{}", all(&ran));
    let log = library.log_of("tune-1");
    let entries = but_slow(&log);
    // the fastest template is what the run began from
    assert_eq!(
        entries,
        ["kernel", "compiled", "right", "optimise about", "kernel", "compiled", "right", "accepted"],
        "{}",
        all(&ran)
    );
    assert!(log.contains("\"by\":\"template, ") && log.contains("\"enough\":3"), "{log}");
    assert!(library.prompt(1).contains("sin"), "{}", library.prompt(1));
    let replayed = library.command(&["replay"]);
    assert!(replayed.ok && all(&replayed).contains("every prompt and decision"), "{}", all(&replayed));

    let again = tune(&library, &[]);
    assert!(again.ok && library.asked() == [1], "the store has an answer: {}", all(&again));

    // a search that asks nothing finds the run's kernel in its log
    std::fs::remove_dir_all(library.folder.join("home/cutegen/store")).expect("a store");
    let found = library.command(&["tune", "--generators", "template"]);
    assert!(found.ok && all(&found).contains("in the user store: m-"), "{}", all(&found));
    let refused = library.command(&["accept"]);
    assert!(refused.code == Some(1) && all(&refused).contains("--host-source"), "{}", all(&refused));

    // of a run that began elsewhere it takes no host source
    std::fs::remove_dir_all(library.folder.join("home/cutegen/store")).expect("a store");
    std::fs::remove_file(library.folder.join("home/cutegen/begun-runs")).expect("a list");
    let none = library.command(&["tune", "--generators", "template"]);
    let told = all(&none);
    assert!(none.ok && told.contains("run tune-1 began elsewhere: its host sources are left out"), "{told}");
    assert!(told.contains("1 has nothing faster than its naive kernel"), "{told}");
}

#[test]
fn where_nothing_meets_accept_the_best_is_told_and_no_run_is_repeated() {
    let library = library("generators-unmet", &format!("{FOURS}{TOO_FAR}"));
    let short = ["--generators", "template,model", "--set", "requests=1"];
    let ran = tune(&library, &short);
    let told = all(&ran);
    assert_eq!(ran.code, Some(0), "{told}");
    assert!(told.contains("nothing meets accept, which asks for 1000000; the best is m-"), "{told}");
    assert!(told.contains("0 of 1 faster, 1 has nothing faster than its naive kernel"), "{told}");
    let last = decided(&library.log_of("tune-1")).pop().expect("entries");
    assert!(last.starts_with("too-slow"), "{last}: {told}");
    let again = tune(&library, &short);
    assert!(again.ok && all(&again).contains("run tune-1 is over, and is not repeated"), "{}", all(&again));
    assert_eq!(library.asked(), [1]);
    let other = tune(&library, &[&short[..], &["--again"]].concat());
    assert!(other.ok && decided(&library.log_of("tune-2")).contains(&"kernel".to_owned()), "{}", all(&other));
    assert_eq!(library.asked(), [1, 2]);
}

#[test]
fn a_run_of_tune_that_was_cut_short_is_gone_on_with() {
    let library = library("generators-short", &format!("{FOURS}{FAR}"));
    let failed = library.command(&["tune", "--generators", "model", "--", "false"]);
    assert!(failed.code == Some(3) && all(&failed).contains("request 1 has no answer"), "{}", all(&failed));
    assert_eq!(decided(&library.log_of("tune-1")), ["first"]);
    let ran = tune(&library, &["--generators", "model"]);
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    let entries = but_slow(&library.log_of("tune-1"));
    assert_eq!(entries, ["first", "kernel", "compiled", "right", "accepted"], "{}", all(&ran));
}

#[test]
fn a_kind_that_nothing_is_named_for_is_left_out() {
    let library = library("generators-left-out", ROWS);
    let ran = library.command(&["tune", "--generators", "model,template"]);
    assert!(ran.ok && all(&ran).contains("`model` is left out: name what to ask"), "{}", all(&ran));
    assert!(all(&ran).contains("1 of 1 faster"), "{}", all(&ran));
    let none = library.command(&["tune", "--generators", "model"]);
    assert!(none.code == Some(2) && all(&none).contains("none is left"), "{}", all(&none));
    let unused = tune(&library, &[]);
    assert!(unused.code == Some(2) && all(&unused).contains("nothing would be asked"), "{}", all(&unused));
}

#[test]
fn a_run_begins_from_the_tuned_kernel_unless_it_is_told_not_to() {
    let library = library("generators-warm", ROWS);
    assert!(library.command(&["tune"]).ok);
    let begun = |run: &str, further: &[&str]| {
        let ran = library.command(&[&["refine", "squares", "--run", run], further].concat());
        assert_eq!(ran.code, Some(4), "an answer is awaited: {}", all(&ran));
        let log = library.log_of(run);
        let number = decided(&log).len();
        let prompt = library.exchange(run).join(format!("{number}-prompt.md"));
        (decided(&log), log, std::fs::read_to_string(prompt).expect("a prompt"))
    };
    let from_store = ["kernel", "compiled 1", "right 1", "optimise about 1"];
    let (entries, log, prompt) = begun("warm", &[]);
    assert_eq!(entries, from_store);
    assert!(log.contains("\"by\":\"store, "), "{log}");
    assert!(prompt.contains("// steps = [") && prompt.contains("@ENTRY@"), "{prompt}");
    let (entries, _, cold) = begun("cold", &["--set", "warm-start=0"]);
    assert_eq!(entries, ["first"]);
    assert_ne!(cold, prompt);
    assert!(library.command(&["replay"]).ok);

    // the same of what is locked
    assert!(library.command(&["accept"]).ok);
    std::fs::remove_dir_all(library.folder.join("home/cutegen/store")).expect("a store");
    let (entries, ..) = begun("locked", &[]);
    assert_eq!(entries, from_store);
    // the lever of the other strategies: what is asked first, and all that is asked before an answer
    let branch: [&[&str]; 2] = [&["ideas about 1"], &["first"]];
    let islands: [&[&str]; 2] = [&["optimise about 1", "first"], &["first", "first"]];
    for (strategy, asked) in [("branch", branch), ("islands", islands)] {
        let named = |lever: &str| format!("{strategy}-{lever}");
        for (lever, asked) in ["1", "0"].into_iter().zip(asked) {
            let set = format!("warm-start={lever}");
            let words = ["--strategy", strategy, "--set", &set, "--set", "islands=2"];
            let words = if strategy == "islands" { &words[..] } else { &words[..4] };
            let (entries, log, _) = begun(&named(lever), words);
            let own = entries.iter().filter(|entry| from_store[..3].contains(&entry.as_str())).count();
            assert_eq!(own, if lever == "1" { 3 } else { 0 }, "{log}");
            assert_eq!(entries[own..], *asked, "{strategy}, {set}");
        }
    }
}
