//! Which project a verb works on, and which of its kernels. A project of no kernel is none: a verb that has done nothing must
//! not read as one that found all well.

pub(crate) mod members;
mod place;

use std::collections::BTreeSet;
use std::path::Path;

use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_build::store::lock_file;
use cutegen_spec::target::Target;

use crate::args::{Command, Select};
use crate::failure::Failure;

/// The project that the command line names: `--specs` with `--cache`, or a package. It declares a kernel.
pub(crate) fn open(command: &Command) -> Result<Project, Failure> {
    let project = find(command)?;
    if project.specs.is_empty() { Err(members::no_kernel(command, &project)) } else { Ok(project) }
}

/// The same for what looks after the lock as well: a project that has lost its last kernel may still pin it.
pub(crate) fn open_with_lock(command: &Command) -> Result<Project, Failure> {
    let project = find(command)?;
    if project.specs.is_empty() && !pins(&project.lock) {
        return Err(members::no_kernel(command, &project));
    }
    Ok(project)
}

fn find(command: &Command) -> Result<Project, Failure> {
    if let (Some(specs), Some(cache)) = (&command.specs, &command.cache) {
        return Project::library(specs, cache).map_err(Failure::project);
    }
    Project::package(&place::folder(command)?).map_err(Failure::project)
}

/// Whether a lock pins anything; one that cannot be read may.
fn pins(lock: &Path) -> bool {
    lock_file::read(lock).map_or(true, |lock| !lock.kernels.is_empty())
}

/// The plans that a selection names. A name without a kernel is an error, and so is one that is not declared for the target
/// and a selection of none: who has nothing verified must not read that all is well.
pub(crate) fn select(project: &Project, select: &Select) -> Result<Vec<Plan>, Failure> {
    for name in &select.kernels {
        if !project.specs.iter().any(|spec| spec.name.as_str() == name) {
            let known: Vec<&str> = project.specs.iter().map(|spec| spec.name.as_str()).collect();
            return Err(Failure::Usage(format!("no kernel `{name}`; there are: {}", known.join(", "))));
        }
    }
    let target = select.target.as_deref().map(Target::parse).transpose().map_err(Failure::Usage)?;
    let mut plans = Plan::all(&project.specs);
    plans.retain(|plan| {
        select.kernels.is_empty() || select.kernels.iter().any(|name| name == plan.spec.name.as_str())
    });
    let targets: BTreeSet<String> = plans.iter().map(|plan| short(&plan.target)).collect();
    plans.retain(|plan| target.as_ref().is_none_or(|target| means(target, &plan.target)));
    let has_plan = |name: &&String| plans.iter().any(|plan| plan.spec.name.as_str() == name.as_str());
    let without: Vec<&str> = select.kernels.iter().filter(|n| !has_plan(n)).map(String::as_str).collect();
    if plans.is_empty() || !without.is_empty() {
        return Err(Failure::Usage(none_selected(project, select, &without, &targets)));
    }
    Ok(plans)
}

/// The same where a project that has lost its last kernel still has a lock to look after: all of none is none.
pub(crate) fn select_or_none(project: &Project, select: &Select) -> Result<Vec<Plan>, Failure> {
    if project.specs.is_empty() && select.is_all() {
        return Ok(Vec::new());
    }
    self::select(project, select)
}

/// A target in its shortest form.
pub(crate) fn short(target: &Target) -> String {
    if *target == Target::host() { "host".to_owned() } else { target.to_string() }
}

/// Whether a target that was asked for means a declared one: an architecture means its devices too.
fn means(asked: &Target, declared: &Target) -> bool {
    match (asked, declared) {
        (Target::Cuda { arch, device: None }, Target::Cuda { arch: declared, .. }) => arch == declared,
        _ => asked == declared,
    }
}

/// The message for names that are `without` a plan, or a selection of nothing; the targets are those of the kernels that it
/// names.
fn none_selected(project: &Project, select: &Select, without: &[&str], targets: &BTreeSet<String>) -> String {
    let Some(target) = select.target.as_deref().filter(|_| !targets.is_empty()) else {
        return format!("{} declares no kernel\nrun: cargo cutegen lock --prune", project.title());
    };
    let who = match without {
        [] => "no kernel is".to_owned(),
        [name] => format!("kernel `{name}` is not"),
        names => format!("none of `{}` is", names.join("`, `")),
    };
    let declared: Vec<&str> = targets.iter().map(String::as_str).collect();
    let mut command = vec!["cargo cutegen check"];
    command.extend(select.kernels.iter().map(String::as_str));
    format!(
        "{who} declared for `{target}`; declared targets: {}\nrun: {}",
        declared.join(", "),
        command.join(" ")
    )
}

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
