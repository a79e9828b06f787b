//! [`State`]: the log, folded once from its beginning: efforts in order, right kernels, and those of them that were the best. It
//! decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::settings::Settings;
use crate::generate::prompt::step::Stage;
use crate::run_log::{Ask, Candidate, Entry, Log, Outcome, Request, Sequence, Verdict};
use crate::strategy::effort::{self, Move, Stand, was};
use crate::strategy::{GAIN, points};

/// What an effort is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// A kernel from nothing.
    Start,
    /// One optimisation of this kernel.
    Round {
        /// The kernel that it changes.
        parent: Sequence,
    },
    /// A kernel that the whole gate refused.
    Repair {
        /// That one.
        of: Sequence,
    },
}

/// Requests that belong together.
pub(super) type Effort = effort::Effort<Aim>;

/// A log in the terms of `refine`.
#[derive(Clone, Debug)]
pub(super) struct State<'a> {
    pub log: &'a Log,
    pub settings: &'a Settings,
    /// In order; the last one is under way, or over.
    pub efforts: Vec<Effort>,
    /// Right kernels that nothing has refuted, in the order of their verdicts.
    pub right: Vec<Sequence>,
    /// Those of them that were the best when they came; the last one is the best.
    bests: Vec<Sequence>,
    /// The last verdict that found each kernel right.
    seen_right: BTreeMap<Sequence, &'a Verdict>,
    /// All that were once the best.
    gains: BTreeSet<Sequence>,
    /// Kernels that the whole gate refused.
    pub refuted: Vec<Sequence>,
    /// Requests so far.
    pub requests: usize,
}

impl<'a> State<'a> {
    pub(super) fn of(log: &'a Log, settings: &'a Settings) -> Self {
        let mut state = Self {
            log,
            settings,
            efforts: Vec::new(),
            right: Vec::new(),
            seen_right: BTreeMap::new(),
            bests: Vec::new(),
            gains: BTreeSet::new(),
            refuted: Vec::new(),
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

    /// The best kernel; where each best one was refuted, the latest right one.
    pub(super) fn best(&self) -> Option<Sequence> {
        self.bests.last().or(self.right.last()).copied()
    }

    /// The last verdict that says that a kernel is right.
    pub(super) fn right_verdict(&self, kernel: Sequence) -> Option<&'a Verdict> {
        self.seen_right.get(&kernel).copied()
    }

    /// The speed-up of a kernel over another one, by times of one batch.
    pub(super) fn over(&self, kernel: Sequence, other: Sequence) -> Option<f64> {
        effort::over(self.right_verdict(kernel)?, other, self.right_verdict(other))
    }

    /// The rounds so far, with their parents.
    pub(super) fn rounds(&self) -> Vec<(&Effort, Sequence)> {
        let round = |effort| match effort {
            &Effort { aim: Aim::Round { parent }, .. } => Some((effort, parent)),
            Effort { aim: Aim::Start | Aim::Repair { .. }, .. } => None,
        };
        self.efforts.iter().filter_map(round).collect()
    }

    /// The right kernel that came of an effort.
    pub(super) fn child(&self, effort: &Effort) -> Option<Sequence> {
        let kernel = points::chosen(self.log, effort.answer?);
        was(self.log, kernel, Outcome::Right).then_some(kernel)
    }

    /// Whether a kernel of this round became the best.
    pub(super) fn is_gain(&self, effort: &Effort) -> bool {
        self.child(effort).is_some_and(|child| self.gains.contains(&child))
    }

    /// The stage of a round, from 0: each one without gain ends its stage.
    pub(super) fn stage(&self, round: usize) -> Stage {
        let before = self.rounds().into_iter().take(round);
        before.fold(
            Stage::Structure,
            |stage, (effort, _)| if self.is_gain(effort) { stage } else { stage.after() },
        )
    }

    /// Rounds at the end that brought no gain.
    pub(super) fn rounds_without_gain(&self) -> usize {
        self.rounds().into_iter().rev().take_while(|(effort, _)| !self.is_gain(effort)).count()
    }

    /// Where the last effort stands.
    pub(super) fn stand(&self) -> Option<Stand> {
        let effort = self.efforts.last()?;
        let fixes = match effort.aim {
            Aim::Start => self.settings.fixes,
            Aim::Round { .. } => self.settings.round_fixes,
            // its own are counted against it beside these
            Aim::Repair { .. } => self.fixes_left(self.efforts.len() - 1),
        };
        Some(effort.stand(self.log, fixes))
    }

    /// What the last start among the first efforts, and the repairs after it, have left of a start's fixes.
    pub(super) fn fixes_left(&self, efforts: usize) -> usize {
        let before = &self.efforts[..efforts];
        let start = before.iter().rposition(|effort| effort.aim == Aim::Start).unwrap_or(0);
        let counts = before[start..].iter().filter(|effort| !matches!(effort.aim, Aim::Round { .. }));
        self.settings.fixes.saturating_sub(counts.map(|effort| effort.fixes(self.log)).sum())
    }

    fn asked(&mut self, sequence: Sequence, request: &Request) {
        self.requests += 1;
        let aim = match (request.ask, request.about) {
            (Ask::First, _) => Some(Aim::Start),
            (Ask::Optimise, Some(parent)) => Some(Aim::Round { parent }),
            (Ask::Diagnose, Some(of)) if self.refuted.contains(&of) => Some(Aim::Repair { of }),
            (Ask::Diagnose | Ask::Patch | Ask::Optimise | Ask::Whole | Ask::Ideas | Ask::Variant, _) => None,
        };
        let goes_on =
            self.efforts.last().is_some_and(|effort| aim.is_none_or(|aim| self.repeats(effort, aim)));
        match (self.efforts.last_mut().filter(|_| goes_on), aim) {
            (Some(effort), _) => {
                effort.requests.push(sequence);
                effort.answer = None;
            }
            (None, Some(aim)) => self.efforts.push(Effort { aim, requests: vec![sequence], answer: None }),
            // a request about nothing belongs to nothing
            (None, None) => {}
        }
    }

    /// Whether a request with this aim asks again what the last effort asked.
    fn repeats(&self, effort: &Effort, aim: Aim) -> bool {
        effort.aim == aim && matches!(self.stand(), Some(Stand::Open(Move::Again { .. })))
    }

    fn answered(&mut self, sequence: Sequence, candidate: &Candidate) {
        let Some(effort) = self.efforts.last_mut() else { return };
        let is_first = effort.answer.is_none() && candidate.request.is_some();
        if is_first && candidate.request.as_ref() == effort.requests.last() {
            effort.answer = Some(sequence);
        }
    }

    fn judged(&mut self, verdict: &'a Verdict) {
        let kernel = verdict.candidate;
        if verdict.outcome == Outcome::Right {
            self.seen_right.insert(kernel, verdict);
        }
        match verdict.outcome {
            Outcome::Right if self.right.contains(&kernel) || self.refuted.contains(&kernel) => {}
            Outcome::Right => {
                let is_gain =
                    self.best().is_none_or(|best| self.over(kernel, best).is_some_and(|by| by >= GAIN));
                self.right.push(kernel);
                if is_gain {
                    self.bests.push(kernel);
                    self.gains.insert(kernel);
                }
            }
            Outcome::Refused | Outcome::Wrong | Outcome::Crashed | Outcome::WrongInFull => {
                let was_right = self.right.contains(&kernel);
                self.right.retain(|right| *right != kernel);
                self.bests.retain(|best| *best != kernel);
                if was_right || verdict.outcome == Outcome::WrongInFull {
                    self.refuted.push(kernel);
                }
            }
            Outcome::Compiled | Outcome::TooSlow | Outcome::Accepted => {}
        }
    }
}
