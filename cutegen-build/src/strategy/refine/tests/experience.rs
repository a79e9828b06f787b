//! Hints in prompts, by what was seen; what answers cite, and what they are credited with.

use crate::experience::{Credit, Library, SEED, fitting};
use crate::generate::answers;
use crate::plan::Plan;
use crate::run_log::{Ask, Content, Diagnostic, Entry, Frozen, Kernel, Outcome, Place, Sequence, digest};
use crate::strategy::credit;
use crate::strategy::script::{Script, plan, rows, speed, wrong};

/// A run that froze the hints of the library that ships.
fn run(plan: Plan, settings: &[(&str, f64)]) -> Script {
    let mut run = Script::new(plan, settings);
    let library = Library::read(SEED).expect("the library that ships");
    let hints = fitting(&library.hints, &run.plan);
    run.log.start.experience = Some(Frozen { library: digest(SEED), hints });
    run
}

/// A kernel whose answer cites hints.
fn citing(run: &mut Script, source: &str, cites: &str, hypothesis: &str) -> Sequence {
    let text = format!("Hypothesis: {hypothesis}\nPredicted: 1.2x\nHints: {cites}\n");
    let kernel = Kernel {
        name: "m-00000000".to_owned(),
        identity: digest(source),
        source: source.to_owned(),
        first_line: Some(1),
        hypothesis: Some(hypothesis.to_owned()),
        predicted: Some(1.2),
        hints: answers::cited(&run.log, &text),
    };
    run.answered(&text, Content::Kernel(kernel))
}

/// A round whose answer cites hints, and is so much faster than its parent.
fn round(run: &mut Script, parent: Sequence, (cites, hypothesis): (&str, &str), by: f64) -> Sequence {
    run.asked(Ask::Optimise, Some(parent));
    let child = citing(run, &format!("child {}", run.log.entries.len()), cites, hypothesis);
    run.judged(child, Outcome::Right, speed(0.4, 2.0, &[(parent, by)]));
    child
}

/// Credits as id, win and gain.
fn credited(run: &Script) -> Vec<(String, bool, Option<f64>)> {
    let told = |credit: Credit| (credit.hint.to_string(), credit.is_win, credit.gain);
    credit::of(&run.plan, &run.log).credits.into_iter().map(told).collect()
}

/// Ids of the hints that a prompt shows.
fn shown(prompt: &str) -> Vec<String> {
    let section = prompt.split_once("# Hints\n").map_or("", |(_, rest)| rest);
    let section = section.split_once("\n# ").map_or(section, |(hints, _)| hints);
    let ids = section.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
    ids.map(|(id, _)| id.to_owned()).collect()
}

#[test]
fn hints_are_in_prompts_or_not() {
    for (value, is_told) in [(1.0, true), (0.0, false)] {
        let mut run = run(rows(), &[("experience", value)]);
        let first = run.asked(Ask::First, None);
        assert!(shown(&first).is_empty(), "nothing was seen yet");
        let kernel = run.kernel("a");
        run.judged(kernel, Outcome::Wrong, wrong());
        let [diagnose, patch] = run.diagnosed(kernel);
        let kernel = run.kernel("b");
        run.judged(kernel, Outcome::Right, speed(0.3, 2.0, &[]));
        let optimise = run.asked(Ask::Optimise, Some(kernel));
        for prompt in [&diagnose, &optimise] {
            assert_eq!(!shown(prompt).is_empty(), is_told, "{prompt}");
            assert_eq!(prompt.contains("Hints: none"), is_told, "how they are cited");
        }
        assert!(shown(&patch).is_empty(), "another step made words of them");
        if is_told {
            assert!(diagnose.contains("is a tail") && !diagnose.contains("16 bytes a thread"), "{diagnose}");
            assert!(optimise.contains("16 bytes a thread") && !optimise.contains("is a tail"), "{optimise}");
            assert!(shown(&optimise).len() <= 6);
        }
    }
    let mut none = Script::new(rows(), &[]);
    let first = none.begun();
    assert!(shown(&none.asked(Ask::Optimise, Some(first))).is_empty(), "a run that froze none");
}

#[test]
fn what_was_seen_says_which_hints_are_shown() {
    let optimise = |facts| {
        let mut run = run(rows(), &[]);
        run.asked(Ask::First, None);
        let kernel = run.kernel("a");
        run.judged(kernel, Outcome::Right, facts);
        shown(&run.asked(Ask::Optimise, Some(kernel)))
    };
    let memory = optimise(speed(0.6, 2.0, &[]));
    let mut short = speed(0.3, 2.0, &[]);
    short.speed[0].micros = 3.0;
    let latency = optimise(short);
    assert!(!memory.is_empty() && !latency.is_empty() && memory.iter().all(|id| !latency.contains(id)));
}

#[test]
fn citations_are_credited_with_the_gain_over_the_parent_in_one_batch() {
    let mut run = run(rows(), &[("rounds-without-gain", 9.0)]);
    let first = run.begun();
    let best = round(&mut run, first, ("h01, h02, h99", "one"), 1.3);
    let lost = round(&mut run, best, ("h01", "two"), 0.5);
    assert_eq!(
        credited(&run),
        [
            ("h01".to_owned(), true, Some(1.3)),
            ("h02".to_owned(), true, Some(1.3)),
            ("h01".to_owned(), false, Some(0.5)),
        ],
        "h99 is no hint of the run"
    );
    // times of another batch say nothing of the gain
    for entry in &mut run.log.entries {
        if let Entry::Verdict(verdict) = entry
            && verdict.candidate == lost
            && let Some(judge) = &mut verdict.judge
        {
            verdict.facts.speed[0].over.clear();
            judge.batch = "another".to_owned();
        }
    }
    assert_eq!(credited(&run)[2], ("h01".to_owned(), false, None));
}

#[test]
fn a_fix_belongs_to_the_answer_that_it_corrects() {
    let mut run = run(rows(), &[]);
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let child = citing(&mut run, "child", "h01", "wide loads");
    run.refuse(child, "expected a `;`");
    let diagnose = run.asked(Ask::Diagnose, Some(child));
    let id = shown(&diagnose).remove(0);
    run.answered(&format!("A semicolon is missing.\nHints: {id}"), Content::Words);
    run.asked(Ask::Patch, Some(child));
    let fixed = run.kernel("fixed");
    run.judged(fixed, Outcome::Right, speed(0.5, 3.0, &[(first, 1.5)]));
    assert_eq!(credited(&run), [("h01".to_owned(), true, Some(1.5)), (id, true, None)]);
}

#[test]
fn a_child_that_stays_wrong_is_a_use_and_no_win() {
    let mut run = run(rows(), &[("round-fixes", 0.0)]);
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let child = citing(&mut run, "child", "h01", "wide loads");
    run.judged(child, Outcome::Wrong, wrong());
    assert_eq!(credited(&run), [("h01".to_owned(), false, None)]);
    run.asked(Ask::Optimise, Some(first));
    let problem = Diagnostic { line: None, message: "no contract".to_owned() };
    run.answered("Hints: h02\nno code", Content::Unreadable(vec![problem]));
    assert_eq!(credited(&run).len(), 1, "what no judge saw says nothing");
}

#[test]
fn merged_logs_credit_nothing_and_propose_nothing() {
    let mut run = run(rows(), &[]);
    let first = run.begun();
    round(&mut run, first, ("h01", "one"), 1.3);
    assert_eq!(credited(&run).len(), 1);
    let Some(Entry::Verdict(verdict)) = run.log.entries.last_mut() else { panic!("a verdict is last") };
    verdict.judge.as_mut().expect("judged").place = Place::Elsewhere;
    assert_eq!(credit::of(&run.plan, &run.log), credit::Credits::default());
}

#[test]
fn a_gain_without_a_hint_is_proposed_as_one() {
    let proposed = |plan: Plan, cites: &str, hypothesis: &str, by: f64| {
        let mut run = run(plan, &[]);
        let first = run.begun();
        round(&mut run, first, (cites, hypothesis), by);
        credit::of(&run.plan, &run.log).proposed
    };
    let words = "Loads wait for one another; `float4` halves them.";
    let new = proposed(rows(), "none", words, 1.3);
    assert_eq!(new.len(), 1);
    let hint = &new[0];
    assert_eq!(hint.hint, "Loads wait for one another; float4 halves them.");
    assert_eq!((hint.uses, hint.wins, hint.mean_gain.to_bits()), (1, 1, 1.3_f64.to_bits()));
    assert_eq!(hint.context.classes, ["rowwise"]);
    assert_eq!(hint.from.as_deref(), Some("a-run, attempt 6"));
    assert!(hint.context.fits(&rows()) && hint.id.as_str().starts_with("r-"));
    let host = plan(
        "m = 64, k = 64",
        "inputs = { x = 'f32[m, k]' }\noutputs = { y = 'f32[m, k]' }",
        "y[m, k] = x[m, k] * 2",
    );
    assert!(!hint.context.fits(&host), "of another class");
    for (cites, hypothesis, by) in [
        ("h01", words, 1.3),
        ("none", words, 1.05),
        ("none", "ignore {{base}}", 1.3),
        ("none", "caf\u{e9}", 1.3),
    ] {
        assert_eq!(proposed(rows(), cites, hypothesis, by), [], "{cites} {hypothesis} {by}");
    }
}
