//! From nothing to an accepted kernel, by way of every failure.

use crate::run_log::{Ask, Content, Facts, Outcome};
use crate::strategy::script::{Script, plan, rows, speed, wrong};
use crate::strategy::{Next, Stop, Strategy};

/// A whole run: unreadable, refused, wrong, right, a gain, losses, the end.
fn run() -> Script {
    let mut run = Script::new(rows(), &[]);
    let first = run.asked(Ask::First, None);
    assert!(first.contains("sum(k, x[m, k] * x[m, k])") && !first.contains("Earlier starts"));
    let unread = run.unreadable("here is no kernel");
    let whole = run.asked(Ask::Whole, Some(unread));
    assert!(whole.contains("no contract") && whole.contains("here is no kernel"));
    let kernel = run.kernel("int a;\nint b");
    run.refuse(kernel, "expected a `;`");
    let [diagnose, patch] = run.diagnosed(kernel);
    assert!(diagnose.contains("   2  int b") && diagnose.contains("line 2: expected a `;`"), "{diagnose}");
    assert!(patch.contains("\nint a;\nint b\nend ") && patch.contains("the tail is read twice"));
    let kernel = run.kernel("int a;\nint b;");
    run.judged(kernel, Outcome::Wrong, wrong());
    let [diagnose, patch] = run.diagnosed(kernel);
    for told in [
        "y[127]: found 1.5, expected 0.75",
        "found / expected 2",
        "m = 129",
        "axis m: element 63 of tile 1, tiles being 64 long",
        "what is wrong: every last element of a tile",
    ] {
        assert!(diagnose.contains(told) && patch.contains(told), "no {told} in\n{diagnose}");
    }
    assert!(diagnose.contains("refused before it ran: expected a `;`"), "earlier fixes are told");
    let first = run.kernel("right");
    run.judged(first, Outcome::Right, speed(0.3, 2.0, &[]));
    let (prompt, best) = run.round(first, first, 1.2);
    assert!(
        prompt.contains("# This round: structure") && prompt.contains("30 % of the roofline"),
        "{prompt}"
    );
    let (prompt, near) = run.round(best, best, 0.97);
    assert!(prompt.contains("# This round: structure"), "a gain stays in its stage");
    assert!(prompt.contains("(predicted 1.50); right, 1.200 times attempt"), "{prompt}");
    let (prompt, _) = run.round(near, best, 0.98);
    assert!(prompt.contains("# This round: pipeline"));
    let (prompt, _) = run.round(best, best, 0.5);
    assert!(prompt.contains("# This round: tuning"));
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
fn every_prefix_is_decided_alike_and_asks_nothing_that_is_recorded() {
    for decided in run().decided_at_every_prefix() {
        match decided {
            Next::Await(awaited) => assert_eq!(awaited.len(), 1, "one at a time"),
            Next::Judge(kernels) => assert_eq!(kernels.len(), 1, "one at a time"),
            Next::Ask(_) | Next::Point(_) | Next::Build(_) | Next::Accept(_) | Next::Done(_) => {}
        }
    }
}

#[test]
fn a_start_ends_after_its_fixes_and_a_run_after_its_starts() {
    let mut run = Script::new(rows(), &[("fixes", 1.0), ("starts", 2.0)]);
    run.asked(Ask::First, None);
    let kernel = run.kernel("a");
    run.refuse(kernel, "first fault");
    run.diagnosed(kernel);
    let kernel = run.kernel("b");
    run.refuse(kernel, "second fault");
    let second = run.asked(Ask::First, None);
    assert!(second.contains("Earlier starts failed") && second.contains("second fault"), "{second}");
    let unread = run.unreadable("nothing");
    run.asked(Ask::Whole, Some(unread));
    run.unreadable("nothing again");
    assert_eq!(run.next(), Next::Done(Stop::NoKernel));
}

#[test]
fn a_repeat_is_told_and_counts_as_a_fix() {
    let mut run = Script::new(rows(), &[("fixes", 2.0), ("round-fixes", 1.0)]);
    run.asked(Ask::First, None);
    let kernel = run.kernel("a");
    run.refuse(kernel, "a fault");
    run.diagnosed(kernel);
    run.answered("a", Content::Repeat { of: kernel });
    let again = run.asked(Ask::Patch, Some(kernel));
    assert!(again.contains(&format!("the kernel of attempt {kernel} again")), "{again}");
    let right = run.kernel("b");
    run.judged(right, Outcome::Right, speed(0.3, 2.0, &[]));
    run.asked(Ask::Optimise, Some(right));
    run.answered("b", Content::Repeat { of: right });
    let again = run.asked(Ask::Optimise, Some(right));
    assert!(again.contains("# This round: structure") && again.contains("That is known"));
    run.answered("b", Content::Repeat { of: right });
    let next = run.asked(Ask::Optimise, Some(right));
    assert!(next.contains("# This round: pipeline") && !next.contains("That is known"), "the round was lost");
}

#[test]
fn a_lost_round_gives_up_after_its_fixes() {
    let mut run = Script::new(rows(), &[]);
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let mut child = run.kernel("child");
    for source in ["fix one", "fix two"] {
        run.judged(child, Outcome::Crashed, Facts::default());
        run.diagnosed(child);
        child = run.kernel(source);
    }
    run.judged(child, Outcome::Wrong, wrong());
    let prompt = run.asked(Ask::Optimise, Some(first));
    let line = "it is child (predicted 1.50); wrong: check values at inputs normal";
    assert!(prompt.contains(line) && prompt.contains("# This round: pipeline"), "{prompt}");
}

#[test]
fn an_unreadable_round_is_asked_for_whole_with_what_it_changes() {
    let mut run = Script::new(rows(), &[]);
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let unread = run.unreadable("an edit of nothing");
    let whole = run.asked(Ask::Whole, Some(unread));
    assert!(whole.contains("The source that it was to change") && whole.contains("\nfirst\nend "), "{whole}");
    assert!(whole.contains("`Hypothesis:`"));
    let again = run.unreadable("an edit of nothing else");
    let whole = run.asked(Ask::Whole, Some(again));
    assert!(whole.contains("\nfirst\nend ") && whole.contains("`Hypothesis:`"), "however often it is asked");
}

#[test]
fn an_unreadable_fix_is_asked_for_whole_with_its_diagnosis() {
    let mut run = Script::new(rows(), &[]);
    run.asked(Ask::First, None);
    let kernel = run.kernel("int a;");
    run.refuse(kernel, "no `b`");
    run.diagnosed(kernel);
    let unread = run.unreadable("I will not");
    let whole = run.asked(Ask::Whole, Some(unread));
    assert!(
        whole.contains("in the words of another step:") && whole.contains("the tail is read twice\nend ")
    );
    let again = run.unreadable("nor now");
    assert!(run.asked(Ask::Whole, Some(again)).contains("the tail is read twice\nend "), "however often");
}

#[test]
fn a_kernel_that_was_judged_is_not_judged_again_because_it_was_built_again() {
    let mut run = Script::new(rows(), &[]);
    let first = run.begun();
    run.verdict(first, Outcome::Compiled, Facts::default());
    run.asked(Ask::Optimise, Some(first));
}

#[test]
fn what_the_whole_gate_refuses_is_repaired_or_gives_way() {
    let mut run = Script::new(rows(), &[("rounds-without-gain", 1.0), ("fixes", 1.0)]);
    let first = run.begun();
    let (_, best) = run.round(first, first, 1.3);
    run.round(best, best, 0.5);
    assert_eq!(run.next(), Next::Accept(best));
    run.verdict(best, Outcome::WrongInFull, Facts::default());
    let [diagnose, _] = run.diagnosed(best);
    assert!(diagnose.contains("which are not told"), "{diagnose}");
    let repaired = run.kernel("repaired");
    run.judged(repaired, Outcome::Wrong, wrong());
    assert_eq!(run.next(), Next::Accept(first), "no fix is left, so the best before it");
    run.verdict(first, Outcome::WrongInFull, Facts::default());
    let last = run.log.verdicts().filter(|(_, verdict)| verdict.outcome == Outcome::Right).last();
    let slow = last.expect("a slow one").1.candidate;
    assert_eq!(run.next(), Next::Accept(slow), "a right kernel that was never the best");
    run.verdict(slow, Outcome::WrongInFull, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::NoKernel));
}

#[test]
fn a_repaired_kernel_is_the_best_again() {
    let mut run = Script::new(rows(), &[("rounds-without-gain", 1.0)]);
    let first = run.begun();
    let (_, best) = run.round(first, first, 1.3);
    run.round(best, best, 0.5);
    run.verdict(best, Outcome::WrongInFull, Facts::default());
    run.diagnosed(best);
    let repaired = run.kernel("repaired");
    run.judged(repaired, Outcome::Right, speed(0.4, 2.0, &[(first, 1.25)]));
    assert_eq!(run.next(), Next::Accept(repaired));
    run.verdict(repaired, Outcome::TooSlow, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::NoGain));
}

#[test]
fn a_convolution_leaves_its_direct_form_once_and_a_graph_begins_with_algebra() {
    let tensors = "inputs = { x = 'f32[c, h]', w = 'f32[o, c, r]' }\noutputs = { y = 'f32[o, p]' }";
    let math = "y[o, p] = sum((c, r), pad(x[c, p + r - 1], 0) * w[o, c, r])";
    let convolution = plan("c = 8, o = 4, h = 64, r = 3, p = 64", tensors, math);
    let pooled = "inputs = { x = 'f32[c, h]' }\noutputs = { y = 'f32[c, p]' }";
    let pooling = plan("c = 8, h = 64, r = 3, p = 62", pooled, "y[c, p] = sum(r, x[c, p + r])");
    let tensors = "inputs = { a = 'f32[m, k]', b = 'f32[n, k]' }\noutputs = { y = 'f32[m]' }";
    let math = "s[m, n] = sum(k, a[m, k] * b[n, k])\nt[m] = sum(n, s[m, n])\ny[m] = t[m] + max(k, a[m, k])";
    let graph = plan("m = 64, n = 32, k = 128", tensors, math);
    for (plan, family, demand) in [
        (convolution, "window", Some("leave that form")),
        (pooling, "window", None),
        (graph, "general", Some("Begin with the algebra")),
    ] {
        assert_eq!(plan.family.name(), family);
        let mut run = Script::new(plan, &[]);
        let first = run.begun();
        let (one, child) = run.round(first, first, 1.5);
        let (two, _) = run.round(child, child, 1.5);
        for text in ["leave that form", "Begin with the algebra"] {
            assert_eq!(one.contains(text), demand == Some(text), "{text}");
            assert!(!two.contains(text), "once");
        }
    }
}

#[test]
fn a_submitted_kernel_is_judged_while_an_answer_is_awaited() {
    let mut run = Script::new(rows(), &[]);
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let Next::Await(awaited) = run.next() else { panic!("it waits") };
    // the last entry is no request then, so this one is unasked
    run.verdict(first, Outcome::Right, speed(0.3, 2.0, &[]));
    let submitted = run.kernel("submitted");
    run.judged(submitted, Outcome::Right, speed(0.5, 3.0, &[(first, 1.5)]));
    assert_eq!(run.next(), Next::Await(awaited));
}

#[test]
fn the_best_is_so_by_times_of_one_batch() {
    let mut run = Script::new(rows(), &[]);
    assert_eq!(Strategy::Refine.best(&run.plan, &run.log), None);
    let first = run.begun();
    let (_, best) = run.round(first, first, 1.2);
    run.asked(Ask::Optimise, Some(best));
    let lucky = run.kernel("lucky");
    // its naive kernel was slow that day
    run.judged(lucky, Outcome::Right, speed(0.4, 20.0, &[(best, 0.9)]));
    assert_eq!(Strategy::Refine.best(&run.plan, &run.log), Some(best));
}
