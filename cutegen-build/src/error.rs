//! [`Error`]: what stops a build or a command, gathered from the stages for their callers. Each stage owns its own
//! error; no stage knows this one. A candidate that fails is never one: it is data for the next round.

use std::fmt;

use crate::cargo::BuildError;
use crate::discover::ProjectError;
use crate::emit;
use crate::store::lock_file::LockError;
use crate::store::replay::ReplayError;
use crate::store::trust::BelowGate;
use crate::store::unlocked;

const NEEDS_SEARCH: &str = "CUTEGEN_MODE=search needs the feature: cutegen-build = { features = [\"search\"] } under [build-dependencies]";

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

/// Messages of all errors of a build, first of kernels that cannot be replayed: what they share is said once.
#[must_use]
pub fn told(errors: Vec<Error>) -> Vec<String> {
    let (mut missed, mut others, mut needs_search) = (Vec::new(), Vec::new(), None);
    for error in errors {
        match error {
            Error::Replay(error) => missed.push(error),
            Error::NeedsSearch(error) => {
                needs_search = Some(NEEDS_SEARCH.to_owned());
                missed.push(error);
            }
            other => others.push(other.to_string()),
        }
    }
    unlocked::told(&missed).into_iter().chain(others).chain(needs_search).collect()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Build(error) => error.fmt(f),
            Error::Project(error) => error.fmt(f),
            Error::Lock(error) => error.fmt(f),
            Error::Replay(error) => error.fmt(f),
            Error::NeedsSearch(error) => write!(f, "{error}\n{NEEDS_SEARCH}"),
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::Error;
    use crate::cargo::BuildError;
    use crate::discover::ProjectError;

    /// The last line of a message, which is the next command.
    fn next(error: impl std::fmt::Display) -> String {
        let text = error.to_string();
        text.lines().last().and_then(|line| line.strip_prefix("run: ")).unwrap_or_default().to_owned()
    }

    #[test]
    fn errors_of_a_build_end_with_the_next_command() {
        let variable = "OUT_DIR".to_owned();
        assert_eq!(next(Error::Build(BuildError::NotABuildScript { variable })), "cargo build");
        let mode = Error::Build(BuildError::Mode("unknown mode `x`".to_owned()));
        assert_eq!(mode.to_string(), "CUTEGEN_MODE: unknown mode `x`\nrun: unset CUTEGEN_MODE");
        let source = io::ErrorKind::PermissionDenied.into();
        let unread = ProjectError::Read { path: "specs/gemm.toml".into(), source };
        assert_eq!(next(Error::Project(unread)), "ls -ld specs/gemm.toml");
    }

    #[cfg(feature = "search")]
    #[test]
    fn errors_of_entries_end_with_the_next_command() {
        use crate::accept::AcceptError;
        use crate::home::HomeError;
        use crate::search::SearchError;
        use crate::store::{CorruptEntry, Reason};

        let (kernel, path) = ("norm".to_owned(), "store/v1/ab".into());
        let gone = AcceptError::Vanished { kernel, path };
        assert!(gone.to_string().starts_with("norm: the entry just copied is gone: store/v1/ab\n"), "{gone}");
        assert_eq!(next(gone), "cargo cutegen accept norm");
        let entry = || CorruptEntry { path: "store/v1/ab".into(), reason: Reason::NotAFolder };
        let corrupt = AcceptError::Corrupt { kernel: "norm".to_owned(), entry: Box::new(entry()) };
        assert_eq!(next(corrupt), "cargo cutegen accept norm");
        assert_eq!(next(Error::Search(SearchError::Corrupt(entry()))), "cargo cutegen tune");
        assert_eq!(next(SearchError::Vanished("store/v1/ab".into())), "cargo cutegen tune");
        let home = SearchError::Home(HomeError::Relative("x".into()));
        assert_eq!(next(home), "export CUTEGEN_HOME=\"$PWD/.cutegen\"");
    }
}
