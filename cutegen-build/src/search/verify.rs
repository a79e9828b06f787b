//! Verify: a locked entry judged again on this machine, or its sources compiled again to the same bytes.

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::Variant;
use cutegen_spec::target::Target;
use serde::Serialize;

use super::compiled;
use super::error::SearchError;
use super::judging::Judging;
use crate::compile::{CompileJob, CompileOutcome, CompileSetup, compile};
use crate::evaluate::{self, Outcome};
use crate::generate;
use crate::plan::Plan;
use crate::store::Entry;

/// What became of compiling a stored source again.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "rebuilt")]
pub enum Rebuilt {
    /// The same bytes.
    Same {
        /// The variant.
        variant: String,
    },
    /// Other bytes, or none.
    Differs {
        /// The variant.
        variant: String,
        /// What is there instead.
        detail: String,
    },
    /// The compiler that the record names is not here.
    NotRebuilt {
        /// The variant.
        variant: String,
        /// What the record names.
        needs: String,
        /// What is here.
        here: String,
    },
}

/// The gate's verdict on an entry as the runtime would dispatch it.
pub type Verdict = Outcome;

/// Judges the entry's variants as one list.
pub(super) fn rejudge(setup: &CompileSetup, plan: &Plan, entry: &Entry) -> Result<Verdict, SearchError> {
    let folder = tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    // an entry does not vouch for itself: what it is held against is compiled here
    let toolchain = compiled::fingerprint(setup, &plan.target)?;
    let naive = compiled::must_compile(setup, plan, generate::naive::candidate(plan, &toolchain))?;
    let trusted = tempfile::tempdir().map_err(|error| SearchError::File(std::env::temp_dir(), error))?;
    let mut judge = Judging::start(setup, plan, trusted.path(), Vec::new(), &naive)?;
    let mut list = Vec::new();
    for (variant, stored) in entry.record.variants.iter().zip(&entry.artifacts) {
        let path = folder.path().join(format!("{}.artifact", variant.name));
        let bytes = inflate(plan, variant, stored).map_err(|error| SearchError::File(path.clone(), error))?;
        std::fs::write(&path, bytes).map_err(|error| SearchError::File(path.clone(), error))?;
        list.push(evaluate::Candidate {
            artifact: path,
            contract: variant.contract.clone(),
            eligibility: variant.eligibility.clone(),
            prefer: variant.prefer.clone(),
        });
    }
    judge.full(&list)
}

/// The judged bytes of a stored artifact, checked against the record.
fn inflate(plan: &Plan, variant: &Variant, stored: &[u8]) -> std::io::Result<Vec<u8>> {
    let bytes = match plan.target {
        Target::Host { .. } => stored.to_vec(),
        Target::Cuda { .. } => {
            let limit = usize::try_from(variant.artifact.bytes).unwrap_or(usize::MAX);
            zstd::bulk::decompress(stored, limit)?
        }
    };
    if ArtifactDigest::of(&bytes) == variant.artifact.artifact {
        return Ok(bytes);
    }
    Err(std::io::Error::other(format!("the artifact of variant `{}` is not the judged one", variant.name)))
}

/// Compiles each variant's source again. `entry` must come with its sources.
pub(super) fn rebuild(setup: &CompileSetup, plan: &Plan, entry: &Entry) -> Result<Vec<Rebuilt>, SearchError> {
    let here = compiled::fingerprint(setup, &plan.target)?;
    let pairs = entry.record.variants.iter().zip(&entry.sources);
    pairs.map(|(variant, source)| one(setup, plan, variant, source, &here)).collect()
}

fn one(
    setup: &CompileSetup,
    plan: &Plan,
    variant: &Variant,
    source: &[u8],
    here: &str,
) -> Result<Rebuilt, SearchError> {
    let name = variant.name.clone();
    if variant.toolchain != here {
        return Ok(Rebuilt::NotRebuilt {
            variant: name,
            needs: variant.toolchain.clone(),
            here: here.to_owned(),
        });
    }
    let job = CompileJob {
        source: String::from_utf8_lossy(source).into_owned(),
        entries: variant.contract.steps.iter().map(|step| step.entry.clone()).collect(),
        compile_for: compiled::compile_for(&plan.target),
    };
    Ok(match compile(&job, setup)? {
        CompileOutcome::Failed(failure) => {
            Rebuilt::Differs { variant: name, detail: compiled::words(&failure) }
        }
        CompileOutcome::Compiled(artifact) => {
            let found = ArtifactDigest::of(&artifact.bytes);
            if found == variant.artifact.artifact {
                Rebuilt::Same { variant: name }
            } else {
                let detail = format!("sha256 {found}, locked {}", variant.artifact.artifact);
                Rebuilt::Differs { variant: name, detail }
            }
        }
    })
}
