//! [`Error`]: what stops a build or a command. A candidate that fails is never one: it is data for the next round.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::emit;
use crate::store::StoreError;
use crate::store::lock_file::LockError;
use crate::store::replay::ReplayError;
use crate::store::trust::BelowGate;

/// What stops a build. Messages are lower-case; the last line is the next command where there is one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
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
    /// A setting does not parse.
    Setting(String),
    /// A file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Specs are wrong: each rendered with its place.
    Specs(Vec<String>),
    /// The lock cannot be read or written.
    Lock(LockError),
    /// A kernel cannot be replayed.
    Replay(ReplayError),
    /// A kernel cannot be replayed in mode `search`, and this build has no feature `search`.
    NeedsSearch(ReplayError),
    /// A kernel's evidence is below the package's `min-gate`.
    BelowGate(BelowGate),
    /// The store cannot be written.
    Store(StoreError),
    /// The library cannot be written.
    Emit(emit::Error),
    /// The loop broke down.
    #[cfg(feature = "search")]
    Search(crate::search::SearchError),
}

impl Error {
    /// A file that cannot be read.
    pub(crate) fn read(path: &Path, source: std::io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotABuildScript { variable } => {
                write!(
                    f,
                    "{variable} is not set: cutegen_build::build() is for a build script, which cargo runs"
                )
            }
            Error::NotUtf8 { variable, found } => write!(
                f,
                "{variable} is not UTF-8: {}, and what build scripts tell cargo is text\nrun cargo with \
                 CARGO_TARGET_DIR set to a folder whose path is UTF-8; the package may lie where it lies",
                found.display()
            ),
            Error::Setting(message) => f.write_str(message),
            Error::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Error::Specs(rendered) => f.write_str(&rendered.join("\n")),
            Error::Lock(error) => error.fmt(f),
            Error::Replay(error) => error.fmt(f),
            Error::NeedsSearch(error) => {
                writeln!(f, "{error}")?;
                f.write_str(
                    "CUTEGEN_MODE=search needs the feature: cutegen-build = { features = [\"search\"] } under \
                     [build-dependencies]",
                )
            }
            Error::BelowGate(error) => error.fmt(f),
            Error::Store(error) => error.fmt(f),
            Error::Emit(error) => error.fmt(f),
            #[cfg(feature = "search")]
            Error::Search(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

macro_rules! from {
    ($($variant:ident($type:ty)),*) => { $(
        impl From<$type> for Error {
            fn from(error: $type) -> Self {
                Error::$variant(error)
            }
        }
    )* };
}
from!(Lock(LockError), Replay(ReplayError), BelowGate(BelowGate), Store(StoreError), Emit(emit::Error));
#[cfg(feature = "search")]
from!(Search(crate::search::SearchError));
