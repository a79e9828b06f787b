//! [`ProjectError`]: why a project's kernels are not known.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a project's kernels are not known.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProjectError {
    /// A file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Specs are wrong: each rendered with its place.
    Specs(Vec<String>),
}

impl ProjectError {
    /// A file that cannot be read.
    pub(super) fn read(path: &Path, source: std::io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }
}

impl fmt::Display for ProjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProjectError::Read { path, source } => {
                let path = path.display();
                write!(f, "cannot read {path}: {source}\nrun: ls -ld {path}")
            }
            ProjectError::Specs(rendered) => f.write_str(&rendered.join("\n")),
        }
    }
}

impl std::error::Error for ProjectError {}
