//! Where runs stand, as programs read it: all fields of `step --json` in each state, exit codes of several runs, and what a
//! deadline leaves for the next `step`.

use cutegen_tests::{Ran, run, write};
use serde_json::{Value, json};

use super::islands::on_device;
use super::script::{Library, decided, fenced, lanes};
use super::{all, older};

/// Seconds that the slow program outlasts; a command begins in less on any machine.
const DEADLINE: u32 = 15;

/// A library whose kernel is for these targets.
fn library(name: &str, targets: &str) -> Library {
    let library = Library::with(name, &[fenced(&lanes(8))]);
    let spec = std::fs::read_to_string(library.folder.join("specs/squares.toml")).expect("a spec");
    write(&library.folder.join("specs/squares.toml"), &spec.replace("[\"host\"]", targets));
    library
}

/// What a command says of its runs.
fn stands(ran: &Ran) -> Vec<Value> {
    let values = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.filter(|value| value.get("state").is_some()).collect()
}

/// Of one run.
fn stand(library: &Library, args: &[&str], code: i32) -> Value {
    let ran = library.command(&[args, &["--json"]].concat());
    assert_eq!(ran.code, Some(code), "{}", all(&ran));
    let mut stands = stands(&ran);
    assert_eq!(stands.len(), 1, "{}", all(&ran));
    stands.remove(0)
}

/// The target of what is told of a run: the host in full.
fn host(told: &Value) -> &str {
    told["target"].as_str().filter(|target| target.starts_with("host:")).expect("the host")
}

/// States by the names of their runs.
fn states(ran: &Ran) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a word").to_owned();
    let mut states: Vec<_> =
        stands(ran).iter().map(|value| (text(&value["run"]), text(&value["state"]))).collect();
    states.sort();
    states
}

fn pairs(states: &[(&str, &str)]) -> Vec<(String, String)> {
    states.iter().map(|(run, state)| ((*run).to_owned(), (*state).to_owned())).collect()
}

/// The files of a request, as they are told: both lie in the run's folder, and the prompt is there.
fn files(library: &Library, request: &Value) -> [Value; 2] {
    let number = request["sequence"].as_u64().expect("a number");
    let exchange = library.exchange("r");
    ["prompt", "reply"].map(|kind| {
        let told = library.folder.join(request[kind].as_str().expect("a path"));
        assert_eq!(told, exchange.join(format!("{number}-{kind}.md")));
        assert_eq!(told.is_file(), kind == "prompt", "{}", told.display());
        request[kind].clone()
    })
}

fn write_reply(library: &Library, request: u32, text: &str) {
    write(&library.exchange("r").join(format!("{request}-reply.md")), text);
}

#[test]
fn replies_and_verdicts_that_are_awaited_are_told_with_all_their_fields() {
    let library = library("stands-awaited", "[\"sm_90a\"]");
    let begin = ["refine", "squares", "--run", "r", "--strategy", "islands", "--set", "islands=2"];
    let told = stand(&library, &begin, 4);
    let ([prompt, reply], [other_prompt, other_reply]) =
        (files(&library, &told), files(&library, &told["others"][0]));
    let of = json!({ "kernel": "squares", "target": "sm_90a", "run": "r" });
    let with = |fields: Value| {
        let mut whole = of.as_object().expect("fields").clone();
        whole.extend(fields.as_object().expect("fields").clone());
        Value::Object(whole)
    };
    let others = json!([{ "sequence": 2, "prompt": other_prompt, "reply": other_reply }]);
    assert_eq!(
        told,
        with(json!({ "state": "reply", "sequence": 1, "prompt": prompt, "reply": reply, "others": others,
                     "requests": 2, "candidates": 0 }))
    );

    write_reply(&library, 1, &fenced(&on_device(128)));
    let told = stand(&library, &["step"], 4);
    let why = told["reason"].as_str().expect("why nothing is judged here").to_owned();
    assert!(!why.is_empty());
    assert_eq!(
        told,
        with(json!({ "state": "reply", "sequence": 2, "prompt": other_prompt, "reply": other_reply,
                     "unjudged": [3], "reason": why, "requests": 2, "candidates": 1 }))
    );

    write_reply(&library, 2, &fenced(&on_device(256)));
    let told = stand(&library, &["step"], 0);
    assert_eq!(
        told,
        with(json!({ "state": "verdict", "sequence": 3, "others": [{ "sequence": 5 }], "reason": why,
                     "requests": 2, "candidates": 2 }))
    );
}

#[test]
fn an_end_and_a_request_that_is_anothers_to_make_are_told_with_all_their_fields() {
    let library = library("stands-done", "[\"host\"]");
    let begin = ["refine", "squares", "--run", "r", "--set", "requests=1"];
    assert_eq!(stand(&library, &begin, 4)["state"], "reply");
    let results = library.folder.join("results.tar.gz").display().to_string();
    let node = stand(&library, &["step", "--results", &results], 0);
    assert_eq!(node["state"], "reply", "what a node cannot ask for is not its to await: {node}");
    write_reply(&library, 1, &fenced(&lanes(8)));
    let told = stand(&library, &["step"], 0);
    let best = &told["best"];
    // the roofline is a device's
    assert!(best["over-naive"].as_f64().is_some_and(|ratio| ratio > 0.0), "{best}");
    assert!(best["name"].as_str().is_some_and(|name| !name.is_empty()), "{best}");
    let target = host(&told);
    assert_eq!(
        told,
        json!({ "kernel": "squares", "target": target, "run": "r", "state": "done",
                "reason": "it made as many requests as it may", "requests": 1, "candidates": 1,
                "best": { "candidate": 2, "name": best["name"], "over-naive": best["over-naive"],
                          "accepted": true, "too-slow": false } })
    );
    // a run whose next step is a request stands so on a machine that makes none
    let log: Vec<String> = library.log_of("r").lines().take(1).map(str::to_owned).collect();
    write(&library.path_of("r"), &format!("{}\n", log.join("\n")));
    let node = stand(&library, &["step", "--results", &results], 0);
    assert_eq!(
        node,
        json!({ "kernel": "squares", "target": target, "run": "r", "state": "request", "requests": 0,
                "candidates": 0 })
    );
}

#[test]
fn of_several_runs_the_exit_code_says_whether_answers_are_awaited_or_one_failed() {
    let library = library("stands-several", "[\"host\", \"sm_90a\"]");
    write(&library.folder.join("answer.md"), &fenced(&on_device(128)));
    let refine = |run: &str, target: &str, further: &[&str]| {
        let begin = ["refine", "squares", "--run", run, "--target", target, "--set", "requests=1"];
        library.command(&[&begin[..], further].concat())
    };
    let step = |code: i32, wanted: &[(&str, &str)]| {
        let ran = library.command(&["step", "--json"]);
        assert_eq!((ran.code, states(&ran)), (Some(code), pairs(wanted)), "{}", all(&ran));
        ran
    };
    let answer = library.folder.join("answer.md").display().to_string();
    let device = refine("device", "sm_90a", &["--", "cat", &answer]);
    assert_eq!(device.code, Some(0), "{}", all(&device));
    step(0, &[("device", "verdict")]);
    // an answer is awaited beside a device
    assert_eq!(refine("host", "host", &[]).code, Some(4));
    let mixed = step(4, &[("device", "verdict"), ("host", "reply")]);
    let ended = mixed.stdout.lines().last().expect("an end");
    let ended: Value = serde_json::from_str(ended).expect("JSON");
    assert_eq!((&ended["event"], &ended["code"]), (&json!("failed"), &json!(4)), "{ended}");
    let message = ended["message"].as_str().expect("a text");
    assert!(message.starts_with("answers are awaited: host\n"), "{message}");
    // a run that failed comes before answers
    let path = log_of(&library, "device");
    let log = std::fs::read_to_string(&path).expect("a log");
    write(&path, &older(&log));
    step(1, &[("host", "reply")]);
    write(&path, &log);
    // nothing awaits an answer any more, one still a device
    let reply = stands(&mixed).iter().find_map(|stand| stand["reply"].as_str().map(str::to_owned));
    write(&library.folder.join(reply.expect("a path")), &fenced(&lanes(8)));
    step(0, &[("device", "verdict"), ("host", "done")]);
}

/// The log of a run of any target.
fn log_of(library: &Library, run: &str) -> std::path::PathBuf {
    let folders = std::fs::read_dir(library.folder.join("cutegen-runs")).expect("runs");
    let mut logs = folders.map(|folder| folder.expect("an entry").path().join(format!("{run}.jsonl")));
    logs.find(|log| log.is_file()).expect("a log")
}

#[test]
fn a_deadline_cuts_a_run_between_its_steps_and_the_next_step_goes_on() {
    let library = library("stands-deadline", "[\"host\"]");
    let failed = library.command(&["refine", "squares", "--run", "r", "--set", "requests=1", "--", "false"]);
    assert_eq!(failed.code, Some(3), "{}", all(&failed));
    let program = library.folder.join("program.py").display().to_string();
    let answers = library.folder.join("answers").display().to_string();
    let slow = format!("sleep {}; exec python3 '{program}' '{answers}'", DEADLINE + 1);
    let step = |deadline: u32| {
        let deadline = deadline.to_string();
        run(&mut library.cutegen(&["step", "--json", "--deadline", &deadline, "--", "sh", "-c", &slow]))
    };
    // no time at all: nothing is asked
    let none = step(0);
    assert!(none.code == Some(0) && all(&none).contains("r: not begun, the time is up"), "{}", all(&none));
    assert_eq!((stands(&none).len(), decided(&library.log_of("r"))), (0, vec!["first".to_owned()]));
    assert!(!library.folder.join("answers/asks").exists());
    // the time ends while the program answers: the answer is kept, and nothing is compiled
    let cut = step(DEADLINE);
    assert_eq!(cut.code, Some(0), "{}", all(&cut));
    assert_eq!(decided(&library.log_of("r")), ["first", "kernel"], "{}", all(&cut));
    let told = stands(&cut).remove(0);
    assert_eq!(
        told,
        json!({ "kernel": "squares", "target": host(&told), "run": "r", "state": "deadline",
                "reason": "the time is up", "requests": 1, "candidates": 1 })
    );
    let done = library.command(&["step", "--deadline", "600"]);
    assert!(done.code == Some(0) && all(&done).contains("done: "), "{}", all(&done));
    assert_eq!(
        decided(&library.log_of("r")),
        ["first", "kernel", "compiled 2", "right 2", "accepted 2"],
        "{}",
        all(&done)
    );
    assert_eq!(library.asked(), [1], "the answer was asked for once");
}
