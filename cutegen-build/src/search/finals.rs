//! The finals: the whole gate for the finalists of a search, timed again in new processes and on new inputs, and which
//! of them wins.

use std::path::Path;
use std::time::Instant;

use cutegen_spec::record::{ReferenceOn, incumbent};

use super::compiled::{self, Compiled};
use super::error::SearchError;
use super::judging::Judging;
use crate::evaluate::protocol::Regime;
use crate::evaluate::{Candidate, Comparison, Correctness, Outcome};
use crate::event::{Event, Reporter};
use crate::plan::{Plan, roofline};
use crate::refine::geomean;

/// An incumbent that is slower than this is not timed without pause: three seconds would be a few launches.
const SUSTAINED_US: f64 = 2000.0;

/// What the gate saw of a variant.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    /// What was run and compared.
    pub(super) correctness: Correctness,
    /// Comparisons with the naive kernel, one for each workload.
    pub(super) timings: Vec<Timed>,
    /// Seed of everything drawn.
    pub(super) seed: u64,
    /// Where the reference was computed.
    pub(super) reference: ReferenceOn,
    /// Isolation that the system did not give the runners, nor the compiler where it was compiled here.
    pub(super) not_enforced: Vec<String>,
    /// Outcome of compute-sanitizer, or why it did not run.
    pub(super) sanitizer: String,
    /// How long judging it took, compute-sanitizer apart.
    pub(super) seconds: f64,
}

/// A workload's times against an incumbent.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    /// Position of the workload.
    pub(super) workload: usize,
    /// Who it was timed against.
    pub(super) incumbent: &'static str,
    /// The least time by the device's data sheet, microseconds.
    pub(super) roof_us: Option<f64>,
    /// In bursts of at most 50 ms: what decides.
    pub(super) burst: Comparison,
    /// Without pause for three seconds.
    pub(super) sustained: Option<Comparison>,
}

impl Judged {
    pub(super) fn speedup(&self) -> f64 {
        geomean(&self.timings.iter().map(|t| t.burst.speedup).collect::<Vec<_>>())
    }
}

/// What a search found: variants in dispatch order, the naive kernel last; without evidence where nothing judged it.
pub(super) struct Found {
    pub(super) variants: Vec<(Compiled, Option<Judged>)>,
}

impl Found {
    /// Name of the first variant and the geometric mean of its speed-ups over the naive kernel.
    pub(super) fn headline(&self) -> (String, f64) {
        let Some((first, judged)) = self.variants.first() else { return (String::new(), 1.0) };
        (first.candidate.name.clone(), judged.as_ref().map_or(1.0, Judged::speedup))
    }
}

/// The finals of one search.
pub(super) struct Finals<'a> {
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a Path,
    pub(super) judge: &'a mut Judging,
    pub(super) workloads: &'a [Vec<i64>],
}

impl Finals<'_> {
    /// The whole gate for the naive kernel and for the finalists, best first; the fastest that passes is the answer.
    pub(super) fn choose(
        &mut self,
        naive: &Compiled,
        names: &[String],
        compiled: &[Compiled],
        events: &mut dyn Reporter,
    ) -> Result<Found, SearchError> {
        let naive_gate = naive.for_gate(self.folder)?;
        let ours = |outcome: Outcome| SearchError::Ours {
            kernel: self.plan.title(),
            what: "naive kernel",
            detail: outcome.to_string(),
        };
        let judged = self.judge_one(naive, None)?.map_err(ours)?;
        if !judged.not_enforced.is_empty() {
            events.report(&Event::NotEnforced { what: judged.not_enforced.clone() });
        }
        let mut best: Option<(Compiled, Judged)> = None;
        for finalist in names.iter().filter_map(|name| compiled.iter().find(|c| c.candidate.name == *name)) {
            let found = self.judge_one(finalist, Some(&naive_gate))?;
            let told = match &found {
                Ok(found) => format!("passed, {:.2}x naive", found.speedup()),
                Err(outcome) => outcome.to_string(),
            };
            let (kernel, candidate) = (self.plan.title(), finalist.candidate.name.clone());
            events.report(&Event::Judged { kernel, candidate, outcome: told });
            let Ok(found) = found else { continue };
            let faster = best.as_ref().is_none_or(|(_, other)| found.speedup() > other.speedup());
            if faster && self.wins(&found.timings) {
                best = Some((finalist.clone(), found));
            }
        }
        let best = best.map(|(compiled, judged)| (compiled, Some(judged)));
        Ok(Found { variants: best.into_iter().chain([(naive.clone(), Some(judged))]).collect() })
    }

    /// The whole gate for a finalist with the naive kernel behind it, as the runtime would dispatch them; or for the
    /// naive kernel alone, which is timed against nothing.
    fn judge_one(
        &mut self,
        finalist: &Compiled,
        naive: Option<&Candidate>,
    ) -> Result<Result<Judged, Outcome>, SearchError> {
        let started = Instant::now();
        let gate = finalist.for_gate(self.folder)?;
        let list: Vec<Candidate> = [&gate].into_iter().chain(naive).cloned().collect();
        let correctness = match self.judge.full(&list)? {
            Outcome::Passed { correctness, .. } => correctness,
            outcome @ (Outcome::Incorrect(_)
            | Outcome::CompileFailed(_)
            | Outcome::Blocked(_)
            | Outcome::Crashed(_)
            | Outcome::TimedOut(_)) => return Ok(Err(outcome)),
        };
        let mut timings = Vec::new();
        if let Some(naive) = naive {
            for workload in 0..self.workloads.len() {
                match self.time(&gate, (incumbent::NAIVE, naive), workload)? {
                    Ok(timed) => timings.push(timed),
                    Err(outcome) => return Ok(Err(outcome)),
                }
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let compiler = finalist.artifact.confinement.not_enforced();
        let not_enforced = correctness.not_enforced.iter().cloned().chain(compiler).collect();
        let (seed, reference) = (self.judge.seed, self.judge.reference);
        let sanitizer = compiled::sanitize(self.plan, self.judge, &gate)?;
        Ok(sanitizer.map(|sanitizer| Judged {
            correctness,
            timings,
            seed,
            reference,
            not_enforced,
            sanitizer,
            seconds,
        }))
    }

    fn time(
        &mut self,
        gate: &Candidate,
        (name, incumbent): (&'static str, &Candidate),
        workload: usize,
    ) -> Result<Result<Timed, Outcome>, SearchError> {
        let axes = &self.workloads[workload];
        let burst = match self.judge.measure(gate, incumbent, axes, Regime::Burst)? {
            Ok(burst) => burst,
            Err(outcome) => return Ok(Err(outcome)),
        };
        let roof_us = roofline::floor(self.plan).map(|floor| floor(axes));
        let timed = |sustained| Timed { workload, incumbent: name, roof_us, burst: burst.clone(), sustained };
        if self.plan.target.is_host() || burst.incumbent_us > SUSTAINED_US {
            return Ok(Ok(timed(None)));
        }
        let sustained = self.judge.measure(gate, incumbent, axes, Regime::Sustained)?;
        Ok(sustained.map(|sustained| timed(Some(sustained))))
    }

    /// A win needs the lower ends of the intervals, together, to clear the spec's margin.
    fn wins(&self, timings: &[Timed]) -> bool {
        let lower = geomean(&timings.iter().map(|t| t.burst.low).collect::<Vec<_>>());
        lower > self.plan.spec.min_speedup
    }
}
