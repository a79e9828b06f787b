//! From nothing to an accepted kernel, by turns, by failures, and by several requests at once.

use super::script::{islands, serial, speed};
use crate::run_log::{Ask, Content, Diagnostic, Facts, Outcome, Sequence};
use crate::strategy::script::{Script, wrong};
use crate::strategy::{Next, Stop};

/// Two islands: seeds, a failure and its repair, gains, an end without further gain.
fn run() -> Script {
    let mut run = serial(&[("islands", 2.0), ("migration", 0.0), ("turns-without-gain", 2.0)]);
    let (one, prompt) = run.seeded("int one;", &[]);
    assert!(prompt.contains("what is computed together"), "the first island's role: {prompt}");
    let (request, prompt) = run.requested(Ask::First, None);
    assert!(prompt.contains("how bytes move"), "the second one's: {prompt}");
    let two = run.kernel_for(request, "int two;");
    run.judged(two, Outcome::Wrong, wrong());
    let (best, prompt) = run.changed(one, "float4 three;", &[(one, 1.5)]);
    assert!(prompt.contains("# This round: what is computed together"), "{prompt}");
    // the second island repairs what failed, and what fails again
    let (request, diagnose) = run.requested(Ask::Diagnose, Some(two));
    assert!(
        diagnose.contains("y[127]: found 1.5, expected 0.75") && diagnose.contains("# Hints"),
        "{diagnose}"
    );
    run.answered_to(Some(request), "the tail is read twice", Content::Words);
    let (request, patch) = run.requested(Ask::Patch, Some(two));
    assert!(patch.contains("the tail is read twice") && patch.contains("int two;"), "{patch}");
    let two = run.kernel_for(request, "int four;");
    run.judged(two, Outcome::Right, speed(0.3, &[(best, 0.5)]));
    let (lost, _) = run.changed(best, "int five;", &[(best, 0.7)]);
    let (_, prompt) = run.changed(two, "int six;", &[(two, 1.2), (best, 0.6)]);
    assert!(
        prompt.contains("a repair of ") && !prompt.contains(&format!("attempt {lost} from")),
        "its own: {prompt}"
    );
    run.changed(best, "int seven;", &[(best, 1.0)]);
    assert_eq!(run.next(), Next::Accept(best));
    run.verdict(best, Outcome::Accepted, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::NoGain));
    run
}

#[test]
fn a_run_goes_from_nothing_to_an_accepted_kernel() {
    run();
}

#[test]
fn every_prefix_is_decided_alike_and_awaits_what_it_asked() {
    for decided in run().decided_at_every_prefix() {
        if let Next::Await(awaited) = decided {
            assert_eq!(awaited.len(), 1, "one island at a time");
        }
    }
}

#[test]
fn islands_ask_at_once_and_are_answered_in_any_order() {
    let mut run = islands(&[("islands", 3.0)]);
    let asked: Vec<(Sequence, String)> = (0..3).map(|_| run.requested(Ask::First, None)).collect();
    let Next::Await(awaited) = run.next() else { panic!("{:?}", run.next()) };
    let requests: Vec<Sequence> = awaited.iter().map(|awaited| awaited.request).collect();
    assert_eq!(requests, [1, 2, 3]);
    for (awaited, (_, prompt)) in awaited.iter().zip(&asked) {
        assert_eq!(&awaited.question.prompt.text, prompt, "byte for byte");
    }
    // the last is answered first, and the first not at all
    let three = run.kernel_for(3, "int three;");
    let two = run.kernel_for(2, "float4 two;");
    assert_eq!(run.next(), Next::Build(three));
    run.verdict(three, Outcome::Compiled, Facts::default());
    assert_eq!(run.next(), Next::Build(two));
    run.verdict(two, Outcome::Compiled, Facts::default());
    assert_eq!(run.next(), Next::Judge(vec![three, two]), "in one batch");
    run.verdict(three, Outcome::Right, speed(0.3, &[(two, 0.5)]));
    run.verdict(two, Outcome::Right, speed(0.3, &[(three, 2.0)]));
    // it is the turn of the first island, which waits for its answer
    let Next::Await(awaited) = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!(awaited.iter().map(|awaited| awaited.request).collect::<Vec<_>>(), [1]);
    let one = run.kernel_for(1, "int one;");
    run.judged(one, Outcome::Right, speed(0.3, &[(two, 0.9)]));
    let (_, prompt) = run.requested(Ask::Optimise, Some(one));
    assert!(prompt.contains(&format!("Attempt {two}, the best so far")), "{prompt}");
    run.requested(Ask::Optimise, Some(two));
    run.requested(Ask::Optimise, Some(three));
}

#[test]
fn an_answer_that_repeats_or_cannot_be_read_is_asked_for_once_more() {
    let mut run = serial(&[("islands", 2.0)]);
    let (one, _) = run.seeded("int one;", &[]);
    let (request, _) = run.requested(Ask::First, None);
    run.answered_to(Some(request), "int one;", Content::Repeat { of: one });
    let (request, prompt) = run.requested(Ask::First, None);
    assert!(prompt.contains(&format!("the kernel of attempt {one} again")), "{prompt}");
    run.answered_to(Some(request), "int one;", Content::Repeat { of: one });
    let (request, _) = run.requested(Ask::Optimise, Some(one));
    let problem = Diagnostic { line: None, message: "no contract".to_owned() };
    let unread = run.answered_to(Some(request), "nothing", Content::Unreadable(vec![problem]));
    let (request, prompt) = run.requested(Ask::Whole, Some(unread));
    assert!(prompt.contains("no contract") && prompt.contains("int one;"), "{prompt}");
    let kernel = run.kernel_for(request, "int two;");
    run.judged(kernel, Outcome::Right, speed(0.3, &[(one, 1.2)]));
    run.requested(Ask::First, None);
}

#[test]
fn what_the_whole_gate_refuses_gives_way_to_the_next_best() {
    let mut run = serial(&[("islands", 1.0), ("requests", 3.0)]);
    let (one, _) = run.seeded("int one;", &[]);
    let (two, _) = run.changed(one, "float4 two;", &[(one, 1.5)]);
    let (three, _) = run.changed(two, "float4 three;", &[(two, 1.2), (one, 1.8)]);
    assert_eq!(run.next(), Next::Accept(three));
    run.verdict(three, Outcome::WrongInFull, Facts::default());
    assert_eq!(run.next(), Next::Accept(two), "of the same cell");
    run.verdict(two, Outcome::WrongInFull, Facts::default());
    assert_eq!(run.next(), Next::Accept(one));
    run.verdict(one, Outcome::TooSlow, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::Budget));
}

#[test]
fn a_share_of_the_roofline_is_enough() {
    let mut run = serial(&[]);
    let (request, _) = run.requested(Ask::First, None);
    let kernel = run.kernel_for(request, "int one;");
    run.judged(kernel, Outcome::Right, speed(0.96, &[]));
    assert_eq!(run.next(), Next::Accept(kernel));
    run.verdict(kernel, Outcome::Accepted, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::Roofline));
}

#[test]
fn a_run_without_a_right_kernel_has_none() {
    let mut run = serial(&[("islands", 1.0), ("requests", 2.0), ("repair", 0.0)]);
    for source in ["int one;", "int two;"] {
        let (request, _) = run.requested(Ask::First, None);
        let kernel = run.kernel_for(request, source);
        run.judged(kernel, Outcome::Wrong, wrong());
    }
    assert_eq!(run.next(), Next::Done(Stop::NoKernel));
}
