//! The packages of a workspace, which cargo lists, and which of them declare kernels: a command on nothing names them.

use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use cutegen_build::discover::Project;

use crate::args::Command;
use crate::failure::Failure;

/// A package of a workspace.
pub(crate) struct Member {
    pub(crate) name: String,
    folder: PathBuf,
    /// Why it has no project: its specs are wrong.
    project: Result<Project, String>,
}

impl Member {
    /// Wrong ones count: only right ones can be listed.
    fn declares_kernels(&self) -> bool {
        self.project.as_ref().map_or(true, |project| !project.specs.is_empty())
    }

    /// Whether it declares all of these.
    fn declares(&self, kernels: &[String]) -> bool {
        let Ok(project) = &self.project else { return false };
        kernels.iter().all(|name| project.specs.iter().any(|spec| spec.name.as_str() == name))
    }

    /// Whether there is anything to look after: kernels, or a lock that still pins some.
    fn is_concerned(&self) -> bool {
        let pins = |project: &Project| super::pins(&project.lock);
        self.declares_kernels() || self.project.as_ref().is_ok_and(pins)
    }

    /// Its project, or what is wrong with its specs.
    pub(crate) fn into_project(self) -> Result<Project, Failure> {
        self.project.map_err(Failure::Disagreement)
    }
}

/// The folder of the package of this name, in the workspace that `folder` belongs to.
pub(super) fn named(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    // a bundle has this one, and no cargo
    let is_here =
        Project::package(folder).is_ok_and(|p| p.package.is_some_and(|package| package.name == name));
    if is_here {
        return Ok(folder.to_owned());
    }
    let members = all(folder)?;
    let Some(member) = members.iter().find(|member| member.name == name) else {
        let known = names(members.iter().filter(|member| member.declares_kernels()));
        let known = if known.is_empty() { "none".to_owned() } else { known };
        return Err(Failure::Usage(format!(
            "no package `{name}` in this workspace; members that declare kernels: {known}\n\
             name one elsewhere by its file: --manifest-path PATH"
        )));
    };
    Ok(member.folder.clone())
}

/// The packages that `check --workspace` looks at.
pub(crate) fn concerned(command: &Command) -> Result<Vec<Member>, Failure> {
    let folder = super::place::folder(command)?;
    let mut members = all(&folder)?;
    members.retain(Member::is_concerned);
    if members.is_empty() {
        let text = "no member of this workspace declares a kernel\nname what does: --manifest-path PATH, or --specs DIR --cache DIR";
        return Err(Failure::Usage(text.to_owned()));
    }
    Ok(members)
}

/// The other packages with something to look after, where `project` is the root of a workspace. Where cargo does not answer,
/// none are known.
pub(crate) fn beside(project: &Project) -> Vec<String> {
    let manifest = std::fs::read_to_string(project.root.join("Cargo.toml")).unwrap_or_default();
    let Some(own) = project.package.as_ref().filter(|_| manifest.contains("[workspace")) else {
        return Vec::new();
    };
    let others = all(&project.root).unwrap_or_default().into_iter();
    others
        .filter(|member| member.name != own.name && member.is_concerned())
        .map(|member| member.name)
        .collect()
}

/// What is said of a project without a kernel: which packages of its workspace declare some, and the command on one of them.
pub(super) fn no_kernel(command: &Command, project: &Project) -> Failure {
    if command.specs.is_some() {
        return Failure::Usage(format!(
            "{} declares no kernel\nname what does: --specs DIR",
            project.title()
        ));
    }
    let manifest = project.root.join("Cargo.toml");
    let members = all(&project.root).unwrap_or_default();
    let members: Vec<&Member> = members.iter().filter(|member| member.declares_kernels()).collect();
    let asked = command.kernels();
    let suited = members.iter().find(|member| member.declares(asked));
    let text = match (members.is_empty(), suited) {
        (true, _) => {
            "\ndeclare one: [package.metadata.kernels.NAME]; or name what does: -p NAME, --manifest-path PATH"
                .to_owned()
        }
        (false, Some(one)) => format!(
            "; members of its workspace that do: {}\nrun: {}",
            names(members.iter().copied()),
            command.again_for(&one.name)
        ),
        (false, None) => format!(
            "; members of its workspace that do: {}\nrun: cargo cutegen check --workspace",
            names(members.iter().copied())
        ),
    };
    Failure::Usage(format!("{} declares no kernel{text}", manifest.display()))
}

/// The packages of the workspace that `folder` belongs to, by name.
fn all(folder: &Path) -> Result<Vec<Member>, Failure> {
    let manifest = folder.join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(&manifest).no_deps().exec();
    let metadata = metadata.map_err(|error| Failure::Usage(refusal(error, &manifest)))?;
    let mut members: Vec<Member> = metadata.workspace_packages().into_iter().map(member).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(members)
}

fn member(package: &cargo_metadata::Package) -> Member {
    let folder =
        package.manifest_path.parent().map(|path| path.as_std_path()).unwrap_or_else(|| Path::new("."));
    let here = std::env::current_dir().unwrap_or_default();
    let folder = match folder.strip_prefix(&here) {
        Ok(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        Ok(below) => below.to_owned(),
        Err(_) => folder.to_owned(),
    };
    let project = Project::package(&folder).map_err(|error| error.to_string());
    Member { name: package.name.to_string(), folder, project }
}

/// Cargo's own words, without what this crate's client and cargo put before them.
fn refusal(error: cargo_metadata::Error, manifest: &Path) -> String {
    let manifest = manifest.display();
    match error {
        cargo_metadata::Error::CargoMetadata { stderr } => {
            let words = stderr.trim();
            format!(
                "{}\nrun: cargo metadata --manifest-path {manifest}",
                words.strip_prefix("error: ").unwrap_or(words)
            )
        }
        other => {
            format!("cargo does not list the packages of {manifest}: {other}\nname one: --manifest-path PATH")
        }
    }
}

fn names<'a>(members: impl IntoIterator<Item = &'a Member>) -> String {
    members.into_iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ")
}
