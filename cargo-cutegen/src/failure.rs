//! [`Failure`]: why a verb ends without success, and with which exit code.

use std::fmt;

/// Why a verb failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Specs, lock, store or evidence disagree, or a kernel failed; the text says which.
    Disagreement(String),
    /// The arguments name something that is not there.
    Usage(String),
    /// The machine lacks something.
    Machine(String),
}

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Disagreement(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Machine(_) => 3,
        }
    }

    /// From an error of the pipeline about the project itself.
    pub(crate) fn project(error: impl fmt::Display) -> Self {
        Failure::Disagreement(error.to_string())
    }

    /// From an error of the machine.
    pub(crate) fn machine(error: impl fmt::Display) -> Self {
        Failure::Machine(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Disagreement(text) | Failure::Usage(text) | Failure::Machine(text) => f.write_str(text),
        }
    }
}
