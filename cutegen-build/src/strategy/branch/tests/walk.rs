//! From nothing to an accepted kernel, by way of failures.

use super::begun;
use crate::run_log::{Ask, Content, Entry, Facts, Outcome, Request};
use crate::strategy::script::{Script, rows, wrong};
use crate::strategy::{Next, Stop, Strategy};

/// Two rounds: one with a refused, an unreadable and a wrong variant, one with a gain; then the whole gate.
fn run() -> Script {
    let (mut run, first) = begun(&[("rounds", 2.0), ("ideas", 2.0)]);
    let prompt =
        run.ideas(&[(None, "keep rows in registers"), (Some(first), "use two launches"), (None, "a third")]);
    assert!(prompt.contains("Give 2 ideas") && prompt.contains("\nfirst\nend "), "{prompt}");
    let (asked, prompts) = run.variants();
    let order: Vec<(u32, u32)> = asked.iter().map(|(_, idea, seed)| (*idea, *seed)).collect();
    assert_eq!(order, [(1, first), (2, first), (1, first), (2, first)], "one of each idea comes first");
    assert!(
        prompts[0].contains("keep rows in registers") && prompts[0].contains("way 1 of\n2."),
        "{}",
        prompts[0]
    );
    assert!(prompts[3].contains("use two launches") && prompts[3].contains("way 2 of\n2."));
    // answers come in any order, and nothing is judged before the last of them
    let [one, two, three, four] = [0, 1, 2, 3].map(|place: usize| asked[place].0);
    let late = run.kernel_for(four, "late");
    run.compiled(late);
    let Next::Await(awaited) = run.next() else { panic!("it waits") };
    assert_eq!(awaited.iter().map(|awaited| awaited.request).collect::<Vec<_>>(), [one, two, three]);
    assert_eq!(awaited[0].question.prompt.text, prompts[0], "byte for byte");
    let refused = run.kernel_for(one, "refused");
    run.fails(refused);
    let (diagnosis, question) = run.question();
    assert_eq!(
        (question.ask, question.about),
        (Ask::Diagnose, Some(refused)),
        "a fault is corrected at once"
    );
    let unread = run.unreadable("nothing");
    answers(&mut run, two);
    let (whole, question) = run.question();
    assert_eq!((question.ask, question.about), (Ask::Whole, Some(unread)));
    assert!(question.prompt.text.contains("use two launches\nend "), "{}", question.prompt.text);
    let wrong_one = run.kernel_for(three, "wrong");
    run.compiled(wrong_one);
    run.answered("a word is missing", Content::Words);
    answers(&mut run, diagnosis);
    let (patch, question) = run.question();
    assert_eq!((question.ask, question.about), (Ask::Patch, Some(refused)));
    assert!(question.prompt.text.contains("a word is missing"), "{}", question.prompt.text);
    let patched = run.kernel_for(patch, "patched");
    run.fails(patched);
    let whole = run.kernel_for(whole, "whole");
    run.compiled(whole);
    assert_eq!(run.next(), Next::Judge(vec![late, wrong_one, whole]), "one batch");
    run.verdict(wrong_one, Outcome::Wrong, wrong());
    assert_eq!(run.next(), Next::Judge(vec![late, whole]), "nothing is asked before the batch is over");
    run.verdict(late, Outcome::Right, crate::strategy::script::speed(0.4, 2.0, &[(first, 0.9)]));
    run.verdict(whole, Outcome::Right, crate::strategy::script::speed(0.4, 2.0, &[(first, 0.8)]));
    let (_, question) = run.question();
    assert_eq!((question.ask, question.about), (Ask::Diagnose, Some(wrong_one)));
    run.unreadable("");
    let (_, question) = run.question();
    assert_eq!((question.ask, question.about), (Ask::Patch, Some(wrong_one)));
    run.answered("again", Content::Repeat { of: first });
    let round = run.round_of(first, &[(Some(late), "split the sum")], &[1.0, 1.4]);
    for told in [
        "round 1, idea 1 for attempt 2: keep rows in registers: attempt",
        "refused before it ran: a fault",
        "the kernel of attempt 2 again",
        "is right, 0.900 times attempt 2; attempt",
    ] {
        assert!(round.prompt.contains(told) || told.ends_with("; attempt"), "no {told} in\n{}", round.prompt);
    }
    assert_eq!(round.asked[0].2, late, "an idea is for the kernel that it names");
    assert_eq!(run.next(), Next::Accept(round.kernels[1]));
    run.verdict(round.kernels[1], Outcome::Accepted, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::Rounds));
    run
}

/// The last candidate answers this request.
fn answers(run: &mut Script, request: u32) {
    let Some(Entry::Candidate(candidate)) = run.log.entries.last_mut() else { panic!("a candidate is last") };
    candidate.request = Some(request);
}

#[test]
fn a_run_goes_from_nothing_to_an_accepted_kernel() {
    run();
}

#[test]
fn every_prefix_is_decided_alike_and_asks_nothing_that_is_recorded() {
    run().decided_at_every_prefix();
}

#[test]
fn a_start_is_that_of_refine() {
    let run = Script::of(Strategy::Branch, rows(), &[]);
    let refine = Script::new(rows(), &[]);
    let (Next::Ask(one), Next::Ask(other)) = (run.next(), refine.next()) else { panic!("two questions") };
    assert_eq!((one.ask, other.ask), (Ask::First, Ask::First));
    let mut run = Script::of(Strategy::Branch, rows(), &[("fixes", 0.0), ("starts", 1.0)]);
    run.asked(Ask::First, None);
    let kernel = run.kernel("a");
    run.refuse(kernel, "a fault");
    assert_eq!(run.next(), Next::Done(Stop::NoKernel));
}

#[test]
fn what_the_whole_gate_refuses_gives_way_to_the_next() {
    let (mut run, first) = begun(&[("rounds", 1.0), ("ideas", 1.0)]);
    let round = run.round_of(first, &[(None, "one")], &[1.2, 1.1]);
    for kernel in [round.kernels[0], round.kernels[1], first] {
        assert_eq!(run.next(), Next::Accept(kernel));
        run.verdict(kernel, Outcome::WrongInFull, Facts::default());
    }
    assert_eq!(run.next(), Next::Done(Stop::NoKernel));
}

#[test]
fn ideas_that_cannot_be_read_lose_their_round() {
    let (mut run, _) = begun(&[("rounds", 2.0)]);
    run.question();
    run.unreadable("");
    let (_, question) = run.question();
    assert_eq!(question.ask, Ask::Ideas);
    run.unreadable("");
    assert!(matches!(run.next(), Next::Accept(_)), "two rounds are over");
}

#[test]
fn a_submitted_kernel_joins_the_batch_and_seeds_the_next_round() {
    let (mut run, first) = begun(&[("ideas", 1.0), ("variants", 1.0)]);
    run.ideas(&[(None, "one")]);
    let (asked, _) = run.variants();
    // the last entry is no request then, so this one is unasked
    run.verdict(first, Outcome::Right, crate::strategy::script::speed(0.3, 2.0, &[]));
    let submitted = run.kernel("submitted");
    run.compiled(submitted);
    assert!(matches!(run.next(), Next::Await(_)), "the batch is not whole");
    let child = run.kernel_for(asked[0].0, "child");
    run.compiled(child);
    run.batch(first, &[(submitted, 1.5), (child, 1.2)]);
    let (_, question) = run.question();
    assert_eq!(question.about, Some(submitted));
    assert!(question.prompt.text.contains(&format!("attempt {submitted}, submitted: right")));
}

#[test]
fn a_request_that_it_would_not_have_made_is_not_waited_for() {
    let (mut run, first) = begun(&[("rounds", 0.0)]);
    assert_eq!(run.next(), Next::Accept(first), "nothing is to be asked");
    let version = "rowwise-4".to_owned();
    let prompt = crate::run_log::digest("another program's");
    let (ask, about) = (Ask::Optimise, Some(first));
    run.log.push(Entry::Request(Request { ask, about, idea: None, version, prompt, bytes: 9 }));
    assert_eq!(run.next(), Next::Accept(first));
}
