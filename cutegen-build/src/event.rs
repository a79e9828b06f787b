//! [`Event`]: what happens while a project is built or searched, as data. Reporters turn events into progress lines
//! or JSON; the pipeline never prints.

use serde::Serialize;

/// Something that happened. `kernel` is a kernel's title: its name and target.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "event")]
pub enum Event {
    /// A search begins.
    SearchStarted {
        /// The kernel.
        kernel: String,
        /// Its key.
        key: String,
        /// Candidates to be tried.
        candidates: usize,
    },
    /// How far a search is in what it does now.
    Progress {
        /// The kernel.
        kernel: String,
        /// What it does.
        phase: Phase,
        /// How much of that is done.
        done: usize,
        /// How much there is of it.
        of: usize,
    },
    /// A candidate was tried.
    Tried {
        /// The kernel.
        kernel: String,
        /// The candidate.
        candidate: String,
        /// What became of it.
        outcome: String,
        /// Speed-up over the naive kernel, when it was timed.
        #[serde(skip_serializing_if = "Option::is_none")]
        speedup: Option<f64>,
        /// Position in the search, from 1.
        number: usize,
        /// Candidates in all.
        of: usize,
    },
    /// All candidates were tried, and ranked.
    Ranked {
        /// The kernel.
        kernel: String,
        /// Candidates that were tried.
        candidates: usize,
        /// Seconds since the search began, compiling included, judging the naive kernel apart.
        seconds: f64,
        /// What of them went where.
        spent: Spent,
        /// What of them was compiled.
        compiles: Compiles,
    },
    /// A finalist went through the whole gate.
    Judged {
        /// The kernel.
        kernel: String,
        /// The candidate.
        candidate: String,
        /// What became of it.
        outcome: String,
        /// Seconds that it took.
        seconds: f64,
    },
    /// A search ended with an entry in the store.
    Found {
        /// The kernel.
        kernel: String,
        /// The winner.
        variant: String,
        /// Geometric mean of its speed-ups over the naive kernel.
        speedup: f64,
        /// Seconds of the search.
        seconds: f64,
    },
    /// A worker's isolation was not complete.
    NotEnforced {
        /// What the system did not give.
        what: Vec<String>,
    },
    /// Anything else worth a line.
    Note {
        /// The line.
        text: String,
    },
}

/// What a search does. Candidates come in rounds, each compiled, screened and timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The whole gate for the naive kernel.
    JudgingNaive,
    /// Waiting for a candidate's compiler.
    Compiling,
    /// The short gate for a candidate.
    Screening,
    /// Benchmark batches, one a workload.
    Timing,
    /// The whole gate for finalists, and their times.
    FinalEvaluation,
}

impl Phase {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::JudgingNaive => "judging the naive kernel",
            Phase::Compiling => "compiling",
            Phase::Screening => "screening",
            Phase::Timing => "timing",
            Phase::FinalEvaluation => "final evaluation",
        }
    }
}

/// Seconds of a search until its candidates were ranked; what is left went into its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// Waiting for compilers.
    pub compiling: f64,
    /// Screening.
    pub screening: f64,
    /// Timing in batches.
    pub timing: f64,
}

/// Compiles of a search, of what it looked ahead for and of the naive kernel too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compiles {
    /// By a compiler.
    pub made: usize,
    /// Answered by the compile cache.
    pub cached: usize,
}

/// Receives events.
pub trait Reporter {
    /// One event.
    fn report(&mut self, event: &Event);
}

/// Drops every event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn report(&mut self, _: &Event) {}
}

impl<F: FnMut(&Event)> Reporter for F {
    fn report(&mut self, event: &Event) {
        self(event);
    }
}
