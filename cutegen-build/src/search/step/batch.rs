//! Candidates of a log at a judge: each is screened, and those that pass are timed in one batch beside their parents and the
//! best so far. Ratios of one batch are what a strategy may compare. The right ones are profiled behind that.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::GATE;

use crate::evaluate::{Candidate, Comparison, Outcome as Gate};
use crate::event::{Event, Phase, Reporter};
use crate::plan::{Plan, cost, roofline};
use crate::run_log::{Facts, Judge, Log, Outcome, Place, Resources, Sequence, Speed, Verdict};
use crate::search::Searcher;
use crate::search::error::SearchError;
use crate::search::judging::{Judging, Setting};
use crate::search::{ordered, progress};
use crate::strategy::Strategy;

use super::build::{self, Source};
use super::kept::Kept;
use super::profile::Profiler;
use super::{Run, Told, facts};

/// Rounds of a batch: its intervals are then narrower than the 1 % that a step has to gain.
const ROUNDS: usize = 48;
/// Rounds against the naive kernel, which may be a hundred times slower: they only say by how much.
const OF_NAIVE: usize = 2;

/// A candidate that compiled.
struct Entrant {
    sequence: Sequence,
    gate: Candidate,
    kernels: Vec<Resources>,
    /// Entries of its steps as its own contract names them.
    entries: Vec<String>,
    /// Milliseconds that it alone was screened and profiled for.
    alone: u64,
}

/// Judges candidates in one batch.
pub(super) fn judge(
    searcher: &Searcher,
    run: Run<'_>,
    (candidates, kept): (&[Sequence], &Path),
    told: Told<'_>,
    events: &mut dyn Reporter,
) -> Result<(), SearchError> {
    let began = Instant::now();
    let folder = tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let mut kept = Kept::open(&searcher.setup, run.plan, kept)?;
    let others: Vec<Sequence> =
        beside(run, candidates).into_iter().filter(|other| !candidates.contains(other)).collect();
    let mut entrants = compiled(searcher, run, (candidates, folder.path()), told)?;
    let known = compiled(searcher, run, (&others, folder.path()), &mut |_| Ok(()))?;
    let tiles = entrants.iter().flat_map(|entrant| &entrant.gate.tiles).map(|(_, extent)| *extent).collect();
    let oracle = kept.oracle(run.plan);
    let mut judge =
        Judging::with(&searcher.setup, run.plan, (oracle, Setting::default()), tiles, kept.naive.clone())?;
    kept.judge_naive(run.plan, &mut judge)?;
    let share = millis(began) / (candidates.len().max(1) as u64);
    let batch = batch_name(&judge);
    let mut bench = Bench { run, judge, kept, batch, share, profiler: Profiler::here(run.plan) };
    bench.screen(&mut entrants, told, events)?;
    let began = Instant::now();
    let times = bench.time(&entrants, &known, events)?;
    bench.share += millis(began) / (entrants.len().max(1) as u64);
    entrants.into_iter().zip(times).try_for_each(|(entrant, time)| told(bench.timed(entrant, time)))?;
    if let Some(text) = bench.profiler.note(run.plan) {
        events.report(&Event::Note { text });
    }
    Ok(())
}

/// Right kernels that the candidates are timed beside: the best so far first, then their parents, then points of the same answers
/// that an earlier batch timed.
fn beside(Run { plan, log, .. }: Run<'_>, candidates: &[Sequence]) -> Vec<Sequence> {
    let right: Vec<(Sequence, f64)> =
        log.kernels().filter_map(|(at, _)| Some((at, rated(log, at)?))).collect();
    let fastest = || right.iter().copied().reduce(|best, other| if other.1 > best.1 { other } else { best });
    // what is submitted alone has no strategy that says which is the best
    let best = match Strategy::of(&log.start) {
        Some(strategy) => strategy.best(plan, log),
        None => fastest().map(|(sequence, _)| sequence),
    };
    let is_right = |about: &Sequence| right.iter().any(|(sequence, _)| sequence == about);
    let parents = candidates.iter().filter_map(|candidate| log.asked(*candidate)?.about);
    let answers = candidates.iter().map(|candidate| log.reply(*candidate));
    let points = answers.flat_map(|answer| log.points(answer).map(|(point, _)| point));
    let mut all: Vec<Sequence> = Vec::new();
    for sequence in best.into_iter().chain(parents.chain(points).filter(is_right)) {
        if !all.contains(&sequence) {
            all.push(sequence);
        }
    }
    all
}

/// How fast a kernel is that is right by all that is known.
fn rated(log: &Log, kernel: Sequence) -> Option<f64> {
    let verdicts = log.verdicts().map(|(_, verdict)| verdict).filter(|verdict| verdict.candidate == kernel);
    let last = verdicts.filter(|verdict| verdict.outcome == Outcome::Right).last()?;
    let is_still = log.verdict(kernel).is_some_and(|verdict| verdict.outcome.is_right());
    is_still.then(|| last.facts.over_naive().or_else(|| rate(&last.facts)).unwrap_or(0.0))
}

/// Launches a microsecond, where the naive kernel is too slow to compare with.
fn rate(facts: &Facts) -> Option<f64> {
    facts.speed.first().map(|speed| 1.0 / speed.micros)
}

/// A batch's name: no other has it.
fn batch_name(judge: &Judging) -> String {
    ArtifactDigest::of(&judge.seed.to_le_bytes()).to_string()[..8].to_owned()
}

/// Those that compile, all cores at once; the others are told.
fn compiled(
    searcher: &Searcher,
    run: Run<'_>,
    (sequences, folder): (&[Sequence], &Path),
    told: Told<'_>,
) -> Result<Vec<Entrant>, SearchError> {
    let one = |at: usize| {
        let source = Source::of(&searcher.setup, run, sequences[at])?;
        let contract = source.proposal.contract.clone();
        let compiled = source.compile(&searcher.setup, run.plan)?;
        Ok::<_, SearchError>((contract, compiled))
    };
    let all: Vec<_> = std::thread::scope(|scope| ordered::start(scope, sequences.len(), one).collect());
    let mut entrants = Vec::new();
    for (sequence, compiled) in sequences.iter().zip(all) {
        match compiled? {
            (contract, Ok(compiled)) => entrants.push(Entrant {
                sequence: *sequence,
                gate: compiled.for_gate(run.plan, folder)?,
                kernels: build::kernels(run.plan, &compiled, &contract),
                entries: contract.steps.into_iter().map(|step| step.entry).collect(),
                alone: 0,
            }),
            (_, Err(facts)) => {
                told(Verdict { candidate: *sequence, outcome: Outcome::Refused, facts, judge: None })?;
            }
        }
    }
    Ok(entrants)
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// A judge at work on a batch.
struct Bench<'a> {
    run: Run<'a>,
    judge: Judging,
    kept: Kept,
    batch: String,
    /// Milliseconds of all, for each.
    share: u64,
    profiler: Profiler,
}

/// What timing a candidate gave.
type Time = Result<Vec<Speed>, Box<Gate>>;

/// What timing a candidate at one workload gave.
type Timed = (Sequence, Result<Speed, Box<Gate>>);

impl Bench<'_> {
    fn plan(&self) -> &Plan {
        self.run.plan
    }

    /// Screens each; those that fall are told and taken out.
    fn screen(
        &mut self,
        entrants: &mut Vec<Entrant>,
        told: Told<'_>,
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let all = entrants.len();
        for (done, mut entrant) in std::mem::take(entrants).into_iter().enumerate() {
            progress(self.plan(), Phase::Screening, (done, all), events);
            let began = Instant::now();
            let outcome = self.judge.screen(&entrant.gate)?;
            entrant.alone = millis(began);
            match outcome {
                Gate::Passed { .. } => entrants.push(entrant),
                fallen => told(self.fallen(&entrant, &fallen))?,
            }
        }
        Ok(())
    }

    fn fallen(&self, entrant: &Entrant, outcome: &Gate) -> Verdict {
        let (outcome, facts) = facts::judged(self.plan(), outcome, &entrant.gate.tiles);
        let facts = Facts { kernels: entrant.kernels.clone(), ..facts };
        Verdict { candidate: entrant.sequence, outcome, facts, judge: Some(self.judge(entrant)) }
    }

    fn judge(&self, entrant: &Entrant) -> Judge {
        let held_ms = self.share + entrant.alone;
        Judge {
            card: self.kept.card().to_owned(),
            batch: self.batch.clone(),
            gate: GATE,
            held_ms,
            place: Place::Here,
        }
    }

    fn timed(&mut self, mut entrant: Entrant, time: Time) -> Verdict {
        match time {
            Ok(speed) => {
                let began = Instant::now();
                let profile = self.profiler.facts(&mut self.judge, &entrant.gate, &entrant.entries);
                entrant.alone += millis(began);
                let facts = Facts { kernels: entrant.kernels.clone(), speed, profile, ..Facts::default() };
                let judge = Some(self.judge(&entrant));
                Verdict { candidate: entrant.sequence, outcome: Outcome::Right, facts, judge }
            }
            Err(outcome) => self.fallen(&entrant, &outcome),
        }
    }

    /// Times of each candidate at the workloads that it is eligible for.
    fn time(
        &mut self,
        entrants: &[Entrant],
        known: &[Entrant],
        events: &mut dyn Reporter,
    ) -> Result<Vec<Time>, SearchError> {
        let mut times: Vec<Time> = entrants.iter().map(|_| Ok(Vec::new())).collect();
        if entrants.is_empty() {
            return Ok(times);
        }
        let workloads: Vec<BTreeMap<String, i64>> =
            self.plan().spec.workloads.iter().map(|workload| workload.axes.clone()).collect();
        for (place, workload) in workloads.iter().enumerate() {
            progress(self.plan(), Phase::Timing, (place, workloads.len()), events);
            let Ok(axes) = self.plan().spec.bind(workload) else { continue };
            let all: Vec<&Entrant> = known.iter().chain(entrants).collect();
            for (sequence, time) in self.at(place, &axes, &all)? {
                let Some(own) = entrants.iter().position(|entrant| entrant.sequence == sequence) else {
                    continue;
                };
                match (time, &mut times[own]) {
                    (Ok(speed), Ok(speeds)) => speeds.push(Speed { workload: workload.clone(), ..speed }),
                    (Err(outcome), time @ Ok(_)) => *time = Err(outcome),
                    (_, Err(_)) => {}
                }
            }
        }
        Ok(times)
    }

    /// At one workload, every one that is eligible: the first of them is the reference of the batch.
    fn at(&mut self, place: usize, axes: &[i64], all: &[&Entrant]) -> Result<Vec<Timed>, SearchError> {
        let addresses = vec![0; self.plan().spec.tensors.len()];
        let eligible: Vec<&Entrant> =
            all.iter().copied().filter(|entrant| entrant.gate.eligibility.holds(axes, &addresses)).collect();
        let Some((first, others)) = eligible.split_first() else { return Ok(Vec::new()) };
        // alone, it is timed against itself
        let rivals: Vec<Candidate> = match others {
            [] => vec![first.gate.clone()],
            _ => others.iter().map(|entrant| entrant.gate.clone()).collect(),
        };
        let ranked = self.judge.batch(&first.gate, rivals, axes, ROUNDS)?;
        self.time_naive(place, axes, &first.gate)?;
        Ok(self.speeds((place, axes), (first, others), ranked))
    }

    /// The naive kernel, once on a card.
    fn time_naive(&mut self, place: usize, axes: &[i64], first: &Candidate) -> Result<(), SearchError> {
        if !self.kept.lacks(place) {
            return Ok(());
        }
        let naive = self.kept.naive.clone();
        let timed = self.judge.batch(first, vec![naive], axes, OF_NAIVE)?.into_iter().next();
        self.kept.learn(place, timed.and_then(Result::ok).map(|comparison| comparison.candidate_us))
    }

    /// From ratios over the first to times and ratios over one another.
    fn speeds(
        &self,
        (place, axes): (usize, &[i64]),
        (first, others): (&&Entrant, &[&Entrant]),
        ranked: Vec<Result<Comparison, Gate>>,
    ) -> Vec<Timed> {
        let base =
            ranked.iter().find_map(|timed| timed.as_ref().ok()).map(|comparison| comparison.incumbent_us);
        let Some(base) = base else {
            // none was timed beside the first, which therefore has no time either
            let why = |timed: Result<Comparison, Gate>| timed.err().map(|gate| Err(Box::new(gate)));
            let all = [*first].into_iter().chain(others.iter().copied());
            return all
                .zip(ranked)
                .filter_map(|(entrant, timed)| Some((entrant.sequence, why(timed)?)))
                .collect();
        };
        let mut ratios: Vec<(Sequence, Result<f64, Gate>)> = vec![(first.sequence, Ok(1.0))];
        for (entrant, timed) in others.iter().zip(ranked) {
            ratios.push((entrant.sequence, timed.map(|comparison| comparison.speedup)));
        }
        let right: BTreeMap<Sequence, f64> =
            ratios.iter().filter_map(|(sequence, ratio)| Some((*sequence, *ratio.as_ref().ok()?))).collect();
        let speed = |sequence: Sequence, ratio: f64| {
            let others = right.iter().filter(|(other, _)| **other != sequence);
            let over = others.map(|(other, theirs)| (*other, ratio / theirs)).collect();
            self.speed((place, axes), base / ratio, over)
        };
        ratios
            .into_iter()
            .map(|(sequence, ratio)| (sequence, ratio.map(|ratio| speed(sequence, ratio)).map_err(Box::new)))
            .collect()
    }

    fn speed(&self, (place, axes): (usize, &[i64]), micros: f64, over: BTreeMap<u32, f64>) -> Speed {
        let plan = self.plan();
        let work = cost::cost(&plan.spec, &plan.schedule, axes);
        Speed {
            workload: BTreeMap::new(),
            micros,
            over_naive: self.kept.micros(place).map(|naive| naive / micros),
            over,
            roofline: roofline::micros(plan, axes).map(|roof| roof / micros),
            tb_per_s: Some(work.bytes / micros / 1e6),
            tops_per_s: Some(work.flops / micros / 1e6),
        }
    }
}
