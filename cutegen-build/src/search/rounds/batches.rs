//! Timing of trials in batches, a workload each: against the naive kernel by way of the batch reference candidate.

use super::{Kept, Search};
use crate::evaluate::{Candidate, Outcome};
use crate::event::{Phase, Reporter};
use crate::refine::Trial;
use crate::search::error::SearchError;
use crate::search::{progress, spent};

/// Rounds against the naive kernel, which may be a hundred times slower: they only say by how much.
const OF_NAIVE: usize = 2;

/// What came of timing a trial, by its place.
type Ran = (usize, Result<f64, Outcome>);

impl Search<'_> {
    /// Times those of the trials that pass, at every workload that they claim.
    pub(super) fn time(
        &mut self,
        trials: &mut [Trial],
        which: &[usize],
        (kept, rounds): (&Kept, usize),
        events: &mut dyn Reporter,
    ) -> Result<(), SearchError> {
        let (addresses, workloads) = (vec![0; self.plan.spec.tensors.len()], self.workloads.len());
        for workload in (0..workloads).filter(|_| !which.is_empty()) {
            progress(self.plan, Phase::Timing, (workload, workloads), events);
            let tried = which.iter().filter(|at| trials[**at].passed());
            let gates = tried.filter_map(|at| Some((*at, &kept.get(&trials[*at].candidate.name)?.1)));
            let claims = gates.filter(|(_, g)| g.eligibility.holds(&self.workloads[workload], &addresses));
            let gates = claims.map(|(at, gate)| (at, gate.clone())).collect();
            let mut seconds = 0.0;
            let timed = spent(&mut seconds, || self.batch(workload, gates, rounds))?;
            self.spent.timing += seconds;
            for (at, timed) in timed {
                match timed {
                    Ok(speedup) => trials[at].speedups[workload] = Some(speedup),
                    Err(outcome) => trials[at].fail(outcome),
                }
            }
        }
        Ok(())
    }

    /// Speed-ups over the naive kernel at a workload, by way of the batch reference candidate.
    fn batch(
        &mut self,
        workload: usize,
        mut gates: Vec<(usize, Candidate)>,
        rounds: usize,
    ) -> Result<Vec<Ran>, SearchError> {
        let axes = &self.workloads[workload];
        let mut told = Vec::new();
        while self.batch_references[workload].is_none() && !gates.is_empty() {
            let (at, first) = gates.remove(0);
            for timed in self.judge.batch(&self.naive.1, vec![first.clone()], axes, OF_NAIVE)? {
                if let Ok(comparison) = &timed {
                    self.batch_references[workload] = Some((first.clone(), comparison.speedup));
                }
                told.push((at, timed.map(|comparison| comparison.speedup)));
            }
        }
        let Some((batch_reference, base)) = &self.batch_references[workload] else { return Ok(told) };
        gates.retain(|(at, gate)| {
            if gate.artifact == batch_reference.artifact {
                told.push((*at, Ok(*base)));
            }
            gate.artifact != batch_reference.artifact
        });
        if gates.is_empty() {
            return Ok(told);
        }
        let (places, gates): (Vec<usize>, Vec<Candidate>) = gates.into_iter().unzip();
        let timed = self.judge.batch(batch_reference, gates, axes, rounds)?;
        for (at, timed) in places.into_iter().zip(timed) {
            told.push((at, timed.map(|comparison| comparison.speedup * base)));
        }
        Ok(told)
    }
}
