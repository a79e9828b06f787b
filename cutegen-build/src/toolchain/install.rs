//! Fills a toolchain folder from the user's own pip index: a temporary folder, then one rename.
//!
//! Pip is the only child that sees the user's environment, since its index settings live there. Nothing of the
//! system's Python is changed. Two installers of one folder: the slower one throws its copy away.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use super::error::Error;
use super::lock::{Group, Pinned, lock};
use super::places::Places;
use super::stamp::{Stamp, StampedLibrary, StampedNvrtc};

/// A folder with everything a group pins.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The folder.
    pub dir: PathBuf,
    /// What it holds.
    pub stamp: Stamp,
    /// It was there already.
    pub reused: bool,
}

/// Where a group is installed for this user.
pub fn folder_of(group: Group, places: &Places) -> PathBuf {
    places.toolchains().join(lock().digest(group))
}

/// Makes `dest` hold the group, unless it does already.
pub fn install(group: Group, dest: &Path, progress: &mut dyn FnMut(&str)) -> Result<Installed, Error> {
    if let Some(installed) = existing(group, dest)? {
        return Ok(installed);
    }
    let parent = dest.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(Error::io("creating", parent))?;
    let temp = tempfile::Builder::new()
        .prefix(".installing-")
        .tempdir_in(parent)
        .map_err(Error::io("creating a folder in", parent))?;
    let tree = temp.path().join("tree");
    progress(&format!("pip installs {} packages into {}", lock().packages(group).len(), dest.display()));
    pip(group, temp.path(), &tree)?;
    progress("looking for headers and libraries");
    survey(group, &tree)?.write(&tree)?;
    publish(group, &tree, dest)
}

fn existing(group: Group, dest: &Path) -> Result<Option<Installed>, Error> {
    if !dest.exists() {
        return Ok(None);
    }
    let stamp = Stamp::read(dest)?.ok_or_else(|| Error::damaged(dest, "it has no stamp"))?;
    if stamp.lock != lock().digest(group) {
        return Err(Error::damaged(dest, "it holds what another lock pins"));
    }
    stamp.check(dest)?;
    Ok(Some(Installed { dir: dest.to_owned(), stamp, reused: true }))
}

/// Renames over nothing: a rename onto a filled folder fails, which is how the loser of a race learns of it.
fn publish(group: Group, tree: &Path, dest: &Path) -> Result<Installed, Error> {
    match fs::rename(tree, dest) {
        Ok(()) => existing(group, dest)?
            .map(|installed| Installed { reused: false, ..installed })
            .ok_or_else(|| Error::damaged(dest, "it vanished")),
        Err(_) if dest.exists() => existing(group, dest)?.ok_or_else(|| Error::damaged(dest, "it vanished")),
        Err(source) => Err(Error::Io { doing: "renaming a folder to", path: dest.to_owned(), source }),
    }
}

fn pip(group: Group, temp: &Path, target: &Path) -> Result<(), Error> {
    let requirements = temp.join("requirements.txt");
    fs::write(&requirements, lock().requirements(group)).map_err(Error::io("writing", &requirements))?;
    let mut command = Command::new("python3");
    command.args([
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--require-hashes",
        "--only-binary=:all:",
        "--no-compile",
    ]);
    command.args(["--disable-pip-version-check", "--no-input", "--quiet", "--target"]).arg(target);
    // a user's defaults for ordinary installs clash with --target
    command
        .env("PIP_USER", "0")
        .env("PIP_REQUIRE_VIRTUALENV", "0")
        .env_remove("PIP_PREFIX")
        .env_remove("PIP_TARGET");
    let output = command.arg("-r").arg(&requirements).output();
    let output = output.map_err(Error::io("running", Path::new("python3")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Error::Pip { dir: target.to_owned(), output: last_lines(&text, 12) })
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Finds what the compiler needs by known files, since wheels move their folders between versions.
fn survey(group: Group, tree: &Path) -> Result<Stamp, Error> {
    let packages =
        lock().packages(group).iter().map(|package| (package.name.clone(), package.version.clone()));
    let mut stamp = Stamp {
        edition: 1,
        lock: lock().digest(group),
        header_roots: Vec::new(),
        packages: packages.collect(),
        nvrtc: None,
    };
    if group == Group::Compile {
        stamp.header_roots = header_roots(tree)?;
        stamp.nvrtc = Some(stamped_nvrtc(tree)?);
    }
    Ok(stamp)
}

fn header_roots(tree: &Path) -> Result<Vec<PathBuf>, Error> {
    ["cute/tensor.hpp", "cuda_runtime.h", "cuda/std/cstdint"]
        .iter()
        .map(|known| root_of(tree, known))
        .collect()
}

/// The folder in which the relative path `known` exists.
fn root_of(tree: &Path, known: &str) -> Result<PathBuf, Error> {
    let folders = WalkDir::new(tree).max_depth(5).sort_by_file_name().into_iter().filter_map(Result::ok);
    let root =
        folders.filter(|entry| entry.file_type().is_dir()).find(|entry| entry.path().join(known).is_file());
    let root = root.ok_or_else(|| Error::damaged(tree, format!("no folder in it holds `{known}`")))?;
    relative(tree, root.path())
}

fn stamped_nvrtc(tree: &Path) -> Result<StampedNvrtc, Error> {
    let StampedLibrary { library, sha256, bytes } = stamped_library(tree, "libnvrtc", &lock().nvrtc)?;
    let builtins = file_named(tree, "libnvrtc-builtins.so.")?;
    let linker = stamped_library(tree, "libnvJitLink", &lock().nvjitlink)?;
    Ok(StampedNvrtc { library, builtins, sha256, bytes, linker })
}

fn stamped_library(tree: &Path, name: &str, pinned: &Pinned) -> Result<StampedLibrary, Error> {
    let major = pinned.version.split('.').next().unwrap_or_default();
    let library = file_named(tree, &format!("{name}.so.{major}"))?;
    let (sha256, bytes) = sha256_file(&tree.join(&library))?;
    if sha256 != pinned.library_sha256 {
        return Err(Error::damaged(tree, format!("{name} has SHA-256 {sha256}, not the pinned one")));
    }
    Ok(StampedLibrary { library, sha256, bytes })
}

fn file_named(tree: &Path, prefix: &str) -> Result<PathBuf, Error> {
    let mut files = WalkDir::new(tree).sort_by_file_name().into_iter().filter_map(Result::ok);
    let file = files
        .find(|entry| entry.file_type().is_file() && entry.file_name().to_string_lossy().starts_with(prefix));
    let file = file.ok_or_else(|| Error::damaged(tree, format!("no file in it is called `{prefix}`")))?;
    relative(tree, file.path())
}

fn relative(tree: &Path, path: &Path) -> Result<PathBuf, Error> {
    path.strip_prefix(tree).map(Path::to_owned).map_err(|_| Error::damaged(tree, "a file lies outside of it"))
}

/// SHA-256 in hex, and the length.
pub(super) fn sha256_file(path: &Path) -> Result<(String, u64), Error> {
    let mut file = fs::File::open(path).map_err(Error::io("reading", path))?;
    let (mut hasher, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut buffer).map_err(Error::io("reading", path))?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
    Ok((hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), bytes))
}
