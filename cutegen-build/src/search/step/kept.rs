//! [`Kept`]: what judging needs of ours, compiled once and kept in a run's folder: the reference, the gate's kernels, the
//! naive kernel, and what that came to on a card. A node that resumes a run compiles none of it, and times no naive kernel of a
//! card again.
//!
//! It serves screening alone: the whole gate compiles its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::GATE;
use cutegen_spec::target::Target;
use serde::{Deserialize, Serialize};

use crate::compile::CompileSetup;
use crate::evaluate::{Candidate, Outcome};
use crate::generate;
use crate::plan::Plan;
use crate::search::error::SearchError;
use crate::search::judging::{Judging, Oracle};
use crate::search::{compiled, naive};

/// Written last: what lies beside it is whole.
const WHOLE: &str = "whole";
/// The naive kernel's bytes.
const NAIVE: &str = "naive.artifact";

/// The name of whatever CPU this is.
const HOST: &str = "host";

/// What is kept for a plan, a gate and a toolchain.
pub(super) struct Kept {
    folder: PathBuf,
    card: String,
    /// The naive kernel, as the gate takes it.
    pub(super) naive: Candidate,
    /// What it came to on this card; none before it was judged.
    pub(super) known: Option<Known>,
    /// Workloads that it was timed at since this was opened.
    fresh: BTreeSet<usize>,
}

/// What the naive kernel came to on a card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Known {
    /// Its time by workload, in microseconds; `null` where it is too slow to time.
    pub(super) micros: BTreeMap<usize, Option<f64>>,
}

/// The device that this machine judges a target on, by name.
pub(super) fn card(target: &Target) -> Result<String, SearchError> {
    match target {
        Target::Host { .. } => Ok(HOST.to_owned()),
        Target::Cuda { .. } => {
            compiled::cuda_device(target).map(|device| device.name).map_err(SearchError::NoDevice)
        }
    }
}

/// Compiles what is not kept yet.
pub(super) fn prepare(setup: &CompileSetup, plan: &Plan, kept: &Path) -> Result<(), SearchError> {
    let fingerprint = compiled::fingerprint(setup, &plan.target)?;
    let folder = folder(&fingerprint, kept);
    let failed = |error| SearchError::File(folder.clone(), error);
    if folder.join(WHOLE).is_file() {
        return Ok(());
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let naive = generate::naive::candidate(plan, &fingerprint);
    let (compiled, oracle) = std::thread::scope(|scope| {
        let oracle = scope.spawn(|| Oracle::compile(setup, plan, &folder));
        (compiled::must_compile(setup, plan, naive), oracle.join())
    });
    oracle.map_err(|_| SearchError::Judge("its compiler panicked".to_owned()))??;
    std::fs::write(folder.join(NAIVE), compiled?.artifact.bytes).map_err(failed)?;
    std::fs::write(folder.join(WHOLE), "").map_err(failed)
}

/// Of one gate and one toolchain.
fn folder(fingerprint: &str, kept: &Path) -> PathBuf {
    let toolchain = ArtifactDigest::of(fingerprint.as_bytes()).to_string();
    kept.join(format!("gate-{GATE}-{}", &toolchain[..16]))
}

impl Kept {
    /// What is kept, compiled first where it is not there.
    pub(super) fn open(setup: &CompileSetup, plan: &Plan, kept: &Path) -> Result<Self, SearchError> {
        prepare(setup, plan, kept)?;
        let fingerprint = compiled::fingerprint(setup, &plan.target)?;
        let folder = folder(&fingerprint, kept);
        let naive = generate::naive::candidate(plan, &fingerprint);
        let naive = Candidate {
            artifact: folder.join(NAIVE),
            contract: naive.contract,
            eligibility: naive.eligibility,
            prefer: Default::default(),
            tiles: naive.tiles,
            // it is the baseline, and in no list
            shared_memory: None,
        };
        let card = card(&plan.target)?;
        let mut opened = Self { folder, card, naive, known: None, fresh: BTreeSet::new() };
        opened.known = read(&opened.file());
        Ok(opened)
    }

    /// What results are held against.
    pub(super) fn oracle(&self, plan: &Plan) -> Oracle {
        Oracle::in_folder(plan, &self.folder)
    }

    /// The device's name.
    pub(super) fn card(&self) -> &str {
        &self.card
    }

    /// Has the naive kernel screened, unless that was done on such a card.
    pub(super) fn judge_naive(&mut self, plan: &Plan, judge: &mut Judging) -> Result<(), SearchError> {
        if self.known.is_some() {
            return Ok(());
        }
        match judge.screen(&self.naive)? {
            Outcome::Passed { .. } => {
                self.known = Some(Known::default());
                self.write()
            }
            refused => Err(naive::refused(plan, &refused)),
        }
    }

    /// Whether its time at a workload is to be measured. A time on a CPU says nothing of the next batch, whose neighbours and
    /// clock are others; that it is too slow does.
    pub(super) fn lacks(&self, workload: usize) -> bool {
        let known = self.known.as_ref().and_then(|known| known.micros.get(&workload));
        match known {
            Some(Some(_)) => self.card == HOST && !self.fresh.contains(&workload),
            Some(None) => false,
            None => true,
        }
    }

    /// Its time at a workload.
    pub(super) fn micros(&self, workload: usize) -> Option<f64> {
        self.known.as_ref()?.micros.get(&workload).copied().flatten()
    }

    /// Keeps its time at a workload; none where it is too slow to time.
    pub(super) fn learn(&mut self, workload: usize, micros: Option<f64>) -> Result<(), SearchError> {
        self.known.get_or_insert_default().micros.insert(workload, micros);
        self.fresh.insert(workload);
        self.write()
    }

    fn file(&self) -> PathBuf {
        let slug: String =
            self.card.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.folder.join(format!("naive-{slug}.json"))
    }

    fn write(&self) -> Result<(), SearchError> {
        let path = self.file();
        let text = serde_json::to_string(&self.known).expect("numbers by number");
        std::fs::write(&path, text).map_err(|error| SearchError::File(path, error))
    }
}

/// What was kept; what cannot be read is measured again.
fn read(path: &Path) -> Option<Known> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}
