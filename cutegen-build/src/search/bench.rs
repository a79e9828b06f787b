//! Bench: what is locked, timed once more against its incumbents under the gate's protocol, by a judge process on fresh
//! inputs. Judges nothing and writes no store.

use std::collections::{BTreeMap, BTreeSet};

use cutegen_spec::record::{Kind, Timing, incumbent};

use super::error::SearchError;
use super::judging::Judging;
use super::launch::naive;
use super::verify::{candidates, folder};
use super::{entry, final_evaluation};
use crate::compile::CompileSetup;
use crate::evaluate::wire::protocol::Regime;
use crate::evaluate::{Candidate, Incumbent, Unmeasured};
use crate::event::{Event, Reporter};
use crate::plan::{Plan, roofline};
use crate::store::{self, Entry};

/// Bases of tensors as allocators align them.
const ALIGNED: u64 = 256;

/// What is to be timed.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Extents of the run-time axes, by name.
    pub workloads: Vec<BTreeMap<String, i64>>,
    /// Whether PyTorch is an incumbent, where a spec names an expression of it.
    pub peers: bool,
    /// These incumbents alone, by the names that records have; all where there are none.
    pub only: BTreeSet<String>,
    /// Whether devices are also timed for three seconds without pause.
    pub sustained: bool,
}

impl Bench {
    /// Whether it is timed against this one. The naive kernel against itself goes by the naive kernel's name.
    fn wants(&self, name: &str) -> bool {
        let name = if name == incumbent::ITSELF { incumbent::NAIVE } else { name };
        self.only.is_empty() || self.only.contains(name)
    }
}

/// What one entry's timings gave.
#[derive(Clone, Debug)]
pub struct Benched {
    /// Seed of the inputs.
    pub seed: u64,
    /// The device, in words; empty where nothing was timed.
    pub device: String,
    /// Times, workload by workload.
    pub times: Vec<Times>,
    /// Incumbents that it was not timed against, with the reason.
    pub not_timed: Vec<String>,
    /// Why the card's state was not read, where there is a card.
    pub not_watched: Option<String>,
    /// Why the locked kernel itself could not be timed at a workload.
    pub failed: Vec<String>,
}

/// A workload's times against one incumbent.
#[derive(Clone, Debug)]
pub struct Times {
    /// The variant that the runtime would dispatch there.
    pub variant: String,
    /// The figures.
    pub timing: Timing,
    /// Of each pair of blocks the kernel's and the incumbent's microseconds a launch, in bursts.
    pub pairs: Vec<[f64; 2]>,
    /// The same without pause.
    pub sustained_pairs: Vec<[f64; 2]>,
}

/// Times the entry at every workload.
pub(super) fn run(
    setup: &CompileSetup,
    plan: &Plan,
    entry: &Entry,
    what: &Bench,
    events: &mut dyn Reporter,
) -> Result<Benched, SearchError> {
    let (untrusted, trusted) = (folder()?, folder()?);
    let all = candidates(plan, entry, untrusted.path())?;
    let naive = naive(plan, &all)?;
    let mut judge = Judging::beside(setup, plan, trusted.path(), Vec::new(), naive.clone())?;
    if what.peers && final_evaluation::has_peer(plan) {
        judge.expect_peer()?;
    }
    let (seed, not_watched) = (judge.seed, judge.not_watched.clone());
    let (times, not_timed, failed) = (Vec::new(), Vec::new(), Vec::new());
    let device = String::new();
    let benched = Benched { seed, device, times, not_timed, not_watched, failed };
    let mut bench = Stand { plan, entry, what, all, naive, judge, benched };
    for workload in &what.workloads {
        bench.workload(workload, events)?;
    }
    Ok(bench.benched)
}

/// What a workload is timed with.
struct Stand<'a> {
    plan: &'a Plan,
    entry: &'a Entry,
    what: &'a Bench,
    all: Vec<Candidate>,
    naive: Candidate,
    judge: Judging,
    benched: Benched,
}

impl Stand<'_> {
    fn workload(
        &mut self,
        workload: &BTreeMap<String, i64>,
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let at = store::trust::extents(workload);
        let axes = match self.plan.spec.bind(workload) {
            Ok(axes) => axes,
            Err(reason) => {
                self.benched.failed.push(format!("at {at}: {reason}"));
                return Ok(());
            }
        };
        let addresses = vec![ALIGNED; self.plan.spec.tensors.len()];
        let chosen = self.entry.record.choose(&axes, &addresses).unwrap_or(self.all.len() - 1);
        let incumbents = self.incumbents(chosen, &axes);
        self.note_absent(&incumbents);
        for (name, against) in incumbents {
            let text = format!("{}: timing {at} against {name}", self.plan.title());
            events.report(&Event::Note { text });
            match self.one(chosen, (name, &against), (workload, &axes))? {
                Ok(times) => self.benched.times.push(times),
                Err(Unmeasured::Candidate(outcome)) => {
                    self.benched.failed.push(format!("at {at}: {outcome}"));
                    return Ok(());
                }
                Err(Unmeasured::Incumbent(reason)) => {
                    self.note_not_timed(format!("{name}: {reason}"));
                }
            }
        }
        Ok(())
    }

    /// The naive kernel, or where that is what runs, itself: then a ratio is what the clock makes of nothing.
    fn incumbents(&self, chosen: usize, axes: &[i64]) -> Vec<(&'static str, Incumbent)> {
        let is_naive = self.entry.record.variants[chosen].kind == Kind::Naive;
        let first = if is_naive { incumbent::ITSELF } else { incumbent::NAIVE };
        let mut all = vec![(first, Incumbent::Variant(self.naive.clone()))];
        all.extend(final_evaluation::libraries(self.plan, axes, self.what.peers));
        all.retain(|(name, _)| self.what.wants(name));
        all
    }

    /// Says of those that were asked for by name why they are not among these.
    fn note_absent(&mut self, incumbents: &[(&'static str, Incumbent)]) {
        let is_there =
            |name: &str| name == incumbent::NAIVE || incumbents.iter().any(|(other, _)| *other == name);
        for name in self.what.only.iter().filter(|name| !is_there(name)) {
            self.note_not_timed(format!("{name}: {}", why_absent(self.plan, name)));
        }
    }

    fn note_not_timed(&mut self, told: String) {
        if !self.benched.not_timed.contains(&told) {
            self.benched.not_timed.push(told);
        }
    }

    fn one(
        &mut self,
        chosen: usize,
        (name, against): (&'static str, &Incumbent),
        (workload, axes): (&BTreeMap<String, i64>, &[i64]),
    ) -> Result<Result<Times, Unmeasured>, SearchError> {
        let candidate = &self.all[chosen];
        let burst = match self.judge.measure(candidate, against, axes, Regime::Burst)? {
            Ok(burst) => burst,
            Err(unmeasured) => return Ok(Err(unmeasured)),
        };
        self.benched.device.clone_from(&burst.device);
        let roof = roofline::micros(self.plan, axes);
        let (pairs, mut sustained_pairs) = (burst.comparison.pairs.clone(), Vec::new());
        let lasts = self.what.sustained && final_evaluation::lasts(self.plan, against, &burst.comparison);
        let mut timed = final_evaluation::timed((name, 0), roof, burst);
        if lasts {
            match self.judge.measure(candidate, against, axes, Regime::Sustained)? {
                Ok(sustained) => {
                    sustained_pairs.clone_from(&sustained.comparison.pairs);
                    timed.lasted(sustained);
                }
                Err(unmeasured) => return Ok(Err(unmeasured)),
            }
        }
        let variant = self.entry.record.variants[chosen].name.clone();
        Ok(Ok(Times { variant, timing: entry::timing(workload.clone(), &timed), pairs, sustained_pairs }))
    }
}

/// Why a kernel has no such incumbent.
fn why_absent(plan: &Plan, name: &str) -> &'static str {
    match name {
        _ if plan.target.is_host() => "it is timed on devices only",
        incumbent::CUBLASLT => "the kernel is not one plain matrix product",
        _ => "the spec names no expression for it: peers = { torch = \"...\" }",
    }
}
