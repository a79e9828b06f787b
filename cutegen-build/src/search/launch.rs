//! Launch: locked variants on tensors that a user brings, behind the same judge and runner processes as in the gate.
//! Judges nothing and writes no store.

use std::path::PathBuf;

use super::error::SearchError;
use super::judging::Judging;
use super::verify::{Verdict, candidates, folder};
use crate::compile::CompileSetup;
use crate::evaluate::wire::protocol::ScalarValue;
use crate::evaluate::{Candidate, Ran, UserLaunch};
use crate::plan::Plan;
use crate::store::Entry;

/// Which locked kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The variant that the runtime would dispatch.
    Dispatched,
    /// The naive kernel.
    Naive,
}

/// What is to be launched, and on what.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Where the tensors lie, see [`user_launch`](crate::evaluate::judge::user_launch).
    pub folder: PathBuf,
    /// Extents of all axes.
    pub axes: Vec<i64>,
    /// Values of all scalars.
    pub scalars: Vec<ScalarValue>,
    /// One launch each.
    pub launches: Vec<Which>,
    /// Whether the f64 reference is computed, and held against every launch.
    pub reference: bool,
}

/// Positions of variants in what comes back are those of the entry.
pub(super) fn run(
    setup: &CompileSetup,
    plan: &Plan,
    entry: &Entry,
    what: &Launch,
) -> Result<Result<Ran, Verdict>, SearchError> {
    let (untrusted, trusted) = (folder()?, folder()?);
    let all = candidates(plan, entry, untrusted.path())?;
    let naive = naive(plan, &all)?;
    let list = |which: &Which| match which {
        Which::Dispatched => all.clone(),
        Which::Naive => vec![naive.clone()],
    };
    let user_launch = UserLaunch {
        folder: what.folder.clone(),
        axes: what.axes.clone(),
        scalars: what.scalars.clone(),
        launches: what.launches.iter().map(list).collect(),
        reference: what.reference,
    };
    let mut judge = Judging::beside(setup, plan, trusted.path(), Vec::new(), naive.clone())?;
    Ok(judge.run(user_launch)?.map(|mut ran| {
        for (launched, which) in ran.launched.iter_mut().zip(&what.launches) {
            if *which == Which::Naive {
                launched.variant = all.len() - 1;
            }
        }
        ran
    }))
}

/// The last variant of an entry.
pub(super) fn naive(plan: &Plan, all: &[Candidate]) -> Result<Candidate, SearchError> {
    let none =
        || SearchError::Ours { kernel: plan.title(), what: "entry", detail: "it has no variants".to_owned() };
    all.last().cloned().ok_or_else(none)
}
