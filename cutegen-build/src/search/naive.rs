//! The naive kernel's own verdict: the whole gate for what every search is measured against, before anything else is
//! compiled. Knows no candidates.

use std::time::Instant;

use cutegen_spec::target::Target;

use super::compiled::Compiled;
use super::error::SearchError;
use super::final_evaluation::Judged;
use super::judging::Judging;
use super::progress;
use crate::evaluate::{Candidate, Fault, Outcome, Place};
use crate::event::{Event, Phase, Reporter};
use crate::plan::Plan;

/// What the gate saw of the naive kernel; an error where it does not pass.
pub(super) fn judge(
    plan: &Plan,
    judge: &mut Judging,
    (naive, gate): (&Compiled, &Candidate),
    events: &mut dyn Reporter,
) -> Result<Judged, SearchError> {
    let began = Instant::now();
    progress(plan, Phase::JudgingNaive, (0, 1), events);
    let outcome = judge.full(std::slice::from_ref(gate))?;
    let (kernel, candidate) = (plan.title(), naive.candidate.name.clone());
    let (told, seconds) = (outcome.to_string(), began.elapsed().as_secs_f64());
    events.report(&Event::Judged { kernel, candidate, outcome: told, seconds });
    let correctness = match outcome {
        Outcome::Passed { correctness, .. } => correctness,
        refused => return Err(self::refused(plan, &refused)),
    };
    let judged = Judged::untimed(correctness, (judge.seed, judge.reference), began.elapsed());
    let judged = judged.compiled_by([naive]);
    if !judged.not_enforced.is_empty() {
        events.report(&Event::NotEnforced { what: judged.not_enforced.clone() });
    }
    if let Some(reason) = &judge.not_watched {
        events.report(&Event::Note { text: reason.clone() });
    }
    Ok(judged)
}

/// The error for a naive kernel that did not pass.
pub(super) fn refused(plan: &Plan, outcome: &Outcome) -> SearchError {
    let target = match &plan.target {
        host if *host == Target::host() => "host".to_owned(),
        target => target.to_string(),
    };
    let (name, facts) = (&plan.spec.name, facts(plan, outcome));
    SearchError::NaiveRefused {
        facts: format!(
            "the gate refuses the naive kernel of `{name}` on {target}: {facts}\n\
             the spec need not be wrong: naive kernel, reference and bound are printed from it\n\
             judge it alone: cargo cutegen verify {name} --target {target}"
        ),
    }
}

/// What was seen, with names where a fault has positions.
fn facts(plan: &Plan, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Incorrect(Fault::Value { place, found, expected, bound, .. }) => {
            format!("{}: got {found:e}, want {expected:e}, bound {bound:.3e}", at(plan, place))
        }
        Outcome::Incorrect(Fault::NonFinite { place, found, expected, .. }) => {
            format!("{}: got {found:e}, want {expected:e}, no bound", at(plan, place))
        }
        other => other.to_string(),
    }
}

/// `output `y`, element [0, 3], at m=7 n=64, normal inputs`
fn at(plan: &Plan, place: &Place) -> String {
    let Place { axes, distribution, tensor, index } = place;
    let named = plan.spec.axes.iter().zip(axes).map(|(axis, extent)| format!("{}={extent}", axis.name));
    let shape = named.collect::<Vec<_>>().join(" ");
    format!("output `{tensor}`, element {index:?}, at {shape}, {distribution} inputs")
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;

    use super::{SearchError, refused};
    use crate::evaluate::{Distribution, Fault, Outcome, Place};
    use crate::plan::Plan;

    #[test]
    fn a_wrong_naive_kernel_is_told_with_its_facts_and_blames_no_toolchain() {
        let text = "edition = 1\n[kernels.k]\naxes = { m = '1..=8', n = 64 }\ninputs = { x = 'f32[m, n]' }\n\
                    outputs = { y = 'f32[m, n]' }\nmath = 'y[m, n] = x[m, n]'\ntargets = ['host']\n";
        let plans = Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text"));
        let place = || Place {
            axes: vec![7, 64],
            distribution: Distribution::Cancelling,
            tensor: "y".to_owned(),
            index: vec![2, 5],
        };
        let told = |outcome| {
            let error = refused(&plans[0], &outcome);
            assert!(error.is_verdict() && !SearchError::NoDevice(String::new()).is_verdict());
            let told = error.to_string();
            assert!(told.ends_with("\njudge it alone: cargo cutegen verify k --target host"), "{told}");
            assert!(!told.contains("toolchain"), "{told}");
            told.lines().next().expect("a line").to_owned()
        };
        let wrong = Fault::Value {
            place: place(),
            found: 1.5,
            expected: -2.0,
            bound: 1e-7,
            spread: Default::default(),
        };
        assert_eq!(
            told(Outcome::Incorrect(wrong)),
            "the gate refuses the naive kernel of `k` on host: output `y`, element [2, 5], at m=7 n=64, cancelling \
             inputs: got 1.5e0, want -2e0, bound 1.000e-7"
        );
        let special = Fault::NonFinite {
            place: place(),
            found: f64::INFINITY,
            expected: 0.0,
            spread: Default::default(),
        };
        assert!(told(Outcome::Incorrect(special)).ends_with("inputs: got inf, want 0e0, no bound"));
        let late = told(Outcome::TimedOut(std::time::Duration::from_secs(10)));
        assert_eq!(late, "the gate refuses the naive kernel of `k` on host: did not end in 10s");
    }
}
