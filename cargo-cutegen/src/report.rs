//! `report`: one HTML page of what is locked, by itself and without a network: roofline, speed-ups with their intervals,
//! histories of searches, evidence. Every number on it is from a record or a file of results. With `--run`, a run's log instead.

mod bars;
mod evidence;
mod gather;
mod html;
mod page;
mod roofline;
mod run;
mod trials;

use cutegen_build::discover::Project;

use crate::args::{Command, Report};
use crate::failure::Failure;
use crate::outfile::OutFile;
use crate::output::Output;
use crate::{bench, project};

/// Writes the page, or prints a run.
pub(crate) fn run(command: &Command, verb: &Report, out: &Output) -> Result<(), Failure> {
    if let Some(file) = &verb.run {
        return run::print(file, out);
    }
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    let file = OutFile::open(&verb.out, "--out")?;
    let entries = gather::entries(&project, &plans)?;
    let mut searches = Vec::new();
    for path in &verb.trials {
        searches.extend(trials::read(path)?);
    }
    let mut benched = Vec::new();
    for path in &verb.results {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        benched.push((name, bench::results::read(path)?));
    }
    let title = title(&project);
    let page = page::page(&page::Content { title, entries, searches, benched });
    file.write(page.as_bytes())?;
    let text = format!("{}: {} entries, {} kB", verb.out.display(), plans.len(), page.len() / 1000);
    let value = serde_json::json!({ "report": verb.out, "entries": plans.len(), "bytes": page.len() });
    out.result(&text, &value);
    Ok(())
}

/// The package's name, else that of the folder of specs.
fn title(project: &Project) -> String {
    let folder = || project.root.file_name().map(|name| name.to_string_lossy().into_owned());
    let package = project.package.as_ref().map(|package| package.name.clone());
    package.or_else(folder).unwrap_or_else(|| "kernels".to_owned())
}
