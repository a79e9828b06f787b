//! The rounds of one search: propose, compile, screen, time, rank; the finalists go on to `finals`.

use std::path::Path;

use super::compiled::{self, Compiled};
use super::error::SearchError;
use super::finals::{Finals, Found, Locked};
use super::judging::Judging;
use super::verify;
use crate::compile::CompileSetup;
use crate::evaluate::{Candidate, Comparison, Outcome};
use crate::event::{Event, Reporter};
use crate::generate::template::Templates;
use crate::generate::{self, Feedback, Generator};
use crate::plan::Plan;
use crate::refine::{Next, Trial, geomean, sweep};
use crate::store::Entry;

/// One search in progress.
struct Search<'a> {
    setup: &'a CompileSetup,
    plan: &'a Plan,
    folder: &'a Path,
    judge: Judging,
    naive: Compiled,
    /// The first candidate that passed, with its speed-up over the naive kernel per workload. Later ones race it:
    /// the naive kernel may be a hundred times slower, and every block of it is waited for.
    pace: Option<(Candidate, Vec<f64>)>,
    workloads: Vec<Vec<i64>>,
    locked: Option<Locked>,
    /// Whether finalists are timed against PyTorch.
    peers: bool,
}

/// Runs a whole search. A winner must also beat the first variant of `locked`.
pub(super) fn run(
    setup: &CompileSetup,
    plan: &Plan,
    (locked, peers): (Option<&Entry>, bool),
    events: &mut dyn Reporter,
) -> Result<Found, SearchError> {
    let folder = tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let toolchain = compiled::fingerprint(setup, &plan.target)?;
    let naive = compiled::must_compile(setup, plan, generate::naive::candidate(plan, &toolchain))?;
    let mut generator = Templates { toolchain };
    let proposals = generator.propose(plan, &Feedback::default());
    let tiles = proposals.iter().flat_map(|c| &c.tiles).map(|(_, extent)| *extent);
    let judge = Judging::start(setup, plan, folder.path(), tiles.collect(), &naive)?;
    let workloads = plan.spec.workloads.iter().filter_map(|w| plan.spec.bind(&w.axes).ok()).collect();
    let locked_folder =
        tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let locked = locked.map(|entry| verify::locked(plan, entry, locked_folder.path())).transpose()?.flatten();
    let mut search =
        Search { setup, plan, folder: folder.path(), judge, naive, pace: None, workloads, locked, peers };
    events.report(&Event::SearchStarted {
        kernel: plan.title(),
        key: plan.key.to_string(),
        candidates: proposals.len(),
    });
    search.rounds(&mut generator, proposals, events)
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
                Next::Finish(names) => {
                    let mut finals = Finals {
                        plan: self.plan,
                        folder: self.folder,
                        judge: &mut self.judge,
                        workloads: &self.workloads,
                        locked: self.locked.as_ref(),
                        peers: self.peers,
                    };
                    return finals.choose(&self.naive, &names, &compiled, events);
                }
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
    fn speedups(&mut self, gate: &Candidate) -> Result<Result<Vec<f64>, Outcome>, SearchError> {
        let (incumbent, base) = match &self.pace {
            Some((pace, base)) => (pace.clone(), base.clone()),
            None => (self.naive.for_gate(self.folder)?, vec![1.0; self.workloads.len()]),
        };
        let timings = match self.race(gate, &incumbent)? {
            Ok(timings) => timings,
            Err(outcome) => return Ok(Err(outcome)),
        };
        let speedups: Vec<f64> = timings.iter().zip(base).map(|(t, base)| t.speedup * base).collect();
        if self.pace.is_none() {
            self.pace = Some((gate.clone(), speedups.clone()));
        }
        Ok(Ok(speedups))
    }

    /// Against one incumbent, at every workload, while candidates are ranked.
    fn race(
        &mut self,
        gate: &Candidate,
        incumbent: &Candidate,
    ) -> Result<Result<Vec<Comparison>, Outcome>, SearchError> {
        let mut timings = Vec::new();
        for axes in &self.workloads {
            match self.judge.compare(gate, incumbent, axes)? {
                Ok(comparison) => timings.push(comparison),
                Err(outcome) => return Ok(Err(outcome)),
            }
        }
        Ok(Ok(timings))
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
