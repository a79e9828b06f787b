//! `toolchain`: the pinned compilers and headers, in a folder of their own.

use cutegen_build::toolchain::{Group, Places, folder_of, install, locate};

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
