//! [`Settings`]: how far a run of `islands` goes, and its levers, read from the log's start. `docs/islands.md` has the table.

use crate::experience::Role;
use crate::run_log::Log;
use crate::strategy::ENOUGH;
use crate::strategy::setting::{self, Lever};

/// Their names in a log.
pub const SETTINGS: [&str; 17] = [
    "warm-start",
    ENOUGH,
    "islands",
    "parallel",
    "repairs",
    "stagnation",
    "beside",
    "roofline-share",
    "turns-without-gain",
    "requests",
    "attempt-log",
    "experience",
    "hint-subsets",
    "archive",
    "migration",
    "seeds",
    "repair",
];

/// Limits and levers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    /// Populations.
    pub islands: usize,
    /// Steps that are under way at a time, one an island at most.
    pub parallel: usize,
    /// Repairs that may follow one another.
    pub repairs: usize,
    /// Steps without gain after which an island takes a kernel of another one.
    pub stagnation: usize,
    /// Kernels of other cells that a prompt shows.
    pub beside: usize,
    /// The share of the roofline that is enough.
    pub roofline_share: f64,
    /// Turns of all islands without a new best that end a run.
    pub turns_without_gain: usize,
    /// Requests that a run may make.
    pub requests: usize,
    /// Prompts tell what the island tried.
    pub attempt_log: Lever,
    /// Prompts show hints of the experience library.
    pub experience: Lever,
    /// Each island is shown the hints of its role, else all of them.
    pub hint_subsets: Lever,
    /// Prompts show kernels of other cells.
    pub archive: Lever,
    /// Islands take kernels of others.
    pub migration: Lever,
    /// First kernels are asked for beside verified ones.
    pub seeds: Lever,
    /// What failed may be repaired.
    pub repair: Lever,
}

impl Settings {
    pub(super) fn of(log: &Log) -> Self {
        let count = |name, default| setting::count(&log.start, name, default);
        let lever = |name| Lever::of(&log.start, name);
        let islands = count("islands", Role::ALL.len()).max(1);
        Self {
            islands,
            parallel: count("parallel", islands).clamp(1, islands),
            repairs: count("repairs", 2),
            stagnation: count("stagnation", 2),
            beside: count("beside", 2),
            roofline_share: log.start.setting("roofline-share", 0.95),
            turns_without_gain: count("turns-without-gain", 3),
            requests: count("requests", 40),
            attempt_log: lever("attempt-log"),
            experience: lever("experience"),
            hint_subsets: lever("hint-subsets"),
            archive: lever("archive"),
            migration: lever("migration"),
            seeds: lever("seeds"),
            repair: lever("repair"),
        }
    }

    /// The role of an island.
    pub(super) fn role(&self, island: usize) -> Role {
        Role::ALL[island % Role::ALL.len()]
    }
}
