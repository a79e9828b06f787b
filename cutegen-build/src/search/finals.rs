//! The finals: the whole gate for the finalists of a search, timed again in new processes and on new inputs, and which
//! of them wins.

mod times;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::ReferenceOn;

use super::compiled::{self, Compiled};
use super::error::SearchError;
use super::judging::Judging;
use crate::evaluate::{Candidate, Correctness, Outcome};
use crate::event::{Event, Reporter};
use crate::plan::Plan;
use times::{Clock, Times};
pub(super) use times::{Locked, Timed, has_peer, lasts, libraries, timed};

/// What the gate saw of a variant.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    /// What was run and compared.
    pub(super) correctness: Correctness,
    /// Comparisons, one for each workload and incumbent.
    pub(super) timings: Vec<Timed>,
    /// Incumbents that it was not timed against, with the reason.
    pub(super) not_timed: Vec<String>,
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

impl Judged {
    /// Geometric mean of the speed-ups over the naive kernel.
    pub(super) fn speedup(&self) -> f64 {
        times::speedup(&self.timings)
    }
}

/// What a search found: variants in dispatch order, the naive kernel last; without evidence where nothing judged it.
pub(super) struct Found {
    pub(super) variants: Vec<(Compiled, Option<Judged>)>,
}

impl Found {
    /// Whether anything but the naive kernel was found.
    pub(super) fn is_tuned(&self) -> bool {
        self.variants.len() > 1
    }

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
    /// What a winner would replace.
    pub(super) locked: Option<&'a Locked>,
    /// Whether PyTorch is an incumbent.
    pub(super) peers: bool,
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
        let mut judged = self.judge_one(naive, None)?.map_err(ours)?;
        judged.sanitizer = compiled::sanitize(self.plan, self.judge, &naive_gate)?.map_err(ours)?;
        if !judged.not_enforced.is_empty() {
            events.report(&Event::NotEnforced { what: judged.not_enforced.clone() });
        }
        if let Some(reason) = &self.judge.not_watched {
            events.report(&Event::Note { text: reason.clone() });
        }
        let mut passed: Vec<(Compiled, Judged)> = Vec::new();
        let mut said = BTreeSet::new();
        for finalist in names.iter().filter_map(|name| compiled.iter().find(|c| c.candidate.name == *name)) {
            let found = self.judge_one(finalist, Some(&naive_gate))?;
            let told = match &found {
                Ok(found) => format!("passed, {:.2}x naive", found.speedup()),
                Err(outcome) => outcome.to_string(),
            };
            self.tell(finalist, told, events);
            let Ok(found) = found else { continue };
            for text in found.not_timed.iter().filter(|text| said.insert((*text).clone())) {
                events.report(&Event::Note { text: format!("not timed against {text}") });
            }
            if times::wins(&found.timings, self.plan.spec.min_speedup) {
                passed.push((finalist.clone(), found));
            }
        }
        passed.sort_by(|(_, a), (_, b)| b.speedup().total_cmp(&a.speedup()));
        let best = self.first_clean(passed, events)?;
        Ok(Found { variants: best.into_iter().chain([(naive.clone(), Some(judged))]).collect() })
    }

    /// The first that compute-sanitizer has nothing against.
    fn first_clean(
        &mut self,
        passed: Vec<(Compiled, Judged)>,
        events: &mut dyn Reporter,
    ) -> Result<Option<(Compiled, Option<Judged>)>, SearchError> {
        for (finalist, mut judged) in passed {
            match compiled::sanitize(self.plan, self.judge, &finalist.for_gate(self.folder)?)? {
                Ok(sanitizer) => {
                    judged.sanitizer = sanitizer;
                    return Ok(Some((finalist, Some(judged))));
                }
                Err(outcome) => self.tell(&finalist, outcome.to_string(), events),
            }
        }
        Ok(None)
    }

    fn tell(&self, finalist: &Compiled, outcome: String, events: &mut dyn Reporter) {
        let (kernel, candidate) = (self.plan.title(), finalist.candidate.name.clone());
        events.report(&Event::Judged { kernel, candidate, outcome });
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
        let digest = ArtifactDigest::of(&finalist.artifact.bytes);
        let times = match naive.map(|naive| self.clock(naive).time(&gate, digest)).transpose()? {
            None => Times::default(),
            Some(Ok(times)) => times,
            Some(Err(outcome)) => return Ok(Err(outcome)),
        };
        let seconds = started.elapsed().as_secs_f64();
        let compiler = finalist.artifact.confinement.not_enforced();
        let not_enforced = correctness.not_enforced.iter().cloned().chain(compiler).collect();
        let (seed, reference) = (self.judge.seed, self.judge.reference);
        Ok(Ok(Judged {
            correctness,
            timings: times.timed,
            not_timed: times.not_timed.into_iter().collect(),
            seed,
            reference,
            not_enforced,
            sanitizer: String::new(),
            seconds,
        }))
    }

    fn clock<'a>(&'a mut self, naive: &'a Candidate) -> Clock<'a> {
        let Finals { plan, workloads, locked, peers, .. } = *self;
        Clock { plan, judge: self.judge, workloads, naive, locked, peers }
    }
}
