//! The rounds of one search: propose, compile, screen, time, rank; then the whole gate for the finalists.

use std::path::Path;

use cutegen_spec::math::{Binary, Expr, Place, ReduceOp};

use super::compiled::{self, Compiled};
use super::error::SearchError;
use crate::compile::CompileSetup;
use crate::evaluate::{Comparison, Correctness, Judge, Outcome, Question, Settings};
use crate::event::{Event, Reporter};
use crate::generate::template::Templates;
use crate::generate::{self, Feedback, Generator};
use crate::plan::Plan;
use crate::plan::schedule::Value;
use crate::refine::{Next, Trial, geomean, sweep};

/// What the gate saw of a variant.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    /// What was run and compared.
    pub(super) correctness: Correctness,
    /// A comparison with the naive kernel per workload.
    pub(super) timings: Vec<Comparison>,
    /// Seed of everything drawn.
    pub(super) seed: u64,
    /// Outcome of compute-sanitizer, or why it did not run.
    pub(super) sanitizer: String,
}

impl Judged {
    fn speedup(&self) -> f64 {
        geomean(&self.timings.iter().map(|t| t.speedup).collect::<Vec<_>>())
    }
}

/// What a search found: variants in dispatch order, the naive kernel last; without evidence where nothing judged it.
pub(super) struct Found {
    pub(super) variants: Vec<(Compiled, Option<Judged>)>,
}

impl Found {
    /// Name of the first variant and the geometric mean of its speed-ups over the naive kernel.
    pub(super) fn headline(&self) -> (String, f64) {
        let Some((first, judged)) = self.variants.first() else { return (String::new(), 1.0) };
        (first.candidate.name.clone(), judged.as_ref().map_or(1.0, Judged::speedup))
    }
}

/// One search in progress.
struct Search<'a> {
    setup: &'a CompileSetup,
    plan: &'a Plan,
    folder: &'a Path,
    judge: Judge,
    naive: Compiled,
    /// The first candidate that passed, with its speed-up over the naive kernel per workload. Later ones race it:
    /// the naive kernel may be a hundred times slower, and every block of it is waited for.
    pace: Option<(crate::evaluate::Candidate, Vec<f64>)>,
    workloads: Vec<Vec<i64>>,
    seed: u64,
}

/// Runs a whole search.
pub(super) fn run(
    setup: &CompileSetup,
    plan: &Plan,
    events: &mut dyn Reporter,
) -> Result<Found, SearchError> {
    let folder = tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let toolchain = compiled::fingerprint(setup, &plan.target)?;
    let naive = compiled::must_compile(setup, plan, generate::naive::candidate(plan, &toolchain))?;
    let mut generator = Templates { toolchain };
    let proposals = generator.propose(plan, &Feedback::default());
    let tiles = proposals.iter().flat_map(|c| &c.tiles).map(|(_, extent)| *extent);
    let seed = fresh_seed();
    let judge = judge(setup, plan, folder.path(), tiles.collect(), seed)?;
    let workloads = plan.spec.workloads.iter().filter_map(|w| plan.spec.bind(&w.axes).ok()).collect();
    let mut search = Search { setup, plan, folder: folder.path(), judge, naive, pace: None, workloads, seed };
    events.report(&Event::SearchStarted {
        kernel: plan.title(),
        key: plan.key.to_string(),
        candidates: proposals.len(),
    });
    search.rounds(&mut generator, proposals, events)
}

/// A judging session for the plan; tests use the same one.
pub(super) fn judge(
    setup: &CompileSetup,
    plan: &Plan,
    folder: &Path,
    mut tiles: Vec<i64>,
    seed: u64,
) -> Result<Judge, SearchError> {
    tiles.sort_unstable();
    tiles.dedup();
    let reference = compiled::reference(setup, plan, folder)?;
    let schedule = plan.schedule.clone();
    let spec = plan.spec.clone();
    // filling, launching and comparing a byte takes about as long as sixteen operations of the reference
    let cost = move |axes: &[i64]| {
        let cost = crate::plan::cost::cost(&spec, &schedule, axes);
        cost.flops.max(16.0 * cost.bytes) as u64
    };
    let question = Question {
        spec: plan.spec.clone(),
        reference,
        exact_integers: sums_are_exact(plan),
        cost: Box::new(cost),
        tiles,
        scalar: None,
    };
    let workers = compiled::run_workers(setup, plan);
    let mut settings = Settings::new(workers, seed);
    settings.linker = setup.toolchain.need_cxx()?.program.clone();
    if plan.target.is_host() && arithmetic_bound(plan) {
        (settings.rotation_bytes, settings.pairs) = (0, 12);
    }
    Ok(Judge::new(question, settings)?)
}

/// A seed that no candidate can have been made for; it is recorded.
pub(super) fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one("cutegen seed")
}

/// Whether a workload takes a CPU core so long that cold caches do not matter and blocks are dear.
fn arithmetic_bound(plan: &Plan) -> bool {
    let extents = plan.spec.workloads.iter().filter_map(|w| plan.spec.bind(&w.axes).ok());
    extents
        .map(|axes| crate::plan::cost::cost(&plan.spec, &plan.schedule, &axes).flops)
        .any(|flops| flops > 1e8)
}

/// Whether integers stay integers up to the last rounding: sums of products of inputs, and nothing after them.
fn sums_are_exact(plan: &Plan) -> bool {
    let exact = |step: &crate::plan::schedule::Step| match &step.value {
        Value::Map(value) => matches!(value, Expr::Load(..)),
        Value::Reduce { op: ReduceOp::Sum, body, .. } => is_product(body),
        Value::Reduce { .. } | Value::Scan { .. } => false,
    };
    plan.schedule.steps.iter().all(exact)
}

/// Whether `body` is a product of elements of inputs.
fn is_product(body: &Expr) -> bool {
    match body {
        Expr::Load(Place::Tensor(_), _) => true,
        Expr::Binary(Binary::Mul, a, b) => is_product(a) && is_product(b),
        _ => false,
    }
}

impl Search<'_> {
    fn rounds(
        &mut self,
        generator: &mut dyn Generator,
        first: Vec<generate::Candidate>,
        events: &mut dyn Reporter,
    ) -> Result<Found, SearchError> {
        let (mut history, mut compiled, mut proposals) = (Vec::new(), Vec::new(), first);
        loop {
            let round = self.round(&proposals, &mut compiled, events)?;
            let proposed = round.len();
            history.extend(round);
            match sweep(&history, proposed) {
                Next::Propose(feedback) => proposals = generator.propose(self.plan, &feedback),
                Next::Finish(names) => return self.finish(&names, &compiled, events),
            }
        }
    }

    /// Compiles all proposals, screens and times each that compiles.
    fn round(
        &mut self,
        proposals: &[generate::Candidate],
        kept: &mut Vec<Compiled>,
        events: &mut dyn Reporter,
    ) -> Result<Vec<Trial>, SearchError> {
        let of = proposals.len();
        let mut trials = Vec::with_capacity(of);
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        for chunk in proposals.chunks(threads) {
            for result in compiled::many(self.setup, self.plan, chunk.to_vec())? {
                let trial = match result {
                    Err((candidate, outcome)) => Trial { candidate, outcome, speedups: Vec::new() },
                    Ok(compiled) => {
                        let trial = self.trial(&compiled)?;
                        kept.push(compiled);
                        trial
                    }
                };
                trials.push(trial);
                if let Some(trial) = trials.last() {
                    events.report(&tried(self.plan, trial, trials.len(), of));
                }
            }
        }
        Ok(trials)
    }

    fn trial(&mut self, compiled: &Compiled) -> Result<Trial, SearchError> {
        let (candidate, gate) = (compiled.candidate.clone(), compiled.for_gate(self.folder)?);
        let outcome = self.judge.screen(&gate)?;
        let mut speedups = Vec::new();
        if let Outcome::Passed { .. } = outcome {
            match self.speedups(&gate)? {
                Ok(found) => speedups = found,
                Err(outcome) => return Ok(Trial { candidate, outcome, speedups }),
            }
        }
        Ok(Trial { candidate, outcome, speedups })
    }

    /// Speed-ups over the naive kernel per workload: measured for the first candidate, by way of it for the others.
    fn speedups(
        &mut self,
        gate: &crate::evaluate::Candidate,
    ) -> Result<Result<Vec<f64>, Outcome>, SearchError> {
        let (incumbent, base) = match &self.pace {
            Some((pace, base)) => (pace.clone(), base.clone()),
            None => (self.naive.for_gate(self.folder)?, vec![1.0; self.workloads.len()]),
        };
        let timings = match self.time(gate, &incumbent)? {
            Ok(timings) => timings,
            Err(outcome) => return Ok(Err(outcome)),
        };
        let speedups: Vec<f64> = timings.iter().zip(base).map(|(t, base)| t.speedup * base).collect();
        if self.pace.is_none() {
            self.pace = Some((gate.clone(), speedups.clone()));
        }
        Ok(Ok(speedups))
    }

    /// The whole gate for the finalists, best first; the fastest that passes, timed again, is the answer.
    fn finish(
        &mut self,
        names: &[String],
        compiled: &[Compiled],
        events: &mut dyn Reporter,
    ) -> Result<Found, SearchError> {
        let naive_gate = self.naive.for_gate(self.folder)?;
        let ours = |outcome: Outcome| SearchError::Ours {
            kernel: self.plan.title(),
            what: "naive kernel",
            detail: outcome.to_string(),
        };
        let correctness = self.whole_gate(std::slice::from_ref(&naive_gate))?.map_err(ours)?;
        let compiler = self.naive.artifact.confinement.not_enforced();
        let what: Vec<String> = correctness.not_enforced.iter().cloned().chain(compiler).collect();
        if !what.is_empty() {
            events.report(&Event::NotEnforced { what });
        }
        let naive_judged = self.judged(correctness, Vec::new(), &naive_gate)?.map_err(ours)?;
        let mut best: Option<(Compiled, Judged)> = None;
        for finalist in names.iter().filter_map(|name| compiled.iter().find(|c| c.candidate.name == *name)) {
            let gate = finalist.for_gate(self.folder)?;
            match self.whole_gate(&[gate.clone(), naive_gate.clone()])? {
                Err(outcome) => events.report(&judged(self.plan, finalist, outcome.to_string())),
                Ok(correctness) => {
                    let found = match self.time(&gate, &naive_gate)? {
                        Ok(timings) => self.judged(correctness, timings, &gate)?,
                        Err(outcome) => Err(outcome),
                    };
                    let found = match found {
                        Ok(found) => found,
                        Err(outcome) => {
                            events.report(&judged(self.plan, finalist, outcome.to_string()));
                            continue;
                        }
                    };
                    let speed = found.speedup();
                    events.report(&judged(self.plan, finalist, format!("passed, {speed:.2}x naive")));
                    let faster = best.as_ref().is_none_or(|(_, other)| speed > other.speedup());
                    if faster && self.wins(&found.timings) {
                        best = Some((finalist.clone(), found));
                    }
                }
            }
        }
        let naive = (self.naive.clone(), Some(naive_judged));
        let best = best.map(|(compiled, judged)| (compiled, Some(judged)));
        Ok(Found { variants: best.into_iter().chain([naive]).collect() })
    }

    fn judged(
        &mut self,
        correctness: Correctness,
        timings: Vec<Comparison>,
        gate: &crate::evaluate::Candidate,
    ) -> Result<Result<Judged, Outcome>, SearchError> {
        let sanitizer = compiled::sanitize(self.plan, &mut self.judge, gate)?;
        Ok(sanitizer.map(|sanitizer| Judged { correctness, timings, seed: self.seed, sanitizer }))
    }

    fn whole_gate(
        &mut self,
        list: &[crate::evaluate::Candidate],
    ) -> Result<Result<Correctness, Outcome>, SearchError> {
        Ok(match self.judge.full(list)? {
            Outcome::Passed { correctness, .. } => Ok(correctness),
            outcome @ (Outcome::Incorrect(_)
            | Outcome::CompileFailed(_)
            | Outcome::Blocked(_)
            | Outcome::Crashed(_)
            | Outcome::TimedOut(_)) => Err(outcome),
        })
    }

    fn time(
        &mut self,
        gate: &crate::evaluate::Candidate,
        naive: &crate::evaluate::Candidate,
    ) -> Result<Result<Vec<Comparison>, Outcome>, SearchError> {
        let mut timings = Vec::new();
        for axes in &self.workloads {
            match self.judge.compare(gate, naive, axes)? {
                Ok(comparison) => timings.push(comparison),
                Err(outcome) => return Ok(Err(outcome)),
            }
        }
        Ok(Ok(timings))
    }

    /// A win needs the lower ends of the intervals, together, to clear the spec's margin.
    fn wins(&self, timings: &[Comparison]) -> bool {
        let lower = geomean(&timings.iter().map(|t| t.low).collect::<Vec<_>>());
        lower > self.plan.spec.min_speedup
    }
}

fn tried(plan: &Plan, trial: &Trial, number: usize, of: usize) -> Event {
    Event::Tried {
        kernel: plan.title(),
        candidate: trial.candidate.name.clone(),
        outcome: trial.outcome.to_string(),
        speedup: (!trial.speedups.is_empty()).then(|| geomean(&trial.speedups)),
        number,
        of,
    }
}

fn judged(plan: &Plan, finalist: &Compiled, outcome: String) -> Event {
    Event::Judged { kernel: plan.title(), candidate: finalist.candidate.name.clone(), outcome }
}
