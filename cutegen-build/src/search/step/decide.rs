//! The whole gate for a candidate of a log: a fresh seed, fresh shapes, compute-sanitizer, and times against all incumbents.

use cutegen_spec::record::{Evidence, GATE, Timing, incumbent};

use crate::event::Reporter;
use crate::plan::Plan;
use crate::run_log::{Facts, Judge, Outcome, Place, Sequence, Speed, Verdict};
use crate::search::Searcher;
use crate::search::error::SearchError;
use crate::search::propose::{Submitted, Verdict as Decided};
use crate::store::Entry;

use super::build::Source;
use super::{Run, facts, kept};

/// What the whole gate says.
pub(super) fn verdict(
    searcher: &Searcher,
    run: Run<'_>,
    (locked, candidate): (Option<&Entry>, Sequence),
    events: &mut dyn Reporter,
) -> Result<Verdict, SearchError> {
    let began = std::time::Instant::now();
    let source = Source::of(&searcher.setup, run, candidate)?;
    let (proposal, symbols) = (source.proposal, source.candidate.contract.clone());
    let submitted = searcher.submit(run.plan, locked, source.candidate, events)?;
    let (outcome, facts) = match submitted {
        Submitted::Refused(refusal) => (Outcome::Refused, facts::refused(&refusal, &proposal, &symbols)),
        Submitted::NotJudged { why, .. } => {
            (Outcome::Compiled, Facts { reason: Some(why), ..Facts::default() })
        }
        Submitted::Judged { verdict, .. } => {
            decided((searcher, run), &verdict, (&proposal.name(), &proposal.tiles))
        }
    };
    let judge = match outcome {
        Outcome::Compiled => None,
        _ => Some(Judge {
            card: kept::card(&run.plan.target)?,
            batch: format!("gate-{candidate}"),
            gate: GATE,
            held_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            place: Place::Here,
        }),
    };
    Ok(Verdict { candidate, outcome, facts, judge })
}

fn decided(
    (searcher, run): (&Searcher, Run<'_>),
    verdict: &Decided,
    (name, tiles): (&str, &[(usize, i64)]),
) -> (Outcome, Facts) {
    let told = |reason: String| Facts { reason: Some(reason), ..Facts::default() };
    match verdict {
        // fresh shapes: what they are is not told, here as little as from the rest of the gate
        Decided::Wrong(outcome) => {
            let (_, facts) = facts::judged(run.plan, outcome, tiles);
            let check = facts.mismatch.map(|mismatch| format!("check `{}`", mismatch.check));
            (
                Outcome::WrongInFull,
                told(check.unwrap_or_else(|| "it does not end as a launch must".to_owned())),
            )
        }
        Decided::WrongInFull(kind) => (Outcome::WrongInFull, facts::in_full(kind)),
        Decided::TooSlow(speeds) => {
            let by = speeds.by_gate.map(|times| format!("{times:.3} times as fast as the naive kernel"));
            (Outcome::TooSlow, told(by.unwrap_or_else(|| "it gains too little".to_owned())))
        }
        Decided::Accepted(_) => {
            let facts = recorded(searcher, run.plan, name).map_or_else(Facts::default, accepted);
            (Outcome::Accepted, facts)
        }
    }
}

/// What the record of the accepted kernel says of it.
fn recorded(searcher: &Searcher, plan: &Plan, name: &str) -> Option<Evidence> {
    let entry = searcher.store.get(&plan.key).hit()?;
    entry.record.variants.into_iter().find(|variant| variant.name == name)?.evidence
}

/// What was checked, and times over the naive kernel.
fn accepted(evidence: Evidence) -> Facts {
    let reason = Some(checked(&evidence));
    let naive = evidence.timings.into_iter().filter(|timing| timing.incumbent == incumbent::NAIVE);
    Facts { reason, speed: naive.map(speed).collect(), ..Facts::default() }
}

/// How much was checked, in numbers alone: shapes and inputs of the whole gate are not told.
fn checked(evidence: &Evidence) -> String {
    let Evidence { shapes, distributions, elements, worst_share, repeats, sanitizer, .. } = evidence;
    let not_judged = evidence.not_judged.filter(|count| *count > 0);
    let without = not_judged.map(|count| format!(", {count} of them without a usable bound"));
    format!(
        "right at {} shapes with {} kinds of inputs: {elements} elements were compared{}; the largest error is {worst_share:.3} \
         of its bound; {repeats} repeats were equal bit by bit; compute-sanitizer: {sanitizer}",
        shapes.len(),
        distributions.len(),
        without.unwrap_or_default(),
    )
}

fn speed(timing: Timing) -> Speed {
    Speed {
        workload: timing.workload,
        micros: timing.micros,
        over_naive: Some(timing.speedup),
        over: Default::default(),
        roofline: timing.roof_micros.map(|roof| roof / timing.micros),
        tb_per_s: None,
        tops_per_s: None,
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::record::{Evidence, Timing, incumbent};

    use super::accepted;

    #[test]
    fn an_accepted_kernel_says_how_much_was_checked_and_no_shape() {
        let evidence = Evidence {
            shapes: vec!["m = 17, k = 4099".to_owned(), "m = 64, k = 8".to_owned()],
            distributions: ["normal", "cancelling", "tiny"].map(str::to_owned).into(),
            elements: 70_195,
            not_judged: Some(12),
            worst_share: 0.251_4,
            repeats: 9,
            sanitizer: "clean: memcheck".to_owned(),
            timings: [incumbent::NAIVE, "another"]
                .map(|name| Timing {
                    incumbent: name.to_owned(),
                    micros: 2.0,
                    speedup: 3.0,
                    ..Timing::default()
                })
                .into(),
            ..Evidence::default()
        };
        let facts = accepted(evidence);
        let said = facts.reason.expect("a reason");
        assert_eq!(
            said,
            "right at 2 shapes with 3 kinds of inputs: 70195 elements were compared, 12 of them without a usable bound; the \
             largest error is 0.251 of its bound; 9 repeats were equal bit by bit; compute-sanitizer: clean: memcheck"
        );
        assert!(!said.contains("4099"));
        assert_eq!(facts.speed.iter().map(|speed| speed.over_naive).collect::<Vec<_>>(), [Some(3.0)]);
    }
}
