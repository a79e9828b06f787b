//! What becomes of a kernel that a person or a program submits: it is compiled wherever there is a compiler, and judged as
//! every candidate of a search is where there is a device. It must not know how the text was read.

use std::collections::BTreeMap;

use cutegen_spec::target::Target;

use super::compiled::{self, Refusal};
use super::error::SearchError;
use super::foreign;
use super::ordered;
use super::{Final, SearchConfig, Searcher, Tried};
use crate::compile::{Artifact, Inspected};
use crate::evaluate::Outcome;
use crate::event::{Event, Reporter};
use crate::generate::{Answer, Candidate, Feedback, Generator};
use crate::inspect::cubin::KernelInfo;
use crate::plan::Plan;
use crate::refine::{Strategy, Trial};
use crate::store::Entry;

/// What compiling gave.
type Made = Result<Box<Artifact>, Refusal>;

/// Lines of a reason that are told.
const REASON_LINES: usize = 4;

/// What became of a submitted kernel.
#[derive(Clone, Debug)]
pub enum Submitted {
    /// No bytes of it may be launched.
    Refused(Box<Refusal>),
    /// It compiles. No judge has seen it, for this reason.
    NotJudged {
        /// Its kernels, where it is for a GPU.
        kernels: Vec<KernelInfo>,
        /// What is missing here.
        why: String,
    },
    /// A judge has seen it.
    Judged {
        /// Its kernels, where it is for a GPU.
        kernels: Vec<KernelInfo>,
        /// What the judge says.
        verdict: Verdict,
    },
}

/// What a judge says of a submitted kernel.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The screening refused it.
    Wrong(Box<Outcome>),
    /// It fell in the whole gate, whose shapes are not told.
    WrongInFull(String),
    /// It is right and gains too little over what there is.
    TooSlow(Speeds),
    /// It is the answer for its kernel now, in the user's store.
    Accepted(Speeds),
}

/// How fast a submitted kernel is.
#[derive(Clone, Debug)]
pub struct Speeds {
    /// Speed-up over the naive kernel by workload, where it was timed: in one batch.
    pub at: Vec<(BTreeMap<String, i64>, Option<f64>)>,
    /// The geometric mean by the whole gate, where it came so far.
    pub by_gate: Option<f64>,
}

/// Proposes what was submitted, once.
struct Once(Vec<Candidate>);

impl Generator for Once {
    fn name(&self) -> &'static str {
        "submitted"
    }

    fn propose(&mut self, _: &Plan, _: &Feedback) -> Answer {
        Answer::of(std::mem::take(&mut self.0))
    }
}

/// Tries each.
struct All;

impl Strategy for All {
    fn first(&self, _: &Plan, space: &[Candidate]) -> Vec<Candidate> {
        space.to_vec()
    }

    fn next(&self, _: &Plan, _: &[Candidate], _: &[Trial]) -> Vec<Candidate> {
        Vec::new()
    }
}

impl Searcher {
    /// What will compile for a target, in words: symbols derive from it.
    pub fn fingerprint(&self, target: &Target) -> Result<String, SearchError> {
        compiled::fingerprint(&self.setup, target)
    }

    /// Compiles a submitted kernel, and has it judged where this machine can. What is accepted is in the user's store then.
    ///
    /// # Errors
    /// Ours or the machine's; what is wrong with the kernel is told.
    pub fn submit(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        candidate: Candidate,
        events: &mut dyn Reporter,
    ) -> Result<Submitted, SearchError> {
        let mut told = self.submit_points(plan, locked, vec![candidate], events)?;
        Ok(told.remove(0))
    }

    /// The same for the points of a text that sweeps constants: those that compile are judged in one search. What became of each,
    /// in their order.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn submit_points(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        points: Vec<Candidate>,
        events: &mut dyn Reporter,
    ) -> Result<Vec<Submitted>, SearchError> {
        let artifacts = self.artifacts(plan, &points)?;
        let can_judge = self.can_judge_foreign(&plan.target);
        let is_right = |(point, artifact): (&Candidate, &Made)| artifact.is_ok().then(|| point.clone());
        let right: Vec<Candidate> = points.iter().zip(&artifacts).filter_map(is_right).collect();
        let found = match can_judge {
            Ok(()) if !right.is_empty() => Some(self.judge_points(plan, locked, right, events)?),
            Ok(()) | Err(_) => None,
        };
        let told = |(point, artifact): (Candidate, Made)| match (artifact, &found, &can_judge) {
            (Err(refusal), ..) => Submitted::Refused(Box::new(refusal)),
            (Ok(artifact), Some((entry, tried)), _) => Submitted::Judged {
                kernels: kernels(&artifact),
                verdict: verdict(plan, &point.name, entry, tried),
            },
            (Ok(artifact), None, can_judge) => {
                let why = can_judge.clone().err().unwrap_or_default();
                Submitted::NotJudged { kernels: kernels(&artifact), why }
            }
        };
        Ok(points.into_iter().zip(artifacts).map(told).collect())
    }

    /// Compiles each, on all cores.
    fn artifacts(&self, plan: &Plan, points: &[Candidate]) -> Result<Vec<Made>, SearchError> {
        let made = |at: usize| match foreign::borrowed(&self.setup, &points[at].source)? {
            Some(refusal) => Ok(Err(refusal)),
            None => compiled::bytes(&self.setup, None, plan, &points[at]),
        };
        std::thread::scope(|scope| ordered::start(scope, points.len(), made).collect())
    }

    fn judge_points(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        points: Vec<Candidate>,
        events: &mut dyn Reporter,
    ) -> Result<(Entry, Tried), SearchError> {
        let generators: Vec<Box<dyn Generator>> = vec![Box::new(Once(points))];
        let strategy = Box::new(All);
        let config = SearchConfig { peers: self.peers, strategy, ..SearchConfig::of(generators) };
        self.search_by(plan, locked, config, &mut Untold(events))
    }
}

/// Events without the shapes and values at which a submitted kernel was found wrong: who wrote it may read them.
struct Untold<'a>(&'a mut dyn Reporter);

impl Reporter for Untold<'_> {
    fn report(&mut self, event: &Event) {
        let mut event = event.clone();
        if let Event::Judged { outcome, .. } | Event::Tried { outcome, .. } = &mut event {
            *outcome = without_place(outcome);
        }
        self.0.report(&event);
    }
}

/// `incorrect: wrong value`, of a text that goes on with where and by how much.
fn without_place(outcome: &str) -> String {
    let what = outcome.strip_prefix("incorrect: ").and_then(|fault| fault.split(": ").next());
    what.map_or_else(|| outcome.to_owned(), |what| format!("incorrect: {what}"))
}

fn kernels(artifact: &Artifact) -> Vec<KernelInfo> {
    match &artifact.inspected {
        Inspected::Cubin(info) => info.kernels.clone(),
        Inspected::Object(_) => Vec::new(),
    }
}

fn verdict(plan: &Plan, name: &str, entry: &Entry, tried: &Tried) -> Verdict {
    let is_accepted = entry.record.variants.iter().any(|variant| variant.name == name);
    let trial = tried.history.iter().find(|trial| trial.candidate.name == name);
    let last = tried.finals.iter().rfind(|last| last.name == name);
    let by_gate = match last {
        Some(Final { outcome: Err(outcome), .. }) => return Verdict::WrongInFull(kind(outcome)),
        Some(Final { outcome: Ok(speedup), .. }) => Some(*speedup),
        None => None,
    };
    let Some(trial) = trial else { return Verdict::WrongInFull("not tried".to_owned()) };
    if !trial.passed() {
        return Verdict::Wrong(Box::new(trial.outcome.clone()));
    }
    let workloads = plan.spec.workloads.iter().map(|workload| workload.axes.clone());
    let speeds = Speeds { at: workloads.zip(trial.speedups.iter().copied()).collect(), by_gate };
    if is_accepted { Verdict::Accepted(speeds) } else { Verdict::TooSlow(speeds) }
}

/// What a candidate fell to, without the shape and the values that show how it was judged. What blocks it says neither.
fn kind(outcome: &Outcome) -> String {
    let word = match outcome {
        Outcome::Passed { .. } => "passed",
        Outcome::Incorrect(_) => "incorrect",
        Outcome::CompileFailed(_) => "does not compile alone",
        Outcome::Blocked(reason) => return reason.lines().take(REASON_LINES).collect::<Vec<_>>().join("\n"),
        Outcome::Crashed(_) => "crashed",
        Outcome::TimedOut(_) => "did not end in time",
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::without_place;
    use crate::evaluate::{Distribution, Fault, Outcome, Place, Spread};

    #[test]
    fn a_fault_is_told_without_its_place() {
        let place = Place {
            axes: vec![7, 300],
            distribution: Distribution::Cancelling,
            tensor: "y".to_owned(),
            index: vec![2, 133],
        };
        let spread = Spread { elements: 1, last: vec![2, 133] };
        let fault = Fault::Value { place: place.clone(), found: 1.5, expected: -2.0, bound: 1e-7, spread };
        assert_eq!(without_place(&Outcome::Incorrect(fault).to_string()), "incorrect: wrong value");
        let fault = Fault::Unwritten { place, elements: 3 };
        assert_eq!(without_place(&Outcome::Incorrect(fault).to_string()), "incorrect: not written");
        assert_eq!(without_place("passed, 2.00x naive"), "passed, 2.00x naive");
    }
}
