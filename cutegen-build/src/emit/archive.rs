//! The archive, made by the archiver that `cc` finds: the one process of a replaying build. Members are named by what
//! they hold, times and owners are zero, and nothing is run when the members are those of the last time.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_spec::digest::ArtifactDigest;

use super::object::{self, Content};
use super::{Error, Package, write};

/// Writes `lib<name>.a` into `folder`; says whether there is anything in it.
pub(super) fn write(
    package: &Package<'_>,
    content: &Content<'_>,
    folder: &Path,
    name: &str,
) -> Result<bool, Error> {
    let archive = folder.join(format!("lib{name}.a"));
    let members = members(package, content, &folder.join("objects"))?;
    if members.is_empty() {
        return Ok(false);
    }
    let mut changed = !archive.is_file();
    for (path, bytes) in &members {
        changed |= write::if_changed(path, bytes)?;
    }
    // Written before the archive, the list would vouch for one that was never finished.
    let names = members.iter().filter_map(|(path, _)| path.file_name());
    let list: String = names.map(|name| format!("{}\n", name.to_string_lossy())).collect();
    let list_file = folder.join("objects").join("members.txt");
    changed |= fs::read_to_string(&list_file).ok().as_ref() != Some(&list);
    if changed {
        let paths: Vec<&Path> = members.iter().map(|(path, _)| path.as_path()).collect();
        sweep(&folder.join("objects"), &paths)?;
        run(package, &archive, &paths)?;
        write::if_changed(&list_file, list.as_bytes())?;
    }
    Ok(true)
}

/// Removes members of earlier builds.
fn sweep(folder: &Path, members: &[&Path]) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::file(folder))? {
        let path = entry.map_err(Error::file(folder))?.path();
        let is_old = path.extension().is_some_and(|end| end == "o") && !members.contains(&path.as_path());
        if is_old {
            fs::remove_file(&path).map_err(Error::file(&path))?;
        }
    }
    Ok(())
}

type Member<'a> = (PathBuf, std::borrow::Cow<'a, [u8]>);

fn members<'a>(
    package: &Package<'_>,
    content: &Content<'a>,
    folder: &Path,
) -> Result<Vec<Member<'a>>, Error> {
    let mut members: Vec<Member<'a>> = Vec::new();
    if !content.blobs.is_empty() {
        // A name for what is inside, cheaper than a digest of the bytes, which the caller has checked.
        let list: String =
            content.blobs.iter().map(|(symbol, (_, digest))| format!("{symbol} {digest}\n")).collect();
        let digest = ArtifactDigest::of(list.as_bytes()).to_string();
        let bytes = object::write(package.triple, content)?;
        members.push((folder.join(format!("cubins-{}.o", &digest[..16])), bytes.into()));
    }
    for (digest, bytes) in &content.objects {
        members.push((folder.join(format!("host-{}.o", &digest[..16])), (*bytes).into()));
    }
    Ok(members)
}

/// Archives by a new name and renames, so that no half of an archive is ever linked.
fn run(package: &Package<'_>, archive: &Path, members: &[&Path]) -> Result<(), Error> {
    let fresh = archive.with_extension("a.new");
    if fresh.exists() {
        fs::remove_file(&fresh).map_err(Error::file(&fresh))?;
    }
    let mut command = archiver(package, archive)?;
    command.arg("crsD").arg(&fresh).args(members);
    let output = command.output().map_err(|error| Error::Archiver(format!("{command:?}: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Archiver(format!("{command:?}: {}: {}", output.status, said.trim())));
    }
    fs::rename(&fresh, archive).map_err(Error::file(archive))
}

fn archiver(package: &Package<'_>, archive: &Path) -> Result<std::process::Command, Error> {
    let mut build = cc::Build::new();
    build.target(package.triple).host(package.host).opt_level(0).cargo_metadata(false);
    if let Some(folder) = archive.parent() {
        build.out_dir(folder);
    }
    build.try_get_archiver().map_err(|error| Error::Archiver(error.to_string()))
}
