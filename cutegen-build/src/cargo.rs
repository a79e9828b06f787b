//! The border to cargo: what a build script is told, and the only printer of `cargo::` lines.
//!
//! A failed build prints `cargo::error=` lines and returns normally: then cargo shows those lines and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use cutegen_spec::printable::printable;
use cutegen_spec::settings::Mode;

use crate::env::{variable, variable_os};

/// Why a build script does not know what it is to build.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A variable that cargo sets for build scripts is missing.
    NotABuildScript {
        /// The variable.
        variable: String,
    },
    /// A variable that cargo sets for build scripts is not UTF-8.
    NotUtf8 {
        /// The variable.
        variable: String,
        /// Its value.
        found: OsString,
    },
    /// `CUTEGEN_MODE` names no mode.
    Mode(String),
}

/// What a build script is told.
#[derive(Clone, Debug)]
pub struct Build {
    /// The package's folder.
    pub manifest_dir: PathBuf,
    /// Where everything is written.
    pub out_dir: PathBuf,
    /// The package's name.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// The triple that cargo builds for.
    pub triple: String,
    /// The triple that cargo runs on.
    pub host: String,
    /// `CUTEGEN_MODE`, when set.
    pub mode: Option<Mode>,
    /// Whether the profile is one of release builds.
    pub release: bool,
    /// Whether docs.rs is building.
    pub docs_rs: bool,
}

impl Build {
    /// Reads what cargo tells a build script.
    pub fn from_env() -> Result<Self, BuildError> {
        let mode = match variable("CUTEGEN_MODE") {
            None => None,
            Some(word) => Some(Mode::parse(&word).map_err(BuildError::Mode)?),
        };
        Ok(Self {
            manifest_dir: text("CARGO_MANIFEST_DIR")?.into(),
            out_dir: text("OUT_DIR")?.into(),
            package: text("CARGO_PKG_NAME")?,
            version: text("CARGO_PKG_VERSION")?,
            triple: text("TARGET")?,
            host: text("HOST")?,
            mode,
            release: variable("PROFILE").as_deref() == Some("release"),
            docs_rs: variable("DOCS_RS").is_some(),
        })
    }
}

/// A variable that cargo sets for every build script.
fn text(name: &str) -> Result<String, BuildError> {
    let found = variable_os(name).ok_or_else(|| BuildError::NotABuildScript { variable: name.to_owned() })?;
    found.into_string().map_err(|found| BuildError::NotUtf8 { variable: name.to_owned(), found })
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NotABuildScript { variable } => {
                write!(
                    f,
                    "{variable} is not set: cutegen_build::build() is for a build script, which cargo runs\n\
                     run: cargo build"
                )
            }
            BuildError::NotUtf8 { variable, found } => write!(
                f,
                "{variable} is not UTF-8: {}, and cargo and rustc themselves fail on such paths\nmove the package, or \
                 what CARGO_TARGET_DIR names, to a path that is UTF-8",
                found.display()
            ),
            BuildError::Mode(message) => {
                write!(f, "CUTEGEN_MODE: {message}\nrun: unset CUTEGEN_MODE")
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// Variables whose change reruns the build script.
const VARIABLES: [&str; 2] = ["CUTEGEN_MODE", "DOCS_RS"];

/// Tells cargo what the build depends on. A path that does not exist would rerun the script on every build, so its
/// nearest existing parent is named instead.
pub fn print_reruns(paths: &[PathBuf]) {
    let existing: BTreeSet<&Path> =
        paths.iter().filter_map(|path| path.ancestors().find(|ancestor| ancestor.exists())).collect();
    for path in existing {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for variable in VARIABLES {
        println!("cargo::rerun-if-env-changed={variable}");
    }
}

/// Tells the crate where its wrappers lie, in the variable that `include_kernels!` reads.
pub fn print_wrappers(file: &Path) {
    println!("cargo::rustc-env=CUTEGEN_KERNELS={}", file.display());
}

/// Links the emitted archive, and after it what it needs of the system.
pub fn print_link(folder: &Path, library: &str, system: &[String]) {
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=static={library}");
    for library in system {
        println!("cargo::rustc-link-lib={library}");
    }
}

/// Each line of `text` as an error.
pub fn print_error(text: &str) {
    for line in text.lines() {
        println!("cargo::error={}", printable(line));
    }
}

/// Each line of `text` as a warning.
pub fn print_warning(text: &str) {
    for line in text.lines() {
        println!("cargo::warning={}", printable(line));
    }
}
