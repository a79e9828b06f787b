//! [`Settings`]: how far a run of `refine` goes, and its levers, read from the log's start. `docs/refine.md` has the table.

use super::graph;
use crate::plan::Plan;
use crate::run_log::Log;
use crate::strategy::ENOUGH;
use crate::strategy::setting::{self, Lever};

/// Their names in a log.
pub const SETTINGS: [&str; 15] = [
    "warm-start",
    ENOUGH,
    "fixes",
    "starts",
    "round-fixes",
    "losses",
    "roofline-share",
    "rounds-without-gain",
    "requests",
    "profile-depth",
    "attempt-log",
    "start-from-best",
    "late-profile",
    "stop-rule",
    "experience",
];

/// Limits and levers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    /// Fixes of a start.
    pub fixes: usize,
    /// Starts from nothing.
    pub starts: usize,
    /// Fixes of a round.
    pub round_fixes: usize,
    /// Rounds that may go on from a kernel that is no gain.
    pub losses: usize,
    /// The share of the roofline that is enough.
    pub roofline_share: f64,
    /// Rounds without gain that end a run.
    pub rounds_without_gain: usize,
    /// Requests that a run may make.
    pub requests: usize,
    /// The round from which profiles are told.
    pub profile_depth: usize,
    /// Prompts tell what was tried.
    pub attempt_log: Lever,
    /// Rounds start from the best kernel, else from the latest right one.
    pub start_from_best: Lever,
    /// Profiles are told from the depth on, else always.
    pub late_profile: Lever,
    /// Roofline and rounds without gain end a run, else its requests alone.
    pub stop_rule: Lever,
    /// Prompts show hints of the experience library.
    pub experience: Lever,
}

impl Settings {
    pub(super) fn of(plan: &Plan, log: &Log) -> Self {
        let number = |name, default| log.start.setting(name, default);
        let count = |name, default| setting::count(&log.start, name, default);
        let lever = |name| Lever::of(&log.start, name);
        Self {
            fixes: count("fixes", 5),
            starts: count("starts", 3),
            round_fixes: count("round-fixes", 2),
            losses: count("losses", 1),
            roofline_share: number("roofline-share", 0.95),
            rounds_without_gain: count("rounds-without-gain", 3),
            requests: count("requests", 24),
            profile_depth: count("profile-depth", graph::profile_depth(plan)),
            attempt_log: lever("attempt-log"),
            start_from_best: lever("start-from-best"),
            late_profile: lever("late-profile"),
            stop_rule: lever("stop-rule"),
            experience: lever("experience"),
        }
    }
}
