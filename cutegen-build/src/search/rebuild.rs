//! Rebuild: stored sources compiled again on all cores, each to the locked bytes or not. Shows what the bytes were compiled
//! from, not that they compute what they should. Knows neither lock nor store.

use std::collections::BTreeMap;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::Variant;
use serde::Serialize;

use super::error::SearchError;
use super::{compiled, ordered};
use crate::compile::{
    Batch, CompileCache, CompileFor, CompileJob, CompileOutcome, CompileSetup, compile, compile_in, includes,
};
use crate::plan::Plan;

/// A stored source with the variant that was compiled from it.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// The question and its target.
    pub plan: &'a Plan,
    /// What the record says of it.
    pub variant: &'a Variant,
    /// The text of its source.
    pub source: &'a [u8],
}

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

/// Architecture and common headers: what one batch compiler serves.
type Headers = (String, String);

/// A toolchain that is here, and its batch compilers.
struct Way {
    setup: CompileSetup,
    batches: BTreeMap<Headers, Batch>,
}

/// Compiles each source again and calls `tell` with the outcomes, in order.
pub(super) fn rebuild(
    setup: &CompileSetup,
    sources: &[Stored<'_>],
    tell: &mut dyn FnMut(usize, Result<Rebuilt, SearchError>),
) -> Result<(), SearchError> {
    let setup = &CompileSetup { cache: CompileCache::off(), ..setup.clone() };
    let unlinked = CompileSetup { toolchain: setup.toolchain.clone().without_linker(), ..setup.clone() };
    let ways = [Way::of(setup.clone(), sources)?, Way::of(unlinked, sources)?];
    std::thread::scope(|scope| {
        let work = |at: usize| one(&ways, &sources[at]);
        ordered::start(scope, sources.len(), work).enumerate().for_each(|(at, rebuilt)| tell(at, rebuilt));
    });
    Ok(())
}

impl Way {
    /// With a batch compiler for all headers that two of its sources at least begin with: reading them once saves half of
    /// the time.
    fn of(setup: CompileSetup, sources: &[Stored<'_>]) -> Result<Self, SearchError> {
        let mut way = Self { setup, batches: BTreeMap::new() };
        let mut groups: BTreeMap<Headers, Vec<&Stored<'_>>> = BTreeMap::new();
        for stored in sources.iter().filter(|stored| way.made(stored)) {
            if let Some(headers) = headers(stored) {
                groups.entry(headers).or_default().push(stored);
            }
        }
        for (headers, group) in groups.into_iter().filter(|(_, group)| group.len() > 1) {
            let batch = Batch::start(&way.setup, &headers.0, &text(group[0]))?;
            way.batches.insert(headers, batch);
        }
        Ok(way)
    }

    /// Whether the record names this toolchain.
    fn made(&self, stored: &Stored<'_>) -> bool {
        compiled::fingerprint(&self.setup, &stored.plan.target)
            .is_ok_and(|here| here == stored.variant.toolchain)
    }
}

fn headers(stored: &Stored<'_>) -> Option<Headers> {
    match compiled::compile_for(&stored.plan.target) {
        CompileFor::Cuda { arch } => Some((arch, includes(&text(stored)))),
        CompileFor::Host { .. } => None,
    }
}

fn text(stored: &Stored<'_>) -> String {
    String::from_utf8_lossy(stored.source).into_owned()
}

fn one(ways: &[Way; 2], stored: &Stored<'_>) -> Result<Rebuilt, SearchError> {
    let (variant, here) = (stored.variant, compiled::fingerprint(&ways[0].setup, &stored.plan.target)?);
    let name = variant.name.clone();
    let Some(way) = ways.iter().find(|way| way.made(stored)) else {
        return Ok(Rebuilt::NotRebuilt { variant: name, needs: variant.toolchain.clone(), here });
    };
    let job = CompileJob {
        source: text(stored),
        entries: variant.contract.steps.iter().map(|step| step.entry.clone()).collect(),
        compile_for: compiled::compile_for(&stored.plan.target),
    };
    let batch = headers(stored).and_then(|headers| way.batches.get(&headers));
    if batch.is_some_and(|batch| compile_in(batch, &job).is_ok_and(|outcome| is_locked(variant, &outcome))) {
        return Ok(Rebuilt::Same { variant: name });
    }
    // only a process of its own, as the locked bytes had, can say that they differ
    Ok(compared(variant, compile(&job, &way.setup)?))
}

fn is_locked(variant: &Variant, outcome: &CompileOutcome) -> bool {
    matches!(outcome, CompileOutcome::Compiled(artifact)
        if ArtifactDigest::of(&artifact.bytes) == variant.artifact.artifact)
}

fn compared(variant: &Variant, outcome: CompileOutcome) -> Rebuilt {
    let name = variant.name.clone();
    if is_locked(variant, &outcome) {
        return Rebuilt::Same { variant: name };
    }
    let detail = match outcome {
        CompileOutcome::Failed(failure) => compiled::words(&failure),
        CompileOutcome::Compiled(artifact) => {
            let found = ArtifactDigest::of(&artifact.bytes);
            format!("sha256 {found}, locked {}", variant.artifact.artifact)
        }
    };
    Rebuilt::Differs { variant: name, detail }
}
