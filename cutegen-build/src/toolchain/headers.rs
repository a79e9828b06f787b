//! The headers a candidate may need, as a list to pack: all of CuTe and what it includes, none of the rest.
//!
//! Relative paths are those of the installed folder. With a stamp beside them ([`Stamp::without_nvrtc`], or the
//! toolchain's own where NVRTC is packed too) they make a toolchain folder.
//!
//! [`Stamp::without_nvrtc`]: super::Stamp::without_nvrtc

use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::error::Error;
use super::locate::Toolchain;

/// One file to pack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeaderFile {
    /// Its place in the bundle.
    pub relative: PathBuf,
    /// Where it is now.
    pub source: PathBuf,
}

/// Folders below a header root that no candidate may include.
const LEFT_OUT: &[&str] = &[
    "cub",
    "thrust",
    "cutlass/conv",
    "cutlass/reduction",
    "cutlass/experimental",
    "cutlass/gemm/device",
    "cutlass/gemm/threadblock",
    "cutlass/gemm/warp",
    "cutlass/epilogue/threadblock",
    "cutlass/epilogue/warp",
    "cutlass/transform/threadblock",
    "cutlass/transform/warp",
];

/// Files below a header root that belong to graphics and other APIs.
const LEFT_OUT_PREFIXES: &[&str] =
    &["cudaEGL", "cudaGL", "cudaVDPAU", "cuda_egl", "cuda_gl", "cuda_vdpau", "cudaProfiler"];

/// A digest of their names and contents, in the order that the compiler searches them.
pub fn headers_digest(toolchain: &Toolchain) -> Result<String, Error> {
    let mut digest = blake3::Hasher::new();
    for root in &toolchain.stamp.header_roots {
        digest.update(root.as_os_str().as_encoded_bytes()).update(b"\0");
    }
    for header in header_files(toolchain)? {
        let text = fs::read(&header.source).map_err(Error::io("reading", &header.source))?;
        let name = header.relative.as_os_str().as_encoded_bytes();
        digest.update(name).update(b"\0").update(&(text.len() as u64).to_le_bytes()).update(&text);
    }
    Ok(digest.finalize().to_hex().to_string())
}

/// Every header to pack, sorted.
pub fn header_files(toolchain: &Toolchain) -> Result<Vec<HeaderFile>, Error> {
    let mut files = Vec::new();
    for (index, root) in toolchain.header_roots.iter().enumerate() {
        let others: Vec<&PathBuf> =
            toolchain.header_roots.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, r)| r).collect();
        add_root(toolchain, root, &others, &mut files)?;
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn add_root(
    toolchain: &Toolchain,
    root: &Path,
    others: &[&PathBuf],
    files: &mut Vec<HeaderFile>,
) -> Result<(), Error> {
    let wanted = |path: &Path| !others.iter().any(|other| path == other.as_path()) && !left_out(root, path);
    for entry in WalkDir::new(root).into_iter().filter_entry(|entry| wanted(entry.path())) {
        let entry = entry.map_err(|error| Error::damaged(&toolchain.dir, error.to_string()))?;
        if entry.file_type().is_file() {
            let relative = entry.path().strip_prefix(&toolchain.dir);
            let relative =
                relative.map_err(|_| Error::damaged(&toolchain.dir, "a header lies outside of it"))?;
            files.push(HeaderFile { relative: relative.to_owned(), source: entry.path().to_owned() });
        }
    }
    Ok(())
}

fn left_out(root: &Path, path: &Path) -> bool {
    let Ok(relative) = path.strip_prefix(root) else { return true };
    let name = relative.to_string_lossy();
    LEFT_OUT.iter().any(|folder| relative == Path::new(folder))
        || LEFT_OUT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
