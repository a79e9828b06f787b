//! [`Session`] without the protocol and without compilers: a bench that plays verdicts by the source's text.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use cutegen_build::discover::Project;
use cutegen_build::event::{Event, Phase, Reporter};
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{
    Content, Diagnostic, Facts, Kernel, Log, Outcome, Point, Sequence, Speed, Sweep, Verdict as Logged,
    digest,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::bench::{Bench, Judged, Work};
use super::jobs::Tools;
use super::session::Session;
use super::told::MOST;
use crate::project::sample::library;

/// Plays what the source says: `refused`, `wrong`, `panic`, `error`, `elsewhere`, `slow 1.2` or `fast 2.5`; `hold` waits, and
/// so do `hold-screening`, `hold-timing` and `hold-gate` where they are that far. What follows `sweep` are points with a bar between.
struct Scripted {
    go: Mutex<Receiver<()>>,
}

impl Scripted {
    fn source<'a>(work: &Work<'a>, candidate: Sequence) -> &'a str {
        &work.log.kernel(candidate).expect("a kernel").source
    }

    fn kernel(text: &str) -> Kernel {
        Kernel {
            name: "m-01234567".to_owned(),
            identity: digest(text),
            source: text.to_owned(),
            first_line: Some(1),
            hypothesis: None,
            predicted: None,
            hints: Vec::new(),
        }
    }

    /// Waits where the source says so.
    fn hold(&self, work: &Work<'_>, candidate: Sequence, word: &str) -> Result<(), String> {
        if Self::source(work, candidate).split_whitespace().next() != Some(word) {
            return Ok(());
        }
        self.go.lock().expect("one job").recv().map_err(|error| error.to_string())
    }
}

fn verdict(candidate: Sequence, outcome: Outcome, facts: Facts) -> Logged {
    Logged { candidate, outcome, facts, judge: None }
}

/// So much faster than the naive kernel.
fn speed(over_naive: Option<f64>) -> Facts {
    let speed = Speed {
        workload: [("n".to_owned(), 64)].into(),
        micros: 1.5,
        over_naive,
        over: Default::default(),
        roofline: None,
        tb_per_s: None,
        tops_per_s: None,
    };
    Facts { speed: vec![speed], ..Facts::default() }
}

impl Bench for Scripted {
    fn read(&self, _: &Plan, log: &Log, text: &str) -> Content {
        let known = log.kernels().find(|(_, kernel)| kernel.source == text);
        match (known, text.strip_prefix("sweep ")) {
            (Some((of, _)), _) => Content::Repeat { of },
            (None, Some(points)) => Content::Sweep(Sweep {
                source: points.to_owned(),
                points: points.split('|').count().try_into().expect("a few"),
                first_line: Some(1),
                hypothesis: None,
                predicted: None,
                hints: Vec::new(),
            }),
            (None, None) if text.starts_with("unreadable") => {
                Content::Unreadable(vec![Diagnostic { line: Some(3), message: "no contract".to_owned() }])
            }
            (None, None) => Content::Kernel(Self::kernel(text)),
        }
    }

    fn point(&self, _: &Plan, log: &Log, answer: Sequence) -> Option<Point> {
        let Some(Content::Sweep(sweep)) = log.content(answer) else { return None };
        let written = log.points(answer).count();
        let text = sweep.source.split('|').nth(written)?;
        let known = log.kernels().find(|(_, kernel)| kernel.source == text);
        let content =
            known.map_or_else(|| Content::Kernel(Self::kernel(text)), |(of, _)| Content::Repeat { of });
        let values = [("AT".to_owned(), i64::try_from(written).expect("a few"))].into();
        Some(Point { of: answer, values, content })
    }

    fn build(&self, work: &Work<'_>, candidate: Sequence, _: &mut dyn Reporter) -> Result<Logged, String> {
        self.hold(work, candidate, "hold")?;
        match Self::source(work, candidate).split_whitespace().next() {
            Some("panic") => panic!("an index that is not there"),
            Some("error") => return Err("no compiler".to_owned()),
            Some("refused") => {
                let said = Diagnostic { line: Some(7), message: "what is `zero`?".repeat(900) };
                let facts = Facts { diagnostics: vec![said; 40], ..Facts::default() };
                return Ok(verdict(candidate, Outcome::Refused, facts));
            }
            _ => {}
        }
        Ok(verdict(candidate, Outcome::Compiled, Facts::default()))
    }

    fn judge(
        &self,
        work: &Work<'_>,
        candidates: &[Sequence],
        events: &mut dyn Reporter,
    ) -> Result<Judged, String> {
        self.hold(work, candidates[0], "hold-screening")?;
        events.report(&timing());
        self.hold(work, candidates[0], "hold-timing")?;
        let mut verdicts = Vec::new();
        for candidate in candidates.iter().copied() {
            let mut words = Self::source(work, candidate).split_whitespace();
            let wrong = Facts { reason: Some("y[3] is 1, not 2".to_owned()), ..Facts::default() };
            verdicts.push(match words.next() {
                Some("elsewhere") => return Ok(Judged::Cannot("no device".to_owned())),
                Some("wrong") => verdict(candidate, Outcome::Wrong, wrong),
                _ => {
                    let times = words.next().and_then(|times| times.parse().ok());
                    verdict(candidate, Outcome::Right, speed(times))
                }
            });
        }
        Ok(Judged::Verdicts(verdicts))
    }

    fn decide(
        &self,
        work: &Work<'_>,
        candidate: Sequence,
        events: &mut dyn Reporter,
    ) -> Result<Logged, String> {
        // it times too, and is the whole gate then as well
        events.report(&timing());
        self.hold(work, candidate, "hold-gate")?;
        let mut words = Self::source(work, candidate).split_whitespace();
        let outcome = if words.next() == Some("fast") { Outcome::Accepted } else { Outcome::TooSlow };
        Ok(verdict(candidate, outcome, speed(words.next().and_then(|times| times.parse().ok()))))
    }
}

fn timing() -> Event {
    Event::Progress { kernel: "second".to_owned(), phase: Phase::Timing, done: 0, of: 1 }
}

struct Server {
    folder: TempDir,
    session: Session,
    go: Sender<()>,
}

impl Server {
    fn new() -> Self {
        let (folder, _) = library(&[("first", "'host', 'sm_90a'"), ("second", "'host'")]);
        Self::again(folder, "first")
    }

    /// Another server over the same runs.
    fn again(folder: TempDir, when: &str) -> Self {
        let project = Project::library(folder.path(), folder.path()).expect("a library");
        let (go, held) = channel();
        let bench = Box::new(Scripted { go: Mutex::new(held) });
        let tools = Tools { bench, locked: Box::new(|_| None), events: |_| {} };
        let names = (when.to_owned(), " -p engine".to_owned());
        let session = Session::open(project, &folder.path().join("runs"), names, tools).expect("a thread");
        Self { folder, session, go }
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<String, String> {
        let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
        let answer = self.session.call(tool, arguments, Some("a\ttest")).expect("a tool");
        let length = |text: &String| text.chars().count();
        match &answer {
            Ok(texts) => assert!(texts.iter().map(length).sum::<usize>() <= MOST, "{tool}"),
            Err(why) => assert!(length(why) <= MOST, "{tool}"),
        }
        answer.map(|texts| texts.join("\n"))
    }

    fn told(&self, tool: &str, arguments: &Value) -> Value {
        let text = self.call(tool, arguments).expect("an answer");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn propose(&self, source: &str) -> Value {
        self.told("propose", &json!({ "kernel": "second", "source": source }))
    }
}

#[test]
fn each_verdict_says_what_is_next() {
    let server = Server::new();
    for (source, state, next) in [
        ("unreadable", "unreadable", "call `propose`"),
        ("refused", "refused", "where the diagnostics say"),
        ("wrong", "wrong", "find the mistake"),
        ("slow 1.2", "too-slow", "`best`"),
        ("fast 2.5", "accepted", "cargo cutegen accept second --target host"),
        ("elsewhere", "compiled, not judged", "cargo cutegen propose second"),
        ("error", "failed", "cargo cutegen toolchain show"),
        ("panic", "failed", "call `propose`"),
    ] {
        let told = server.propose(source);
        assert_eq!(told["state"], state, "{told}");
        assert!(told["next"].as_str().is_some_and(|text| text.contains(next)), "{told}");
        assert_eq!(server.told("verdict", &json!({ "id": told["id"] })), told);
    }
    let accepted = server.propose("fast 2.5");
    assert!(
        accepted["next"].as_str().is_some_and(|next| next.starts_with("to go on, call `propose`")),
        "{accepted}"
    );
    assert!(
        accepted["next"].as_str().is_some_and(|next| next.ends_with("--target host -p engine")),
        "{accepted}"
    );
    assert_eq!(
        (&accepted["facts"]["speed"][0]["micros"], &accepted["over-naive"]),
        (&json!(1.5), &json!(2.5))
    );
    assert_eq!(server.propose("panic")["reason"], "the job broke down: an index that is not there");
    assert_eq!(server.propose("wrong")["reason"], "y[3] is 1, not 2");
    assert_eq!(server.propose("elsewhere")["reason"], "no device");
    let refused = server.propose("refused");
    assert_eq!(refused["facts"]["diagnostics"][0]["line"], 7);
    assert!(refused["cut"][0].as_str().is_some_and(|cut| cut.ends_with("more diagnostics")), "{refused}");
}

#[test]
fn a_sweep_is_one_candidate_and_its_best_point_is_told() {
    let server = Server::new();
    let source = "sweep refused|wrong|slow 1.2|fast 2.5";
    let told = server.propose(source);
    assert_eq!((&told["state"], &told["over-naive"]), (&json!("accepted"), &json!(2.5)), "{told}");
    let points = [
        "AT = 0: refused",
        "AT = 1: wrong: y[3] is 1, not 2",
        "AT = 2: right, 1.20x the naive kernel",
        "AT = 3: accepted, 2.50x the naive kernel",
    ];
    assert_eq!(told["points"], json!(points));
    assert_eq!(server.propose(source)["id"], told["id"], "the same points are the same candidate");
    let history = server.call("history", &json!({ "kernel": "second" })).expect("lines");
    let first = history.lines().next().expect("a line");
    assert!(first.contains("accepted with AT = 3, 2.50x the naive kernel"), "{history}");
    let best = server.call("best", &json!({ "kernel": "second" })).expect("a kernel");
    assert!(best.ends_with("fast 2.5"), "{best}");
    let none = server.propose("sweep refused a|wrong b");
    assert_eq!((&none["state"], &none["reason"]), (&json!("wrong"), &json!("y[3] is 1, not 2")), "{none}");
}

#[test]
fn one_job_runs_at_a_time_and_others_wait() {
    let server = Server::new();
    let submit = |source: &str| {
        let mut arguments = Map::new();
        arguments.insert("kernel".to_owned(), json!("second"));
        arguments.insert("source".to_owned(), json!(source));
        arguments
    };
    // both answers wait for verdicts, which come when the first job goes on
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.session.call("propose", submit("hold"), None));
        while !server
            .call("history", &json!({ "kernel": "second" }))
            .is_ok_and(|told| told.contains("/1 compiling"))
        {
            std::thread::yield_now();
        }
        let second = scope.spawn(|| server.session.call("propose", submit("fast 3"), None));
        while !server
            .call("history", &json!({ "kernel": "second" }))
            .is_ok_and(|told| told.contains("/2 waiting"))
        {
            std::thread::yield_now();
        }
        let history = server.call("history", &json!({ "kernel": "second" })).expect("lines");
        let id = history.lines().last().and_then(|line| line.split(' ').next()).expect("an id");
        let told = server.told("verdict", &json!({ "id": id, "wait_seconds": 0 }));
        assert_eq!(
            (&told["state"], told["next"].as_str().map(|next| next.contains("wait_seconds"))),
            (&json!("waiting"), Some(true))
        );
        server.go.send(()).expect("a job");
        for (ended, state) in [(first, "too-slow"), (second, "accepted")] {
            let answer = ended.join().expect("no panic").expect("a tool").expect("an answer");
            assert!(answer[0].contains(&format!("\"state\": \"{state}\"")), "{answer:?}");
        }
    });
}

#[test]
fn the_stage_of_a_candidate_is_told() {
    let server = Server::new();
    let stages = [
        ("hold", "compiling"),
        ("hold-screening", "screening"),
        ("hold-timing", "timing"),
        ("hold-gate", "whole gate"),
    ];
    for (number, (source, stage)) in (1..).zip(stages) {
        let mut arguments = Map::new();
        arguments.insert("kernel".to_owned(), json!("second"));
        arguments.insert("source".to_owned(), json!(source));
        std::thread::scope(|scope| {
            let call = scope.spawn(|| server.session.call("propose", arguments, None));
            let history = || server.call("history", &json!({ "kernel": "second" })).unwrap_or_default();
            while !history().contains(&format!("/{} {stage} (by", 4 * number - 3)) {
                assert!(!call.is_finished(), "not {stage}: {}", history());
                std::thread::yield_now();
            }
            let id = history().lines().last().and_then(|line| line.split(' ').next()).map(str::to_owned);
            let told = server.told("verdict", &json!({ "id": id }));
            assert_eq!(told["state"], stage, "{told}");
            assert!(told["next"].as_str().is_some_and(|next| next.contains("wait_seconds")), "{told}");
            server.go.send(()).expect("a job");
            assert!(call.join().is_ok());
        });
    }
}

#[test]
fn repeats_are_not_compiled_again_unless_their_job_failed() {
    let server = Server::new();
    let first = server.propose("fast 2.5");
    assert_eq!(server.propose("fast 2.5")["id"], first["id"]);
    let failed = server.propose("error");
    assert_eq!(server.propose("error")["id"], failed["id"]);
    let history = server.call("history", &json!({ "kernel": "second" })).expect("lines");
    let states: Vec<&str> = history.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(states, ["accepted,", "a", "failed", "a"], "{history}");
    assert!(history.contains("a repeat of 1 (by mcp, atest)"), "{history}");
}

#[test]
fn another_server_reads_what_was_before() {
    let server = Server::new();
    let proposed = json!({ "kernel": "second", "source": "slow 1.2", "note": "two\nlanes" });
    let first = server.told("propose", &proposed);
    server.propose("fast 2.5");
    server.propose("slow 1.9");
    let Server { folder, session, .. } = server;
    drop(session);
    let server = Server::again(folder, "second");
    let history = server.call("history", &json!({ "kernel": "second" })).expect("lines");
    assert!(history.contains("/1 too-slow, 1.20x the naive kernel (by mcp, atest): two lanes"), "{history}");
    assert_eq!(server.told("verdict", &json!({ "id": first["id"] }))["state"], "too-slow");
    let best = server.call("best", &json!({ "kernel": "second" })).expect("a source");
    assert!(best.contains("\"state\": \"accepted\"") && best.ends_with("fast 2.5"), "{best}");
    let kernels = server.call("kernels", &json!({})).expect("lines");
    assert!(
        kernels
            .contains("second on host: not locked; best candidate so far: 2.50x the naive kernel, accepted"),
        "{kernels}"
    );
    assert!(kernels.contains("first on sm_90a: not locked; best candidate so far: none"), "{kernels}");
    // the next server has a run of its own
    assert_ne!(server.propose("fast 2.5")["id"], first["id"]);
}

#[test]
fn wrong_calls_are_told_with_what_to_do() {
    let server = Server::new();
    let wrong = |tool: &str, arguments: Value, why: &str| {
        let told = server.call(tool, &arguments).expect_err(why);
        assert!(told.contains(why) && told.contains("next: "), "{tool}: {told}");
    };
    wrong("task", json!({ "kernel": "third" }), "no kernel `third`; there are: first, second");
    wrong("task", json!({ "kernel": "first" }), "target host or sm_90a");
    wrong("task", json!({ "kernel": "second", "target": "sm_90a" }), "not declared for `sm_90a`");
    wrong("propose", json!({ "kernel": "second" }), "missing field `source`");
    wrong("propose", json!({ "kernel": "second", "source": "x", "peers": true }), "unknown field `peers`");
    wrong(
        "propose",
        json!({ "kernel": "second", "source": "x".repeat(256 * 1024 + 1) }),
        "262145 bytes, 262144 at most",
    );
    wrong(
        "propose",
        json!({ "kernel": "second", "source": "x", "note": "y".repeat(2001) }),
        "2001 characters, 2000 at most",
    );
    wrong("verdict", json!({ "id": "mcp-second-01234567/1" }), "there is no candidate");
    wrong("verdict", json!({ "id": "../x/1" }), "is no id");
    wrong("verdict", json!({ "id": "mcp-second-01234567/1", "wait_seconds": 16 }), "15 at most");
    wrong("kit", json!({}), "target host or sm_90a");
    wrong("kit", json!({ "target": "host", "header": "kit/scan.cuh" }), "kit/host.hpp");
    wrong("best", json!({ "kernel": "second" }), "nothing was proposed yet; next: `task`");
    assert!(server.session.call("accept", Map::new(), None).is_none());
    assert!(!server.folder.path().join("runs").exists(), "what is refused begins no run");
    server.propose("wrong");
    wrong("best", json!({ "kernel": "second" }), "no candidate is right yet; next: `history`");
}

#[test]
fn a_task_and_the_kit_fit_an_answer() {
    let server = Server::new();
    for target in ["host", "sm_90a"] {
        let task = server.call("task", &json!({ "kernel": "first", "target": target })).expect("a task");
        assert!(task.contains("y[n] = 2 * x[n]") && task.contains("`propose`"), "{task}");
        assert!(!task.contains("left out"), "{} characters", task.chars().count());
        assert!(!task.contains("in one fenced code block") && !task.contains("behind the block"), "{task}");
        let told = match target {
            "host" => ["-march=x86-64-v3", "immintrin.h"],
            _ => ["--gpu-architecture=sm_90a", "cuda_fp16.h"],
        };
        assert!(told.iter().all(|word| task.contains(word)), "{task}");
        let kit = server.call("kit", &json!({ "target": target })).expect("a page");
        assert!(!kit.contains("left out") && kit.contains("### kit/"), "{} characters", kit.chars().count());
    }
}

#[test]
fn long_sources_and_histories_are_cut() {
    let server = Server::new();
    let long = format!("fast 9 {}", "// a line of a long source\n".repeat(2_000));
    assert_eq!(server.propose(&long)["state"], "accepted");
    let best = server.call("best", &json!({ "kernel": "second" })).expect("a source");
    assert!(
        best.starts_with("9.00x the naive kernel, accepted") && best.contains("lines were left out"),
        "{best}"
    );
    let note = "why ".repeat(400);
    for at in 0..90 {
        server
            .told("propose", &json!({ "kernel": "second", "source": format!("slow 1 {at}"), "note": note }));
    }
    let history = server.call("history", &json!({ "kernel": "second" })).expect("lines");
    assert!(history.starts_with('[') && history.contains("earlier lines were left out"), "{history}");
    assert!(
        history.lines().last().is_some_and(|line| line.contains("/270 ") || line.contains("too-slow")),
        "{history}"
    );
}
