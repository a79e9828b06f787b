//! [`SearchError`]: why the loop broke down. Never about a candidate.

use std::fmt;
use std::path::PathBuf;

use crate::home::HomeError;
use crate::store::{CorruptEntry, StoreError};
use crate::{compile, evaluate, toolchain};

/// Why the loop broke down.
#[derive(Debug)]
#[non_exhaustive]
pub enum SearchError {
    /// No toolchain.
    Toolchain(toolchain::Error),
    /// The compiler worker broke.
    Compile(compile::Error),
    /// The judge or a runner broke.
    Evaluate(evaluate::Error),
    /// The judge process broke.
    Judge(String),
    /// This program cannot be started again as a worker.
    Worker(std::io::Error),
    /// Our own printed source failed: a bug, or a toolchain that is not the pinned one.
    Ours {
        /// The kernel.
        kernel: String,
        /// What failed.
        what: &'static str,
        /// How.
        detail: String,
    },
    /// The gate refuses the naive kernel: it, the reference or the bound is wrong.
    NaiveRefused {
        /// What was seen, and the command that shows it alone.
        facts: String,
    },
    /// The machine has no device for the target.
    NoDevice(String),
    /// A file of ours cannot be written.
    File(PathBuf, std::io::Error),
    /// No folder for the user's store can be named.
    Home(HomeError),
    /// An entry cannot be written.
    Store(StoreError),
    /// The entry just written must not be used.
    Corrupt(CorruptEntry),
    /// An entry was there a moment ago.
    Vanished(PathBuf),
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchError::Toolchain(error) => error.fmt(f),
            SearchError::Compile(error) => error.fmt(f),
            SearchError::Evaluate(error) => error.fmt(f),
            SearchError::Judge(reason) => write!(f, "judge: {reason}"),
            SearchError::Worker(error) => write!(f, "cannot start this program as a worker: {error}"),
            SearchError::Ours { kernel, what, detail } => {
                write!(f, "the {what} of {kernel} failed: {detail}\nrun: cargo cutegen toolchain show")
            }
            SearchError::NaiveRefused { facts } => f.write_str(facts),
            SearchError::NoDevice(reason) => f.write_str(reason),
            SearchError::File(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            SearchError::Home(error) => error.fmt(f),
            SearchError::Store(error) => error.fmt(f),
            SearchError::Corrupt(entry) => write!(f, "{entry}\nrun: cargo cutegen tune"),
            SearchError::Vanished(path) => {
                write!(f, "the entry just written is gone: {}\nrun: cargo cutegen tune", path.display())
            }
        }
    }
}

impl std::error::Error for SearchError {}

impl SearchError {
    /// Whether it says something of the kernel, and nothing of this machine.
    #[must_use]
    pub fn is_verdict(&self) -> bool {
        matches!(self, SearchError::NaiveRefused { .. })
    }
}

macro_rules! from {
    ($($variant:ident($type:ty)),*) => { $(
        impl From<$type> for SearchError {
            fn from(error: $type) -> Self {
                SearchError::$variant(error)
            }
        }
    )* };
}
from!(Toolchain(toolchain::Error), Compile(compile::Error), Evaluate(evaluate::Error));
from!(Home(HomeError), Store(StoreError));
