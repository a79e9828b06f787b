//! What finals are about: teams of variants, what the gate saw of each, and what a search found.

use cutegen_spec::record::ReferenceOn;

use super::times::{self, Heaviest, Timed};
use crate::evaluate::Correctness;
use crate::search::compiled::Compiled;

/// What the gate saw of a variant.
#[derive(Clone, Debug)]
pub(in crate::search) struct Judged {
    /// What was run and compared.
    pub(in crate::search) correctness: Correctness,
    /// Comparisons, one for each workload and incumbent.
    pub(in crate::search) timings: Vec<Timed>,
    /// Incumbents that it was not timed against, with the reason.
    pub(in crate::search) not_timed: Vec<String>,
    /// Seed of everything drawn.
    pub(in crate::search) seed: u64,
    /// Where the reference was computed.
    pub(in crate::search) reference: ReferenceOn,
    /// Isolation that the system did not give the runners, nor the compiler where it was compiled here.
    pub(in crate::search) not_enforced: Vec<String>,
    /// Outcome of compute-sanitizer, or why it did not run.
    pub(in crate::search) sanitizer: String,
    /// How long judging it took, compute-sanitizer apart.
    pub(in crate::search) seconds: f64,
}

impl Judged {
    /// Geometric mean of the speed-ups over the naive kernel.
    pub(in crate::search) fn speedup(&self) -> f64 {
        times::speedup(&self.timings)
    }
}

/// What a search found: variants in dispatch order, the naive kernel last; without evidence where nothing judged it.
pub(in crate::search) struct Found {
    pub(in crate::search) variants: Vec<(Compiled, Option<Judged>)>,
}

impl Found {
    /// Whether anything but the naive kernel was found.
    pub(in crate::search) fn is_tuned(&self) -> bool {
        self.variants.len() > 1
    }

    /// Names of the variants before the naive kernel, and the geometric mean of their speed-ups over it.
    pub(in crate::search) fn headline(&self) -> (String, f64) {
        let tuned = &self.variants[..self.variants.len().saturating_sub(1)];
        let timings: Vec<Timed> =
            tuned.iter().filter_map(|(_, judged)| Some(judged.as_ref()?.timings.clone())).flatten().collect();
        (named(tuned.iter().map(|(compiled, _)| compiled)), times::speedup(&timings))
    }
}

/// A finalist: variants that share an axis, in dispatch order, or one.
#[derive(Clone)]
pub(in crate::search) struct Team {
    pub(in crate::search) members: Vec<Compiled>,
    /// Its speed-up over the naive kernel, by the ranking.
    pub(in crate::search) ranked: f64,
}

/// A team that passed, and which of its timings is worth one without pause.
pub(super) struct Passed {
    pub(super) team: Vec<Compiled>,
    pub(super) judged: Judged,
    pub(super) heaviest: Option<Heaviest>,
}

impl Passed {
    /// Each member with its own part of what was judged, and what compute-sanitizer said of it.
    pub(super) fn members(self, sanitizers: Vec<String>) -> Vec<(Compiled, Option<Judged>)> {
        let Passed { team, judged, .. } = self;
        let own = sanitizers.into_iter().enumerate().map(|(at, sanitizer)| {
            let timings = judged.timings.iter().filter(|timed| timed.member == at).cloned();
            Judged { sanitizer, timings: timings.collect(), ..judged.clone() }
        });
        team.into_iter().zip(own.map(Some)).collect()
    }
}

/// What is dispatched first goes first.
pub(super) fn named<'a>(team: impl IntoIterator<Item = &'a Compiled>) -> String {
    let names: Vec<&str> = team.into_iter().map(|compiled| compiled.candidate.name.as_str()).collect();
    names.join(" and ")
}
