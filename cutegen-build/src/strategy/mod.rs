//! Strategies: pure functions from the log of a run to what happens next. They know no compiler, no device and no generator;
//! the same log gives the same decision and the same prompt, byte for byte.

#[cfg(test)]
mod begun_tests;
pub mod branch;
mod correct;
pub mod credit;
mod decision;
pub mod diagnosis;
mod effort;
mod fate;
pub mod islands;
pub mod points;
pub mod refine;
pub mod replay;
#[cfg(test)]
mod script;
mod setting;
mod waits;

use crate::generate::prompt::Prompt;
use crate::plan::Plan;
use crate::run_log::{self, Ask, Log, Request, Sequence, Start};

/// What decides on the requests of a run. A log names it in its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// One kernel, improved step by step.
    Refine,
    /// Ideas in words, several kernels of each, the best few of which seed the next round.
    Branch,
    /// Populations by role, beside an archive of ways to build the kernel.
    Islands,
}

/// What a child must gain over another kernel so that it counts.
const GAIN: f64 = 1.01;

/// The setting that says which speed-up over the naive kernel is enough.
pub const ENOUGH: &str = "enough";

/// What happens next in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A generator is to be asked.
    Ask(Question),
    /// A generator was asked these, and has not answered. None of them needs the answer to another: any of them may come first.
    Await(Vec<Awaited>),
    /// The next point of an answer that sweeps constants is to be written into the log; nothing else is needed for it.
    Point(Sequence),
    /// A candidate is to be compiled, guarded and inspected; no device is needed.
    Build(Sequence),
    /// Candidates are to be screened, and timed in one batch.
    Judge(Vec<Sequence>),
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
    /// The idea that a variant carries out.
    pub idea: Option<u32>,
    /// The prompt.
    pub prompt: Prompt,
}

/// A request that has no answer yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Awaited {
    /// The request.
    pub request: Sequence,
    /// What it asks, by the log before it.
    pub question: Question,
}

impl Question {
    /// As it stands in a log.
    #[must_use]
    pub fn request(&self) -> Request {
        Request {
            ask: self.ask,
            about: self.about,
            idea: self.idea,
            version: self.prompt.version.clone(),
            prompt: run_log::digest(&self.prompt.text),
            bytes: self.prompt.text.len() as u64,
        }
    }
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
    /// As many rounds are over as the run has.
    Rounds,
    /// A kernel is as fast over the naive one as was asked.
    Enough,
}

/// A strategy's name, its settings with its levers, and what it does next.
struct Row {
    strategy: Strategy,
    name: &'static str,
    settings: &'static [&'static str],
    next: fn(&Plan, &Log) -> Next,
    best: fn(&Plan, &Log) -> Option<Sequence>,
}

const ROWS: &[Row] = &[
    Row {
        strategy: Strategy::Refine,
        name: "refine",
        settings: &refine::SETTINGS,
        next: refine::next,
        best: refine::best,
    },
    Row {
        strategy: Strategy::Branch,
        name: "branch",
        settings: &branch::SETTINGS,
        next: branch::next,
        best: branch::best,
    },
    Row {
        strategy: Strategy::Islands,
        name: "islands",
        settings: &islands::SETTINGS,
        next: islands::next,
        best: islands::best,
    },
];

impl Strategy {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.strategy)
    }

    /// The strategy of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|strategy| strategy.name() == name)
    }

    /// The strategy of a run; none where what is submitted decides.
    #[must_use]
    pub fn of(start: &Start) -> Option<Self> {
        Self::named(&start.strategy)
    }

    /// Its name in logs and on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The names of its settings, levers among them.
    #[must_use]
    pub fn settings(self) -> &'static [&'static str] {
        self.row().settings
    }

    /// What happens next in a run of it.
    #[must_use]
    pub fn next(self, plan: &Plan, log: &Log) -> Next {
        (self.row().next)(plan, log)
    }

    /// The best kernel of a run of it, as it decides by; none before one is right.
    #[must_use]
    pub fn best(self, plan: &Plan, log: &Log) -> Option<Sequence> {
        (self.row().best)(plan, log)
    }

    /// Requests without an answer, whatever else the run waits for.
    #[must_use]
    pub fn awaited(self, plan: &Plan, log: &Log) -> Vec<Awaited> {
        waits::awaited(self.row().next, plan, log)
    }

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.strategy == self).expect("each strategy has a row")
    }
}

#[cfg(test)]
mod tests {
    use super::Strategy;

    #[test]
    fn a_strategy_is_found_by_its_name() {
        assert_eq!(Strategy::named("refine"), Some(Strategy::Refine));
        assert_eq!([Strategy::named("mcp"), Strategy::named("submitted"), Strategy::named("")], [None; 3]);
        for strategy in Strategy::all() {
            assert_eq!(Strategy::named(strategy.name()), Some(strategy));
            let settings = strategy.settings();
            assert!(settings.contains(&"requests"), "{}: {settings:?}", strategy.name());
        }
    }
}
