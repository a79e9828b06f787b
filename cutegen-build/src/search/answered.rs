//! [`Answered`]: what a search came to for a caller that may ask another generator after it. It must not know which.

use cutegen_spec::record::{Record, Timing, incumbent};

use super::Tried;
use crate::generate::{Answer, Candidate, Feedback, Generator};
use crate::plan::Plan;
use crate::refine::{geomean, ranked};
use crate::store::Entry;

/// The answer of a search.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What is in the user's store now.
    pub entry: Entry,
    /// The fastest candidate that is right; none where nothing was searched, or none is.
    pub fastest: Option<Fastest>,
}

/// A candidate that is right, whether it is accepted or not.
#[derive(Clone, Debug)]
pub struct Fastest {
    /// It.
    pub candidate: Candidate,
    /// Its speed-up over the naive kernel: by the whole gate, where it came so far.
    pub over_naive: f64,
}

/// Proposes candidates of the caller beside those of a generator.
pub(super) struct Beside<G> {
    pub(super) own: G,
    /// Until they are proposed.
    pub(super) found: Vec<Candidate>,
}

impl<G: Generator> Generator for Beside<G> {
    fn name(&self) -> &'static str {
        self.own.name()
    }

    fn propose(&mut self, plan: &Plan, feedback: &Feedback) -> Answer {
        let mut all = std::mem::take(&mut self.found);
        match self.own.propose(plan, feedback) {
            Answer::Candidates(own) => all.extend(own),
            Answer::Exhausted => {}
            Answer::Failed(why) => {
                self.found = all;
                return Answer::Failed(why);
            }
        }
        Answer::of(all)
    }
}

/// The fastest of what was tried, but for what fell in the whole gate.
pub(super) fn fastest(tried: &Tried) -> Option<Fastest> {
    let last = |name: &str| tried.finals.iter().rfind(|last| last.name == name).map(|last| &last.outcome);
    let of = |candidate: &Candidate, speedup: Option<f64>| match last(&candidate.name) {
        Some(Err(_)) => None,
        Some(Ok(speedup)) => Some(*speedup),
        None => speedup,
    };
    ranked(&tried.history).into_iter().find_map(|trial| {
        let over_naive = of(&trial.candidate, trial.speedup())?;
        Some(Fastest { candidate: trial.candidate.clone(), over_naive })
    })
}

/// Whether a search, or a run, found what meets the spec's `accept`, as the gate measured it: the lower ends of the intervals
/// over the naive kernel, together.
#[must_use]
pub fn meets_accept(plan: &Plan, record: &Record) -> bool {
    record.is_tuned() && over_naive(record, |timing| timing.low).unwrap_or(1.0) > plan.spec.min_speedup
}

/// The geometric mean over its workloads of a figure of a record's times against the naive kernel.
#[must_use]
pub fn over_naive(record: &Record, figure: fn(&Timing) -> f64) -> Option<f64> {
    let timings = record.variants.iter().filter_map(|variant| variant.evidence.as_ref());
    let timings = timings.flat_map(|evidence| &evidence.timings);
    let naive = timings.filter(|timing| timing.incumbent == incumbent::NAIVE);
    let figures: Vec<f64> = naive.map(figure).collect();
    (!figures.is_empty()).then(|| geomean(&figures))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::path::Path;

    use cutegen_spec::edition::spec_file;
    use cutegen_spec::record::{Kind, Record};

    use super::{Beside, fastest, meets_accept, over_naive};
    use crate::evaluate::Outcome;
    use crate::generate::{Answer, Candidate, Feedback, Generator};
    use crate::plan::Plan;
    use crate::refine::Trial;
    use crate::search::{Final, Tried};

    struct Script(VecDeque<Answer>);

    impl Generator for Script {
        fn name(&self) -> &'static str {
            "script"
        }

        fn propose(&mut self, _: &Plan, _: &Feedback) -> Answer {
            self.0.pop_front().unwrap_or(Answer::Exhausted)
        }
    }

    fn plan() -> Plan {
        let text = "edition = 1\n[kernels.k]\naxes = { n = '1..=64' }\ninputs = { x = 'f32[n]' }\n\
                    outputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n]'\n";
        Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text")).remove(0)
    }

    #[test]
    fn what_runs_found_is_proposed_once_beside_what_a_generator_has() {
        let named = |names: &[&str]| Answer::of(names.iter().map(|name| Candidate::bare(name)).collect());
        let proposed = |own: Vec<Answer>| {
            let mut beside = Beside { own: Script(own.into()), found: vec![Candidate::bare("m-1")] };
            [(); 3].map(|()| beside.propose(&plan(), &Feedback::default()))
        };
        let late = || Answer::Failed("late".to_owned());
        let of_two = [named(&["m-1", "a"]), named(&["b"]), named(&[])];
        assert_eq!(proposed(vec![named(&["a"]), named(&["b"])]), of_two);
        assert_eq!(proposed(vec![]), [named(&["m-1"]), named(&[]), named(&[])], "nothing else fills it");
        assert_eq!(proposed(vec![late(), named(&["a"])]), [late(), named(&["m-1", "a"]), named(&[])]);
    }

    #[test]
    fn the_fastest_is_right_in_the_whole_gate_too() {
        let trial = |name: &str, speedup| Trial {
            candidate: Candidate::bare(name),
            outcome: Outcome::Passed { correctness: Default::default(), performance: None },
            speedups: vec![Some(speedup)],
            again: true,
        };
        let last = |name: &str, outcome| Final { name: name.to_owned(), outcome };
        let history = vec![trial("wrong", 9.0), trial("fast", 3.0), trial("slow", 2.0)];
        let wrong = last("wrong", Err(Outcome::Blocked("it is wrong".to_owned())));
        let of = |finals| {
            let fastest = fastest(&Tried { history: history.clone(), finals })?;
            Some(format!("{}: {:.2}", fastest.candidate.name, fastest.over_naive))
        };
        assert_eq!(of(vec![]).as_deref(), Some("wrong: 9.00"));
        assert_eq!(of(vec![wrong.clone()]).as_deref(), Some("fast: 3.00"));
        assert_eq!(of(vec![wrong, last("fast", Ok(2.5))]).as_deref(), Some("fast: 2.50"));
    }

    /// A committed entry that a search found, with its times.
    fn tuned() -> Record {
        let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cache");
        let files = walkdir::WalkDir::new(cache).sort_by_file_name().into_iter().flatten();
        let mut records = files.filter(|file| file.file_name() == "record.toml").map(|file| {
            let text = std::fs::read_to_string(file.path()).expect("readable");
            Record::parse(&text).expect("a record")
        });
        let is_timed =
            |record: &Record| record.is_tuned() && over_naive(record, |timing| timing.low).is_some();
        records.find(is_timed).expect("one is tuned")
    }

    #[test]
    fn the_lower_ends_meet_accept_and_medians_do_not_count() {
        let (mut plan, mut record) = (plan(), tuned());
        let low = over_naive(&record, |timing| timing.low).expect("it is timed");
        let mut meets = |record: &Record, min_speedup| {
            plan.spec.min_speedup = min_speedup;
            meets_accept(&plan, record)
        };
        assert!(meets(&record, low * 0.999) && !meets(&record, low * 1.001));
        let median = over_naive(&record, |timing| timing.speedup).expect("it is timed");
        assert!(median > low && !meets(&record, f64::midpoint(low, median)));
        record.variants.retain(|variant| variant.kind == Kind::Naive);
        assert!(!meets(&record, 0.5), "nothing was found");
    }
}
