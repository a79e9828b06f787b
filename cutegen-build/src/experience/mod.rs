//! The experience library: hints for whoever writes a kernel, each with what it is for and what came of it. A library is a text
//! that people review; a run freezes what it may show into the first line of its log, by the digest of that text.
//!
//! It must not know runs, prompts and files. Invariant: a hint is one line of plain characters, wherever it was read.

mod context;
mod hint;
mod library;

use crate::plan::Plan;

pub use context::{Context, Machine, Need, Role};
pub use hint::{Hint, HintId, Trigger};
pub use library::{Credit, Library};

/// The library that ships with this program.
pub const SEED: &str = include_str!("seed.toml");

/// Hints that a prompt shows.
const SHOWN: usize = 6;

/// Those of these hints that fit a plan, whatever is seen of its kernels.
#[must_use]
pub fn fitting(hints: &[Hint], plan: &Plan) -> Vec<Hint> {
    hints.iter().filter(|hint| hint.context.fits(plan)).cloned().collect()
}

/// The hints for what was seen of a kernel, the best first. With a role, those of other roles are left out.
#[must_use]
pub fn retrieved(hints: &[Hint], seen: Trigger, role: Option<Role>) -> Vec<&Hint> {
    let is_of = |hint: &&Hint| hint.trigger.contains(&seen) && hint.context.is_for(role);
    let mut found: Vec<&Hint> = hints.iter().filter(is_of).collect();
    found.sort_by(|a, b| {
        let worth = b.worth().total_cmp(&a.worth());
        worth.then(b.context.precision().cmp(&a.context.precision())).then(a.id.cmp(&b.id))
    });
    found.truncate(SHOWN);
    found
}

#[cfg(test)]
mod tests;
