//! The rounds of one search: propose, select, compile, screen, time in batches, halve, rank; the finalists go on to
//! `final_evaluation`. While a device times the faster half for long, the cores compile what a first look says comes next.

mod batches;
pub(super) mod screen;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use super::compiled::{self, Attempt, Compiled, Compiling};
use super::config::SearchConfig;
use super::error::SearchError;
use super::final_evaluation::{FinalEvaluation, Found, IncumbentSet, Judged, Locked, Reserve, VariantSet};
use super::judging::{Judging, Oracle, Setting};
use super::{naive, progress, spent, verify};
use crate::compile::{Batch, CompileSetup};
use crate::evaluate::Candidate;
use crate::event::{Event, Phase, Reporter, Spent};
use crate::generate::{self, Feedback};
use crate::plan::Plan;
use crate::refine::{self, Choice, Member, Trial};
use crate::store::Entry;

/// Rounds of a first look.
const FEW: usize = 8;

/// What compiled, by its candidate's name: its bytes, and how the gate takes it.
type Kept = BTreeMap<String, (Compiled, Candidate)>;

/// What a search comes to.
pub(super) struct Searched {
    pub(super) found: Found,
    /// Every candidate that was tried.
    pub(super) history: Vec<Trial>,
}

/// One search in progress.
struct Search<'a> {
    setup: &'a CompileSetup,
    plan: &'a Plan,
    folder: &'a Path,
    judge: Judging,
    /// With how the gate takes it.
    naive: (Compiled, Candidate),
    /// What the gate saw of it.
    judged: Judged,
    /// By workload, the first candidate that passed, with its speed-up over the naive kernel. Later ones race it.
    batch_references: Vec<Option<(Candidate, f64)>>,
    /// What compiles candidates of a round; finalists are compiled again, each alone.
    batch: Option<&'a Batch>,
    workloads: Vec<Vec<i64>>,
    /// Variants of what is locked, in dispatch order.
    locked: Vec<Locked>,
    /// Its variant set.
    incumbents: Option<IncumbentSet>,
    /// Whether finalists are timed against PyTorch.
    peers: bool,
    choice: Choice,
    /// Trials that were timed for as long as it takes, or need not be.
    settled: usize,
    started: Instant,
    spent: Spent,
}

/// Runs a whole search. A winner must also beat what `locked` dispatches.
pub(super) fn run(
    setup: &CompileSetup,
    plan: &Plan,
    locked: Option<&Entry>,
    config: &mut SearchConfig<'_>,
    started: Instant,
    events: &mut dyn Reporter,
) -> Result<Searched, SearchError> {
    let folder = tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let setup = &CompileSetup { cache: setup.cache.counted(), ..setup.clone() };
    let toolchain = compiled::fingerprint(setup, &plan.target)?;
    let naive = generate::naive::candidate(plan, &toolchain);
    let space = config.propose(plan, &Feedback::default(), events);
    let first = config.budget.left(config.strategy.first(plan, &space), (0, started.elapsed()));
    // reads its headers meanwhile
    let batch = compiled::batch(setup, plan, &first)?;
    let locked_folder =
        tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let incumbents = locked.map(IncumbentSet::of);
    let locked = locked.map(|entry| verify::locked(plan, entry, locked_folder.path())).transpose()?;
    events.report(&Event::SearchStarted {
        kernel: plan.title(),
        key: plan.key.to_string(),
        candidates: first.len(),
    });
    // a wrong naive kernel costs no candidate's compilation
    let setting = Setting { seed: config.seed, devices: config.devices.clone() };
    let mut ready = ready(setup, plan, naive, (folder.path(), &first, setting))?;
    let judged = naive::judge(plan, &mut ready.judge, (&ready.naive.0, &ready.naive.1), events)?;
    std::thread::scope(|scope| {
        let ahead = compiled::start(scope, setup, batch.as_ref(), plan, &first);
        let begun = Search::new((setup, plan, folder.path()), ready, (judged, started));
        let (locked, peers, choice) = (locked.unwrap_or_default(), config.peers, config.choice);
        let search = Search { batch: batch.as_ref(), locked, incumbents, peers, choice, ..begun };
        search.rounds(config, (space, ahead), events)
    })
}

/// What a search begins with.
struct Ready {
    judge: Judging,
    /// With how the gate takes it.
    naive: (Compiled, Candidate),
}

/// A judge that knows the tiles of these candidates, and the naive kernel with how the gate takes it. What results are held
/// against is compiled beside it.
fn ready(
    setup: &CompileSetup,
    plan: &Plan,
    naive: generate::Candidate,
    (folder, first, setting): (&Path, &[generate::Candidate], Setting),
) -> Result<Ready, SearchError> {
    let (naive, oracle) = std::thread::scope(|scope| {
        let oracle = scope.spawn(|| Oracle::compile(setup, plan, folder));
        (compiled::must_compile(setup, plan, naive), oracle.join())
    });
    let panicked = |_| Err(SearchError::Judge("its compiler panicked".to_owned()));
    let (naive, oracle) = (naive?, oracle.unwrap_or_else(panicked)?);
    let tiles = first.iter().flat_map(|c| &c.tiles).map(|(_, extent)| *extent).collect();
    let gate = naive.for_gate(plan, folder)?;
    let judge = Judging::with(setup, plan, (oracle, setting), tiles, gate.clone())?;
    Ok(Ready { judge, naive: (naive, gate) })
}

impl<'a> Search<'a> {
    /// Nothing tried, nothing locked.
    fn new(
        (setup, plan, folder): (&'a CompileSetup, &'a Plan, &'a Path),
        Ready { judge, naive }: Ready,
        (judged, started): (Judged, Instant),
    ) -> Self {
        let workloads: Vec<Vec<i64>> =
            plan.spec.workloads.iter().filter_map(|w| plan.spec.bind(&w.axes).ok()).collect();
        Search {
            setup,
            plan,
            folder,
            judge,
            naive,
            judged,
            batch_references: vec![None; workloads.len()],
            batch: None,
            workloads,
            locked: Vec::new(),
            incumbents: None,
            peers: false,
            choice: Choice::default(),
            settled: 0,
            started,
            spent: Spent::default(),
        }
    }
}

impl Search<'_> {
    fn rounds(
        mut self,
        config: &mut SearchConfig<'_>,
        begun: (Vec<generate::Candidate>, Compiling),
        events: &mut dyn Reporter,
    ) -> Result<Searched, SearchError> {
        let (mut history, mut kept) = (Vec::new(), Kept::new());
        self.rank(config, begun, (&mut history, &mut kept), events)?;
        let (kernel, seconds) =
            (self.plan.title(), self.started.elapsed().as_secs_f64() - self.judged.seconds);
        let (candidates, spent, compiles) = (history.len(), self.spent, self.setup.cache.counts());
        events.report(&Event::Ranked { kernel, candidates, seconds, spent, compiles });
        if let Some(failures) = refine::failures(&history) {
            events.report(&Event::Note { text: format!("{}: {failures}", self.plan.title()) });
        }
        let sets = self.variant_sets(&history, &kept);
        let reserve = self.reserve(&history, &kept, &sets);
        let incumbents = self.incumbents.take().map(|locked| {
            let behind = refine::anywhere(&history, &[]).and_then(|member| kept.get(&member.name));
            let behind = behind.map(|(compiled, _)| compiled.candidate.clone());
            let behind = behind.filter(|behind| !locked.has_no_use_for(behind));
            (locked, behind)
        });
        let mut final_evaluation = FinalEvaluation {
            setup: self.setup,
            plan: self.plan,
            folder: self.folder,
            judge: &mut self.judge,
            workloads: &self.workloads,
            locked: &self.locked,
            incumbents,
            peers: self.peers,
            sets: sets.len(),
            reserve,
            finals: Vec::new(),
        };
        let found = final_evaluation.choose((&self.naive.0, self.judged), &sets, events)?;
        Ok(Searched { found, history })
    }

    /// Tries what the strategy says until nothing is left, and times what is worth it for as long as it takes.
    fn rank(
        &mut self,
        config: &mut SearchConfig<'_>,
        (mut space, ahead): (Vec<generate::Candidate>, Compiling),
        (history, kept): (&mut Vec<Trial>, &mut Kept),
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let of = ahead.of;
        self.look(ahead, of, (history, kept), events)?;
        while !space.is_empty() && self.has_left(config, history) {
            self.look_around((config, &space), (history, kept), events)?;
            self.settle(history, kept, events)?;
            space = config.propose(self.plan, &refine::feedback(history), events);
            let first = config.strategy.first(self.plan, &space);
            let first = config.budget.left(first, (history.len(), self.started.elapsed()));
            self.look_at(&first, (history, kept), events)?;
        }
        self.settle(history, kept, events)
    }

    /// Whether the budget has anything left.
    fn has_left(&self, config: &SearchConfig<'_>, history: &[Trial]) -> bool {
        history.len() < config.budget.candidates && self.started.elapsed() < config.budget.time
    }

    /// A look at candidates whose compilation has not begun.
    fn look_at(
        &mut self,
        proposals: &[generate::Candidate],
        known: (&mut Vec<Trial>, &mut Kept),
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let (setup, plan, batch) = (self.setup, self.plan, self.batch);
        std::thread::scope(|scope| {
            let started = compiled::start(scope, setup, batch, plan, proposals);
            self.look(started, proposals.len(), known, events)
        })
    }

    /// Settles what was looked at, and looks at what lies around the fastest. What should lie there by the first look is
    /// compiled meanwhile, but on the host, where that would be in the way of what is timed.
    fn look_around(
        &mut self,
        (config, space): (&SearchConfig<'_>, &[generate::Candidate]),
        (history, kept): (&mut Vec<Trial>, &mut Kept),
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let (setup, plan, batch, started) = (self.setup, self.plan, self.batch, self.started);
        let next = |history: &[Trial]| {
            let next = config.strategy.next(plan, space, history);
            config.budget.left(next, (history.len(), started.elapsed()))
        };
        let expected = if plan.target.is_host() { Vec::new() } else { next(history) };
        std::thread::scope(|scope| {
            let ahead = compiled::start(scope, setup, batch, plan, &expected);
            self.settle(history, kept, events)?;
            let near = next(history);
            let (expected, others) = parted(near, &expected);
            std::thread::scope(|inner| {
                let more = compiled::start(inner, setup, batch, plan, &others);
                let still = ahead.filter(|attempt| is_of(attempt, &expected));
                self.look(still.chain(more), expected.len() + others.len(), (history, kept), events)
            })
        })
    }

    /// Screens each of so many candidates that compiles, and has a first look at the speed of those that pass.
    fn look(
        &mut self,
        mut proposals: impl Iterator<Item = Result<Attempt, SearchError>>,
        of: usize,
        (history, kept): (&mut Vec<Trial>, &mut Kept),
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let before = history.len();
        loop {
            let done = history.len() - before;
            progress(self.plan, Phase::Compiling, (done, of), events);
            let Some(attempt) = spent(&mut self.spent.compiling, || proposals.next()) else { break };
            let (candidate, outcome) = match attempt? {
                Err(failed) => failed,
                Ok(compiled) => {
                    let (candidate, gate) =
                        (compiled.candidate.clone(), compiled.for_gate(self.plan, self.folder)?);
                    progress(self.plan, Phase::Screening, (done, of), events);
                    let outcome = spent(&mut self.spent.screening, || self.judge.screen(&gate))?;
                    kept.insert(candidate.name.clone(), (compiled, gate));
                    (candidate, outcome)
                }
            };
            history.push(Trial::new(candidate, outcome, self.workloads.len()));
        }
        let trials = &mut history[before..];
        let all: Vec<usize> = (0..trials.len()).collect();
        self.time(trials, &all, (kept, FEW), events)?;
        for (number, trial) in (before + 1..).zip(trials.iter()) {
            events.report(&tried(self.plan, trial, number, before + of));
        }
        Ok(())
    }

    /// Times the faster half of what was looked at, for as long as it takes.
    fn settle(
        &mut self,
        history: &mut [Trial],
        kept: &Kept,
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let trials = &mut history[self.settled..];
        let faster: Vec<usize> = refine::faster(trials).into_iter().collect();
        self.time(trials, &faster, (kept, usize::MAX), events)?;
        faster.into_iter().for_each(|at| trials[at].again = true);
        self.settled = history.len();
        Ok(())
    }

    /// What is not among these, best first, each alone.
    fn reserve(&self, history: &[Trial], kept: &Kept, sets: &[VariantSet]) -> Reserve<VariantSet> {
        let leads = |name: &str| sets.iter().any(|set| set.members[0].candidate.name == name);
        let others = refine::ranked(history).into_iter().filter(|trial| !leads(&trial.candidate.name));
        let alone = others.filter_map(|trial| {
            let (compiled, _) = kept.get(&trial.candidate.name)?;
            let set = VariantSet { members: vec![compiled.clone()], ranked: trial.speedup().unwrap_or(1.0) };
            Some((refine::kind(&trial.candidate), set))
        });
        Reserve::of(alone)
    }

    /// What may go to the final evaluation, best first: those that share an axis, where that gains, and the best alone. Behind
    /// each stands one that is eligible anywhere.
    fn variant_sets(&self, history: &[Trial], kept: &Kept) -> Vec<VariantSet> {
        let of = |member: &Member| {
            let (compiled, _) = kept.get(&member.name)?;
            Some(Compiled { prefer: member.prefer.clone(), ..compiled.clone() })
        };
        let alone =
            |trial: &&Trial| Member { name: trial.candidate.name.clone(), prefer: Default::default() };
        let first = refine::variant_set(&self.plan.spec, &self.workloads, history, self.choice.worth);
        let first_ranked = refine::speedup(&self.workloads, history, &first);
        let ranked = refine::ranked(history);
        let others = ranked.iter().map(|trial| {
            let mut members = vec![alone(trial)];
            members.extend(refine::anywhere(history, &members));
            (members, trial.speedup().unwrap_or(1.0))
        });
        let others =
            others.filter(|(members, _)| *members != first).take(self.choice.finalists.saturating_sub(1));
        let sets = [(first.clone(), first_ranked)].into_iter().chain(others);
        let sets =
            sets.map(|(set, ranked)| VariantSet { members: set.iter().filter_map(of).collect(), ranked });
        sets.filter(|set| !set.members.is_empty()).collect()
    }
}

/// Those of `near` that were expected, and the others.
fn parted(
    near: Vec<generate::Candidate>,
    expected: &[generate::Candidate],
) -> (Vec<generate::Candidate>, Vec<generate::Candidate>) {
    near.into_iter().partition(|c| expected.iter().any(|other| other.name == c.name))
}

/// Whether an attempt is at one of these; an error is of all.
fn is_of(attempt: &Result<Attempt, SearchError>, candidates: &[generate::Candidate]) -> bool {
    let name = match attempt {
        Ok(Ok(compiled)) => &compiled.candidate.name,
        Ok(Err((candidate, _))) => &candidate.name,
        Err(_) => return true,
    };
    candidates.iter().any(|candidate| candidate.name == *name)
}

fn tried(plan: &Plan, trial: &Trial, number: usize, of: usize) -> Event {
    Event::Tried {
        kernel: plan.title(),
        candidate: trial.candidate.name.clone(),
        outcome: trial.outcome.to_string(),
        speedup: trial.speedup(),
        number,
        of,
    }
}
