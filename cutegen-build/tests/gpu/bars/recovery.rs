//! How soon a session is at work again after a candidate that hangs or crashes.

use std::time::{Duration, Instant};

use cutegen_build::evaluate::Outcome;

use super::keep;
use crate::{bench, faults};

const TIMES: usize = 5;
const MOST_S: f64 = 5.0;
const DEADLINE: Duration = Duration::from_secs(2);

/// One runner lost.
#[derive(serde::Serialize)]
struct Row {
    fault: &'static str,
    outcome: String,
    /// Until the verdict: after the deadline where it hangs. The old runner has ended within.
    verdict_s: f64,
    /// From then until the next candidate was launched four times, by a new runner.
    next_s: f64,
}

pub(super) fn another_runner_is_soon_there() {
    let mut rows = Vec::new();
    let lost = [("hang", DEADLINE), ("null pointer", Duration::ZERO)];
    for (fault, patience) in lost {
        let mut judge = bench::judge_of(bench::spec(), None, |settings| {
            (settings.screening, settings.repeats, settings.deadline) = ((1, 1), (2, 2), DEADLINE);
        });
        let planted = faults::planted(fault);
        for _ in 0..TIMES {
            bench::passes(&mut judge, &bench::honest());
            let start = Instant::now();
            let outcome = judge.screen(&planted).expect("the machine works");
            let verdict_s = start.elapsed().saturating_sub(patience).as_secs_f64();
            assert!(matches!(outcome, Outcome::TimedOut(_) | Outcome::Crashed(_)), "{fault}: {outcome}");
            let start = Instant::now();
            bench::passes(&mut judge, &bench::honest());
            let next_s = start.elapsed().as_secs_f64();
            println!("    {fault}: {outcome}; {verdict_s:.2} s to the verdict, {next_s:.2} s to the next");
            rows.push(Row { fault, outcome: outcome.to_string(), verdict_s, next_s });
        }
    }
    keep("recovery", &rows);
    let longest = rows.iter().map(|row| row.verdict_s + row.next_s).fold(0.0, f64::max);
    assert!(longest <= MOST_S, "{longest:.2} s");
}
