//! [`Standing`]: the team of what is locked, from its sources. It goes through the whole gate before those who would
//! replace it: whom this gate refuses nobody has to beat, and who stays has fresh evidence.

use std::collections::VecDeque;
use std::time::Instant;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::record::Kind;

use super::found::Passed;
use super::{Finals, Member, Team, times};
use crate::compile::CompileSetup;
use crate::event::Reporter;
use crate::generate::Candidate;
use crate::plan::Plan;
use crate::search::compiled::{self, Compiled};
use crate::search::error::SearchError;
use crate::search::sanitize::Naive;
use crate::store::Entry;

/// What is locked, in dispatch order, but for its naive kernel.
pub(in crate::search) struct Standing {
    members: Vec<Locked>,
}

struct Locked {
    candidate: Candidate,
    prefer: Eligibility,
    /// Of the locked bytes.
    digest: ArtifactDigest,
}

/// What became of what was locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::search) enum Fate {
    /// There was nothing, or it need not stay.
    Open,
    /// It passed anew, and nobody beats it.
    Stays,
    /// The gate has this against it.
    Refused(String),
}

impl Standing {
    /// The variants of an entry that came with its sources, with tiles as `space` has them under the same names.
    pub(in crate::search) fn of(entry: &Entry, space: &[Candidate]) -> Self {
        let pairs = entry.record.variants.iter().zip(&entry.sources);
        let members = pairs.filter(|(variant, _)| variant.kind != Kind::Naive).map(|(variant, source)| {
            let same = space.iter().find(|candidate| candidate.name == variant.name);
            Locked {
                candidate: Candidate {
                    name: variant.name.clone(),
                    kind: variant.kind,
                    origin: variant.origin.clone(),
                    source: String::from_utf8_lossy(source).into_owned(),
                    contract: variant.contract.clone(),
                    eligibility: variant.eligibility.clone(),
                    tiles: same.map(|candidate| candidate.tiles.clone()).unwrap_or_default(),
                    sketch: None,
                },
                prefer: variant.prefer.clone(),
                digest: variant.artifact.artifact,
            }
        });
        Self { members: members.collect() }
    }

    /// Whether a member goes by this name, or is eligible anywhere.
    pub(in crate::search) fn has_no_use_for(&self, behind: &Candidate) -> bool {
        let is_anywhere = |member: &Locked| member.candidate.eligibility == Eligibility::default();
        self.members.iter().any(|member| member.candidate.name == behind.name || is_anywhere(member))
    }

    /// The team with `behind` behind it, each compiled by a process of its own; none where that gives other bytes than
    /// the locked ones.
    pub(super) fn compiled(
        &self,
        setup: &CompileSetup,
        plan: &Plan,
        behind: Option<&Candidate>,
    ) -> Result<Option<Vec<Compiled>>, SearchError> {
        let members = self.members.iter().map(|member| &member.candidate);
        let candidates: Vec<Candidate> = members.chain(behind).cloned().collect();
        let mut team = Vec::new();
        for (at, attempt) in compiled::alone(setup, plan, &candidates)?.into_iter().enumerate() {
            let Ok(compiled) = attempt else { return Ok(None) };
            let prefer = match self.members.get(at) {
                Some(member) if ArtifactDigest::of(&compiled.artifact.bytes) != member.digest => {
                    return Ok(None);
                }
                Some(member) => member.prefer.clone(),
                None => Eligibility::default(),
            };
            team.push(Compiled { prefer, ..compiled });
        }
        Ok((!self.members.is_empty()).then_some(team))
    }
}

/// Takes the team out that has the bytes of these, which have been judged; its speed-up by the ranking, else 0.
pub(super) fn judged_before(waiting: &mut VecDeque<Team>, stands: &[Member]) -> f64 {
    let is_same = |team: &Team| {
        let bytes = stands.iter().map(|(compiled, _)| &compiled.artifact.bytes);
        team.members.iter().map(|compiled| &compiled.artifact.bytes).eq(bytes)
    };
    let at = waiting.iter().position(is_same);
    at.and_then(|at| waiting.remove(at)).map_or(0.0, |team| team.ranked)
}

impl Finals<'_> {
    /// The whole gate for what is locked. Whom it refuses nobody has to beat.
    pub(super) fn stand(
        &mut self,
        naive: &Compiled,
        team: Option<Vec<Compiled>>,
        sanitizer: &mut Naive,
        events: &mut dyn Reporter,
    ) -> Result<(Fate, Vec<Member>), SearchError> {
        let Some(team) = team else { return Ok((Fate::Open, Vec::new())) };
        let began = Instant::now();
        let found = self.judge_team(&team, Some(&naive.for_gate(self.folder)?))?;
        let told = match &found {
            Ok((judged, _)) => format!("locked; passed, {:.2}x naive", judged.speedup()),
            Err(outcome) => format!("locked; {outcome}"),
        };
        self.tell(&team, told, began, events);
        let refused = match found {
            Err(outcome) => outcome,
            // slower than it was, perhaps by noise: that is nothing against it
            Ok((judged, _)) if !times::wins(&judged.timings, self.plan.spec.min_speedup) => {
                return Ok((Fate::Open, Vec::new()));
            }
            Ok((judged, heaviest)) => match self.clear(Passed { team, judged, heaviest }, sanitizer)? {
                Ok(members) => return Ok((Fate::Stays, members)),
                Err(outcome) => outcome,
            },
        };
        self.locked = &[];
        Ok((Fate::Refused(refused.to_string()), Vec::new()))
    }
}
