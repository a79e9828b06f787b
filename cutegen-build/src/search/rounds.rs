//! The rounds of one search: propose, select, compile, screen, time, halve, rank; the finalists go on to `finals`.

use std::path::Path;
use std::time::Instant;

use super::compiled::{self, Compiled};
use super::error::SearchError;
use super::finals::{Finals, Found, Locked};
use super::judging::Judging;
use super::verify;
use crate::compile::{Batch, CompileSetup};
use crate::evaluate::{Candidate, Comparison, Outcome};
use crate::event::{Event, Reporter};
use crate::generate::template::Templates;
use crate::generate::{self, Feedback, Generator};
use crate::plan::Plan;
use crate::refine::{self, FINALISTS, Trial, geomean};
use crate::store::Entry;

/// Pairs of blocks of a first look.
const FEW_PAIRS: usize = 8;

/// One search in progress.
struct Search<'a> {
    setup: &'a CompileSetup,
    plan: &'a Plan,
    folder: &'a Path,
    judge: Judging,
    naive: Compiled,
    /// What compiles candidates of a round; finalists are compiled again, each alone.
    batch: Option<Batch>,
    /// The first candidate that passed, with its speed-up over the naive kernel per workload. Later ones race it:
    /// the naive kernel may be a hundred times slower, and every block of it is waited for.
    pace: Option<(Candidate, Vec<f64>)>,
    workloads: Vec<Vec<i64>>,
    locked: Option<Locked>,
    /// Whether finalists are timed against PyTorch.
    peers: bool,
    started: Instant,
}

/// Runs a whole search. A winner must also beat the first variant of `locked`.
pub(super) fn run(
    setup: &CompileSetup,
    plan: &Plan,
    (locked, peers): (Option<&Entry>, bool),
    started: Instant,
    events: &mut dyn Reporter,
) -> Result<Found, SearchError> {
    let folder = tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let toolchain = compiled::fingerprint(setup, &plan.target)?;
    let naive = generate::naive::candidate(plan, &toolchain);
    let mut generator = Templates { toolchain };
    let space = generator.propose(plan, &Feedback::default());
    let first = refine::select(plan, &space);
    let batch = compiled::batch(setup, plan, &first)?;
    let naive = compiled::must_compile(setup, plan, naive)?;
    let tiles = first.iter().flat_map(|c| &c.tiles).map(|(_, extent)| *extent);
    let judge = Judging::start(setup, plan, folder.path(), tiles.collect(), &naive)?;
    let workloads = plan.spec.workloads.iter().filter_map(|w| plan.spec.bind(&w.axes).ok()).collect();
    let locked_folder =
        tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let locked = locked.map(|entry| verify::locked(plan, entry, locked_folder.path())).transpose()?.flatten();
    let mut search = Search {
        setup,
        plan,
        folder: folder.path(),
        judge,
        naive,
        batch,
        pace: None,
        workloads,
        locked,
        peers,
        started,
    };
    events.report(&Event::SearchStarted {
        kernel: plan.title(),
        key: plan.key.to_string(),
        candidates: first.len(),
    });
    search.rounds(&mut generator, (space, first), events)
}

impl Search<'_> {
    fn rounds(
        &mut self,
        generator: &mut dyn Generator,
        (mut space, mut first): (Vec<generate::Candidate>, Vec<generate::Candidate>),
        events: &mut dyn Reporter,
    ) -> Result<Found, SearchError> {
        let (mut history, mut compiled) = (Vec::new(), Vec::new());
        while !first.is_empty() {
            self.round(&first, (&mut history, &mut compiled), events)?;
            let near = refine::around(self.plan, &space, &history);
            self.round(&near, (&mut history, &mut compiled), events)?;
            space = generator.propose(self.plan, &refine::feedback(&history));
            first = refine::select(self.plan, &space);
        }
        let (kernel, seconds) = (self.plan.title(), self.started.elapsed().as_secs_f64());
        events.report(&Event::Ranked { kernel, candidates: history.len(), seconds });
        let names: Vec<String> = refine::ranked(&history)
            .iter()
            .take(FINALISTS)
            .map(|trial| trial.candidate.name.clone())
            .collect();
        let mut finals = Finals {
            setup: self.setup,
            plan: self.plan,
            folder: self.folder,
            judge: &mut self.judge,
            workloads: &self.workloads,
            locked: self.locked.as_ref(),
            peers: self.peers,
        };
        finals.choose(&self.naive, &names, &compiled, events)
    }

    /// Compiles all proposals, screens each that compiles and has a first look at its speed; then times the faster half
    /// as long as it takes.
    fn round(
        &mut self,
        proposals: &[generate::Candidate],
        (history, kept): (&mut Vec<Trial>, &mut Vec<Compiled>),
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let (before, of) = (history.len(), history.len() + proposals.len());
        let batch = self.batch.take();
        compiled::each(self.setup, batch.as_ref(), self.plan, proposals, &mut |attempt| {
            let trial = match attempt {
                Err((candidate, outcome)) => Trial { candidate, outcome, speedups: Vec::new(), again: false },
                Ok(compiled) => {
                    let trial = self.trial(&compiled)?;
                    kept.push(compiled);
                    trial
                }
            };
            history.push(trial);
            let trial = &history[history.len() - 1];
            events.report(&tried(self.plan, trial, history.len(), of));
            Ok(())
        })?;
        self.batch = batch;
        self.time_again(&mut history[before..], kept)
    }

    fn trial(&mut self, compiled: &Compiled) -> Result<Trial, SearchError> {
        let (candidate, gate) = (compiled.candidate.clone(), compiled.for_gate(self.folder)?);
        let outcome = self.judge.screen(&gate)?;
        let mut speedups = Vec::new();
        if let Outcome::Passed { .. } = outcome {
            match self.speedups(&gate, FEW_PAIRS)? {
                Ok(found) => speedups = found,
                Err(outcome) => return Ok(Trial { candidate, outcome, speedups, again: false }),
            }
        }
        Ok(Trial { candidate, outcome, speedups, again: false })
    }

    /// The faster half of a round's trials, at the full number of pairs.
    fn time_again(&mut self, trials: &mut [Trial], kept: &[Compiled]) -> Result<(), SearchError> {
        let half =
            trials.iter().filter(|trial| !trial.speedups.is_empty()).count().div_ceil(2).max(FINALISTS);
        let faster: Vec<String> =
            refine::ranked(trials).iter().take(half).map(|trial| trial.candidate.name.clone()).collect();
        for trial in trials.iter_mut().filter(|trial| faster.contains(&trial.candidate.name)) {
            let Some(compiled) = kept.iter().find(|c| c.candidate.name == trial.candidate.name) else {
                continue;
            };
            match self.speedups(&compiled.for_gate(self.folder)?, usize::MAX)? {
                Ok(found) => (trial.again, trial.speedups) = (true, found),
                Err(outcome) => (trial.outcome, trial.speedups) = (outcome, Vec::new()),
            }
        }
        Ok(())
    }

    /// Speed-ups over the naive kernel per workload: measured for the first candidate, by way of it for the others.
    fn speedups(&mut self, gate: &Candidate, pairs: usize) -> Result<Result<Vec<f64>, Outcome>, SearchError> {
        let (incumbent, base) = match &self.pace {
            Some((pace, base)) => (pace.clone(), base.clone()),
            None => (self.naive.for_gate(self.folder)?, vec![1.0; self.workloads.len()]),
        };
        let timings = match self.race(gate, &incumbent, pairs)? {
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
        pairs: usize,
    ) -> Result<Result<Vec<Comparison>, Outcome>, SearchError> {
        let mut timings = Vec::new();
        for axes in &self.workloads {
            match self.judge.rank(gate, incumbent, axes, pairs)? {
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
