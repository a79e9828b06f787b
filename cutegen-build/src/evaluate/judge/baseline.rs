//! The [`Baseline`]: a kernel that the session trusts, the naive one. It is launched once on each case, in a runner of its
//! own, and what is kept are sums of its errors. It must not know how cases are made.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::backend::MemoryBackend;
use super::candidate::{Candidate, Loadable};
use super::case::Case;
use super::checker::Checker;
use super::checks::Before;
use super::rms::{Moments, Rule, apart, untrusted};
use super::runner_slot::Halt;
use crate::evaluate::error::Error;
use crate::evaluate::settings::Baseline;
use crate::evaluate::wire::arena::Alignment;
use crate::evaluate::wire::protocol::Backend;
use crate::outcome::{Apart, Check, Distribution, Fault, Outcome, Place};

/// What a session knows of its baseline.
#[derive(Default)]
pub(in crate::evaluate) struct Known {
    loaded: Option<Loadable>,
    errors: BTreeMap<(Vec<i64>, Distribution), Rc<Vec<Moments>>>,
}

impl<D: MemoryBackend> Checker<D> {
    /// Root mean squares of errors stay near the baseline's.
    pub(in crate::evaluate) fn near_baseline(
        &mut self,
        case: &Case<D::Held>,
        left: &D::Left,
    ) -> Result<(), Halt> {
        // there a launch of the baseline would take longest, and it is judged at smaller shapes
        let is_on = self.settings.checks.has(Check::Rms) && !case.is_sampled;
        let Some(baseline) = self.settings.baseline.clone().filter(|_| is_on) else {
            return Ok(());
        };
        let errors = self.errors_of(&baseline, case)?;
        self.trusted(case, &errors)?;
        let found = self.moments(case, left, baseline.only_sums)?;
        for (t, (found, baseline)) in found.iter().zip(errors.iter()).enumerate() {
            if let Some(apart) = apart(found, baseline) {
                return Err(self.far_apart(case, t, apart));
            }
        }
        Ok(())
    }

    /// The baseline's own errors are small wherever bounds tell. Those of the naive kernel are judged so before any candidate
    /// is, as a candidate's.
    fn trusted(&self, case: &Case<D::Held>, errors: &[Moments]) -> Result<(), Halt> {
        for (t, errors) in errors.iter().enumerate().filter(|(t, _)| !case.loose_bounds.contains(t)) {
            if let Some(apart) = untrusted(self.spec.tensors[t].dtype, errors) {
                return Err(self.far_apart(case, t, apart));
            }
        }
        Ok(())
    }

    fn far_apart(&self, case: &Case<D::Held>, t: usize, apart: Apart) -> Halt {
        let (axes, distribution) = (case.axes.clone(), case.distribution);
        let tensor = self.spec.tensors[t].name.clone();
        let place = Place { axes, distribution, tensor, index: Vec::new() };
        Outcome::Incorrect(Fault::Rms { place, apart }).into()
    }

    fn errors_of(&mut self, baseline: &Baseline, case: &Case<D::Held>) -> Result<Rc<Vec<Moments>>, Halt> {
        let key = (case.axes.clone(), case.distribution);
        if let Some(known) = self.baseline.errors.get(&key) {
            return Ok(Rc::clone(known));
        }
        let left = self.launch_baseline(&baseline.candidate, case).map_err(ours)?;
        let errors = Rc::new(self.moments(case, &left, baseline.only_sums)?);
        self.baseline.errors.insert(key, Rc::clone(&errors));
        Ok(errors)
    }

    /// A host candidate that ran before could reach into the baseline's memory: neither sees the other's runner.
    fn launch_baseline(&mut self, candidate: &Candidate, case: &Case<D::Held>) -> Result<D::Left, Halt> {
        let shares = self.settings.workers.backend == Backend::Cuda;
        if !shares {
            self.runner.replace_worker();
        }
        let loaded = match self.baseline.loaded.take() {
            Some(loaded) => loaded,
            None => self.runner.load(std::slice::from_ref(candidate))?.remove(0),
        };
        let variants = [loaded];
        let left = match self.dispatch(&variants, &case.axes, Alignment::Allocator)? {
            Some((variant, image)) => self.launch(&variant.into(), case, &image, Before::Loaded)?,
            None => return Err(Outcome::Blocked("is not eligible everywhere".to_owned()).into()),
        };
        let [loaded] = variants;
        self.baseline.loaded = Some(loaded);
        if !shares {
            self.runner.replace_worker();
        }
        Ok(left)
    }

    fn moments(&self, case: &Case<D::Held>, left: &D::Left, only_sums: bool) -> Result<Vec<Moments>, Halt> {
        let accumulate = self.spec.precision.accumulate;
        let mut all = vec![Moments::default(); self.spec.tensors.len()];
        for t in self.results().filter(|t| self.spec.tensors[*t].dtype.is_float()) {
            let rule = Rule { dtype: self.spec.tensors[t].dtype, accumulate, only_sums };
            all[t] = self.cases.backend.moments(&self.output(case, t), left, rule)?;
        }
        Ok(all)
    }
}

/// The baseline is ours: what becomes of it is no outcome of a candidate.
fn ours(halt: Halt) -> Halt {
    match halt {
        Halt::Outcome(outcome) => Halt::Error(Error::Worker(format!("the baseline {outcome}"))),
        error @ Halt::Error(_) => error,
    }
}
