//! [`Submitter`]: a [`Bench`] over this machine's compilers and devices. It must not know the queue.

use cutegen_build::event::Reporter;
use cutegen_build::generate::answers;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Content, Log, Outcome, Verdict};
use cutegen_build::search::{SearchError, Searcher};

use super::bench::{Bench, Judged, Work};

/// Compiles and judges on this machine.
pub(super) struct Submitter {
    /// Or what the machine lacks.
    searcher: Result<Searcher, String>,
}

impl Submitter {
    /// On this machine. What it lacks is told of the first candidate: other tools need no compiler.
    pub(super) fn new() -> Self {
        Self { searcher: Searcher::new().map_err(|error| error.to_string()) }
    }

    fn searcher(&self) -> Result<&Searcher, String> {
        self.searcher.as_ref().map_err(Clone::clone)
    }
}

impl Bench for Submitter {
    fn read(&self, plan: &Plan, log: &Log, text: &str) -> Content {
        answers::read(plan, log, None, text)
    }

    fn build(&self, work: &Work<'_>, _: &mut dyn Reporter) -> Result<Verdict, String> {
        self.searcher()?.build(work.plan, work.log, work.candidate).map_err(told)
    }

    fn judge(&self, work: &Work<'_>, events: &mut dyn Reporter) -> Result<Judged, String> {
        let searcher = self.searcher()?;
        if let Err(why) = searcher.can_judge(&work.plan.target) {
            return Ok(Judged::Cannot(why));
        }
        let mut judged = None;
        let mut keep = |verdict: Verdict| {
            judged = Some(verdict);
            Ok(())
        };
        let Work { plan, log, candidate, kept, .. } = *work;
        searcher.judge(plan, log, &[candidate], kept, &mut keep, events).map_err(told)?;
        judged.map(Judged::Verdict).ok_or_else(|| "the judge has not seen it".to_owned())
    }

    fn decide(&self, work: &Work<'_>, events: &mut dyn Reporter) -> Result<Verdict, String> {
        let verdict = self.searcher()?.decide(work.plan, work.log, work.locked, work.candidate, events);
        let verdict = verdict.map_err(told)?;
        match verdict.outcome {
            Outcome::Compiled => Err(verdict.facts.reason.unwrap_or_else(|| "it was not judged".to_owned())),
            _ => Ok(verdict),
        }
    }
}

fn told(error: SearchError) -> String {
    error.to_string()
}
