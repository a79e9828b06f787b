//! [`Error`]: what stops a build or a command, gathered from the stages for their callers. Each stage owns its own
//! error; no stage knows this one. A candidate that fails is never one: it is data for the next round.

use std::fmt;

use crate::cargo::BuildError;
use crate::discover::ProjectError;
use crate::emit;
use crate::store::lock_file::LockError;
use crate::store::replay::ReplayError;
use crate::store::trust::BelowGate;

/// What stops a build. Messages are lower-case; the last line is the next command where there is one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Cargo did not say what a build script is told.
    Build(BuildError),
    /// The project's kernels are not known.
    Project(ProjectError),
    /// The lock cannot be read or written.
    Lock(LockError),
    /// A kernel cannot be replayed.
    Replay(ReplayError),
    /// A kernel cannot be replayed in mode `search`, and this build has no feature `search`.
    NeedsSearch(ReplayError),
    /// A kernel's evidence is below the package's `min-gate`.
    BelowGate(BelowGate),
    /// The library cannot be written.
    Emit(emit::Error),
    /// The loop broke down.
    #[cfg(feature = "search")]
    Search(crate::search::SearchError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Build(error) => error.fmt(f),
            Error::Project(error) => error.fmt(f),
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
from!(Build(BuildError), Project(ProjectError), Lock(LockError), Replay(ReplayError), BelowGate(BelowGate));
from!(Emit(emit::Error));
#[cfg(feature = "search")]
from!(Search(crate::search::SearchError));
