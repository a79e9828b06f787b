//! [`Error`]: what is wrong with this machine or this program, never with a candidate.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Evaluation could not be carried out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    System {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be used.
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong with it.
        reason: String,
    },
    /// A worker did not speak the protocol, or reported that its machine is at fault.
    Worker(String),
    /// The spec, a contract's extents or a shape cannot be evaluated.
    Shape(String),
}

impl Error {
    /// The last error of the system, while `doing`.
    pub(crate) fn last_os(doing: &str) -> Self {
        Error::System { doing: doing.to_owned(), source: io::Error::last_os_error() }
    }

    pub(crate) fn system(doing: &str, source: io::Error) -> Self {
        Error::System { doing: doing.to_owned(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::System { doing, source } => write!(f, "{doing}: {source}"),
            Error::File { path, reason } => write!(f, "{}: {reason}", path.display()),
            Error::Worker(reason) => write!(f, "worker: {reason}"),
            Error::Shape(reason) => write!(f, "shape: {reason}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System { source, .. } => Some(source),
            Error::File { .. } | Error::Worker(_) | Error::Shape(_) => None,
        }
    }
}
