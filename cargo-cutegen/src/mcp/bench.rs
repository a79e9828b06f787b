//! [`Bench`]: what reads, compiles and judges a candidate. It must not know the queue, and nothing of agents.
//!
//! Each step returns a verdict for the run log. A reason in place of it is about this program or its machine.

use std::path::Path;

use cutegen_build::event::Reporter;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Content, Log, Sequence, Verdict};
use cutegen_build::store::Entry;

/// A candidate at work.
pub(super) struct Work<'a> {
    /// What it is for.
    pub(super) plan: &'a Plan,
    /// Its run as it is now.
    pub(super) log: &'a Log,
    /// Its place there.
    pub(super) candidate: Sequence,
    /// What the package has locked, and it must beat.
    pub(super) locked: Option<&'a Entry>,
    /// Where what outlives a judge is kept.
    pub(super) kept: &'a Path,
}

/// What a judge says.
#[expect(clippy::large_enum_variant, reason = "one is alive at a time")]
pub(super) enum Judged {
    /// It has seen the candidate.
    Verdict(Verdict),
    /// There is none here, for this reason.
    Cannot(String),
}

/// Reads, compiles and judges.
pub(super) trait Bench: Send + Sync {
    /// What a text holds; a kernel of the log is a repeat.
    fn read(&self, plan: &Plan, log: &Log, text: &str) -> Content;

    /// Guards, compiles and inspects: `Refused` or `Compiled`.
    fn build(&self, work: &Work<'_>, events: &mut dyn Reporter) -> Result<Verdict, String>;

    /// Screens and times: `Wrong`, `Crashed` or `Right`.
    fn judge(&self, work: &Work<'_>, events: &mut dyn Reporter) -> Result<Judged, String>;

    /// The whole gate: `WrongInFull`, `TooSlow` or `Accepted`.
    fn decide(&self, work: &Work<'_>, events: &mut dyn Reporter) -> Result<Verdict, String>;
}
