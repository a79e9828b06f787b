//! [`State`]: the log, folded once from its beginning: rounds with their ideas and variants, right kernels and how fast they are. It
//! decides nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::settings::Settings;
use crate::run_log::{Ask, Candidate, Content, Entry, Idea, Log, Outcome, Request, Sequence, Verdict};
use crate::strategy::effort::{self, Move, Stand, was};
use crate::strategy::{points, waits};

/// What a variant is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Aim {
    /// The idea's number, from 1.
    pub idea: u32,
    /// The kernel that it changes.
    pub seed: Sequence,
}

/// The requests of one variant.
pub(super) type Variant = effort::Effort<Aim>;

/// Ideas, and the variants that carry them out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Round {
    /// The request for the ideas.
    pub request: Sequence,
    /// The answer with them.
    pub answer: Option<Sequence>,
    /// The kernels that the ideas are for, the best first.
    pub seeds: Vec<Sequence>,
    pub variants: Vec<Variant>,
}

/// Where a variant stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// For an answer, a compiler or a judge.
    Waits,
    /// It goes on so.
    Open(Move),
    /// It is over: a right kernel came of it, or none.
    Over(Option<Sequence>),
}

/// A log in the terms of `branch`.
#[derive(Clone, Debug)]
pub(super) struct State<'a> {
    pub log: &'a Log,
    pub settings: &'a Settings,
    /// In order; the last one is under way, or over.
    pub rounds: Vec<Round>,
    /// Right kernels that nothing has refuted, by how fast they are: over the naive kernel, by way of kernels of one batch.
    speeds: BTreeMap<Sequence, f64>,
    verdicts: BTreeMap<Sequence, &'a Verdict>,
    refuted: BTreeSet<Sequence>,
    /// Requests so far.
    pub requests: usize,
    /// Whether some kernel compiles and waits for a judge.
    is_judging: bool,
}

impl<'a> State<'a> {
    pub(super) fn of(log: &'a Log, settings: &'a Settings) -> Self {
        let mut state = Self {
            log,
            settings,
            rounds: Vec::new(),
            speeds: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            refuted: BTreeSet::new(),
            requests: 0,
            is_judging: !waits::unjudged(log).is_empty(),
        };
        for (sequence, entry) in (1..).zip(&log.entries) {
            match entry {
                Entry::Request(request) => state.asked(sequence, request),
                Entry::Candidate(candidate) => state.answered(sequence, candidate),
                Entry::Point(_) => {}
                Entry::Verdict(verdict) => {
                    if let Some(verdict) = points::counted(log, sequence, verdict) {
                        state.judged(verdict);
                    }
                }
            }
        }
        state
    }

    /// The best right kernel.
    pub(super) fn best(&self) -> Option<Sequence> {
        self.ranked().first().copied()
    }

    /// The last verdict that says that a kernel is right.
    pub(super) fn right_verdict(&self, kernel: Sequence) -> Option<&'a Verdict> {
        self.verdicts.get(&kernel).copied()
    }

    /// The speed-up of a right kernel over another one.
    pub(super) fn over(&self, kernel: Sequence, other: Sequence) -> Option<f64> {
        let direct = self.right_verdict(kernel).and_then(|verdict| verdict.facts.over(other));
        direct.or_else(|| Some(self.speeds.get(&kernel)? / self.speeds.get(&other)?))
    }

    /// The kernels that the next round is to change: the best one of each idea, the fastest first, as many as seed a round.
    pub(super) fn seeds(&self) -> Vec<Sequence> {
        let ranked = self.ranked();
        let Some(best) = ranked.first().copied() else { return Vec::new() };
        if !self.settings.keep_slower.is_on() {
            return vec![best];
        }
        let least = self.speeds[&best] * self.settings.slowest;
        let mut ideas = BTreeSet::new();
        let of_other = |kernel: &Sequence| self.idea_of(*kernel).is_none_or(|idea| ideas.insert(idea));
        let far = ranked.into_iter().filter(|kernel| self.speeds[kernel] >= least).filter(of_other);
        far.take(self.settings.seeds).collect()
    }

    /// The ideas of a round, as many as are tried.
    pub(super) fn ideas(&self, round: &Round) -> &'a [Idea] {
        let candidate = round.answer.and_then(|answer| self.log.candidate(answer));
        match candidate.map(|candidate| &candidate.content) {
            Some(Content::Ideas(ideas)) => &ideas[..ideas.len().min(self.settings.ideas)],
            _ => &[],
        }
    }

    /// The kernel that an idea is to change: the one that it names, else the best.
    pub(super) fn seed(round: &Round, idea: &Idea) -> Option<Sequence> {
        idea.about.filter(|about| round.seeds.contains(about)).or(round.seeds.first().copied())
    }

    /// Where a variant stands. A kernel that repeats another one is none.
    pub(super) fn phase(&self, variant: &Variant) -> Phase {
        let Some(answer) = variant.answer else { return Phase::Waits };
        if points::is_open(self.log, answer) {
            return Phase::Waits;
        }
        match variant.stand(self.log, self.settings.variant_fixes) {
            Stand::Right(kernel) => Phase::Over(Some(kernel)),
            Stand::Failed(_) | Stand::Open(Move::Again { .. }) => Phase::Over(None),
            // the verdicts of a batch come one by one: nothing is asked between them
            Stand::Open(Move::Diagnose(kernel))
                if self.is_judging && was(self.log, kernel, Outcome::Compiled) =>
            {
                Phase::Waits
            }
            Stand::Open(on) => Phase::Open(on),
        }
    }

    /// The round and the idea that a kernel came of.
    fn idea_of(&self, kernel: Sequence) -> Option<(Sequence, u32)> {
        let variants = self
            .rounds
            .iter()
            .flat_map(|round| round.variants.iter().map(|variant| (round.request, variant)));
        let mut from = variants.filter(|(_, variant)| has_answer(self.log, variant, kernel));
        from.next().map(|(request, variant)| (request, variant.aim.idea))
    }

    /// Right kernels, the fastest first; of two alike the earlier one.
    fn ranked(&self) -> Vec<Sequence> {
        let mut all: Vec<Sequence> = self.speeds.keys().copied().collect();
        all.sort_by(|one, other| self.speeds[other].total_cmp(&self.speeds[one]).then(one.cmp(other)));
        all
    }

    fn asked(&mut self, sequence: Sequence, request: &Request) {
        self.requests += 1;
        match (request.ask, request.about, request.idea) {
            (Ask::Ideas, ..) => {
                let seeds = self.seeds();
                self.rounds.push(Round { request: sequence, answer: None, seeds, variants: Vec::new() });
            }
            (Ask::Variant, Some(seed), Some(idea)) => {
                let variant = Variant { aim: Aim { idea, seed }, requests: vec![sequence], answer: None };
                self.rounds.last_mut().into_iter().for_each(|round| round.variants.push(variant.clone()));
            }
            (_, Some(about), _) => {
                let log = self.log;
                let corrected = self.variants().find(|variant| has_answer(log, variant, about));
                if let Some(variant) = corrected {
                    variant.requests.push(sequence);
                    variant.answer = None;
                }
            }
            // a start's
            (_, None, _) => {}
        }
    }

    fn answered(&mut self, sequence: Sequence, candidate: &Candidate) {
        let Some(request) = candidate.request else { return };
        for round in &mut self.rounds {
            if round.request == request {
                round.answer.get_or_insert(sequence);
            }
        }
        for variant in self.variants().filter(|variant| variant.requests.last() == Some(&request)) {
            variant.answer.get_or_insert(sequence);
        }
    }

    fn judged(&mut self, verdict: &'a Verdict) {
        let kernel = verdict.candidate;
        match verdict.outcome {
            Outcome::Right if self.refuted.contains(&kernel) => {}
            Outcome::Right => {
                let speed = self.speed(verdict);
                self.speeds.insert(kernel, speed);
                self.verdicts.insert(kernel, verdict);
            }
            Outcome::Refused | Outcome::Wrong | Outcome::Crashed | Outcome::WrongInFull => {
                self.verdicts.remove(&kernel);
                if self.speeds.remove(&kernel).is_some() || verdict.outcome == Outcome::WrongInFull {
                    self.refuted.insert(kernel);
                }
            }
            Outcome::Compiled | Outcome::TooSlow | Outcome::Accepted => {}
        }
    }

    /// How fast a kernel is: by the fastest known one of its batch, else over the naive kernel.
    fn speed(&self, verdict: &Verdict) -> f64 {
        let known = self.speeds.iter().filter(|(other, _)| **other != verdict.candidate);
        let beside =
            known.filter_map(|(other, speed)| Some((*speed, verdict.facts.over(*other)?, Reverse(*other))));
        let fastest = beside.max_by(|one, other| one.0.total_cmp(&other.0).then(one.2.cmp(&other.2)));
        let by_batch = fastest.map(|(speed, by, _)| speed * by);
        by_batch.or_else(|| verdict.facts.over_naive()).unwrap_or(1.0)
    }

    fn variants(&mut self) -> impl Iterator<Item = &mut Variant> {
        self.rounds.iter_mut().flat_map(|round| round.variants.iter_mut())
    }
}

/// Whether a candidate answers one of a variant's requests.
fn has_answer(log: &Log, variant: &Variant, candidate: Sequence) -> bool {
    let request = log.candidate(log.reply(candidate)).and_then(|candidate| candidate.request);
    request.is_some_and(|request| variant.requests.contains(&request))
}
