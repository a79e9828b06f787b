//! The stamp of a toolchain folder: what was installed, where in it, and the digests that name it.
//!
//! Written last, so a folder with a stamp is whole. All paths are relative, so a folder can be moved or packed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::Error;

/// The stamp's name in its folder.
pub const STAMP_FILE: &str = "cutegen-toolchain.toml";

/// The contents of a toolchain folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stamp {
    /// The layout of this file.
    pub edition: u32,
    /// The lock group's digest, which also names an installed folder.
    pub lock: String,
    /// Include folders, in the order the compiler searches them.
    #[serde(default)]
    pub header_roots: Vec<PathBuf>,
    /// Package name to version.
    pub packages: BTreeMap<String, String>,
    /// The NVRTC in this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvrtc: Option<StampedNvrtc>,
}

/// An NVRTC library, its builtins, and the library that links its code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StampedNvrtc {
    /// `libnvrtc.so`.
    pub library: PathBuf,
    /// `libnvrtc-builtins.so`.
    pub builtins: PathBuf,
    /// SHA-256 of the library.
    pub sha256: String,
    /// Its size, which a look-up compares.
    pub bytes: u64,
    /// `libnvJitLink.so`.
    pub linker: StampedLibrary,
}

/// A library by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StampedLibrary {
    /// The file.
    pub library: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
    /// Its size, which a look-up compares.
    pub bytes: u64,
}

impl Stamp {
    /// Reads a folder's stamp; `None` when it has none.
    pub fn read(dir: &Path) -> Result<Option<Stamp>, Error> {
        let path = dir.join(STAMP_FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(Error::io("reading", &path))?,
        };
        toml::from_str(&text)
            .map(Some)
            .map_err(|error| Error::damaged(dir, format!("{STAMP_FILE}: {}", error.message())))
    }

    /// Writes it into a folder.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        let path = dir.join(STAMP_FILE);
        let text = toml::to_string(self).map_err(|error| Error::damaged(dir, error.to_string()))?;
        fs::write(&path, text).map_err(Error::io("writing", &path))
    }

    /// The stamp of a bundle that leaves NVRTC to the machine it is unpacked on.
    pub fn without_nvrtc(&self) -> Stamp {
        Stamp { nvrtc: None, ..self.clone() }
    }

    /// Refuses a folder from which something named here has gone, or whose paths leave it.
    pub fn check(&self, dir: &Path) -> Result<(), Error> {
        let libraries =
            self.nvrtc.iter().flat_map(|nvrtc| [&nvrtc.library, &nvrtc.builtins, &nvrtc.linker.library]);
        for path in self.header_roots.iter().chain(libraries) {
            if !stays_inside(path) {
                return Err(Error::damaged(dir, format!("`{}` leaves the folder", path.display())));
            }
            if !dir.join(path).exists() {
                return Err(Error::damaged(dir, format!("`{}` is missing", path.display())));
            }
        }
        let Some(nvrtc) = &self.nvrtc else { return Ok(()) };
        check_size(dir, &nvrtc.library, nvrtc.bytes)?;
        check_size(dir, &nvrtc.linker.library, nvrtc.linker.bytes)
    }
}

fn check_size(dir: &Path, library: &Path, stamped: u64) -> Result<(), Error> {
    let path = dir.join(library);
    let bytes = fs::metadata(&path).map_err(Error::io("reading", &path))?.len();
    if bytes == stamped {
        return Ok(());
    }
    Err(Error::damaged(dir, format!("`{}` has {bytes} bytes, not {stamped}", library.display())))
}

fn stays_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}
