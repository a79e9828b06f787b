//! The border to cargo: the only reader of the environment, the only printer of `cargo::` lines.
//!
//! A failed build prints `cargo::error=` lines and returns normally: then cargo shows those lines and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cutegen_spec::settings::Mode;

use crate::error::Error;

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

/// A variable of the environment, when set and Unicode.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A variable of the environment, when set.
#[must_use]
pub fn variable_os(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

impl Build {
    /// Reads what cargo tells a build script.
    pub fn from_env() -> Result<Self, Error> {
        let mode = match variable("CUTEGEN_MODE") {
            None => None,
            Some(word) => Some(Mode::parse(&word).map_err(Error::Setting)?),
        };
        Ok(Self {
            manifest_dir: required("CARGO_MANIFEST_DIR")?.into(),
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

fn required(name: &str) -> Result<OsString, Error> {
    variable_os(name).ok_or_else(|| Error::NotABuildScript { variable: name.to_owned() })
}

/// A variable that goes back to cargo or into what is emitted, both of which are text.
fn text(name: &str) -> Result<String, Error> {
    let not_text = |found: OsString| Error::NotUtf8 { variable: name.to_owned(), found };
    required(name)?.into_string().map_err(not_text)
}

/// Variables whose change reruns the build script.
const VARIABLES: [&str; 2] = ["CUTEGEN_MODE", "DOCS_RS"];

/// Tells cargo what the build depends on, as paths from the package in `root`, which need not be text itself. A path that
/// does not exist would rerun the script on every build, so its nearest existing parent is named instead.
pub fn print_reruns(root: &Path, paths: &[PathBuf]) {
    let existing: BTreeSet<&Path> =
        paths.iter().filter_map(|path| path.ancestors().find(|ancestor| ancestor.exists())).collect();
    for path in existing {
        let inside = path.strip_prefix(root).unwrap_or(path);
        let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        println!("cargo::rerun-if-changed={}", inside.display());
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
        println!("cargo::error={line}");
    }
}

/// Each line of `text` as a warning.
pub fn print_warning(text: &str) {
    for line in text.lines() {
        println!("cargo::warning={line}");
    }
}
