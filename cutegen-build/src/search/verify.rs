//! Verify: a locked entry re-verified on this machine.

use std::path::Path;
use std::time::Instant;

use cutegen_spec::record::{Evidence, Record, Variant};
use cutegen_spec::target::Target;
use tempfile::TempDir;

use super::error::SearchError;
use super::final_evaluation::{Judged, Locked};
use super::judging::Judging;
use super::sanitize::{Naive, asked};
use super::{compiled, entry};
use crate::compile::{COMPILER, CompileSetup};
use crate::evaluate::LEASE;
use crate::evaluate::{self, Correctness, Outcome};
use crate::generate;
use crate::plan::Plan;
use crate::store::Entry;
use crate::store::inflate::inflate;

/// The gate's verdict on an entry as the runtime would dispatch it.
pub type Verdict = Outcome;

/// Judges the entry's variants as one list.
pub(super) fn rejudge(setup: &CompileSetup, plan: &Plan, entry: &Entry) -> Result<Verdict, SearchError> {
    let (folder, trusted) = (folder()?, self::folder()?);
    let (mut judge, _) = judging(setup, plan, entry, trusted.path())?;
    judge.full(&candidates(plan, entry, folder.path())?)
}

/// Judges each variant with those behind it, as the runtime falls back; the record with what was seen, or the first
/// verdict that is not a pass. Timings stay as they are.
pub(super) fn judge_again(
    setup: &CompileSetup,
    plan: &Plan,
    entry: &Entry,
) -> Result<Result<Record, Verdict>, SearchError> {
    let (folder, trusted) = (folder()?, self::folder()?);
    let (mut judge, naive) = judging(setup, plan, entry, trusted.path())?;
    let list = candidates(plan, entry, folder.path())?;
    let mut passed = Vec::new();
    for at in 0..list.len() {
        let started = Instant::now();
        match of_first(judge.full(&list[at..])?) {
            Ok(correctness) => passed.push((correctness, started.elapsed())),
            Err(refused) => return Ok(Err(*refused)),
        }
    }
    // all at once: each tool takes seconds to start
    let seen = Naive::new(naive).beside(&list, asked(plan, &mut judge))?;
    let sanitizers = match seen.into_iter().collect::<Result<Vec<String>, String>>() {
        Ok(sanitizers) => sanitizers,
        Err(errors) => return Ok(Err(Outcome::Blocked(errors))),
    };
    let mut record = entry.record.clone();
    for ((variant, (correctness, took)), sanitizer) in record.variants.iter_mut().zip(passed).zip(sanitizers)
    {
        let judged = Judged::untimed(correctness, (judge.seed, judge.reference), took);
        let fresh = entry::evidence(plan, &Judged { sanitizer, ..judged });
        variant.evidence = Some(carried(plan, fresh, variant.judged()));
    }
    Ok(Ok(record))
}

/// What was judged of a list's first variant, where the list passed: those behind it have evidence of their own.
fn of_first(outcome: Outcome) -> Result<Correctness, Box<Verdict>> {
    match outcome {
        Outcome::Passed { correctness, .. } => Ok(correctness.of_variant(0)),
        refused => Err(Box::new(refused)),
    }
}

/// A judge of this plan, at the edges of the entry's tiles, and the naive kernel. An entry does not vouch for itself: what
/// it is held against is compiled here.
fn judging(
    setup: &CompileSetup,
    plan: &Plan,
    entry: &Entry,
    folder: &Path,
) -> Result<(Judging, evaluate::Candidate), SearchError> {
    let toolchain = compiled::fingerprint(setup, &plan.target)?;
    let naive = compiled::must_compile(setup, plan, generate::naive::candidate(plan, &toolchain))?;
    let tiles = entry.record.variants.iter().flat_map(|variant| &variant.tiles);
    let tiles = tiles.map(|tile| tile.extent).collect();
    let judge = Judging::start(setup, plan, folder, tiles, &naive)?;
    Ok((judge, naive.for_gate(plan, folder)?))
}

/// What judging again does not do stays as it was seen: timings, with their seed, who took them and whether alone, and
/// which sandbox layers the compiler had.
fn carried(plan: &Plan, mut fresh: Evidence, old: Option<&Evidence>) -> Evidence {
    let Some(old) = old else {
        fresh.not_enforced.push(format!("{COMPILER}not recorded"));
        return fresh;
    };
    let is_kept = |open: &&String| {
        open.starts_with(COMPILER)
            || !old.timings.is_empty() && open.starts_with(LEASE) && !fresh.not_enforced.contains(open)
    };
    let kept: Vec<String> = old.not_enforced.iter().filter(is_kept).cloned().collect();
    fresh.not_enforced.extend(kept);
    fresh.not_timed.clone_from(&old.not_timed);
    if !old.timings.is_empty() {
        fresh.timings.clone_from(&old.timings);
        fresh.seeds.timing = old.seeds.timing;
        fresh.timed_by = Some(old.timed_by()).filter(|by| *by != fresh.timed_by());
        // of the clock's checks, those that the gate had which took them
        let had = |name: &String| fresh.checks.contains(name) || old.checks.contains(name);
        fresh.checks = entry::checks(plan, &fresh).into_iter().filter(had).collect();
    }
    fresh
}

pub(super) fn folder() -> Result<TempDir, SearchError> {
    tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))
}

/// The entry's variants as the gate takes them, unpacked into `folder`.
pub(super) fn candidates(
    plan: &Plan,
    entry: &Entry,
    folder: &Path,
) -> Result<Vec<evaluate::Candidate>, SearchError> {
    let mut list = Vec::new();
    for (variant, stored) in entry.record.variants.iter().zip(&entry.artifacts) {
        let path = folder.join(format!("{}.artifact", variant.name));
        let bytes = judged(plan, variant, stored).map_err(|error| SearchError::File(path.clone(), error))?;
        std::fs::write(&path, bytes).map_err(|error| SearchError::File(path.clone(), error))?;
        list.push(evaluate::Candidate {
            artifact: path,
            contract: variant.contract.clone(),
            eligibility: variant.eligibility.clone(),
            prefer: variant.prefer.clone(),
            tiles: compiled::tiles_of(variant),
            shared_memory: variant.shared_memory,
        });
    }
    Ok(list)
}

/// The entry's variants as incumbents, unpacked into `folder`.
pub(super) fn locked(plan: &Plan, entry: &Entry, folder: &Path) -> Result<Vec<Locked>, SearchError> {
    let digests = entry.record.variants.iter().map(|variant| variant.artifact.artifact);
    let list = candidates(plan, entry, folder)?.into_iter().zip(digests);
    Ok(list.map(|(candidate, digest)| Locked { candidate, digest }).collect())
}

/// The judged bytes of a stored artifact.
fn judged(plan: &Plan, variant: &Variant, stored: &[u8]) -> std::io::Result<Vec<u8>> {
    match plan.target {
        Target::Host { .. } => Ok(stored.to_vec()),
        Target::Cuda { .. } => inflate(&variant.artifact, stored).map_err(std::io::Error::other),
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::record::{Evidence, Seeds, TimedBy, Timing};

    use super::{carried, of_first};
    use crate::evaluate::{Correctness, Outcome};
    use crate::plan::Plan;
    use crate::search::entry::checks;

    /// A kernel on the host, then on a GPU.
    fn plans() -> Vec<Plan> {
        let text = "edition = 1\n[kernels.k]\naxes = { n = '1..=64' }\ninputs = { x = 'f32[n]' }\n\
                    outputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n]'\ntargets = ['host', 'sm_90a']\n";
        Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text"))
    }

    fn judged(gate: u32, device: &str) -> Evidence {
        Evidence {
            gate,
            device: device.to_owned(),
            seeds: Seeds { judging: 7, timing: None },
            ..Evidence::default()
        }
    }

    #[test]
    fn judging_again_keeps_what_it_does_not_do() {
        let plan = &plans()[1];
        let old = Evidence {
            seeds: Seeds { judging: 1, timing: Some(1) },
            timings: vec![Timing::default()],
            not_timed: vec!["locked: none".to_owned()],
            not_enforced: vec![
                "compiler: namespaces".to_owned(),
                "device lease (/tmp: no)".to_owned(),
                "seccomp".to_owned(),
            ],
            checks: vec!["timed".to_owned()],
            ..judged(2, "NVIDIA H200, sm_90")
        };
        let kept = carried(plan, judged(4, "NVIDIA H100, sm_90"), Some(&old));
        assert_eq!(
            (kept.gate, kept.timed_on(), kept.seeds),
            (4, "NVIDIA H200", Seeds { judging: 7, timing: Some(1) })
        );
        assert_eq!(kept.timed_by, Some(TimedBy { gate: 2, device: "NVIDIA H200, sm_90".to_owned() }));
        assert_eq!((kept.timings.len(), kept.not_timed), (1, old.not_timed.clone()));
        assert_eq!(kept.not_enforced, old.not_enforced[..2], "the runner's layers are seen anew");
        assert!(kept.checks.contains(&"timed".to_owned()) && !kept.checks.contains(&"floor".to_owned()));
        let again = carried(
            plan,
            judged(5, "NVIDIA H200, sm_90"),
            Some(&Evidence { timed_by: kept.timed_by, ..old.clone() }),
        );
        assert_eq!(again.timed_by.map(|by| by.gate), Some(2), "not by the judging in between");
        let same = carried(plan, judged(2, "NVIDIA H200, sm_90"), Some(&old));
        assert_eq!(same.timed_by, None);
        let first = carried(plan, judged(4, "NVIDIA H200, sm_90"), None);
        assert_eq!((first.not_enforced, first.timings.len()), (vec!["compiler: not recorded".to_owned()], 0));
    }

    #[test]
    fn who_stands_behind_lends_no_evidence() {
        let ran =
            |extent, repeats| Correctness { shapes: vec![vec![extent]], repeats, ..Correctness::default() };
        let correctness = Correctness {
            shapes: vec![vec![1], vec![777]],
            repeats: 1000,
            variants: vec![ran(777, 20), ran(1, 1000)],
            ..Correctness::default()
        };
        let first = of_first(Outcome::Passed { correctness, performance: None }).expect("passed");
        assert_eq!((first.shapes, first.repeats), (vec![vec![777]], 20));
        assert!(of_first(Outcome::Blocked("no".to_owned())).is_err());
    }

    #[test]
    fn only_what_ran_is_listed() {
        let plans = plans();
        let bare = Evidence { sanitizer: "not run: host code".to_owned(), ..Evidence::default() };
        let timed = Evidence {
            timings: vec![Timing::default()],
            sanitizer: "clean: memcheck".to_owned(),
            ..bare.clone()
        };
        let has = |plan: usize, evidence: &Evidence, name: &str| {
            checks(&plans[plan], evidence).iter().any(|n| n == name)
        };
        for name in ["content", "values", "guards", "repeats"] {
            assert!((0..2).all(|plan| has(plan, &bare, name)), "{name}");
        }
        for name in ["globals", "scramble", "late", "occupancy"] {
            assert!(!has(0, &timed, name) && has(1, &bare, name), "{name}");
        }
        for (name, on_host) in [("timed", true), ("floor", false), ("sanitizer", true)] {
            assert!(
                !has(1, &bare, name) && has(1, &timed, name) && has(0, &timed, name) == on_host,
                "{name}"
            );
        }
    }
}
