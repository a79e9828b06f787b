//! [`State`]: the log, folded once from its beginning: steps in order, islands with their kernels, scores, and the archive. It
//! decides nothing.

use std::collections::BTreeMap;

use super::archive::Archive;
use super::cell::Cell;
use super::settings::Settings;
use super::step::{Aim, Move, Stand, Step};
use crate::run_log::{Ask, Candidate, Entry, Log, Outcome, Request, Sequence, Verdict};
use crate::strategy::{GAIN, effort, points};

/// A population.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Island {
    /// Its kernels in order, those among them that failed and those that it took from others.
    pub members: Vec<Sequence>,
    /// First kernels that failed, and changes without gain, at the end.
    pub quiet: usize,
    /// Kernels that it took from others.
    pub taken: usize,
}

/// A log in the terms of `islands`.
#[derive(Clone, Debug)]
pub(super) struct State<'a> {
    pub log: &'a Log,
    pub settings: &'a Settings,
    /// In order; each belongs to the island whose turn it was.
    pub steps: Vec<Step>,
    pub islands: Vec<Island>,
    /// How fast each right kernel is, as a multiple of the first one.
    scores: BTreeMap<Sequence, f64>,
    /// The last verdict that found each kernel right.
    right: BTreeMap<Sequence, &'a Verdict>,
    pub archive: Archive,
    /// Those that were the best when they came; the last one is the best.
    bests: Vec<Sequence>,
    /// Steps that were over when the best came.
    best_at: usize,
    /// Requests so far.
    pub requests: usize,
}

impl<'a> State<'a> {
    pub(super) fn of(log: &'a Log, settings: &'a Settings) -> Self {
        let mut state = Self {
            log,
            settings,
            steps: Vec::new(),
            islands: vec![Island::default(); settings.islands],
            scores: BTreeMap::new(),
            right: BTreeMap::new(),
            archive: Archive::default(),
            bests: Vec::new(),
            best_at: 0,
            requests: 0,
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

    /// The last verdict that says that a kernel is right; none where it was refuted.
    pub(super) fn right(&self, kernel: Sequence) -> Option<&'a Verdict> {
        self.right.get(&kernel).copied()
    }

    /// The best kernel of all; where each best one was refuted, that of the highest score.
    pub(super) fn best(&self) -> Option<Sequence> {
        self.bests.last().copied().or_else(|| self.archive.first())
    }

    /// The best kernel of an island.
    pub(super) fn elite(&self, island: usize) -> Option<Sequence> {
        let members = self.islands[island].members.iter();
        let scored = members.filter_map(|kernel| Some((*kernel, *self.scores.get(kernel)?)));
        let best = scored.reduce(|best, other| if other.1 > best.1 { other } else { best });
        best.map(|(kernel, _)| kernel)
    }

    /// The last kernel of an island that failed and may be repaired.
    pub(super) fn repairable(&self, island: usize) -> Option<Sequence> {
        if !self.settings.repair.is_on() {
            return None;
        }
        let last = *self.islands[island].members.last()?;
        let is_begun = self.steps.iter().any(|step| step.aim == Aim::Repair { of: last });
        (self.has_failed(last) && !is_begun && self.repairs(last) < self.settings.repairs).then_some(last)
    }

    /// The speed-up of a kernel over another one, by times of one batch.
    pub(super) fn over(&self, kernel: Sequence, other: Sequence) -> Option<f64> {
        effort::over(self.right(kernel)?, other, Some(self.right(other)?))
    }

    /// The steps that are not over.
    pub(super) fn open(&self) -> impl Iterator<Item = (&Step, Stand)> {
        let stands = self.steps.iter().map(|step| (step, step.stand(self.log)));
        stands.filter(|(_, stand)| !matches!(stand, Stand::Over(_)))
    }

    /// The island whose turn it is.
    pub(super) fn turn(&self) -> usize {
        self.steps.len() % self.settings.islands
    }

    /// Whole turns of all islands since the best came.
    pub(super) fn turns_without_gain(&self) -> usize {
        (self.steps.len() - self.best_at) / self.settings.islands
    }

    /// The cell of a kernel.
    pub(super) fn cell(&self, kernel: Sequence) -> Cell {
        Cell::of(self.log.kernel(kernel).map_or("", |kernel| &kernel.source))
    }

    /// The score of a right kernel.
    pub(super) fn score(&self, kernel: Sequence) -> Option<f64> {
        self.scores.get(&kernel).copied()
    }

    fn has_failed(&self, kernel: Sequence) -> bool {
        let verdict = self.log.verdict(kernel).map(|verdict| verdict.outcome);
        matches!(verdict, Some(Outcome::Refused | Outcome::Wrong | Outcome::Crashed | Outcome::WrongInFull))
    }

    /// Repairs that led to a kernel.
    fn repairs(&self, kernel: Sequence) -> usize {
        let repair = self.steps.iter().find_map(|step| match step.aim {
            Aim::Repair { of } if step.stand(self.log) == Stand::Over(Some(kernel)) => Some(of),
            Aim::Repair { .. } | Aim::Seed | Aim::Change { .. } => None,
        });
        repair.map_or(0, |of| 1 + self.repairs(of))
    }

    fn asked(&mut self, sequence: Sequence, request: &Request) {
        self.requests += 1;
        if let Some(step) = self.continued(request) {
            step.requests.push(sequence);
            step.answer = None;
            return;
        }
        let aim = match (request.ask, request.about) {
            (Ask::First, _) => Aim::Seed,
            (Ask::Optimise, Some(parent)) => Aim::Change { parent },
            (Ask::Diagnose, Some(of)) => Aim::Repair { of },
            // it is about nothing, and belongs to nothing
            (Ask::Diagnose | Ask::Patch | Ask::Optimise | Ask::Whole | Ask::Ideas | Ask::Variant, _) => {
                return;
            }
        };
        let island = self.turn();
        if let Aim::Change { parent } = aim
            && !self.islands[island].members.contains(&parent)
        {
            let island = &mut self.islands[island];
            island.members.push(parent);
            (island.taken, island.quiet) = (island.taken + 1, 0);
        }
        self.steps.push(Step::opened(island, sequence, aim));
    }

    /// The step that a request goes on with: the first that wants this.
    fn continued(&mut self, request: &Request) -> Option<&mut Step> {
        let log = self.log;
        let wants = |step: &&mut Step| match step.stand(log) {
            Stand::Open(Move::Whole(answer)) => request.ask == Ask::Whole && request.about == Some(answer),
            Stand::Open(Move::Patch(kernel)) => request.ask == Ask::Patch && request.about == Some(kernel),
            Stand::Open(Move::Again { request: before, .. }) => log
                .request(before)
                .is_some_and(|before| (before.ask, before.about) == (request.ask, request.about)),
            Stand::Awaits | Stand::Over(_) => false,
        };
        self.steps.iter_mut().find(wants)
    }

    fn answered(&mut self, sequence: Sequence, candidate: &Candidate) {
        let step = self.steps.iter_mut().find(|step| candidate.request == Some(step.last()));
        let island = match step {
            Some(step) if step.answer.is_none() => {
                step.answer = Some(sequence);
                step.island
            }
            // an answer comes once, and what is submitted is the first island's
            Some(_) => return,
            None if candidate.request.is_none() => 0,
            None => return,
        };
        let kernel = points::chosen(self.log, sequence);
        if self.log.kernel(kernel).is_some() {
            self.islands[island].members.push(kernel);
        }
    }

    fn judged(&mut self, verdict: &'a Verdict) {
        let kernel = verdict.candidate;
        match verdict.outcome {
            Outcome::Right if self.right.contains_key(&kernel) => drop(self.right.insert(kernel, verdict)),
            Outcome::Right => self.entered(kernel, verdict),
            Outcome::Refused | Outcome::Wrong | Outcome::Crashed | Outcome::WrongInFull => {
                self.right.remove(&kernel);
                self.scores.remove(&kernel);
                self.bests.retain(|best| *best != kernel);
                self.archive = self.archived();
                self.counted(kernel, None);
            }
            Outcome::Compiled | Outcome::TooSlow | Outcome::Accepted => {}
        }
    }

    /// A kernel is right: it gets its score, and its place in the archive.
    fn entered(&mut self, kernel: Sequence, verdict: &'a Verdict) {
        self.right.insert(kernel, verdict);
        let beside = self.scores.iter().filter_map(|(other, score)| Some(score * self.over(kernel, *other)?));
        let score = beside.reduce(f64::max).unwrap_or(1.0);
        let is_best = self.best().is_none_or(|best| self.over(kernel, best).is_some_and(|by| by >= GAIN));
        self.scores.insert(kernel, score);
        self.archive = self.archived();
        if is_best {
            self.bests.push(kernel);
            self.best_at = self.steps.len();
        }
        self.counted(kernel, Some(verdict));
    }

    fn archived(&self) -> Archive {
        Archive::of(self.scores.iter().map(|(kernel, score)| (*kernel, self.cell(*kernel), *score)))
    }

    /// What a step came to, for the island that made it. A repair that fails is counted with what it repairs.
    fn counted(&mut self, kernel: Sequence, right: Option<&Verdict>) {
        let of = |step: &&Step| step.answer.is_some_and(|answer| points::chosen(self.log, answer) == kernel);
        let Some(&Step { island, aim, .. }) = self.steps.iter().find(of) else { return };
        let is_gain = match aim {
            Aim::Repair { .. } if right.is_none() => return,
            Aim::Seed | Aim::Repair { .. } => right.is_some(),
            Aim::Change { parent } => self.over(kernel, parent).is_some_and(|by| by >= GAIN),
        };
        let island = &mut self.islands[island];
        island.quiet = if is_gain { 0 } else { island.quiet + 1 };
    }
}
