//! Strategies: pure functions from the log of a run to what happens next. They know no compiler, no device and no generator;
//! the same log gives the same decision and the same prompt, byte for byte.

pub mod refine;
pub mod replay;

use crate::generate::prompt::Prompt;
use crate::run_log::{Ask, Sequence};

/// What happens next in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A generator is to be asked.
    Ask(Question),
    /// A generator was asked this, and has not answered.
    Await(Sequence, Question),
    /// A candidate is to be compiled, guarded and inspected; no device is needed.
    Build(Sequence),
    /// A candidate is to be screened and timed beside the others of its batch.
    Judge(Sequence),
    /// A candidate is to go through the whole gate.
    Accept(Sequence),
    /// The run is at its end.
    Done(Stop),
}

/// What is asked of a generator.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What is asked for.
    pub ask: Ask,
    /// The candidate that it is about, if any.
    pub about: Option<Sequence>,
    /// The prompt.
    pub prompt: Prompt,
}

/// Why a run is at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A kernel was accepted, and it reached the share of the roofline that is enough.
    Roofline,
    /// So many rounds brought no gain.
    NoGain,
    /// As many requests were made as the run may make.
    Budget,
    /// No start gave a kernel that is right.
    NoKernel,
}
