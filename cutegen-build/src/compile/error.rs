//! What can go wrong with compiling as such. A bad candidate is never one of these.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::diagnostics::Severity;
use super::job::CompileFailure;
use crate::toolchain;

/// This machine cannot compile. The last line of each message is the next command.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The toolchain is missing or broken.
    Toolchain(toolchain::Error),
    /// A file or process operation failed.
    Io {
        /// What was being done.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The target is not one this machine can compile for.
    Target {
        /// The target as it was given.
        target: String,
        /// What would be accepted.
        expected: &'static str,
    },
    /// The worker did not behave like ours: another binary, or a bug.
    Worker {
        /// The worker.
        exe: PathBuf,
        /// What it did, with the end of what it printed.
        reason: String,
    },
    /// A source of our own does not compile.
    Ours(Box<CompileFailure>),
}

impl Error {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source }
    }
}

impl From<toolchain::Error> for Error {
    fn from(error: toolchain::Error) -> Error {
        Error::Toolchain(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Toolchain(error) => error.fmt(f),
            Error::Io { doing, path, source } => {
                write!(f, "{doing} {} failed: {source}\nrun `cargo cutegen toolchain show`", path.display())
            }
            Error::Target { target, expected } => {
                write!(
                    f,
                    "cannot compile for `{target}`: expected {expected}\ncorrect `targets`, then run `cargo cutegen check`"
                )
            }
            Error::Ours(failure) => {
                let first = failure.diagnostics.iter().find(|d| d.severity == Severity::Error);
                let said = first.map(|d| format!(" line {}: {}", d.line.unwrap_or(0), d.message));
                write!(
                    f,
                    "a source of cutegen itself does not compile: {:?}{}\nrun `cargo cutegen toolchain show`",
                    failure.reason,
                    said.unwrap_or_default()
                )
            }
            Error::Worker { exe, reason } => {
                write!(f, "the compile worker {} {reason}\nrun `cargo cutegen toolchain show`", exe.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Toolchain(error) => Some(error),
            Error::Io { source, .. } => Some(source),
            Error::Target { .. } | Error::Worker { .. } | Error::Ours(_) => None,
        }
    }
}
