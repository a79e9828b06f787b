//! Where the package of a command lies: the named manifest, else the nearest upward as cargo finds it, else a member of that
//! one's workspace by its name. Cargo is asked only for a member, so that a bundle works where there is no cargo.

use std::path::{Path, PathBuf};

use super::members;
use crate::args::Command;
use crate::failure::Failure;

/// The folder of the package, or of the root of a workspace.
pub(super) fn folder(command: &Command) -> Result<PathBuf, Failure> {
    let folder = match &command.manifest_path {
        Some(manifest) => named(manifest)?,
        None => nearest()?,
    };
    match &command.package {
        Some(name) => members::named(&folder, name),
        None => Ok(folder),
    }
}

fn named(manifest: &Path) -> Result<PathBuf, Failure> {
    if manifest.file_name().is_none_or(|name| name != "Cargo.toml") || !manifest.is_file() {
        let path = manifest.display();
        return Err(Failure::Usage(format!(
            "`{path}` is no Cargo.toml\nname the file: --manifest-path PATH"
        )));
    }
    let parent = manifest.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok(parent.map_or_else(|| PathBuf::from("."), Path::to_path_buf))
}

/// As a path from here, so that commands in messages stay short.
fn nearest() -> Result<PathBuf, Failure> {
    let here =
        std::env::current_dir().map_err(|error| Failure::Machine(format!("no current folder: {error}")))?;
    match here.ancestors().position(|folder| folder.join("Cargo.toml").is_file()) {
        Some(0) => Ok(PathBuf::from(".")),
        Some(up) => Ok((0..up).map(|_| "..").collect()),
        None => Err(Failure::Usage(
            "no package here: there is no Cargo.toml in this folder or above it\n\
             run this in a package, or name one: --manifest-path PATH; specs without a package: --specs DIR --cache DIR"
                .to_owned(),
        )),
    }
}
