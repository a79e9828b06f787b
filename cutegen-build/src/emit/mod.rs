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

use crate::plan::Plan;
pub use error::Error;
pub use object::carries;
#[cfg(feature = "search")]
pub use object::linkable;
use wrapper::kernel;

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

/// Emits wrappers and the archive that holds what they launch, under `out_dir`. What the build's triple does not carry
/// is a stub for CUDA, and on `host` the fallback from the math.
pub fn emit(package: &Package<'_>, kernels: &[EmitKernel<'_>], out_dir: &Path) -> Result<Emitted, Error> {
    kernels.iter().try_for_each(complete)?;
    let carried = |kernel: &EmitKernel<'_>| carries(package.triple, &kernel.plan.target);
    let linked: Vec<EmitKernel<'_>> = kernels.iter().copied().filter(carried).collect();
    let content = object::collect(package, &linked)?;
    let grouped = kernel::group(package, kernels, &linked)?;
    let folder = out_dir.join(FOLDER);
    let lib_name = symbol::library(package.name, package.version);
    // The archiver runs while the wrappers are printed.
    let (archived, text) = std::thread::scope(|scope| {
        let archiving = scope.spawn(|| archive::write(package, &content, &folder, &lib_name));
        let text = wrapper::print(package, &grouped);
        (archiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), text)
    });
    let lib_name = archived?.then_some(lib_name);
    let manifest = manifest::print(package, &linked, lib_name.as_deref())?;
    let needs_libm = !content.objects.is_empty();
    let system_libs = needs_libm.then(|| "m".to_owned()).into_iter().collect();
    finish(folder, (&text?, &manifest), lib_name, system_libs)
}

/// Emits the same wrappers without anything behind them: they compile, document and report
/// `cutegen_runtime::Error::Stub` when called. Nothing is linked.
pub fn stub(package: &Package<'_>, plans: &[Plan], out_dir: &Path) -> Result<Emitted, Error> {
    let text = wrapper::print(package, &kernel::group_stubs(plans)?)?;
    let manifest = manifest::print(package, &[], None)?;
    finish(out_dir.join(FOLDER), (&text, &manifest), None, Vec::new())
}

fn finish(
    lib_dir: PathBuf,
    (text, manifest_text): (&str, &str),
    lib_name: Option<String>,
    system_libs: Vec<String>,
) -> Result<Emitted, Error> {
    let (rust_file, manifest) = (lib_dir.join(RUST_FILE), lib_dir.join(MANIFEST_FILE));
    write::if_changed(&rust_file, text.as_bytes())?;
    write::if_changed(&manifest, manifest_text.as_bytes())?;
    Ok(Emitted { lib_dir, lib_name, rust_file, manifest, system_libs })
}

fn complete(kernel: &EmitKernel<'_>) -> Result<(), Error> {
    let (variants, artifacts) = (kernel.record.variants.len(), kernel.artifacts.len());
    if variants == artifacts && kernel.record.key == kernel.plan.key {
        return Ok(());
    }
    Err(Error::Incomplete { kernel: kernel.plan.title(), variants, artifacts })
}
