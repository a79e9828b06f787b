//! A scripted run, and what is printed of it. `UPDATE_GOLDEN=1` rewrites the text.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::run_log::{
    Ask, Candidate, Content, Entry, Facts, Idea, Kernel, Log, Outcome, Point, Sweep, Tokens, Verdict,
};

use super::history::{History, Yardstick};
use super::{markdown, read};

/// A log with every kind of request, candidate and verdict.
fn scripted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/report/avg-pool-1.jsonl")
}

fn log() -> Log {
    read(&scripted()).expect("a log")
}

/// The best kernel behind each step, by sequence.
fn best(log: &Log) -> Vec<Option<u32>> {
    History::of(log).steps.iter().map(|step| step.best.map(|best| best.candidate)).collect()
}

/// Changes every verdict of the log.
fn judged(mut log: Log, change: impl Fn(&mut cutegen_build::run_log::Verdict)) -> Log {
    for entry in &mut log.entries {
        if let Entry::Verdict(verdict) = entry {
            change(verdict);
        }
    }
    log
}

#[test]
fn a_run_is_printed() {
    let (log, path) = (log(), scripted().with_extension("md"));
    let text = markdown::text(&History::of(&log)) + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).expect("a file of the source tree");
    }
    assert_eq!(text, fs::read_to_string(&path).expect("a golden text"));
}

/// Four bytes are a token where nothing else is known.
#[test]
fn tokens_are_counted() {
    let mut log = log();
    let told = |log: &Log| History::of(log).totals.tokens;
    let all = told(&log);
    let answers = log.candidates().filter(|(_, candidate)| candidate.request.is_some());
    let written: u64 = answers.map(|(_, answer)| (answer.text.len() as u64).div_ceil(4)).sum();
    assert_eq!((all.estimated.output, all.reported), (written, Tokens::default()));
    let Some(Entry::Candidate(first)) = log.entries.iter_mut().find(|e| matches!(e, Entry::Candidate(_)))
    else {
        panic!("no answer")
    };
    first.usage = Some(Tokens { input: 7, output: 9 });
    let own = (first.text.len() as u64).div_ceil(4);
    let some = told(&log);
    assert_eq!((some.reported, some.estimated.output), (Tokens { input: 7, output: 9 }, written - own));
    assert!(some.estimated.input < all.estimated.input);
    assert!(markdown::text(&History::of(&log)).contains("| tokens | 7 read and 9 written (reported); "));
}

#[test]
fn totals_are_counted() {
    let log = log();
    let totals = History::of(&log).totals;
    assert_eq!((totals.requests, totals.awaited, totals.candidates, totals.kernels), (10, 1, 10, 6));
    let outcomes: Vec<(&str, usize)> = totals.outcomes.into_iter().collect();
    assert_eq!(outcomes, [("accepted", 1), ("refused", 1), ("right", 3), ("wrong", 1)]);
    assert_eq!((totals.first_reply_right, totals.accepted), (Some(false), Some("m-eeeeeeee")));
    // 4000, 6000, 1000, 5000 + 9000, 3000
    assert_eq!((totals.judged, totals.median_held_ms, totals.held_ms), (5, Some(4000), 28_000));
    assert!((totals.first_to_best.expect("two scores") - 2.5 / 1.5).abs() < 1e-12);
}

#[test]
fn a_kernel_becomes_the_best_by_the_ratio_of_its_batch() {
    let log = log();
    let all =
        [None, None, None, Some(9), Some(13), Some(13), Some(13), Some(23), Some(23), Some(23), Some(23)];
    // 28 gains 0.5 % over 23 in one batch, and 4 % by the scores of two batches
    assert_eq!(best(&log), all);
    let other = judged(log, |verdict| verdict.facts.speed.iter_mut().for_each(|speed| speed.over.clear()));
    assert_eq!(best(&other)[9], Some(28), "where no batch had both, scores decide");
}

#[test]
fn a_patched_kernel_is_compared_with_the_last_right_one() {
    let log = log();
    let history = History::of(&log);
    let changes: Vec<(u32, u32)> =
        history.changes.iter().map(|change| (change.candidate, change.parent)).collect();
    assert_eq!(changes, [(13, 9), (23, 13)], "17 was wrong, and 4 was refused");
    let diff = &history.changes[1].diff;
    assert!(diff.starts_with("--- m-cccccccc\n+++ m-eeeeeeee\n@@ "), "{diff}");
    let lines = |sign| diff.lines().skip(2).filter(|line| line.starts_with(sign)).count();
    assert_eq!((lines('-'), lines('+')), (1, 3), "{diff}");
}

#[test]
fn what_the_whole_gate_refused_is_not_the_best() {
    let refused = judged(log(), |verdict| {
        if verdict.outcome == Outcome::Accepted {
            verdict.outcome = Outcome::WrongInFull;
        }
    });
    let best = best(&refused);
    assert_eq!(best[7..], [Some(13), Some(13), Some(28), Some(28)]);
}

#[test]
fn without_a_naive_time_the_first_right_kernel_is_the_yardstick() {
    let log = judged(log(), |verdict| {
        verdict.facts.speed.iter_mut().for_each(|speed| speed.over_naive = None);
    });
    let history = History::of(&log);
    assert_eq!(history.scored_over, Yardstick::First);
    let scores: Vec<f64> = history.steps.iter().filter_map(|step| step.score).collect();
    let expected = [1.0, 4000.0 / 2900.0, 4000.0 / 2416.0, 4000.0 / 2404.0];
    assert_eq!(scores.len(), expected.len());
    assert!(
        scores.iter().zip(expected).all(|(score, expected)| (score - expected).abs() < 1e-9),
        "{scores:?}"
    );
    assert!(markdown::text(&history).contains("the naive one was never timed"));
}

#[test]
fn an_answer_cannot_become_markup() {
    let mut log = log();
    for entry in &mut log.entries {
        if let Entry::Candidate(candidate) = entry
            && let Content::Kernel(kernel) = &mut candidate.content
        {
            kernel.source += "````\n# a heading\n";
            kernel.source += &kernel.name;
            kernel.hypothesis = Some(format!("a | b\n# c ![x](y) <img> {}", "long ".repeat(100)));
        }
    }
    let text = markdown::text(&History::of(&log));
    assert_eq!(text.matches("\n`````diff\n").count(), 2, "a fence is longer than what it holds");
    assert!(text.contains("a &#124; b # c &#33;&#91;x&#93;(y) &#60;img&#62; long"), "{text}");
    assert!(!text.contains(&"long ".repeat(50)), "a table stays a table");
}

/// The log, where an optimisation was a request for ideas, and the one behind it a variant of the first of them.
fn of_branch() -> Log {
    let mut log = log();
    let idea = |text: &str, predicted| Idea { text: text.to_owned(), about: Some(9), predicted };
    for entry in &mut log.entries[11..16] {
        match entry {
            Entry::Request(request) if request.about == Some(9) => request.ask = Ask::Ideas,
            Entry::Request(request) => (request.ask, request.idea) = (Ask::Variant, Some(1)),
            Entry::Candidate(candidate) => {
                candidate.content = Content::Ideas(vec![idea("a | ring", Some(1.5)), idea("tiles", None)]);
            }
            Entry::Point(_) | Entry::Verdict(_) => {}
        }
    }
    log
}

#[test]
fn ideas_are_told_with_what_became_of_them() {
    let (log, plain) = (of_branch(), self::log());
    let history = History::of(&log);
    let told: Vec<_> =
        history.ideas.iter().map(|idea| (idea.number, idea.about, idea.variants.clone())).collect();
    assert_eq!(
        told,
        [(1, Some(13), vec!["23 accepted".to_owned()]), (2, None, Vec::new())],
        "a patch is of its variant"
    );
    assert_eq!((history.ideas[0].best, history.ideas[0].over), (Some(23), Some(1.2)));
    let text = markdown::text(&history);
    let row = "| 1 | 1 | 13 | a &#124; ring | 1.500x | 23 accepted | 23 | 1.200x |";
    assert!(text.contains("## Ideas") && text.contains(row), "{text}");
    assert!(text.contains("| 1 | 2 | - | tiles | - | - | - | - |") && text.contains("| 2 ideas |"), "{text}");
    assert!(!markdown::text(&History::of(&plain)).contains("## Ideas"), "other strategies have none");
}

#[test]
fn an_empty_run_is_printed() {
    let log = Log { entries: Vec::new(), ..log() };
    let history = History::of(&log);
    assert_eq!((history.totals.first_reply_right, history.totals.median_held_ms), (None, None));
    assert!(markdown::text(&history).contains("| requests | 0, 0 without an answer |"));
}

#[test]
fn a_file_is_named_as_its_run() {
    for (file, why) in [
        ("run.json", "the log of a run is a file RUN.jsonl"),
        ("A.jsonl", "is no name of a run"),
        ("absent.jsonl", "No such file"),
    ] {
        let told = read(Path::new(file)).expect_err("no log").to_string();
        assert!(told.starts_with(&format!("--run {file}: ")) && told.contains(why), "{told}");
    }
}

/// The scripted run, whose last request is answered by three points: one is refused, one is right, and one is faster.
fn swept() -> (Log, u32) {
    let mut log = log();
    let open = (1..).find(|at| log.request(*at).is_some() && log.answer(*at).is_none()).expect("it waits");
    let kernel = log.kernels().next().expect("a kernel").1.clone();
    let push = |log: &mut Log, content| {
        let (by, text) = ("a test".to_owned(), "text".to_owned());
        log.push(Entry::Candidate(Candidate::new(Some(open), by, text, content)))
    };
    let sweep = Sweep {
        source: kernel.source.clone(),
        points: 3,
        first_line: None,
        hypothesis: None,
        predicted: None,
        hints: Vec::new(),
    };
    let answer = push(&mut log, Content::Sweep(sweep));
    let point = |log: &mut Log, tile: i64| {
        let content = Content::Kernel(Kernel { name: format!("m-0000000{tile}"), ..kernel.clone() });
        log.push(Entry::Point(Point { of: answer, values: [("TILE|M".to_owned(), tile)].into(), content }))
    };
    let points = [1, 2, 3].map(|tile| point(&mut log, tile));
    let naive = |times: f64| {
        let mut facts =
            log.verdicts().map(|(_, v)| &v.facts).find(|facts| !facts.speed.is_empty()).expect("one").clone();
        facts.speed.truncate(1);
        (facts.speed[0].over_naive, facts.speed[0].over) = (Some(times), Default::default());
        facts
    };
    let reason = Some("no room".to_owned());
    let came = [
        (Outcome::Refused, Facts { reason, ..Facts::default() }),
        (Outcome::Right, naive(7.0)),
        (Outcome::Right, naive(9.0)),
    ];
    for (candidate, (outcome, facts)) in points.into_iter().zip(came) {
        log.push(Entry::Verdict(Verdict { candidate, outcome, facts, judge: None }));
    }
    (log, open)
}

#[test]
fn points_of_an_answer_have_rows_and_its_step_is_the_fastest_right_one() {
    let (log, open) = swept();
    let history = History::of(&log);
    let step = history.steps.iter().find(|step| step.sequence == open).expect("a step");
    let best = step.best.map(|best| best.candidate);
    assert_eq!((step.name, best), (Some("m-00000003"), step.candidate));
    let text = markdown::text(&history);
    let first = step.points[0].candidate;
    for row in [
        format!("| {open} | {first} | TILE&#124;M = 1 | refused | - | no room |"),
        format!("| {open} | {} | TILE&#124;M = 2 | right | 7.000x | - |", first + 1),
        format!("| {open} | {} | TILE&#124;M = 3 | right | 9.000x | - |", first + 2),
    ] {
        assert!(text.contains(&row), "no {row} in\n{text}");
    }
    let json = serde_json::to_value(&history).expect("JSON");
    let points = json["steps"].as_array().expect("steps").iter().filter(|step| step.get("points").is_some());
    assert_eq!(points.count(), 1, "steps without sweeps are as they were");
    assert_eq!(history.totals.kernels, 9, "points are kernels");
}
