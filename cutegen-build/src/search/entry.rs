//! From what a search found to an entry: the record with its evidence, and the files beside it.

use std::path::PathBuf;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::record::{self, Evidence, Kind, Record, Timing, Variant};
use cutegen_spec::target::Target;

use super::compiled::Compiled;
use super::error::SearchError;
use super::finals::{Found, Judged, Timed};
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
        evidence: judged.map(|judged| evidence(plan, compiled, judged)),
    })
}

fn evidence(plan: &Plan, compiled: &Compiled, judged: &Judged) -> Evidence {
    let correctness = &judged.correctness;
    let incumbent = match compiled.candidate.kind {
        Kind::Tuned => "naive",
        Kind::Naive => "none",
    };
    let timing = |(workload, Timed { burst, .. }): (&cutegen_spec::workload::Workload, &Timed)| Timing {
        workload: workload.axes.clone(),
        micros: burst.candidate_us,
        incumbent: incumbent.to_owned(),
        speedup: burst.speedup,
        low: burst.low,
        high: burst.high,
        samples: burst.samples,
    };
    Evidence {
        gate: GATE,
        device: correctness.device.clone(),
        seed: judged.seed,
        shapes: correctness.shapes.iter().map(|axes| shape(plan, axes)).collect(),
        distributions: correctness.distributions.iter().map(ToString::to_string).collect(),
        elements: correctness.elements,
        worst_share: correctness.worst_share,
        repeats: correctness.repeats,
        sanitizer: judged.sanitizer.clone(),
        not_enforced: not_enforced(judged, compiled),
        timings: plan.spec.workloads.iter().zip(&judged.timings).map(timing).collect(),
    }
}

/// Around its runner, and around its compiler.
fn not_enforced(judged: &Judged, compiled: &Compiled) -> Vec<String> {
    let compiler = compiled.artifact.confinement.not_enforced();
    judged.correctness.not_enforced.iter().cloned().chain(compiler).collect()
}

/// `m = 7, n = 64`
fn shape(plan: &Plan, axes: &[i64]) -> String {
    let named: Vec<String> =
        plan.spec.axes.iter().zip(axes).map(|(axis, extent)| format!("{} = {extent}", axis.name)).collect();
    named.join(", ")
}
