//! Runs of a project: where their logs lie, which of them a command means, and how one goes on.

pub(crate) mod advance;
pub(crate) mod archive;
pub(crate) mod bank;
pub(crate) mod begun;
pub(crate) mod exchange;
pub(crate) mod generator;
#[cfg(feature = "model")]
pub(crate) mod model;
pub(crate) mod seeds;
pub(crate) mod told;
pub(crate) mod warm;

use std::path::{Path, PathBuf};

use cutegen_build::discover::Project;
use cutegen_build::generate::prompt;
use cutegen_build::kit;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Digest, LogError, LogFile, RunId, Start};
use cutegen_build::strategy::Strategy;
use cutegen_spec::record::GATE;

use crate::failure::Failure;

/// The folder of all runs, beside the store.
pub(crate) const FOLDER: &str = "cutegen-runs";

/// In a plan's folder: what judging needs of ours.
const KEPT: &str = "kept";

/// Where a project's runs lie.
pub(crate) struct Runs {
    /// The folder that has the store.
    place: PathBuf,
}

impl Runs {
    pub(crate) fn of(project: &Project) -> Self {
        let place = project.store.parent().filter(|parent| !parent.as_os_str().is_empty());
        Self { place: place.unwrap_or(Path::new(".")).to_owned() }
    }

    /// The folder of all logs.
    pub(crate) fn folder(&self) -> PathBuf {
        self.place.join(FOLDER)
    }

    /// The folder of a plan's logs.
    pub(crate) fn of_plan(&self, plan: &Plan) -> PathBuf {
        self.folder().join(plan.key.short())
    }

    /// What judging a plan's candidates needs of ours.
    pub(crate) fn kept(&self, plan: &Plan) -> PathBuf {
        self.of_plan(plan).join(KEPT)
    }

    /// The folder of a run's prompts and answers. Runs of two targets may have one name.
    pub(crate) fn exchange(&self, plan: &Plan, run: &RunId) -> PathBuf {
        self.place.join("cutegen-exchange").join(plan.key.short()).join(run.as_str())
    }

    /// The names of a plan's runs.
    pub(crate) fn names(&self, plan: &Plan) -> Result<Vec<RunId>, Failure> {
        run_log::runs(&self.of_plan(plan)).map_err(failed)
    }

    /// Opens a run to go on with it. One that was begun with other prompts, headers or gate cannot be gone on with: its log
    /// would no longer say what was asked.
    pub(crate) fn open(&self, plan: &Plan, run: &RunId) -> Result<LogFile, Failure> {
        let file = LogFile::open(&self.of_plan(plan), run).map_err(failed)?;
        let (was, is) = (&file.log().start, start(plan, run.clone()));
        let differs = [
            (was.key != is.key, "another spec".to_owned()),
            (
                was.prompts != is.prompts,
                format!("prompts of version {}, and this program writes version {}", was.prompts, is.prompts),
            ),
            (was.kit != is.kit, "another kit".to_owned()),
            (was.gate != is.gate, "another gate".to_owned()),
        ];
        match differs.iter().find(|(differs, _)| *differs) {
            None => Ok(file),
            Some((_, what)) => Err(Failure::Disagreement(format!(
                "{}: run {run} was begun with {what}\nbegin a new one: cargo cutegen refine {}",
                plan.title(),
                plan.spec.name
            ))),
        }
    }

    /// Begins a run.
    pub(crate) fn begin(&self, plan: &Plan, start: Start) -> Result<LogFile, Failure> {
        LogFile::create(&self.of_plan(plan), start).map_err(failed)
    }

    /// A name that no run of the plan has.
    pub(crate) fn unused(&self, plan: &Plan) -> Result<RunId, Failure> {
        let taken = self.names(plan)?;
        let stem = plan.spec.name.as_str().to_lowercase().replace('_', "-");
        let names = (1..).map(|number: u32| RunId::parse(&format!("{stem}-{number}")));
        let unused = names.flatten().find(|name| !taken.contains(name));
        unused.ok_or_else(|| Failure::Usage(format!("name the run of `{}`: --run RUN", plan.spec.name)))
    }
}

/// How a run of a plan begins with what this program has.
pub(crate) fn start(plan: &Plan, run: RunId) -> Start {
    Start {
        version: run_log::VERSION,
        run,
        kernel: plan.spec.name.to_string(),
        target: plan.target.to_string(),
        key: plan.key.to_string(),
        strategy: Strategy::Refine.name().to_owned(),
        prompts: prompt::VERSION,
        kit: Digest(kit::digest()),
        gate: GATE,
        settings: Default::default(),
        bank: Vec::new(),
        experience: None,
    }
}

/// A log that cannot be read or written.
pub(crate) fn failed(error: LogError) -> Failure {
    match error {
        LogError::Line(..) => Failure::Disagreement(error.to_string()),
        LogError::File(..) | LogError::Busy(_) => Failure::Machine(error.to_string()),
    }
}
