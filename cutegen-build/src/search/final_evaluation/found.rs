//! What a final evaluation is about: variant sets, what the gate saw of each, and what a search found.

use std::collections::BTreeSet;
use std::time::Duration;

use cutegen_spec::record::ReferenceOn;

use super::incumbent_set::IncumbentVerdict;
use super::times::{self, Heaviest, Timed};
use crate::evaluate::{Correctness, Outcome};
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
    /// What was run and compared, from this seed and against this reference, in so long; nothing was timed.
    pub(in crate::search) fn untimed(
        correctness: Correctness,
        (seed, reference): (u64, ReferenceOn),
        took: Duration,
    ) -> Self {
        Self {
            not_enforced: correctness.not_enforced.clone(),
            correctness,
            timings: Vec::new(),
            not_timed: Vec::new(),
            seed,
            reference,
            sanitizer: String::new(),
            seconds: took.as_secs_f64(),
        }
    }

    /// The same, with what the system did not give the compilers of these either.
    pub(in crate::search) fn compiled_by<'a>(self, set: impl IntoIterator<Item = &'a Compiled>) -> Self {
        let compilers = set.into_iter().flat_map(|member| member.artifact.confinement.not_enforced());
        let open: BTreeSet<String> = self.not_enforced.into_iter().chain(compilers).collect();
        Self { not_enforced: open.into_iter().collect(), ..self }
    }

    /// Geometric mean of the speed-ups over the naive kernel.
    pub(in crate::search) fn speedup(&self) -> f64 {
        times::speedup(&self.timings)
    }

    /// A member's own part of what was judged of its variant set: where it ran, how often, and how fast.
    fn of_member(&self, at: usize, sanitizer: String) -> Self {
        let timings = self.timings.iter().filter(|timed| timed.member == at).cloned();
        let (correctness, timings) = (self.correctness.of_variant(at), timings.collect());
        Self { sanitizer, timings, correctness, ..self.clone() }
    }
}

/// What a search found: variants in dispatch order, the naive kernel last; without evidence where nothing judged it.
pub(in crate::search) struct Found {
    pub(in crate::search) variants: Vec<(Compiled, Option<Judged>)>,
    /// What became of what was locked.
    pub(in crate::search) verdict: IncumbentVerdict,
    /// What became of each finalist, in the order in which they were judged.
    pub(in crate::search) finals: Vec<Final>,
}

/// What became of a finalist.
#[derive(Clone, Debug, PartialEq)]
pub struct Final {
    /// Its candidates, in dispatch order.
    pub name: String,
    /// Its speed-up over the naive kernel, or what it fell to.
    pub outcome: Result<f64, Outcome>,
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
pub(in crate::search) struct VariantSet {
    pub(in crate::search) members: Vec<Compiled>,
    /// Its speed-up over the naive kernel, by the ranking.
    pub(in crate::search) ranked: f64,
}

/// A variant set that passed, and which of its timings is worth one without pause.
pub(super) struct Passed {
    pub(super) set: Vec<Compiled>,
    pub(super) judged: Judged,
    pub(super) heaviest: Option<Heaviest>,
}

impl Passed {
    /// Each member with its own part of what was judged, and what compute-sanitizer said of it.
    pub(super) fn members(self, sanitizers: Vec<String>) -> Vec<(Compiled, Option<Judged>)> {
        let Passed { set, judged, .. } = self;
        let own = sanitizers.into_iter().enumerate().map(|(at, sanitizer)| judged.of_member(at, sanitizer));
        set.into_iter().zip(own.map(Some)).collect()
    }
}

/// What is dispatched first goes first.
pub(super) fn named<'a>(set: impl IntoIterator<Item = &'a Compiled>) -> String {
    let names: Vec<&str> = set.into_iter().map(|compiled| compiled.candidate.name.as_str()).collect();
    names.join(" and ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cutegen_spec::record::ReferenceOn;

    use super::Judged;
    use crate::evaluate::Correctness;

    #[test]
    fn a_member_has_its_own_part() {
        let ran = |shapes: &[i64], elements, repeats| {
            let shapes = shapes.iter().map(|extent| vec![*extent]).collect();
            Correctness { shapes, elements, repeats, ..Correctness::default() }
        };
        let correctness = Correctness {
            shapes: vec![vec![1], vec![37], vec![777]],
            elements: 90,
            repeats: 1000,
            device: "this machine".to_owned(),
            variants: vec![ran(&[777], 20, 20), ran(&[1, 37], 70, 1000)],
            ..Correctness::default()
        };
        let judged = Judged::untimed(correctness, (7, ReferenceOn::Host), Duration::ZERO);
        let own = |at| judged.of_member(at, "clean".to_owned()).correctness;
        assert_eq!((own(0).shapes, own(0).elements, own(0).repeats), (vec![vec![777]], 20, 20));
        assert_eq!((own(1).shapes, own(1).elements), (vec![vec![1], vec![37]], 70));
        assert_eq!(own(0).device, "this machine");
        assert_eq!(
            own(2),
            Correctness {
                device: "this machine".to_owned(),
                variants: vec![Correctness::default()],
                ..Correctness::default()
            },
            "no variant ran"
        );
    }
}
