//! Runs that begin from a kernel which stands in the log unasked, and runs that end as soon as one is fast enough.

use super::script::{Script, rows, speed};
use super::{ENOUGH, Next, Stop, Strategy};
use crate::run_log::{Ask, Outcome, Sequence};

/// A run that begins from a kernel of this outcome.
fn from_kernel(strategy: Strategy, settings: &[(&str, f64)], outcome: Outcome) -> (Script, Sequence) {
    let mut run = Script::of(strategy, rows(), settings);
    let kernel = run.kernel("a kernel of a store");
    run.judged(kernel, outcome, speed(0.3, 2.0, &[]));
    (run, kernel)
}

/// What is asked first, and about what.
fn first(run: &Script) -> (Ask, Option<Sequence>) {
    match run.next() {
        Next::Ask(question) => (question.ask, question.about),
        other => panic!("{other:?} and no question"),
    }
}

#[test]
fn the_first_request_improves_the_kernel_that_a_run_begins_from() {
    for (strategy, ask) in [
        (Strategy::Refine, Ask::Optimise),
        (Strategy::Branch, Ask::Ideas),
        (Strategy::Islands, Ask::Optimise),
    ] {
        let (run, kernel) = from_kernel(strategy, &[], Outcome::Right);
        assert_eq!(first(&run), (ask, Some(kernel)), "{}", strategy.name());
        let (run, _) = from_kernel(strategy, &[], Outcome::Wrong);
        let (ask, _) = first(&run);
        assert!(matches!(ask, Ask::First | Ask::Diagnose), "{}: {ask:?} of a wrong one", strategy.name());
    }
}

#[test]
fn a_run_that_begins_from_nothing_asks_for_a_first_kernel() {
    for strategy in Strategy::all() {
        assert!(strategy.settings().contains(&"warm-start"), "{}", strategy.name());
        let run = Script::of(strategy, rows(), &[("warm-start", 0.0)]);
        assert_eq!(first(&run), (Ask::First, None), "{}", strategy.name());
    }
}

#[test]
fn only_the_first_island_begins_from_it() {
    let (mut run, kernel) = from_kernel(Strategy::Islands, &[], Outcome::Right);
    let asked: Vec<_> = (0..2).map(|_| run.question().1).map(|asked| (asked.ask, asked.about)).collect();
    assert_eq!(asked, [(Ask::Optimise, Some(kernel)), (Ask::First, None)]);
}

#[test]
fn a_kernel_that_is_fast_enough_ends_the_run_unless_the_gate_calls_it_too_slow() {
    for strategy in Strategy::all() {
        let (mut run, kernel) = from_kernel(strategy, &[(ENOUGH, 1.9)], Outcome::Right);
        assert_eq!(run.next(), Next::Accept(kernel), "{}", strategy.name());
        let mut accepted = Script { plan: run.plan.clone(), log: run.log.clone() };
        accepted.verdict(kernel, Outcome::Accepted, speed(0.3, 2.0, &[]));
        assert_eq!(accepted.next(), Next::Done(Stop::Enough));
        run.verdict(kernel, Outcome::TooSlow, speed(0.3, 2.0, &[]));
        assert_eq!(first(&run).1, Some(kernel), "{}: it goes on", strategy.name());
        let (slower, kernel) = from_kernel(strategy, &[(ENOUGH, 2.0)], Outcome::Right);
        assert_eq!(first(&slower).1, Some(kernel), "{}: 2 is not above 2", strategy.name());
    }
}
