//! Runs on disk: a folder a key, and in it a log a run. It must not know the queue.

use std::path::{Path, PathBuf};

use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Log, LogError, LogFile, RunId, Start};

use crate::runs::start;

/// What runs of agents are called in their logs.
pub(super) const STRATEGY: &str = "mcp";

/// Where what outlives a judge is kept, beside a key's logs.
const KEPT: &str = "kept";

/// The folder of a plan's runs.
pub(super) fn folder(runs: &Path, plan: &Plan) -> PathBuf {
    runs.join(plan.key.short())
}

/// Where what outlives a judge is kept.
pub(super) fn kept(runs: &Path, plan: &Plan) -> PathBuf {
    folder(runs, plan).join(KEPT)
}

/// Begins a run.
pub(super) fn begin(runs: &Path, plan: &Plan, run: RunId) -> Result<LogFile, LogError> {
    let start = Start { strategy: STRATEGY.to_owned(), ..start(plan, run) };
    LogFile::create(&folder(runs, plan), start)
}

/// The runs of a plan, those of before first, and why others cannot be read.
pub(super) fn all(runs: &Path, plan: &Plan) -> (Vec<Log>, Vec<String>) {
    let folder = folder(runs, plan);
    let names = match run_log::runs(&folder) {
        Ok(names) => names,
        Err(error) => return (Vec::new(), vec![error.to_string()]),
    };
    let mut timed: Vec<_> = names.into_iter().map(|run| (changed(&folder, &run), run)).collect();
    timed.sort();
    let (mut logs, mut unread) = (Vec::new(), Vec::new());
    for (_, run) in timed {
        match run_log::read(&folder, &run) {
            // a folder has the keys that begin alike
            Ok(log) if log.start.key == plan.key.to_string() => logs.push(log),
            Ok(_) => {}
            Err(error) => unread.push(error.to_string()),
        }
    }
    (logs, unread)
}

/// When a log was last written, which orders runs for readers and decides nothing.
fn changed(folder: &Path, run: &RunId) -> Option<std::time::SystemTime> {
    std::fs::metadata(folder.join(format!("{run}.jsonl"))).ok()?.modified().ok()
}
