//! What becomes of a kernel that a person or a program submits: it is compiled wherever there is a compiler, and judged as
//! every candidate of a search is where there is a device. It must not know how the text was read.

use std::collections::BTreeMap;

use cutegen_spec::target::Target;

use super::compiled::{self, Refusal};
use super::error::SearchError;
use super::{Final, SearchConfig, Searcher, Tried};
use crate::compile::{Artifact, Confinement, Inspected};
use crate::evaluate::Outcome;
use crate::event::Reporter;
use crate::generate::{Answer, Candidate, Feedback, Generator};
use crate::inspect::cubin::KernelInfo;
use crate::plan::Plan;
use crate::store::Entry;

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

/// Proposes one candidate.
struct Once(Option<Candidate>);

impl Generator for Once {
    fn name(&self) -> &'static str {
        "submitted"
    }

    fn propose(&mut self, _: &Plan, _: &Feedback) -> Answer {
        Answer::of(self.0.take().into_iter().collect())
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
        let artifact = match compiled::bytes(&self.setup, None, plan, &candidate)? {
            Ok(artifact) => artifact,
            Err(refusal) => return Ok(Submitted::Refused(Box::new(refusal))),
        };
        let kernels = kernels(&artifact);
        if let Err(why) = self.can_judge(&plan.target).and_then(|()| holds(plan, &artifact.confinement)) {
            return Ok(Submitted::NotJudged { kernels, why });
        }
        let name = candidate.name.clone();
        let generators: Vec<Box<dyn Generator>> = vec![Box::new(Once(Some(candidate)))];
        let config = SearchConfig { peers: self.peers, ..SearchConfig::of(generators) };
        let (entry, tried) = self.search_by(plan, locked, config, events)?;
        Ok(Submitted::Judged { kernels, verdict: verdict(plan, &name, &entry, tried) })
    }
}

fn kernels(artifact: &Artifact) -> Vec<KernelInfo> {
    match &artifact.inspected {
        Inspected::Cubin(info) => info.kernels.clone(),
        Inspected::Object(_) => Vec::new(),
    }
}

/// Foreign machine code runs on the CPU in a whole sandbox or not at all.
fn holds(plan: &Plan, sandbox: &Confinement) -> Result<(), String> {
    if !plan.target.is_host() || (sandbox.landlock && sandbox.seccomp) {
        return Ok(());
    }
    Err("a submitted kernel for `host` runs only where the system has Landlock and seccomp".to_owned())
}

fn verdict(plan: &Plan, name: &str, entry: &Entry, tried: Tried) -> Verdict {
    let is_accepted = entry.record.variants.iter().any(|variant| variant.name == name);
    let trial = tried.history.into_iter().find(|trial| trial.candidate.name == name);
    let last = tried.finals.into_iter().rfind(|last: &Final| last.name == name);
    let by_gate = match last {
        Some(Final { outcome: Err(outcome), .. }) => return Verdict::WrongInFull(kind(&outcome)),
        Some(Final { outcome: Ok(speedup), .. }) => Some(speedup),
        None => None,
    };
    let Some(trial) = trial else { return Verdict::WrongInFull("not tried".to_owned()) };
    if !trial.passed() {
        return Verdict::Wrong(Box::new(trial.outcome));
    }
    let workloads = plan.spec.workloads.iter().map(|workload| workload.axes.clone());
    let speeds = Speeds { at: workloads.zip(trial.speedups).collect(), by_gate };
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
