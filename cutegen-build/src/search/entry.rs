//! From what a search found to an entry: the record with its evidence, and the files beside it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::{self, Evidence, Figures, Record, Seeds, Tile, Timing, Variant, incumbent};
use cutegen_spec::target::Target;

use super::compiled::Compiled;
use super::error::SearchError;
use super::final_evaluation::{Found, Judged, Timed};
use crate::evaluate::judge::sanitize::NOT_RUN;
use crate::evaluate::{Check, Checks, Comparison, Correctness, Distribution, GATE};
use crate::plan::Plan;
use crate::plan::device_model::DeviceModel;

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

/// A variant of a record; its files go to `files`.
pub(super) fn variant(
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
    let mut artifact = record::Artifact {
        file: format!("{}.{artifact_end}", candidate.name),
        artifact: ArtifactDigest::of(bytes),
        stored: ArtifactDigest::of(&stored),
        bytes: bytes.len() as u64,
    };
    let mut source = record::Source {
        file: format!("{}.{source_end}", candidate.name),
        digest: ArtifactDigest::of(candidate.source.as_bytes()),
    };
    artifact.file = kept_once(files, artifact.file, stored);
    source.file = kept_once(files, source.file, candidate.source.clone().into_bytes());
    Ok(Variant {
        name: candidate.name.clone(),
        kind: candidate.kind,
        eligibility: candidate.eligibility.clone(),
        prefer: compiled.prefer.clone(),
        tiles: candidate.tiles.iter().map(|&(axis, extent)| Tile { axis, extent }).collect(),
        origin: candidate.origin.clone(),
        toolchain: compiled.artifact.fingerprint.clone(),
        min_driver,
        shared_memory: compiled.shared_memory(plan),
        artifact,
        source,
        contract: candidate.contract.clone(),
        evidence: judged.map(|judged| evidence(plan, judged)),
    })
}

/// The name of the file that holds these bytes: one that is there, else a new one.
fn kept_once(files: &mut Vec<File>, name: String, bytes: Vec<u8>) -> String {
    if let Some((known, _)) = files.iter().find(|(_, present)| *present == bytes) {
        return known.clone();
    }
    files.push((name.clone(), bytes));
    name
}

/// What was run, for the record.
pub(super) fn evidence(plan: &Plan, judged: &Judged) -> Evidence {
    let correctness = &judged.correctness;
    let at = |timed: &Timed| plan.spec.workloads[timed.workload].axes.clone();
    let timings: Vec<Timing> = judged.timings.iter().map(|timed| timing(at(timed), timed)).collect();
    let mut evidence = Evidence {
        gate: GATE,
        device: correctness.device.clone(),
        seeds: Seeds { judging: judged.seed, timing: timings.first().map(|_| judged.seed) },
        shapes: correctness.shapes.iter().map(|axes| shape(plan, axes)).collect(),
        sampled: correctness.sampled.iter().map(|axes| shape(plan, axes)).collect(),
        distributions: correctness.distributions.iter().map(ToString::to_string).collect(),
        elements: correctness.elements,
        not_judged: Some(correctness.not_judged),
        not_counted: not_counted(correctness),
        reference: Some(judged.reference),
        checks: Vec::new(),
        baseline: Some(incumbent::NAIVE.to_owned()),
        worst_share: correctness.worst_share,
        repeats: correctness.repeats,
        sanitizer: judged.sanitizer.clone(),
        not_enforced: judged.not_enforced.clone(),
        timed_by: None,
        timings,
        judge_seconds: Some(judged.seconds),
        not_timed: judged.not_timed.clone(),
    };
    evidence.checks = checks(plan, &evidence);
    evidence
}

/// `y, cancelling: 3 of 14 shapes`: what told nothing of an output, by output.
fn not_counted(correctness: &Correctness) -> Vec<String> {
    let mut shapes: BTreeMap<(&str, Distribution), usize> = BTreeMap::new();
    for case in &correctness.inconclusive {
        *shapes.entry((&case.output, case.distribution)).or_default() += 1;
    }
    let all = correctness.shapes.len();
    let told = |((output, distribution), some)| format!("{output}, {distribution}: {some} of {all} shapes");
    shapes.into_iter().map(told).collect()
}

/// Names of the checks that this evidence comes from: of those that are on, the ones that the target has, and those of
/// clocks and sanitizers where these ran.
pub(super) fn checks(plan: &Plan, evidence: &Evidence) -> Vec<String> {
    let (timed, sanitized) = (!evidence.timings.is_empty(), !evidence.sanitizer.starts_with(NOT_RUN));
    let ran = |check: &Check| match check {
        Check::Timed => timed && plan.spec.deterministic,
        Check::Repeats => plan.spec.deterministic,
        Check::Floor => timed && DeviceModel::of(&plan.target).is_some(),
        Check::Sanitizer => sanitized,
        Check::Globals | Check::Scramble | Check::Late | Check::Occupancy => !plan.target.is_host(),
        Check::Stack | Check::Registers | Check::Pages => plan.target.is_host(),
        _ => true,
    };
    Checks::default().named().filter(|(check, _)| ran(check)).map(|(_, name)| name.to_owned()).collect()
}

/// As the record has it.
pub(super) fn timing(workload: BTreeMap<String, i64>, timed: &Timed) -> Timing {
    let Figures { micros, incumbent_micros, speedup, low, high, samples } = figures(&timed.burst);
    Timing {
        workload,
        incumbent: timed.incumbent.to_owned(),
        about: timed.about.clone(),
        differs: timed.differs.clone(),
        roof_micros: timed.roof_us,
        sustained: timed.sustained.as_ref().map(figures),
        micros,
        incumbent_micros,
        speedup,
        low,
        high,
        samples,
        clocks: timed.clocks(),
    }
}

fn figures(comparison: &Comparison) -> Figures {
    Figures {
        micros: comparison.candidate_us,
        incumbent_micros: Some(comparison.incumbent_us),
        speedup: comparison.speedup,
        low: comparison.low,
        high: comparison.high,
        samples: comparison.samples,
    }
}

/// `m = 7, n = 64`
fn shape(plan: &Plan, axes: &[i64]) -> String {
    let named: Vec<String> =
        plan.spec.axes.iter().zip(axes).map(|(axis, extent)| format!("{} = {extent}", axis.name)).collect();
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cutegen_spec::edition::spec_file;
    use cutegen_spec::record::ReferenceOn;

    use super::{evidence, kept_once};
    use crate::evaluate::{Correctness, Distribution, Inconclusive};
    use crate::plan::Plan;
    use crate::search::final_evaluation::Judged;

    #[test]
    fn equal_bytes_are_one_file() {
        let mut files = Vec::new();
        let mut keep = |name: &str, bytes: &[u8]| kept_once(&mut files, name.to_owned(), bytes.to_vec());
        assert_eq!(keep("a.cubin.zst", b"one"), "a.cubin.zst");
        assert_eq!(keep("b.cubin.zst", b"two"), "b.cubin.zst");
        assert_eq!(keep("c.cubin.zst", b"one"), "a.cubin.zst");
        assert_eq!(files.len(), 2);
    }

    #[test]
    fn what_tells_nothing_of_an_output_is_in_the_record() {
        let text = "edition = 1\n[kernels.k]\naxes = { n = '1..=64' }\ninputs = { x = 'f32[n]' }\n\
                    outputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n]'\ntargets = ['host']\n";
        let plans = Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text"));
        let case =
            |n: i64, distribution| Inconclusive { axes: vec![n], distribution, output: "y".to_owned() };
        let inconclusive = vec![
            case(7, Distribution::Cancelling),
            case(1, Distribution::Small),
            case(1, Distribution::Cancelling),
        ];
        let judged = |inconclusive| {
            let shapes = vec![vec![1], vec![7]];
            let correctness = Correctness { shapes, inconclusive, ..Correctness::default() };
            Judged::untimed(correctness, (7, ReferenceOn::Host), Duration::ZERO)
        };
        let told = evidence(&plans[0], &judged(inconclusive)).not_counted;
        assert_eq!(told, ["y, small: 1 of 2 shapes", "y, cancelling: 2 of 2 shapes"]);
        assert!(evidence(&plans[0], &judged(Vec::new())).not_counted.is_empty());
    }
}
