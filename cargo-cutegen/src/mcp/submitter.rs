//! [`Submitter`]: a [`Bench`] over this machine's compilers and devices. It must not know the queue.

use cutegen_build::event::Reporter;
use cutegen_build::generate::answers;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Content, Log, Outcome, Point, Sequence, Verdict};
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

    fn point(&self, plan: &Plan, log: &Log, answer: Sequence) -> Option<Point> {
        answers::point(plan, log, answer)
    }

    fn build(&self, work: &Work<'_>, candidate: Sequence, _: &mut dyn Reporter) -> Result<Verdict, String> {
        self.searcher()?.build(work.plan, work.log, candidate).map_err(told)
    }

    fn judge(
        &self,
        work: &Work<'_>,
        candidates: &[Sequence],
        events: &mut dyn Reporter,
    ) -> Result<Judged, String> {
        let searcher = self.searcher()?;
        if let Err(why) = searcher.can_judge_foreign(&work.plan.target) {
            return Ok(Judged::Cannot(why));
        }
        let mut judged = Vec::new();
        let mut keep = |verdict: Verdict| {
            judged.push(verdict);
            Ok(())
        };
        let Work { plan, log, kept, .. } = *work;
        searcher.judge(plan, log, candidates, kept, &mut keep, events).map_err(told)?;
        if judged.len() < candidates.len() {
            return Err("the judge has not seen it".to_owned());
        }
        Ok(Judged::Verdicts(judged))
    }

    fn decide(
        &self,
        work: &Work<'_>,
        candidate: Sequence,
        events: &mut dyn Reporter,
    ) -> Result<Verdict, String> {
        let verdict = self.searcher()?.decide(work.plan, work.log, work.locked, candidate, events);
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
