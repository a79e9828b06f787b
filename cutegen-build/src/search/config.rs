//! [`SearchConfig`]: what a search is given besides the plan: what proposes candidates, which of them are tried and how many,
//! and what else they are timed against. It must not know how candidates are compiled or judged.

use std::time::Duration;

use super::judging::Devices;
use crate::event::{Event, Reporter};
use crate::generate::{Answer, Candidate, Feedback, Generator};
use crate::plan::Plan;
use crate::refine::{Choice, Strategy, Sweep};

/// How often a generator that does not answer is asked.
const ATTEMPTS: usize = 3;

/// How a search is done.
pub struct SearchConfig<'a> {
    /// What proposes candidates: each is asked until it has no more ideas, in this order.
    pub generators: Vec<Box<dyn Generator + 'a>>,
    /// Which proposals are tried.
    pub strategy: Box<dyn Strategy + 'a>,
    /// How much is tried at most.
    pub budget: Budget,
    /// Seed of inputs and shapes; none: a fresh one, which a record that others are to trust must have.
    pub seed: Option<u64>,
    /// Devices that the judge and the runners see.
    pub devices: Devices,
    /// Whether finalists are timed against PyTorch too.
    pub peers: bool,
    /// How the answer is chosen.
    pub choice: Choice,
}

/// How much a search tries at most. Finalists are judged whatever that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Candidates that are compiled.
    pub candidates: usize,
    /// From the search's begin; what is being tried then is tried to its end.
    pub time: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { candidates: usize::MAX, time: Duration::MAX }
    }
}

impl Budget {
    /// Those of `next` that may be tried after so many trials and so long a time.
    pub(super) fn left(&self, mut next: Vec<Candidate>, (tried, spent): (usize, Duration)) -> Vec<Candidate> {
        let left = if spent < self.time { self.candidates.saturating_sub(tried) } else { 0 };
        next.truncate(left);
        next
    }
}

impl<'a> SearchConfig<'a> {
    /// These generators, the default strategy and no bounds.
    #[must_use]
    pub fn of(generators: Vec<Box<dyn Generator + 'a>>) -> Self {
        Self {
            generators,
            strategy: Box::new(Sweep),
            budget: Budget::default(),
            seed: None,
            devices: Devices::default(),
            peers: false,
            choice: Choice::default(),
        }
    }

    /// The next candidates of the first generator that has any; none once all have run out. One that does not answer is asked
    /// again, and left out of the search where it still does not.
    pub(super) fn propose(
        &mut self,
        plan: &Plan,
        feedback: &Feedback,
        events: &mut dyn Reporter,
    ) -> Vec<Candidate> {
        while let Some(generator) = self.generators.first_mut() {
            if let Some(candidates) = asked(generator.as_mut(), plan, feedback, events) {
                return candidates;
            }
            self.generators.remove(0);
        }
        Vec::new()
    }
}

/// What a generator proposes; none where it has no more ideas, or does not answer.
fn asked(
    generator: &mut dyn Generator,
    plan: &Plan,
    feedback: &Feedback,
    events: &mut dyn Reporter,
) -> Option<Vec<Candidate>> {
    for attempt in 1..=ATTEMPTS {
        match generator.propose(plan, feedback) {
            Answer::Candidates(candidates) => return Some(candidates),
            Answer::Exhausted => return None,
            Answer::Failed(why) => {
                let (name, kernel) = (generator.name(), plan.title());
                let text =
                    format!("{kernel}: generator `{name}` did not answer, {attempt} of {ATTEMPTS}: {why}");
                events.report(&Event::Note { text });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use cutegen_spec::edition::spec_file;

    use super::{Budget, SearchConfig};
    use crate::event::Event;
    use crate::generate::{Answer, Candidate, Feedback, Generator};
    use crate::plan::Plan;

    /// Answers what it is given, then nothing more.
    struct Script(&'static str, VecDeque<Answer>);

    impl Generator for Script {
        fn name(&self) -> &'static str {
            self.0
        }

        fn propose(&mut self, _: &Plan, _: &Feedback) -> Answer {
            self.1.pop_front().unwrap_or(Answer::Exhausted)
        }
    }

    fn named(name: &str) -> Answer {
        Answer::of(vec![Candidate::bare(name)])
    }

    fn late() -> Answer {
        Answer::Failed("timed out".to_owned())
    }

    /// Names in the order in which they are proposed, and how often it was said that a generator did not answer.
    fn proposed(scripts: Vec<(&'static str, Vec<Answer>)>) -> (Vec<String>, usize) {
        let text = "edition = 1\n[kernels.k]\naxes = { n = '1..=64' }\ninputs = { x = 'f32[n]' }\n\
                    outputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n]'\ntargets = ['host']\n";
        let plans = Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text"));
        let boxed = |(name, answers): (&'static str, Vec<Answer>)| -> Box<dyn Generator> {
            Box::new(Script(name, answers.into()))
        };
        let mut config = SearchConfig::of(scripts.into_iter().map(boxed).collect());
        let (mut names, mut failures) = (Vec::new(), 0);
        let mut events = |event: &Event| failures += usize::from(matches!(event, Event::Note { .. }));
        loop {
            let next = config.propose(&plans[0], &Feedback::default(), &mut events);
            if next.is_empty() {
                break;
            }
            names.extend(next.into_iter().map(|candidate| candidate.name));
        }
        (names, failures)
    }

    #[test]
    fn a_generator_that_fails_is_asked_again_and_has_not_run_out() {
        let one = vec![late(), named("a"), late(), late(), named("b")];
        assert_eq!(proposed(vec![("one", one), ("two", vec![named("c")])]).0, ["a", "b", "c"]);
    }

    #[test]
    fn one_that_never_answers_gives_way_to_the_next() {
        let silent = vec![late(), late(), late(), named("too late")];
        let (names, failures) = proposed(vec![("silent", silent), ("two", vec![named("c"), named("d")])]);
        assert_eq!((names, failures), (vec!["c".to_owned(), "d".to_owned()], 3));
    }

    #[test]
    fn a_budget_leaves_what_its_candidates_and_its_time_allow() {
        let of = |budget: Budget, tried, seconds| {
            let next = ["a", "b", "c"].map(Candidate::bare).to_vec();
            budget.left(next, (tried, Duration::from_secs(seconds))).len()
        };
        let five = Budget { candidates: 5, ..Budget::default() };
        assert_eq!([0, 3, 5, 9].map(|tried| of(five, tried, 1)), [3, 2, 0, 0]);
        let minute = Budget { time: Duration::from_secs(60), ..Budget::default() };
        assert_eq!([59, 60, 61].map(|seconds| of(minute, 1000, seconds)), [3, 0, 0]);
    }
}
