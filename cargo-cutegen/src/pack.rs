//! `pack`: one bundle that tunes and verifies on a machine with no Rust, no network and nothing to install; and the
//! results file that brings its winners home.
//!
//! The bundle, a `.tar.gz`: `cutegen-pack/cargo-cutegen` (this program), `cutegen-pack/toolchain/` (headers, found by
//! the program beside itself) and `cutegen-pack/project/` (specs, lock, store). A results file holds a store.

use std::fs::File;
use std::io;
use std::path::Path;

use cutegen_build::discover::Project;
use cutegen_build::store::{LAYOUT, Store, lock_file};
use cutegen_build::toolchain::{Places, header_files, locate};
use cutegen_spec::digest::CacheKey;
use cutegen_spec::lock;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::Builder;

use crate::args::{Command, Pack};
use crate::failure::Failure;
use crate::outfile::OutFile;
use crate::output::Output;
use crate::project;
use crate::runs::{self, Runs};

pub(crate) type Tar<'a> = Builder<GzEncoder<&'a File>>;

/// The bundle's folder inside the archive.
const FOLDER: &str = "cutegen-pack";

/// Writes the bundle.
pub(crate) fn run(command: &Command, verb: &Pack, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    lock_file::read(&project.lock).map_err(Failure::project)?;
    let toolchain = locate(&Places::from_env().map_err(Failure::machine)?).map_err(Failure::machine)?;
    let file = OutFile::open(&verb.out, "--out")?;
    let io = |error: io::Error| file.failure(error);
    let mut tar = open(&file);
    let program = std::env::current_exe().map_err(io)?;
    tar.append_path_with_name(program, format!("{FOLDER}/cargo-cutegen")).map_err(io)?;
    let files = append_toolchain(&mut tar, &toolchain, verb.with_nvrtc)?;
    append_project(&mut tar, &project).map_err(io)?;
    close(tar).map_err(io)?;
    let bytes = file.file().metadata().map_err(io)?.len();
    file.keep()?;
    out.note(&commands(&project, &verb.out));
    out.result(
        &format!("{}: {:.1} MB, {files} headers, {} kernels", verb.out.display(), bytes as f64 / 1e6, project.specs.len()),
        &serde_json::json!({ "bundle": verb.out, "bytes": bytes, "headers": files, "kernels": project.specs.len() }),
    );
    Ok(())
}

/// What is run on the machine with the device, and here again.
fn commands(project: &Project, bundle: &Path) -> String {
    let place = if project.package.is_some() { "" } else { " --specs specs --cache cache" };
    let (there, back) = if Runs::of(project).folder().is_dir() {
        ("step", "step --merge results.tar.gz`, then `cargo cutegen accept --results results.tar.gz")
    } else {
        ("tune", "accept --results results.tar.gz")
    };
    format!(
        "there: tar xzf {} && cd {FOLDER}/project && ../cargo-cutegen cutegen {there}{place} --results results.tar.gz\n\
         here again: `cargo cutegen {back}`",
        bundle.file_name().unwrap_or_default().display()
    )
}

/// A package as it lies; a library as `specs/` and `cache/`.
fn append_project(tar: &mut Tar<'_>, project: &Project) -> io::Result<()> {
    let folder = Path::new(FOLDER).join("project");
    let (specs, lock, store) = match &project.package {
        Some(_) => (folder.clone(), folder.join(lock::FILE), folder.join(&project.settings.store)),
        None => (folder.join("specs"), folder.join("cache").join(lock::FILE), folder.join("cache")),
    };
    for source in project.sources.iter().filter(|path| path.is_file()) {
        let name = source.strip_prefix(&project.root).map_err(io::Error::other)?;
        tar.append_path_with_name(source, specs.join(name))?;
    }
    if project.lock.is_file() {
        tar.append_path_with_name(&project.lock, lock)?;
    }
    let entries = project.store.join(LAYOUT);
    if entries.is_dir() {
        tar.append_dir_all(store.join(LAYOUT), entries)?;
    }
    let runs = Runs::of(project).folder();
    if runs.is_dir() {
        tar.append_dir_all(folder.join(runs::FOLDER), runs)?;
    }
    Ok(())
}

/// Headers and their stamp, with NVRTC if asked for; how many headers.
fn append_toolchain(
    tar: &mut Tar<'_>,
    toolchain: &cutegen_build::toolchain::Toolchain,
    with_nvrtc: bool,
) -> Result<usize, Failure> {
    let folder = Path::new(FOLDER).join("toolchain");
    let failed = |error: io::Error| Failure::Machine(format!("cannot pack the toolchain: {error}"));
    let headers = header_files(toolchain).map_err(Failure::machine)?;
    for header in &headers {
        tar.append_path_with_name(&header.source, folder.join(&header.relative)).map_err(failed)?;
    }
    let stamp = if with_nvrtc {
        let nvrtc = toolchain.need_nvrtc().map_err(Failure::machine)?;
        let linker = nvrtc.linker.as_ref().map(|linker| &linker.library);
        for library in [&nvrtc.library, &nvrtc.builtins].into_iter().chain(linker) {
            let relative = library.strip_prefix(&toolchain.dir).unwrap_or(library);
            tar.append_path_with_name(library, folder.join(relative)).map_err(failed)?;
        }
        toolchain.stamp.clone()
    } else {
        toolchain.stamp.without_nvrtc()
    };
    let temporary = tempfile::tempdir().map_err(failed)?;
    stamp.write(temporary.path()).map_err(Failure::machine)?;
    tar.append_dir_all(&folder, temporary.path()).map_err(failed)?;
    Ok(headers.len())
}

/// Begins an archive.
pub(crate) fn open(file: &OutFile) -> Tar<'_> {
    Builder::new(GzEncoder::new(file.file(), Compression::default()))
}

/// Ends it.
pub(crate) fn close(tar: Tar<'_>) -> io::Result<()> {
    tar.into_inner()?.finish().map(drop)
}

/// Writes the entries of `keys` as one file.
pub(crate) fn write_results(store: &Store, keys: &[CacheKey], file: OutFile) -> Result<(), Failure> {
    let failed = |error: io::Error| file.failure(error);
    let mut tar = open(&file);
    keys.iter().try_for_each(|key| append_entry(&mut tar, store, key)).map_err(failed)?;
    close(tar).map_err(failed)?;
    file.keep()
}

/// Adds an entry, as it lies in its store.
pub(crate) fn append_entry(tar: &mut Tar<'_>, store: &Store, key: &CacheKey) -> io::Result<()> {
    let folder = store.entry_dir(key);
    let name = folder.strip_prefix(store.root()).unwrap_or(&folder).to_path_buf();
    tar.append_dir_all(name, &folder)
}

#[cfg(test)]
mod tests {
    use cutegen_build::store::Store;
    use cutegen_spec::digest::CacheKey;

    use super::write_results;
    use crate::outfile::OutFile;
    use crate::unpack::read_results;

    #[test]
    fn results_that_cannot_be_written_whole_leave_the_old_ones() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, path) = (Store::new(folder.path().join("store")), folder.path().join("results.tar.gz"));
        let [one, other] = ["1", "2"].map(|digit| CacheKey::parse(&digit.repeat(64)).expect("a key"));
        std::fs::create_dir_all(store.entry_dir(&one)).expect("made");
        std::fs::write(store.entry_dir(&one).join("record.toml"), "x").expect("written");
        let open = || OutFile::open(&path, "--results").expect("opens");
        write_results(&store, &[one], open()).expect("written");
        let before = std::fs::read(&path).expect("there");

        let told = write_results(&store, &[one, other], open()).expect_err("no entry").to_string();
        assert!(told.ends_with("name another file: --results FILE"), "{told}");
        assert_eq!(std::fs::read(&path).expect("there"), before);
        let names = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(names, 2, "nothing half written is left");
        let unpacked = read_results(&path).expect("whole");
        assert!(Store::new(unpacked.path()).entry_dir(&one).join("record.toml").is_file());
    }
}
