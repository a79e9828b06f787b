//! [`Tuning`]: one kernel's turn: the kinds of generators in order, until one has a kernel that meets the spec's `accept`. It must not
//! know how a search tries candidates, nor what a run asks.

use cutegen_build::plan::Plan;
use cutegen_build::search::{Answered, Fastest, Searcher, meets_accept, over_naive};
use cutegen_build::store::Entry;
use cutegen_spec::generators::GeneratorKind;

use super::asked::Model;
use super::from_runs;
use super::kinds::{Best, tell_next, tell_unmet};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Runs;

/// What all kernels are tuned with.
pub(super) struct Tuning<'a> {
    pub(super) searcher: &'a Searcher,
    pub(super) runs: &'a Runs,
    /// Where the command line names one.
    pub(super) model: Option<&'a Model<'a>>,
    /// Although the user store has an answer.
    pub(super) again: bool,
    pub(super) out: &'a Output,
}

/// What is asked for a kernel.
pub(super) struct Asked {
    /// At least one.
    pub(super) order: Vec<GeneratorKind>,
    /// Whether a search has anything to try or to re-verify.
    pub(super) has_space: bool,
}

/// What is known of a kernel by now.
#[derive(Default)]
struct Known {
    /// In the user's store.
    entry: Option<Entry>,
    /// Of templates.
    fastest: Option<Fastest>,
    /// The best that is right, of any kind.
    best: Option<Best>,
}

impl Tuning<'_> {
    /// Asks one kind after another; what is in the user store then.
    pub(super) fn one(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        asked: &Asked,
    ) -> Result<Option<Entry>, Failure> {
        let mut known = Known::default();
        for (at, kind) in asked.order.iter().enumerate() {
            self.ask(plan, (locked, asked, *kind), &mut known)?;
            if known.meets(plan) {
                break;
            }
            if let Some(next) = asked.order.get(at + 1) {
                tell_next(plan, (*kind, *next), known.best.as_ref(), self.out);
            }
        }
        if let Some(best) = known.best.as_ref().filter(|_| !known.meets(plan)) {
            tell_unmet(plan, best, self.out);
        }
        known.entry.iter().for_each(|entry| self.tell(plan, locked, entry));
        Ok(known.entry)
    }

    fn ask(
        &self,
        plan: &Plan,
        (locked, asked, kind): (Option<&Entry>, &Asked, GeneratorKind),
        known: &mut Known,
    ) -> Result<(), Failure> {
        match (kind, self.model) {
            (GeneratorKind::Template, _) if !asked.has_space => Ok(()),
            (GeneratorKind::Template, _) => {
                let Answered { entry, fastest } = self.search(plan, locked)?;
                known.add(fastest.as_ref().map(Best::of).or_else(|| Best::stored(&entry)));
                (known.entry, known.fastest) = (Some(entry), fastest);
                Ok(())
            }
            (GeneratorKind::Model, Some(model)) => {
                if known.entry.is_none() {
                    known.entry = self.stored(plan).filter(|entry| entry.record.is_tuned());
                }
                if known.meets(plan) && !self.again {
                    return Ok(());
                }
                let is_tuned = known.entry.as_ref().is_some_and(|entry| entry.record.is_tuned());
                let fastest = known.fastest.as_ref().filter(|_| !is_tuned).map(|fastest| &fastest.candidate);
                let best = model.ask(self.searcher, plan, fastest, self.out)?;
                known.add(best);
                known.entry = self.stored(plan).or(known.entry.take());
                Ok(())
            }
            // without a program or an endpoint the order has no model
            (GeneratorKind::Model, None) => Ok(()),
        }
    }

    /// What the user store has, or what templates and runs come to.
    fn search(&self, plan: &Plan, locked: Option<&Entry>) -> Result<Answered, Failure> {
        let failed = |error| Failure::search(&plan.title(), &error);
        let mut events = self.out.reporter();
        if !self.again
            && let Some(entry) = self.searcher.known(plan, &mut events)
        {
            return Ok(Answered { entry, fastest: None });
        }
        let found = from_runs::of(self.searcher, self.runs, plan, self.out)?;
        self.searcher.search_beside(plan, locked, found, &mut events).map_err(failed)
    }

    fn stored(&self, plan: &Plan) -> Option<Entry> {
        self.searcher.store().get(&plan.key).hit()
    }

    fn tell(&self, plan: &Plan, locked: Option<&Entry>, entry: &Entry) {
        let names: Vec<&str> = entry.record.variants.iter().map(|v| v.name.as_str()).collect();
        let already = if is_new(locked, entry) { "" } else { ", accepted already" };
        self.out.note(&format!("{}: in the user store: {}{already}", plan.title(), names.join(", ")));
    }
}

/// Whether the package's store has another entry, or none.
pub(super) fn is_new(locked: Option<&Entry>, entry: &Entry) -> bool {
    locked.is_none_or(|locked| locked.record != entry.record)
}

impl Known {
    fn meets(&self, plan: &Plan) -> bool {
        self.entry.as_ref().is_some_and(|entry| meets_accept(plan, &entry.record))
    }

    /// Another right kernel.
    fn add(&mut self, other: Option<Best>) {
        let is_slower =
            |other: &Best| self.best.as_ref().is_some_and(|best| best.over_naive >= other.over_naive);
        if let Some(other) = other.filter(|other| !is_slower(other)) {
            self.best = Some(other);
        }
    }
}

impl Best {
    fn of(fastest: &Fastest) -> Self {
        Self { name: fastest.candidate.name.clone(), over_naive: fastest.over_naive }
    }

    /// The first variant of a tuned entry.
    fn stored(entry: &Entry) -> Option<Self> {
        let first = entry.record.variants.first().filter(|_| entry.record.is_tuned())?;
        let over_naive = over_naive(&entry.record, |timing| timing.speedup)?;
        Some(Self { name: first.name.clone(), over_naive })
    }
}
