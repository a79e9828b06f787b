//! Which project a verb works on, and which of its kernels.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cargo_metadata::MetadataCommand;
use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_spec::target::Target;

use crate::args::{Command, Select};
use crate::failure::Failure;

/// The project that the command line names: `--specs` with `--cache`, or a package.
pub(crate) fn open(command: &Command) -> Result<Project, Failure> {
    if let (Some(specs), Some(cache)) = (&command.specs, &command.cache) {
        return Project::library(specs, cache).map_err(Failure::project);
    }
    Project::package(&package_dir(command)?).map_err(Failure::project)
}

/// The folder of the named or surrounding package. Cargo is asked only when no manifest is named, so that a bundle
/// works where there is no cargo.
fn package_dir(command: &Command) -> Result<PathBuf, Failure> {
    if let Some(manifest) = &command.manifest_path {
        let parent = manifest.parent().filter(|p| !p.as_os_str().is_empty());
        return Ok(parent.map_or_else(|| PathBuf::from("."), PathBuf::from));
    }
    if PathBuf::from("Cargo.toml").exists() {
        return Ok(PathBuf::from("."));
    }
    let metadata = MetadataCommand::new().no_deps().exec().map_err(|error| {
        Failure::Usage(format!(
            "no package here: {error}\nrun this in a package, or name one: --manifest-path PATH"
        ))
    })?;
    match metadata.root_package() {
        Some(package) => {
            Ok(package.manifest_path.parent().map(|p| p.as_std_path().to_path_buf()).unwrap_or_default())
        }
        None => Err(Failure::Usage(
            "this is a workspace without a root package; name one: --manifest-path PATH".into(),
        )),
    }
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

/// The same for what looks after the lock as well, which a project that has lost its last kernel still has: all of none
/// is none.
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
        let title = project.title();
        return format!(
            "{title} declares no kernel\nname what does: --manifest-path PATH, or --specs DIR --cache DIR"
        );
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
