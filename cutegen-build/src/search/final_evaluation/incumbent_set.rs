//! [`IncumbentSet`]: the variant set of what is locked, from its sources. It goes through the whole gate before its
//! replacements: what this gate refuses need not be beaten, and what stays has fresh evidence.

use std::collections::VecDeque;
use std::time::Instant;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::record::Kind;

use super::found::Passed;
use super::{FinalEvaluation, Member, VariantSet, times};
use crate::compile::CompileSetup;
use crate::evaluate::Outcome;
use crate::event::Reporter;
use crate::generate::Candidate;
use crate::plan::Plan;
use crate::refine::leave_nothing;
use crate::search::compiled::{self, Compiled};
use crate::search::error::SearchError;
use crate::search::sanitize::Naive;
use crate::store::Entry;

/// What is locked, in dispatch order, but for its naive kernel.
pub(in crate::search) struct IncumbentSet {
    members: Vec<Locked>,
}

struct Locked {
    candidate: Candidate,
    prefer: Eligibility,
    /// Of the locked bytes.
    digest: ArtifactDigest,
}

/// Its bytes, and what goes behind them.
pub(super) struct CompiledIncumbentSet {
    set: Vec<Compiled>,
    behind: Option<Compiled>,
}

/// What became of what was locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::search) enum IncumbentVerdict {
    /// There was nothing, or it need not stay.
    Open,
    /// It passed anew, and nothing beats it.
    Stays,
    /// It is wrong: the gate has this against it.
    Refused(String),
}

impl IncumbentSet {
    /// The variants of an entry that came with its sources, but for one that is never dispatched.
    pub(in crate::search) fn of(entry: &Entry) -> Self {
        let pairs = entry.record.variants.iter().zip(&entry.sources);
        let members =
            pairs.filter(|(variant, _)| variant.kind != Kind::Naive).map(|(variant, source)| Locked {
                candidate: compiled::stored(variant, source),
                prefer: variant.prefer.clone(),
                digest: variant.artifact.artifact,
            });
        Self { members: reached(members.collect()) }
    }

    /// Whether a member goes by this name, or is eligible anywhere.
    pub(in crate::search) fn has_no_use_for(&self, behind: &Candidate) -> bool {
        let is_anywhere = |member: &Locked| member.candidate.eligibility == Eligibility::default();
        self.members.iter().any(|member| member.candidate.name == behind.name || is_anywhere(member))
    }

    /// The variant set, and `behind`, each compiled by a process of its own; none where that gives other bytes than the locked ones.
    pub(super) fn compiled(
        &self,
        setup: &CompileSetup,
        plan: &Plan,
        behind: Option<Candidate>,
    ) -> Result<Option<CompiledIncumbentSet>, SearchError> {
        let own = self.members.len();
        let members = self.members.iter().map(|member| member.candidate.clone());
        let candidates: Vec<Candidate> = members.chain(behind).collect();
        let mut attempts = compiled::alone(setup, plan, &candidates)?;
        let behind = attempts.drain(own..).find_map(Result::ok);
        let mut set = Vec::with_capacity(own);
        for (member, attempt) in self.members.iter().zip(attempts) {
            match attempt {
                Ok(compiled) if ArtifactDigest::of(&compiled.artifact.bytes) == member.digest => {
                    set.push(Compiled { prefer: member.prefer.clone(), ..compiled });
                }
                Ok(_) | Err(_) => return Ok(None),
            }
        }
        Ok((own > 0).then_some(CompiledIncumbentSet { set, behind }))
    }
}

/// Without one at the end to which the others leave nothing.
fn reached(mut members: Vec<Locked>) -> Vec<Locked> {
    let claims: Vec<_> =
        members.iter().map(|m| (m.candidate.eligibility.clone(), m.prefer.clone())).collect();
    if let [before @ .., (last, _)] = claims.as_slice()
        && leave_nothing(before, last)
    {
        members.pop();
        members.iter_mut().last().into_iter().for_each(|member| member.prefer = Eligibility::default());
    }
    members
}

/// Takes the variant set out that has the bytes of these, which have been judged; its speed-up by the ranking, else 0.
pub(super) fn judged_before(waiting: &mut VecDeque<VariantSet>, incumbents: &[Member]) -> f64 {
    let is_same = |set: &VariantSet| {
        let bytes = incumbents.iter().map(|(compiled, _)| &compiled.artifact.bytes);
        set.members.iter().map(|compiled| &compiled.artifact.bytes).eq(bytes)
    };
    let at = waiting.iter().position(is_same);
    at.and_then(|at| waiting.remove(at)).map_or(0.0, |set| set.ranked)
}

impl FinalEvaluation<'_> {
    /// The whole gate for what is locked, with what goes behind it, else without. What is wrong need not be beaten, and no
    /// variant set that holds all of it is judged. Whatever else comes in between says nothing against it.
    pub(super) fn stand(
        &mut self,
        naive: &Compiled,
        incumbents: Option<CompiledIncumbentSet>,
        (waiting, sanitizer): (&mut VecDeque<VariantSet>, &mut Naive),
        events: &mut dyn Reporter,
    ) -> Result<(IncumbentVerdict, Vec<Member>), SearchError> {
        let Some(CompiledIncumbentSet { set: alone, behind }) = incumbents else {
            return Ok((IncumbentVerdict::Open, Vec::new()));
        };
        let with = behind.map(|behind| [alone.as_slice(), &[behind]].concat());
        let mut wrong = None;
        for set in with.into_iter().chain([alone.clone()]) {
            match self.judge_locked(&set, naive, sanitizer, events)? {
                Ok(members) if members.is_empty() => return Ok((IncumbentVerdict::Open, members)),
                Ok(members) => return Ok((IncumbentVerdict::Stays, members)),
                Err(outcome) => wrong = matches!(outcome, Outcome::Incorrect(_)).then(|| outcome.to_string()),
            }
        }
        let Some(wrong) = wrong else { return Ok((IncumbentVerdict::Open, Vec::new())) };
        let has = |set: &VariantSet, one: &Compiled| {
            set.members.iter().any(|member| member.artifact.bytes == one.artifact.bytes)
        };
        waiting.retain(|set| !alone.iter().all(|one| has(set, one)));
        self.locked = &[];
        Ok((IncumbentVerdict::Refused(wrong), Vec::new()))
    }

    /// What the gate saw of each member, or of which one; none where they gain too little by now, which is nothing against
    /// them.
    fn judge_locked(
        &mut self,
        set: &[Compiled],
        naive: &Compiled,
        sanitizer: &mut Naive,
        events: &mut dyn Reporter,
    ) -> Result<Result<Vec<Member>, Outcome>, SearchError> {
        let began = Instant::now();
        let found = self.judge_set(set, &naive.for_gate(self.plan, self.folder)?)?;
        let (told, judged) = match found {
            Err(outcome) => (outcome.to_string(), Err(outcome)),
            Ok((judged, heaviest)) => {
                let (told, set) = (format!("passed, {:.2}x naive", judged.speedup()), set.to_vec());
                if times::wins(&judged.timings, self.plan.spec.min_speedup) {
                    (told, self.clear(Passed { set, judged, heaviest }, sanitizer)?)
                } else {
                    (told, Ok(Vec::new()))
                }
            }
        };
        let but = judged.as_ref().err().map(ToString::to_string).filter(|but| *but != told);
        let told = [Some(told), but].into_iter().flatten().collect::<Vec<_>>().join("; ");
        self.tell(set, format!("locked; {told}"), began, events);
        Ok(judged)
    }
}

#[cfg(test)]
mod tests {
    use super::{ArtifactDigest, Candidate, Eligibility, Kind, Locked, reached};

    fn locked(name: &str, eligibility: &str, prefer: &str) -> Locked {
        let parsed = |text: &str| Eligibility::parse_positional(text).expect("parses");
        Locked {
            candidate: Candidate {
                name: name.to_owned(),
                kind: Kind::Tuned,
                origin: String::new(),
                source: String::new(),
                contract: Default::default(),
                eligibility: parsed(eligibility),
                tiles: Vec::new(),
                cost_features: None,
            },
            prefer: parsed(prefer),
            digest: ArtifactDigest::of(name.as_bytes()),
        }
    }

    fn names(members: Vec<Locked>) -> Vec<(String, String)> {
        reached(members).into_iter().map(|m| (m.candidate.name, m.prefer.to_string())).collect()
    }

    #[test]
    fn who_is_never_dispatched_does_not_stand() {
        let low = || locked("low", "t0 aligned 16", "a0 <= 512");
        let high = || locked("high", "t0 aligned 16", "a0 >= 513");
        let last = || locked("last", "t0 aligned 16", "true");
        let two = |names: [(&str, &str); 2]| names.map(|(name, prefer)| (name.to_owned(), prefer.to_owned()));
        assert_eq!(names(vec![low(), high(), last()]), two([("low", "a0 <= 512"), ("high", "true")]));
        assert_eq!(names(vec![high(), low(), last()]), two([("high", "a0 >= 513"), ("low", "true")]));
        assert_eq!(names(vec![low(), last()]).len(), 2, "what is above is the last one's");
        let whole = names(vec![low(), locked("high", "t0 aligned 16", "a0 >= 514"), last()]);
        assert_eq!(whole.len(), 3, "513 is the last one's");
        assert_eq!(
            names(vec![low(), high(), locked("last", "true", "true")]).len(),
            3,
            "misaligned bases are"
        );
    }
}
