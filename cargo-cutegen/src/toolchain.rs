//! `toolchain`: the pinned compilers and headers, in a folder of their own; and what they compiled before.

use std::io;
use std::path::Path;

use cutegen_build::compile::{CompileCache, Held};
use cutegen_build::toolchain::{Group, Places, folder_of, install, locate};
use cutegen_build::{env, home};

use crate::args::{Toolchain, ToolchainAction};
use crate::failure::Failure;
use crate::output::Output;

/// Installs or shows the toolchain.
pub(crate) fn run(verb: &Toolchain, out: &Output) -> Result<(), Failure> {
    let places = Places::from_env().map_err(Failure::machine)?;
    match verb.action {
        ToolchainAction::Install { tests } => {
            let groups = [Group::Compile, Group::Test];
            for group in groups.into_iter().take(if tests { 2 } else { 1 }) {
                let folder = folder_of(group, &places);
                install(group, &folder, &mut |line| out.note(line)).map_err(Failure::machine)?;
                out.result(
                    &format!("{}: {}", group.name(), folder.display()),
                    &serde_json::json!({ "group": group.name(), "folder": folder }),
                );
            }
            Ok(())
        }
        ToolchainAction::Show => show(&places, out),
        ToolchainAction::Cache { clear } => cache(clear, out),
    }
}

fn show(places: &Places, out: &Output) -> Result<(), Failure> {
    let toolchain = locate(places).map_err(Failure::machine)?;
    let words =
        |result: Result<String, cutegen_build::toolchain::Error>| result.unwrap_or_else(|e| e.to_string());
    let (cuda, host) = (words(toolchain.cuda_fingerprint()), words(toolchain.host_fingerprint()));
    out.result(
        &format!("folder: {}\ncuda:   {cuda}\nhost:   {host}", toolchain.dir.display()),
        &serde_json::json!({ "folder": toolchain.dir, "cuda": cuda, "host": host }),
    );
    Ok(())
}

/// Says what the compile cache holds, and removes it where that is wanted.
fn cache(clear: bool, out: &Output) -> Result<(), Failure> {
    let folder = home::compiled(env::variable_os).map_err(Failure::machine)?;
    let cache = CompileCache::in_folder(folder.clone());
    let Held { answers, bytes } = cache.held();
    if clear {
        cache.clear().map_err(|error| Failure::machine(stuck(&folder, &error)))?;
    }
    let removed = if clear { ", removed" } else { "" };
    let size = bytes as f64 / f64::from(1 << 20);
    out.result(
        &format!("{answers} compiles, {size:.1} MiB in {}{removed}", folder.display()),
        &serde_json::json!({ "folder": folder, "compiles": answers, "bytes": bytes, "removed": clear }),
    );
    Ok(())
}

fn stuck(folder: &Path, error: &io::Error) -> String {
    format!(
        "the compile cache {} cannot be removed: {error}\nrun: rm -r {}",
        folder.display(),
        folder.display()
    )
}
