//! [`Bench`]: what reads, compiles and judges a candidate. It must not know the queue, and nothing of agents.
//!
//! Each step returns a verdict for the run log. A reason in place of it is about this program or its machine.

use std::path::Path;

use cutegen_build::event::Reporter;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Content, Log, Point, Sequence, Verdict};
use cutegen_build::store::Entry;

/// What candidates of a run are at work with.
pub(super) struct Work<'a> {
    /// What they are for.
    pub(super) plan: &'a Plan,
    /// Their run as it is now.
    pub(super) log: &'a Log,
    /// What the package has locked, and they must beat.
    pub(super) locked: Option<&'a Entry>,
    /// Where what outlives a judge is kept.
    pub(super) kept: &'a Path,
}

/// What a judge says.
pub(super) enum Judged {
    /// It has seen the candidates.
    Verdicts(Vec<Verdict>),
    /// There is none here, for this reason.
    Cannot(String),
}

/// Reads, compiles and judges.
pub(super) trait Bench: Send + Sync {
    /// What a text holds; a kernel of the log is a repeat.
    fn read(&self, plan: &Plan, log: &Log, text: &str) -> Content;

    /// The next point of an answer that sweeps constants; none where the log has all.
    fn point(&self, plan: &Plan, log: &Log, answer: Sequence) -> Option<Point>;

    /// Guards, compiles and inspects: `Refused` or `Compiled`.
    fn build(
        &self,
        work: &Work<'_>,
        candidate: Sequence,
        events: &mut dyn Reporter,
    ) -> Result<Verdict, String>;

    /// Screens, and times in one batch: `Wrong`, `Crashed` or `Right`.
    fn judge(
        &self,
        work: &Work<'_>,
        candidates: &[Sequence],
        events: &mut dyn Reporter,
    ) -> Result<Judged, String>;

    /// The whole gate: `WrongInFull`, `TooSlow` or `Accepted`.
    fn decide(
        &self,
        work: &Work<'_>,
        candidate: Sequence,
        events: &mut dyn Reporter,
    ) -> Result<Verdict, String>;
}
