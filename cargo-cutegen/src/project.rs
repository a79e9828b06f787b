//! Which project a verb works on, and which of its kernels.

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

/// The plans that a selection names; a name without a kernel is an error.
pub(crate) fn select(project: &Project, select: &Select) -> Result<Vec<Plan>, Failure> {
    for name in &select.kernels {
        if !project.specs.iter().any(|spec| spec.name.as_str() == name) {
            let known: Vec<&str> = project.specs.iter().map(|spec| spec.name.as_str()).collect();
            return Err(Failure::Usage(format!("no kernel `{name}`; there are: {}", known.join(", "))));
        }
    }
    let target = match &select.target {
        None => None,
        Some(text) => Some(Target::parse(text).map_err(Failure::Usage)?),
    };
    let wanted = |plan: &Plan| {
        (select.kernels.is_empty() || select.kernels.iter().any(|name| name == plan.spec.name.as_str()))
            && target.as_ref().is_none_or(|target| *target == plan.target)
    };
    Ok(Plan::all(&project.specs).into_iter().filter(wanted).collect())
}
