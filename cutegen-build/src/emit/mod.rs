//! Emit: accepted kernels as what a crate links and includes. Owns `OUT_DIR/cutegen/`: the archive, `kernels.rs` and
//! `manifest.toml`. Same kernels in, same bytes out, and a file that would not change is not written. Knows no store,
//! lock or environment, and starts no process but the archiver; bytes come checked.

mod archive;
mod error;
mod manifest;
mod object;
pub mod wrapper;
mod write;

use std::path::{Path, PathBuf};

use cutegen_spec::record::Record;
use cutegen_spec::symbol;
use cutegen_spec::target::Target;

use crate::plan::Plan;
pub use error::Error;
use wrapper::kernel::{self, Kernel};

/// The folder under OUT_DIR that everything goes to.
pub const FOLDER: &str = "cutegen";
/// The wrappers, as `include_kernels!` names them.
pub const RUST_FILE: &str = "kernels.rs";
/// What was emitted, for people and tools.
pub const MANIFEST_FILE: &str = "manifest.toml";

/// The package that links the kernels, and what it is built for.
#[derive(Clone, Copy, Debug)]
pub struct Package<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// The triple that cargo builds it for.
    pub triple: &'a str,
    /// The triple that cargo runs on.
    pub host: &'a str,
}

/// One kernel on one target, with its answer. A kernel on several targets is several of these.
#[derive(Clone, Copy, Debug)]
pub struct EmitKernel<'a> {
    /// What was asked.
    pub plan: &'a Plan,
    /// The answer.
    pub record: &'a Record,
    /// Stored bytes of each variant, checked against the lock by the caller.
    pub artifacts: &'a [Vec<u8>],
}

/// Where things are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// `OUT_DIR/cutegen`, the folder to search for the archive.
    pub lib_dir: PathBuf,
    /// The archive's name for `cargo::rustc-link-lib=static=`; none when there is nothing to link.
    pub lib_name: Option<String>,
    /// The wrappers.
    pub rust_file: PathBuf,
    /// What was emitted.
    pub manifest: PathBuf,
    /// Libraries that host kernels need beside the archive: the C library's mathematics.
    pub system_libs: Vec<String>,
}

/// Emits wrappers and the archive that holds what they launch, under `out_dir`.
pub fn emit(package: &Package<'_>, kernels: &[EmitKernel<'_>], out_dir: &Path) -> Result<Emitted, Error> {
    kernels.iter().try_for_each(complete)?;
    // A host kernel of another triple can't be linked into this build, which has the fallback from the math.
    let linked: Vec<EmitKernel<'_>> = kernels.iter().copied().filter(|k| links(package, k)).collect();
    let content = object::collect(package, &linked)?;
    let grouped = kernel::group(package, kernels, &linked)?;
    let folder = out_dir.join(FOLDER);
    let lib_name = symbol::library(package.name, package.version);
    let archived = archive::write(package, &content, &folder, &lib_name)?;
    let text = manifest::print(package, &linked, archived.then_some(lib_name.as_str()))?;
    finish(package, &grouped, folder, (archived.then_some(lib_name), !content.objects.is_empty()), &text)
}

/// Emits the same wrappers without anything behind them: they compile, document and report
/// `cutegen_runtime::Error::Stub` when called. Nothing is linked.
pub fn stub(package: &Package<'_>, plans: &[Plan], out_dir: &Path) -> Result<Emitted, Error> {
    let grouped = kernel::group_stubs(plans)?;
    let text = manifest::print(package, &[], None)?;
    finish(package, &grouped, out_dir.join(FOLDER), (None, false), &text)
}

fn finish(
    package: &Package<'_>,
    kernels: &[Kernel<'_>],
    folder: PathBuf,
    (lib_name, host_code): (Option<String>, bool),
    manifest_text: &str,
) -> Result<Emitted, Error> {
    let (rust_file, manifest) = (folder.join(RUST_FILE), folder.join(MANIFEST_FILE));
    write::if_changed(&rust_file, wrapper::print(package, kernels)?.as_bytes())?;
    write::if_changed(&manifest, manifest_text.as_bytes())?;
    let system_libs = host_code.then(|| "m".to_owned()).into_iter().collect();
    Ok(Emitted { lib_dir: folder, lib_name, rust_file, manifest, system_libs })
}

fn complete(kernel: &EmitKernel<'_>) -> Result<(), Error> {
    let (variants, artifacts) = (kernel.record.variants.len(), kernel.artifacts.len());
    if variants == artifacts && kernel.record.key == kernel.plan.key {
        return Ok(());
    }
    Err(Error::Incomplete { kernel: kernel.plan.title(), variants, artifacts })
}

fn links(package: &Package<'_>, kernel: &EmitKernel<'_>) -> bool {
    match &kernel.plan.target {
        Target::Cuda { .. } => true,
        Target::Host { triple, .. } => triple == package.triple,
    }
}
