//! [`Settings`]: how wide and how far a run of `branch` goes, and its levers, read from the log's start. `docs/branch.md` has the
//! table. Those of a start are `refine`'s.

use crate::run_log::Start;
use crate::strategy::ENOUGH;
use crate::strategy::setting::{Lever, count};

/// Their names in a log.
pub const SETTINGS: [&str; 17] = [
    "warm-start",
    ENOUGH,
    "fixes",
    "starts",
    "rounds",
    "ideas",
    "variants",
    "variant-fixes",
    "seeds",
    "slowest",
    "roofline-share",
    "requests",
    "ideas-tried",
    "keep-slower",
    "bank",
    "bank-kernels",
    "experience",
];

/// Limits and levers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    /// Rounds of ideas.
    pub rounds: usize,
    /// Ideas of a round.
    pub ideas: usize,
    /// Kernels of an idea.
    pub variants: usize,
    /// Fixes of each of them.
    pub variant_fixes: usize,
    /// Kernels that seed a round.
    pub seeds: usize,
    /// The share of the best kernel's speed below which none is a seed.
    pub slowest: f64,
    /// The share of the roofline that is enough.
    pub roofline_share: f64,
    /// Requests that a run may make.
    pub requests: usize,
    /// Prompts tell the ideas that were tried.
    pub ideas_tried: Lever,
    /// Slower kernels are seeds too, else the best one alone.
    pub keep_slower: Lever,
    /// Prompts show kernels of other specs.
    pub bank: Lever,
    /// Prompts show hints of the experience library.
    pub experience: Lever,
}

impl Settings {
    pub(super) fn of(start: &Start) -> Self {
        let lever = |name| Lever::of(start, name);
        Self {
            rounds: count(start, "rounds", 5),
            ideas: count(start, "ideas", 3).max(1),
            variants: count(start, "variants", 2).max(1),
            variant_fixes: count(start, "variant-fixes", 1),
            seeds: count(start, "seeds", 3).max(1),
            slowest: start.setting("slowest", 0.3),
            roofline_share: start.setting("roofline-share", 0.95),
            requests: count(start, "requests", 60),
            ideas_tried: lever("ideas-tried"),
            keep_slower: lever("keep-slower"),
            bank: lever("bank"),
            experience: lever("experience"),
        }
    }
}
