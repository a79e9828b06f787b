//! From what a search found to an entry: the record with its evidence, and the files beside it.

use std::path::PathBuf;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::record::{self, Evidence, Kind, Record, ReferenceOn, Seeds, Timing, Variant};
use cutegen_spec::target::Target;

use super::compiled::Compiled;
use super::error::SearchError;
use super::rounds::{Found, Judged};
use crate::evaluate::GATE;
use crate::plan::Plan;

/// Level of the stored cubins' compression; they are read a thousand times and written once.
const ZSTD_LEVEL: i32 = 19;

/// A file of an entry: its name and bytes.
pub(super) type File = (String, Vec<u8>);

/// The record and the files of what was found.
pub(super) fn build(plan: &Plan, found: &Found) -> Result<(Record, Vec<File>), SearchError> {
    let mut files = Vec::new();
    let mut variants = Vec::new();
    for (compiled, judged) in &found.variants {
        variants.push(variant(plan, compiled, judged.as_ref(), &mut files)?);
    }
    let record =
        Record { version: record::VERSION, key: plan.key, question: plan.question.clone(), variants };
    Ok((record, files))
}

fn variant(
    plan: &Plan,
    compiled: &Compiled,
    judged: Option<&Judged>,
    files: &mut Vec<File>,
) -> Result<Variant, SearchError> {
    let candidate = &compiled.candidate;
    let (source_end, artifact_end, min_driver) = match plan.target {
        Target::Host { .. } => ("cpp", "o", None),
        Target::Cuda { .. } => ("cu", "cubin.zst", compiled.min_driver()),
    };
    let bytes = &compiled.artifact.bytes;
    let stored = match plan.target {
        Target::Host { .. } => bytes.clone(),
        Target::Cuda { .. } => zstd::bulk::compress(bytes, ZSTD_LEVEL)
            .map_err(|error| SearchError::File(PathBuf::from(&candidate.name), error))?,
    };
    let artifact = record::Artifact {
        file: format!("{}.{artifact_end}", candidate.name),
        artifact: ArtifactDigest::of(bytes),
        stored: ArtifactDigest::of(&stored),
        bytes: bytes.len() as u64,
    };
    let source = record::Source {
        file: format!("{}.{source_end}", candidate.name),
        digest: ArtifactDigest::of(candidate.source.as_bytes()),
    };
    files.push((artifact.file.clone(), stored));
    files.push((source.file.clone(), candidate.source.clone().into_bytes()));
    Ok(Variant {
        name: candidate.name.clone(),
        kind: candidate.kind,
        eligibility: candidate.eligibility.clone(),
        prefer: Eligibility::default(),
        origin: candidate.origin.clone(),
        toolchain: compiled.artifact.fingerprint.clone(),
        min_driver,
        artifact,
        source,
        contract: candidate.contract.clone(),
        evidence: judged.map(|judged| evidence(plan, candidate.kind, judged)),
    })
}

pub(super) fn evidence(plan: &Plan, kind: Kind, judged: &Judged) -> Evidence {
    let correctness = &judged.correctness;
    let incumbent = match kind {
        Kind::Tuned => "naive",
        Kind::Naive => "none",
    };
    let timing =
        |(workload, timing): (&cutegen_spec::workload::Workload, &crate::evaluate::Comparison)| Timing {
            workload: workload.axes.clone(),
            micros: timing.candidate_us,
            incumbent: incumbent.to_owned(),
            incumbent_micros: Some(timing.incumbent_us),
            speedup: timing.speedup,
            low: timing.low,
            high: timing.high,
            samples: timing.samples,
            ..Timing::default()
        };
    let timings: Vec<Timing> = plan.spec.workloads.iter().zip(&judged.timings).map(timing).collect();
    Evidence {
        gate: GATE,
        device: correctness.device.clone(),
        seeds: Seeds { judging: judged.seed, timing: timings.first().map(|_| judged.seed) },
        shapes: correctness.shapes.iter().map(|axes| shape(plan, axes)).collect(),
        distributions: correctness.distributions.iter().map(ToString::to_string).collect(),
        elements: correctness.elements,
        not_judged: Some(correctness.not_judged),
        reference: Some(ReferenceOn::Host),
        worst_share: correctness.worst_share,
        repeats: correctness.repeats,
        sanitizer: judged.sanitizer.clone(),
        not_enforced: correctness.not_enforced.clone(),
        timings,
        ..Evidence::default()
    }
}

/// `m = 7, n = 64`
fn shape(plan: &Plan, axes: &[i64]) -> String {
    let named: Vec<String> =
        plan.spec.axes.iter().zip(axes).map(|(axis, extent)| format!("{} = {extent}", axis.name)).collect();
    named.join(", ")
}
