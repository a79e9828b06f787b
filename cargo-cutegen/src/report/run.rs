//! `report --run`: a run's log as Markdown, or as one JSON value: settings, totals, steps, score, and how kernels changed.

mod history;
mod ideas;
mod lineage;
mod markdown;
mod totals;

use std::path::Path;

use cutegen_build::run_log::{self, Log, RunId};

use crate::failure::Failure;
use crate::output::Output;
use history::History;

/// Prints the run in a file.
pub(super) fn print(file: &Path, out: &Output) -> Result<(), Failure> {
    let log = read(file)?;
    let history = History::of(&log);
    out.result(&markdown::text(&history), &history);
    Ok(())
}

/// The log in a file, which has its run's name.
fn read(file: &Path) -> Result<Log, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("--run {}: {why}", file.display()));
    let name = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
    let name = name.ok_or_else(|| wrong(&"the log of a run is a file RUN.jsonl"))?;
    let run = RunId::parse(name).map_err(|why| wrong(&why))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    run_log::read(folder, &run).map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests;
