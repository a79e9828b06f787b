//! Each setting and lever, with and without.

use crate::run_log::{Ask, Content, Entry, Facts, Outcome, Sequence};
use crate::strategy::script::{Script, rows, speed};
use crate::strategy::{Next, Stop};

/// A run with one gain and one loss behind it: first, best and latest right kernel.
fn under_way(settings: &[(&str, f64)]) -> (Script, [Sequence; 3]) {
    let mut run = Script::new(rows(), settings);
    let first = run.begun();
    let (_, best) = run.round(first, first, 1.2);
    let (_, slow) = run.round(best, best, 0.6);
    (run, [first, best, slow])
}

#[test]
fn the_attempt_log_is_in_the_prompt_or_not() {
    for (value, is_told) in [(1.0, true), (0.0, false)] {
        let (mut run, [_, best, _]) = under_way(&[("attempt-log", value)]);
        let prompt = run.asked(Ask::Optimise, Some(best));
        assert_eq!(prompt.contains("# What was tried"), is_told);
        assert_eq!(prompt.contains("0.600 times attempt"), is_told, "{prompt}");
    }
}

#[test]
fn rounds_start_from_the_best_kernel_or_from_the_latest() {
    for (value, from) in [(1.0, 1), (0.0, 2)] {
        let (mut run, kernels) = under_way(&[("start-from-best", value)]);
        run.asked(Ask::Optimise, Some(kernels[from]));
    }
}

#[test]
fn a_near_loss_is_gone_on_from_for_as_long_as_the_setting_says() {
    for (losses, parents) in [(0.0, [0, 0]), (1.0, [1, 0]), (2.0, [1, 2])] {
        let mut run = Script::new(rows(), &[("losses", losses), ("rounds-without-gain", 9.0)]);
        let best = run.begun();
        let (_, one) = run.round(best, best, 0.95);
        let from = [best, one][parents[0]];
        let (_, two) = run.round(from, best, 0.95);
        let from = [best, one, two][parents[1]];
        run.asked(Ask::Optimise, Some(from));
    }
}

#[test]
fn a_profile_comes_late_or_at_once() {
    let told = |settings: &[(&str, f64)]| {
        let mut run = Script::new(rows(), settings);
        let first = run.begun();
        let (one, child) = run.round(first, first, 1.2);
        let (two, _) = run.round(child, child, 1.2);
        [one, two].map(|prompt| prompt.contains("dram__throughput"))
    };
    assert_eq!(told(&[]), [false, true], "rows have it from round 2 on");
    assert_eq!(told(&[("late-profile", 0.0)]), [true, true]);
    assert_eq!(told(&[("profile-depth", 3.0)]), [false, false]);
}

#[test]
fn the_stop_rule_ends_a_run_or_its_requests_do() {
    let (mut run, [_, best, _]) = under_way(&[("rounds-without-gain", 1.0)]);
    assert_eq!(run.next(), Next::Accept(best));
    run.verdict(best, Outcome::TooSlow, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::NoGain));
    let off = [("rounds-without-gain", 1.0), ("stop-rule", 0.0), ("requests", 4.0)];
    let (mut run, [_, best, _]) = under_way(&off);
    run.round(best, best, 0.6);
    assert_eq!(run.next(), Next::Accept(best));
    run.verdict(best, Outcome::Accepted, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::Budget));
}

#[test]
fn a_share_of_the_roofline_is_enough() {
    let reached = |settings: &[(&str, f64)]| {
        let mut run = Script::new(rows(), settings);
        run.asked(Ask::First, None);
        let kernel = run.kernel("fast");
        run.judged(kernel, Outcome::Right, speed(0.951, 9.0, &[]));
        if run.next() != Next::Accept(kernel) {
            return None;
        }
        run.verdict(kernel, Outcome::Accepted, Facts::default());
        Some(run.next())
    };
    assert_eq!(reached(&[]), Some(Next::Done(Stop::Roofline)));
    assert_eq!(reached(&[("roofline-share", 0.96)]), None);
    assert_eq!(reached(&[("stop-rule", 0.0)]), None);
}

#[test]
fn a_spent_budget_without_a_right_kernel_has_none() {
    let mut run = Script::new(rows(), &[("requests", 2.0)]);
    run.asked(Ask::First, None);
    let kernel = run.kernel("a");
    run.refuse(kernel, "a fault");
    run.asked(Ask::Diagnose, Some(kernel));
    run.answered("it is that", Content::Words);
    assert_eq!(run.next(), Next::Done(Stop::NoKernel));
}

#[test]
fn a_gain_is_of_one_batch_and_a_percent_at_least() {
    // the first kernel has the sequence 2, and 2 times the naive kernel's speed
    for (facts, is_gain) in [
        (speed(0.4, 2.0, &[(2, 1.009)]), false),
        (speed(0.4, 2.0, &[(2, 1.01)]), true),
        (speed(0.4, 2.03, &[]), true),
        (speed(0.4, 2.01, &[]), false),
    ] {
        let mut run = Script::new(rows(), &[("losses", 0.0)]);
        let first = run.begun();
        assert_eq!(first, 2);
        run.asked(Ask::Optimise, Some(first));
        let child = run.kernel("child");
        run.judged(child, Outcome::Right, facts);
        run.asked(Ask::Optimise, Some(if is_gain { child } else { first }));
    }
}

#[test]
fn times_of_two_batches_are_not_compared() {
    let mut run = Script::new(rows(), &[("losses", 0.0)]);
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let child = run.kernel("child");
    run.judged(child, Outcome::Right, speed(0.4, 9.0, &[]));
    if let Some(Entry::Verdict(verdict)) = run.log.entries.last_mut() {
        verdict.judge.as_mut().expect("judged").batch = "2".to_owned();
    }
    run.asked(Ask::Optimise, Some(first));
}

#[test]
fn a_structure_that_lost_twice_is_a_rule() {
    let mut run = Script::new(rows(), &[("losses", 0.0)]);
    let first = run.begun();
    for number in 0..2 {
        let prompt = run.asked(Ask::Optimise, Some(first));
        assert!(!prompt.contains("a structure of"));
        let child = run.kernel(&format!("// entry = \"@ENTRY@\"\n#include <kit/ring.cuh>\nint a{number};"));
        run.judged(child, Outcome::Right, speed(0.3, 1.0, &[(first, 0.5)]));
    }
    let prompt = run.asked(Ask::Optimise, Some(first));
    assert!(prompt.contains("a structure of 1 launches with ring.cuh lost in attempts"), "{prompt}");
}
