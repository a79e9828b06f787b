//! One step of a run: a candidate of its log is compiled, judged in a batch, or put through the whole gate. What was seen
//! becomes a verdict for the log. It must not know why a candidate's turn has come: strategies say that.

mod batch;
mod build;
mod decide;
mod facts;
mod kept;
mod occupancy;
mod profile;
mod right;

pub use right::{BY_STORE, BY_TEMPLATE};

use std::path::Path;

use crate::event::Reporter;
use crate::generate::Candidate;
use crate::plan::Plan;
use crate::run_log::{Log, Sequence, Verdict};
use crate::store::Entry;

use super::Searcher;
use super::error::SearchError;

/// Takes verdicts as they come.
pub(super) type Told<'a> = &'a mut dyn FnMut(Verdict) -> Result<(), SearchError>;

/// A run, and the plan of its kernel.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    /// The plan.
    pub(super) plan: &'a Plan,
    /// What happened so far.
    pub(super) log: &'a Log,
}

impl Searcher {
    /// Compiles a candidate of a log, which needs no device: [`Refused`](crate::run_log::Outcome::Refused) or
    /// [`Compiled`](crate::run_log::Outcome::Compiled).
    ///
    /// # Errors
    /// Ours or the machine's; what is wrong with the candidate is its verdict.
    pub fn build(&self, plan: &Plan, log: &Log, candidate: Sequence) -> Result<Verdict, SearchError> {
        build::verdict(&self.setup, Run { plan, log }, candidate)
    }

    /// Compiles into `kept` what judging on a device needs of ours, so that a device does not wait for a compiler.
    ///
    /// # Errors
    /// Ours or the machine's.
    pub fn prepare(&self, plan: &Plan, kept: &Path) -> Result<(), SearchError> {
        kept::prepare(&self.setup, plan, kept)
    }

    /// Screens candidates of a log, and times those that pass in one batch, beside their parents and the best so far. Each
    /// is profiled then, where this machine has Nsight Compute. What the naive kernel came to on this card is read from `kept`,
    /// or judged once and written there. Events say what is under way, and once why nothing was profiled.
    ///
    /// # Errors
    /// Ours or the machine's.
    pub fn judge(
        &self,
        plan: &Plan,
        log: &Log,
        candidates: &[Sequence],
        kept: &Path,
        told: Told<'_>,
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        self.can_judge_foreign(&plan.target).map_err(SearchError::NoDevice)?;
        batch::judge(self, Run { plan, log }, (candidates, kept), told, events)
    }

    /// Kernels of a log whose last verdict says that they are right, as candidates of a search, each with its speed-up over the naive
    /// kernel. What reads otherwise by now is left out.
    ///
    /// # Errors
    /// The machine's.
    pub fn right(&self, plan: &Plan, log: &Log) -> Result<Vec<(f64, Candidate)>, SearchError> {
        right::of(&self.setup, Run { plan, log })
    }

    /// The whole gate for a candidate of a log, with a fresh seed, against the naive kernel and what is `locked`. What it
    /// accepts is in the user's store then.
    ///
    /// # Errors
    /// Ours or the machine's.
    pub fn decide(
        &self,
        plan: &Plan,
        log: &Log,
        locked: Option<&Entry>,
        candidate: Sequence,
        events: &mut dyn Reporter,
    ) -> Result<Verdict, SearchError> {
        decide::verdict(self, Run { plan, log }, (locked, candidate), events)
    }
}
