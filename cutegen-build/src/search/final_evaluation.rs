//! The final evaluation: the finalists of a search, each compiled again alone; the whole gate for those bytes, timed again in new
//! processes and on new inputs; and which of them wins. The naive kernel has passed before. A finalist is a variant set: one variant, or several that share an axis,
//! judged as the runtime would dispatch them.

mod found;
mod incumbent_set;
mod reserve;
mod times;

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::time::Instant;

use cutegen_spec::digest::ArtifactDigest;

use super::compiled::{self, Attempt, Compiled};
use super::error::SearchError;
use super::judging::Judging;
use super::sanitize::{Naive, asked};
use super::{naive, progress};
use crate::compile::CompileSetup;
use crate::evaluate::{Candidate, Outcome};
use crate::event::{Event, Phase, Reporter};
use crate::generate;
use crate::plan::Plan;
use crate::refine::{CLOSE, kind};
pub use found::Final;
pub(super) use found::{Found, Judged, VariantSet};
use found::{Passed, named};
use incumbent_set::judged_before;
pub(super) use incumbent_set::{IncumbentSet, IncumbentVerdict};
pub(super) use reserve::Reserve;
use times::{Clock, Heaviest};
pub(super) use times::{Locked, Timed, has_peer, lasts, libraries, timed};

/// Every member of the variant sets from a compiler process of its own: what ranked them came from forks of one process, but
/// for the host's, which never do.
fn alone(setup: &CompileSetup, plan: &Plan, sets: &[VariantSet]) -> Result<Vec<Attempt>, SearchError> {
    let members = sets.iter().flat_map(|set| &set.members);
    if plan.target.is_host() {
        return Ok(members.cloned().map(Ok).collect());
    }
    let candidates: Vec<_> = members.map(|member| member.candidate.clone()).collect();
    compiled::alone(setup, plan, &candidates)
}

/// A variant of an answer, and what the gate saw of it.
type Member = (Compiled, Option<Judged>);

/// The final evaluation of one search.
pub(super) struct FinalEvaluation<'a> {
    pub(super) setup: &'a CompileSetup,
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a Path,
    pub(super) judge: &'a mut Judging,
    pub(super) workloads: &'a [Vec<i64>],
    /// What a winner would replace, and must beat.
    pub(super) locked: &'a [Locked],
    /// Its variant set, and what may go behind it.
    pub(super) incumbents: Option<(IncumbentSet, Option<generate::Candidate>)>,
    /// Whether PyTorch is an incumbent.
    pub(super) peers: bool,
    /// How many variant sets there are.
    pub(super) sets: usize,
    /// What follows where all of them fall.
    pub(super) reserve: Reserve<VariantSet>,
    /// What became of those that were judged.
    pub(super) finals: Vec<Final>,
}

impl FinalEvaluation<'_> {
    /// The whole gate for what is locked, and for the variant sets, best first, until one has won that no
    /// other comes near and that compute-sanitizer has nothing against; the fastest of those is the answer, else what is
    /// locked.
    pub(super) fn choose(
        &mut self,
        (naive, judged): (&Compiled, Judged),
        sets: &[VariantSet],
        events: &mut dyn Reporter,
    ) -> Result<Found, SearchError> {
        let (setup, plan) = (self.setup, self.plan);
        progress(plan, Phase::FinalEvaluation, (0, self.sets), events);
        let incumbents = self.incumbents.take().map(|(locked, behind)| locked.compiled(setup, plan, behind));
        let (attempts, incumbents) = (alone(setup, plan, sets)?, incumbents.transpose()?.flatten());
        let mut waiting = VecDeque::from(self.compiled_again(sets, attempts, events));
        let mut sanitizer = Naive::new(naive.for_gate(self.plan, self.folder)?);
        let (mut verdict, incumbents) =
            self.stand(naive, incumbents, (&mut waiting, &mut sanitizer), events)?;
        let won = judged_before(&mut waiting, &incumbents);
        let mut winner = Vec::new();
        while winner.is_empty() && !waiting.is_empty() {
            let passed = self.passed(naive, (&mut waiting, won), &verdict, events)?;
            winner = self.first_clean(passed, &mut sanitizer, events)?;
            if won > 0.0 {
                break; // what is left is slower
            }
            if winner.is_empty() && waiting.is_empty() {
                waiting.extend(self.follower(events)?);
            }
        }
        match winner.is_empty() {
            true => winner = incumbents,
            false if verdict == IncumbentVerdict::Stays => verdict = IncumbentVerdict::Open,
            false => {}
        }
        let sanitizer = sanitizer.itself(asked(plan, self.judge))?;
        let sanitizer = sanitizer.map_err(|errors| naive::refused(plan, &Outcome::Blocked(errors)))?;
        winner.push((naive.clone(), Some(Judged { sanitizer, ..judged })));
        Ok(Found { variants: winner, verdict, finals: std::mem::take(&mut self.finals) })
    }

    /// What is judged once every finalist has fallen.
    fn follower(&mut self, events: &mut dyn Reporter) -> Result<Option<VariantSet>, SearchError> {
        while let Some(set) = self.reserve.next() {
            let text = format!("{}: every finalist fell, {} follows", self.plan.title(), named(&set.members));
            events.report(&Event::Note { text });
            let sets = [set];
            let attempts = alone(self.setup, self.plan, &sets)?;
            self.sets += 1;
            if let Some(set) = self.compiled_again(&sets, attempts, events).pop() {
                return Ok(Some(set));
            }
        }
        Ok(None)
    }

    /// The member that is dispatched first speaks for the variant set.
    fn fell(&mut self, set: &[Compiled]) {
        set.iter().take(1).for_each(|lead| self.reserve.fell(kind(&lead.candidate)));
    }

    /// Judges those that wait until one has won that no other comes near: those that passed and are faster than what they
    /// must beat, fastest first.
    fn passed(
        &mut self,
        naive: &Compiled,
        (waiting, mut won): (&mut VecDeque<VariantSet>, f64),
        verdict: &IncumbentVerdict,
        events: &mut dyn Reporter,
    ) -> Result<Vec<Passed>, SearchError> {
        let naive_gate = naive.for_gate(self.plan, self.folder)?;
        let (mut passed, mut said) = (Vec::new(), BTreeSet::new());
        while let Some(VariantSet { members: set, ranked }) =
            waiting.pop_front_if(|next| won <= next.ranked * CLOSE)
        {
            let began = Instant::now();
            let found = self.judge_set(&set, &naive_gate)?;
            let told = match &found {
                Ok((judged, _)) => format!("passed, {:.2}x naive", judged.speedup()),
                Err(outcome) => outcome.to_string(),
            };
            self.tell(&set, told, began, events);
            progress(self.plan, Phase::FinalEvaluation, (self.sets - waiting.len(), self.sets), events);
            let outcome = found.as_ref().map(|(judged, _)| judged.speedup()).map_err(Clone::clone);
            self.finals.push(Final { name: named(&set), outcome });
            let Ok((judged, heaviest)) = found else {
                self.fell(&set);
                continue;
            };
            for text in judged.not_timed.iter().filter(|text| said.insert((*text).clone())) {
                events.report(&Event::Note { text: format!("not timed against {text}") });
            }
            // a set that raced what is locked nowhere gains nothing over it
            let has_raced = *verdict != IncumbentVerdict::Stays || times::has_raced(&judged.timings);
            if has_raced && times::wins(&judged.timings, self.plan.spec.min_speedup) {
                passed.push(Passed { set, judged, heaviest });
                won = won.max(ranked);
            } else {
                self.reserve.close();
            }
        }
        passed.sort_by(|a, b| b.judged.speedup().total_cmp(&a.judged.speedup()));
        Ok(passed)
    }

    /// The variant sets with their members as compiled alone, but for variant sets of which one did not compile.
    fn compiled_again(
        &self,
        sets: &[VariantSet],
        attempts: Vec<Attempt>,
        events: &mut dyn Reporter,
    ) -> Vec<VariantSet> {
        let (mut attempts, mut again) = (attempts.into_iter(), Vec::new());
        for VariantSet { members: known, ranked } in sets {
            let mut members = Vec::new();
            for (known, attempt) in known.iter().zip(attempts.by_ref()) {
                match attempt {
                    Ok(compiled) => members.push(Compiled { prefer: known.prefer.clone(), ..compiled }),
                    Err((_, outcome)) => {
                        self.tell(std::slice::from_ref(known), outcome.to_string(), Instant::now(), events);
                    }
                }
            }
            again.extend((members.len() == known.len()).then_some(VariantSet { members, ranked: *ranked }));
        }
        again
    }

    /// The first that is clear; empty where there is none.
    fn first_clean(
        &mut self,
        passed: Vec<Passed>,
        sanitizer: &mut Naive,
        events: &mut dyn Reporter,
    ) -> Result<Vec<Member>, SearchError> {
        for passed in passed {
            let (began, set) = (Instant::now(), passed.set.clone());
            match self.clear(passed, sanitizer)? {
                Ok(members) => return Ok(members),
                Err(refused) => {
                    self.tell(&set, refused.to_string(), began, events);
                    self.fell(&set);
                    self.finals.push(Final { name: named(&set), outcome: Err(refused) });
                }
            }
        }
        Ok(Vec::new())
    }

    /// Each member with its own part of what was judged, where the variant set stands being timed without pause and
    /// compute-sanitizer has nothing against it.
    fn clear(
        &mut self,
        mut passed: Passed,
        sanitizer: &mut Naive,
    ) -> Result<Result<Vec<Member>, Outcome>, SearchError> {
        if let Err(outcome) = self.lasts(&mut passed)? {
            return Ok(Err(outcome));
        }
        let cleared = self.clean(&passed.set, sanitizer)?;
        Ok(cleared.map(|sanitizers| passed.members(sanitizers)).map_err(Outcome::Blocked))
    }

    /// Times the variant set without pause, where that says anything.
    fn lasts(&mut self, passed: &mut Passed) -> Result<Result<(), Outcome>, SearchError> {
        let Passed { set, judged, heaviest: Some(heaviest) } = passed else { return Ok(Ok(())) };
        let began = Instant::now();
        let set: Vec<_> =
            set.iter().map(|member| member.for_gate(self.plan, self.folder)).collect::<Result<_, _>>()?;
        let told = heaviest.without_pause(self.judge, (&set, self.workloads), &mut judged.timings)?;
        judged.seconds += began.elapsed().as_secs_f64();
        Ok(told.map(|reason| judged.not_timed.extend(reason)))
    }

    /// What compute-sanitizer says of each member, or why one does not get by.
    fn clean(
        &mut self,
        set: &[Compiled],
        sanitizer: &mut Naive,
    ) -> Result<Result<Vec<String>, String>, SearchError> {
        let gates: Vec<Candidate> =
            set.iter().map(|member| member.for_gate(self.plan, self.folder)).collect::<Result<_, _>>()?;
        let cleared = sanitizer.beside(&gates, asked(self.plan, self.judge))?;
        Ok(cleared.into_iter().collect())
    }

    fn tell(&self, set: &[Compiled], outcome: String, began: Instant, events: &mut dyn Reporter) {
        let (kernel, candidate, seconds) = (self.plan.title(), named(set), began.elapsed().as_secs_f64());
        events.report(&Event::Judged { kernel, candidate, outcome, seconds });
    }

    /// The whole gate for a variant set with the naive kernel behind it, as the runtime would dispatch them.
    fn judge_set(
        &mut self,
        set: &[Compiled],
        naive: &Candidate,
    ) -> Result<Result<(Judged, Option<Heaviest>), Outcome>, SearchError> {
        let started = Instant::now();
        let mut list = set
            .iter()
            .map(|member| member.for_gate(self.plan, self.folder))
            .collect::<Result<Vec<_>, _>>()?;
        list.push(naive.clone());
        let correctness = match self.judge.full(&list)? {
            Outcome::Passed { correctness, .. } => correctness,
            outcome @ (Outcome::Incorrect(_)
            | Outcome::CompileFailed(_)
            | Outcome::Blocked(_)
            | Outcome::Crashed(_)
            | Outcome::TimedOut(_)) => return Ok(Err(outcome)),
        };
        let digests: Vec<_> = set.iter().map(|member| ArtifactDigest::of(&member.artifact.bytes)).collect();
        let times = match self.clock(naive).time(&list, &digests)? {
            Ok(times) => times,
            Err(outcome) => return Ok(Err(outcome)),
        };
        let seen = (self.judge.seed, self.judge.reference);
        let untimed = Judged::untimed(correctness, seen, started.elapsed()).compiled_by(set);
        let not_timed = times.not_timed.into_iter().collect();
        Ok(Ok((Judged { timings: times.timed, not_timed, ..untimed }, times.heaviest)))
    }

    fn clock<'a>(&'a mut self, naive: &'a Candidate) -> Clock<'a> {
        let FinalEvaluation { plan, workloads, locked, peers, .. } = *self;
        Clock { plan, judge: self.judge, workloads, naive, locked, peers }
    }
}
