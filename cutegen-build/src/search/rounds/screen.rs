//! [`Screen`]: a search that ends where its candidates are ranked. What it would dispatch is then timed once more, against
//! cuBLASLt and the fastest of a sweep. No gate judges anything, and nothing is stored: what it says is for measurements.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cutegen_spec::eligibility::{Eligibility, dispatch};
use cutegen_spec::record::incumbent;
use serde::Serialize;

use super::{Kept, Search, ready};
use crate::compile::{CompileCache, CompileSetup};
use crate::evaluate::wire::protocol::Regime;
use crate::evaluate::{Candidate, Comparison, Correctness, Incumbent, Unmeasured};
use crate::event::{Reporter, Spent};
use crate::generate::template::Templates;
use crate::generate::{self, Answer, CostFeatures, Feedback, Generator, Instruction};
use crate::plan::Plan;
use crate::refine::{self, Trial};
use crate::search::compiled::{self, Compiling};
use crate::search::config::SearchConfig;
use crate::search::error::SearchError;
use crate::search::final_evaluation::{Judged, libraries};
use crate::search::judging::Setting;

/// What is tried and timed.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    /// Products by this instruction alone.
    pub instruction: Option<Instruction>,
    /// Points of the templates in all, those of the search among them, which are drawn evenly where there are more. None: those
    /// of the search.
    pub points: Option<usize>,
}

/// What was tried, and what came of the fastest.
#[derive(Clone, Debug, Serialize)]
pub struct Screened {
    /// Seed of the inputs.
    pub seed: u64,
    /// The device, in words; empty where nothing was timed.
    pub device: String,
    /// Points that the templates have.
    pub space: usize,
    /// Whatever was tried; the search's own first.
    pub tried: Vec<ScreenedPoint>,
    /// Workload by workload, what the search would dispatch.
    pub workloads: Vec<Winner>,
    /// Seconds of all of it.
    pub seconds: f64,
    /// Seconds of compiling, screening and timing.
    pub spent: [f64; 3],
}

/// A candidate.
#[derive(Clone, Debug, Serialize)]
pub struct ScreenedPoint {
    /// Its name.
    pub name: String,
    /// Whether the search tried it; else the sweep did.
    pub searched: bool,
    /// Why it is out; none where it is not.
    pub failed: Option<String>,
    /// By workload the speed-up over the naive kernel, where it was timed.
    pub speedups: Vec<Option<f64>>,
}

/// What a search would dispatch at a workload, timed afresh.
#[derive(Clone, Debug, Serialize)]
pub struct Winner {
    /// Extents of the run-time axes.
    pub workload: BTreeMap<String, i64>,
    /// The candidate.
    pub name: String,
    /// Against the fastest of cuBLASLt's heuristics.
    pub cublaslt: Against,
    /// Against the fastest of the sweep, by its name; none where that is the winner itself, or there was no sweep.
    pub swept: Option<(String, Against)>,
}

/// What it was timed against.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// The times.
    pub times: Option<Comparison>,
    /// Which one that was, or why there are no times.
    pub about: Option<String>,
    /// What it computes otherwise than the spec asks.
    pub differs: Option<String>,
}

/// The templates' points by one instruction.
struct Only {
    templates: Templates,
    instruction: Option<Instruction>,
}

impl Generator for Only {
    fn name(&self) -> &'static str {
        self.templates.name()
    }

    fn propose(&mut self, plan: &Plan, feedback: &Feedback) -> Answer {
        match self.templates.propose(plan, feedback) {
            Answer::Candidates(all) => {
                Answer::of(all.into_iter().filter(|c| is_by(c, self.instruction)).collect())
            }
            other => other,
        }
    }
}

fn is_by(candidate: &generate::Candidate, wanted: Option<Instruction>) -> bool {
    let by = match &candidate.cost_features {
        Some(CostFeatures::Product(features)) => Some(features.instruction),
        Some(CostFeatures::Stream(_)) | None => None,
    };
    wanted.is_none() || by == wanted
}

/// Tries and times a plan's points.
pub(in crate::search) fn run(
    setup: &CompileSetup,
    plan: &Plan,
    what: &Screen,
    started: Instant,
    events: &mut dyn Reporter,
) -> Result<Screened, SearchError> {
    let folder = tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    // its seconds are a measurement: nothing of it was compiled before
    let setup = &CompileSetup { cache: CompileCache::off(), ..setup.clone() };
    let toolchain = compiled::fingerprint(setup, &plan.target)?;
    let naive = generate::naive::candidate(plan, &toolchain);
    let points = Only {
        templates: Templates::new(&toolchain).of_parts(refine::select),
        instruction: what.instruction,
    };
    let mut config = SearchConfig::of(vec![Box::new(points)]);
    let space = config.propose(plan, &Feedback::default(), events);
    let first = config.strategy.first(plan, &space);
    let batch = compiled::batch(setup, plan, &first)?;
    let ready = ready(setup, plan, naive, (folder.path(), &first, Setting::default()))?;
    let judged = Judged::untimed(
        Correctness::default(),
        (ready.judge.seed, ready.judge.reference),
        Duration::default(),
    );
    std::thread::scope(|scope| {
        let ahead = compiled::start(scope, setup, batch.as_ref(), plan, &first);
        let begun = Search::new((setup, plan, folder.path()), ready, (judged, started));
        Search { batch: batch.as_ref(), ..begun }.screened(&mut config, (space, ahead), what, events)
    })
}

impl Search<'_> {
    fn screened(
        mut self,
        config: &mut SearchConfig<'_>,
        (space, ahead): (Vec<generate::Candidate>, Compiling),
        what: &Screen,
        events: &mut dyn Reporter,
    ) -> Result<Screened, SearchError> {
        let (mut history, mut kept) = (Vec::new(), Kept::new());
        self.rank(config, (space.clone(), ahead), (&mut history, &mut kept), events)?;
        let own = history.len();
        let dispatched: Vec<Option<String>> =
            (0..self.workloads.len()).map(|at| self.dispatched(at, &history, &kept)).collect();
        let others = drawn(&space, &history, what.points);
        self.look_at(&others, (&mut history, &mut kept), events)?;
        self.settle(&mut history, &kept, events)?;
        let (mut device, mut workloads) = (String::new(), Vec::new());
        for (at, name) in dispatched.into_iter().enumerate() {
            let fastest = (!others.is_empty()).then(|| fastest(&history, at)).flatten();
            let Some(name) = name else { continue };
            workloads.push(self.winner((at, name), fastest, &kept, &mut device)?);
        }
        let Spent { compiling, screening, timing, .. } = self.spent;
        Ok(Screened {
            seed: self.judge.seed,
            device,
            space: space.len(),
            tried: history.iter().enumerate().map(|(at, trial)| tried(trial, at < own)).collect(),
            workloads,
            seconds: self.started.elapsed().as_secs_f64(),
            spent: [compiling, screening, timing],
        })
    }

    /// The variant of the search's first variant set that is dispatched at a workload.
    fn dispatched(&self, workload: usize, history: &[Trial], kept: &Kept) -> Option<String> {
        let set = self.variant_sets(history, kept).into_iter().next()?.members;
        let claims: Vec<(&Eligibility, &Eligibility)> =
            set.iter().map(|member| (&member.candidate.eligibility, &member.prefer)).collect();
        let at = dispatch(&claims, &self.workloads[workload], &vec![0; self.plan.spec.tensors.len()])?;
        Some(set[at].candidate.name.clone())
    }

    /// The winner timed against what there is.
    fn winner(
        &mut self,
        (workload, name): (usize, String),
        fastest: Option<String>,
        kept: &Kept,
        device: &mut String,
    ) -> Result<Winner, SearchError> {
        let axes = self.workloads[workload].clone();
        let (gate, none) = (&kept[&name].1, || Against { times: None, about: None, differs: None });
        let library = libraries(self.plan, &axes, false).into_iter();
        let mut library = library.filter(|(name, _)| *name == incumbent::CUBLASLT);
        let cublaslt = match library.next() {
            Some((_, library)) => self.against((gate, &library), &axes, device)?,
            None => none(),
        };
        let swept = match fastest.filter(|fastest| *fastest != name) {
            Some(fastest) => {
                let other = Incumbent::Variant(kept[&fastest].1.clone());
                Some((fastest, self.against((gate, &other), &axes, device)?))
            }
            None => None,
        };
        let workload = self.plan.spec.workloads[workload].axes.clone();
        Ok(Winner { workload, name, cublaslt, swept })
    }

    fn against(
        &mut self,
        (gate, other): (&Candidate, &Incumbent),
        axes: &[i64],
        device: &mut String,
    ) -> Result<Against, SearchError> {
        Ok(match self.judge.measure(gate, other, axes, Regime::Burst)? {
            Ok(measured) => {
                *device = measured.device;
                Against { times: Some(measured.comparison), about: measured.about, differs: measured.differs }
            }
            Err(Unmeasured::Candidate(outcome)) => {
                Against { times: None, about: Some(outcome.to_string()), differs: None }
            }
            Err(Unmeasured::Incumbent(reason)) => Against { times: None, about: Some(reason), differs: None },
        })
    }
}

/// Points that were not tried, evenly over the space, so that there are as many in all as are asked for.
fn drawn(
    space: &[generate::Candidate],
    history: &[Trial],
    points: Option<usize>,
) -> Vec<generate::Candidate> {
    let is_tried = |c: &&generate::Candidate| history.iter().any(|trial| trial.candidate.name == c.name);
    let left: Vec<&generate::Candidate> = space.iter().filter(|c| !is_tried(c)).collect();
    let count = points.map_or(0, |points| points.saturating_sub(history.len()).min(left.len()));
    (0..count).map(|at| left[(2 * at + 1) * left.len() / (2 * count)].clone()).collect()
}

/// The fastest at a workload of what was timed for long.
fn fastest(history: &[Trial], workload: usize) -> Option<String> {
    let timed = history.iter().filter(|trial| trial.again);
    let timed = timed.filter_map(|trial| Some((trial.at(workload)?, trial)));
    timed.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, trial)| trial.candidate.name.clone())
}

fn tried(trial: &Trial, searched: bool) -> ScreenedPoint {
    let failed = (!trial.passed()).then(|| trial.outcome.to_string());
    let (name, speedups) = (trial.candidate.name.clone(), trial.speedups.clone());
    ScreenedPoint { name, searched, failed, speedups }
}
