//! `experience`: writes what ended runs say of hints into the package's library, for review. Runs read that library as it is
//! committed; what this writes changes nothing before a person has read and committed it.

mod committed;

use std::path::{Path, PathBuf};

use cutegen_build::discover::Project;
use cutegen_build::experience::{Library, SEED, fitting};
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Frozen, Log, digest};
use cutegen_build::strategy::replay::decisions;
use cutegen_build::strategy::{Next, Strategy, credit};
use serde::Serialize;

use crate::args::{Command, Experience};
use crate::failure::Failure;
use crate::outfile::OutFile;
use crate::output::Output;
use crate::project;
use crate::runs::{Runs, begun, failed};

/// The library of a package, beside its lock.
pub(crate) const FILE: &str = "cutegen-experience.toml";

/// What the command did.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Told {
    file: String,
    /// Answers that cited a hint, and were judged.
    credits: usize,
    /// Ids of new hints.
    proposed: Vec<String>,
    /// Runs that were credited.
    runs: Vec<String>,
    /// Those that were passed over, each with the reason.
    passed_over: Vec<(String, &'static str)>,
}

/// Credits and proposes.
pub(crate) fn run(command: &Command, verb: &Experience, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let path = path(&project);
    let mut library = working(&path)?;
    let mut told = Told { file: path.display().to_string(), ..Told::default() };
    let runs = Runs::of(&project);
    for plan in project::select(&project, &verb.select)? {
        for run in runs.names(&plan)? {
            let log = run_log::read(&runs.of_plan(&plan), &run).map_err(failed)?;
            match silent(&plan, &log, &library) {
                Some(why) => told.passed_over.push((run.to_string(), why)),
                None => told.take(&plan, &log, &mut library),
            }
        }
    }
    if !told.runs.is_empty() {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Machine(format!("{}: {error}", folder.display())))?;
        OutFile::open(&path, "--cache")?.write(library.text().as_bytes())?;
    }
    out.result(&told.text(), &told);
    Ok(())
}

/// The hints that a run of a plan may show, as they are committed; of a package without any, those of this program.
pub(crate) fn frozen(project: &Project, plan: &Plan, out: &Output) -> Result<Frozen, Failure> {
    let path = path(project);
    let committed = committed::text(&path);
    if std::fs::read_to_string(&path).is_ok_and(|there| committed.as_ref() != Some(&there)) {
        let used =
            committed.as_ref().map_or("the hints of this program are used", |_| "its last commit is used");
        out.note(&format!("{} is not committed as it is: {used}", path.display()));
    }
    let text = committed.as_deref().unwrap_or(SEED);
    let library = Library::read(text).map_err(|why| {
        let name = &plan.spec.name;
        Failure::Disagreement(format!(
            "{name}: {}, as it is committed: {why}\ncorrect it, or go on without: cargo cutegen refine {name} --set experience=0",
            path.display()
        ))
    })?;
    Ok(Frozen { library: digest(text), hints: fitting(&library.hints, plan) })
}

fn path(project: &Project) -> PathBuf {
    project.lock.with_file_name(FILE)
}

/// The library as it lies there, committed or not; where there is none, that of this program.
fn working(path: &Path) -> Result<Library, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => SEED.to_owned(),
        Err(error) => return Err(Failure::Machine(format!("{}: {error}", path.display()))),
    };
    Library::read(&text).map_err(|why| {
        let path = path.display();
        Failure::Disagreement(format!("{path}: {why}\ncorrect it, then: cargo cutegen experience"))
    })
}

/// Why a run says nothing of hints.
fn silent(plan: &Plan, log: &Log, library: &Library) -> Option<&'static str> {
    let Some(strategy) = Strategy::of(&log.start) else { return Some("its strategy asks for nothing") };
    if library.credited.contains(&begun::name(&log.start)) {
        return Some("credited before");
    }
    if !begun::is_here(&log.start) {
        return Some("not begun by this user on this machine");
    }
    if log.is_merged() {
        return Some("another machine judged for it");
    }
    if !matches!(strategy.next(plan, log), Next::Done(_)) {
        return Some("not at its end");
    }
    decisions(plan, log).err().map(|_| "its log does not replay")
}

impl Told {
    /// Takes what a run says into the library.
    fn take(&mut self, plan: &Plan, log: &Log, library: &mut Library) {
        let credits = credit::of(plan, log);
        credits.credits.iter().for_each(|credit| library.add(credit));
        self.credits += credits.credits.len();
        for hint in credits.proposed {
            let id = hint.id.to_string();
            self.proposed.extend(library.propose(hint).then_some(id));
        }
        library.credited.insert(begun::name(&log.start));
        self.runs.push(log.start.run.to_string());
    }

    fn text(&self) -> String {
        let Self { file, credits, proposed, runs, passed_over } = self;
        let mut lines: Vec<String> =
            passed_over.iter().map(|(run, why)| format!("{run}: nothing is taken: {why}")).collect();
        if runs.is_empty() {
            lines.push("no run has anything new to say of hints".to_owned());
            return lines.join("\n");
        }
        lines.push(format!(
            "{file}: {credits} uses of hints in {} runs, {} new hints",
            runs.len(),
            proposed.len()
        ));
        lines.extend(proposed.iter().map(|id| format!("  new: {id}")));
        lines.push(format!("review what changed, then commit it: git diff {file}"));
        lines.join("\n")
    }
}
