//! What emitting can report.

use std::fmt;
use std::path::{Path, PathBuf};

use cutegen_spec::symbol::Collision;

/// Why nothing, or not all, was emitted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Bytes are missing for a variant, or the record answers another question.
    Incomplete {
        /// The kernel and target.
        kernel: String,
        /// Variants of the record.
        variants: usize,
        /// Artifacts given.
        artifacts: usize,
    },
    /// Kernels whose names give emitted items names that are taken.
    Names(Vec<Collision>),
    /// Two different artifacts want one symbol.
    SymbolTaken {
        /// The symbol.
        symbol: String,
    },
    /// A host object holds what may not be linked.
    Content {
        /// The kernel, target and variant.
        kernel: String,
        /// What is in it.
        problems: Vec<String>,
    },
    /// A host object is not the one that would be written of what is linked of it.
    NotCanonical {
        /// The kernel, target and variant.
        kernel: String,
        /// The object in its store.
        path: PathBuf,
    },
    /// A contract can't be printed.
    Contract {
        /// The kernel and variant.
        kernel: String,
        /// What is wrong.
        why: String,
    },
    /// A file can't be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The archiver can't be run, or failed.
    Archiver(String),
    /// Text that this module printed doesn't parse: a bug here.
    Internal(String),
}

impl Error {
    pub(super) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_path_buf(), source }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            Self::Incomplete { .. }
            | Self::Names(_)
            | Self::SymbolTaken { .. }
            | Self::Content { .. }
            | Self::NotCanonical { .. }
            | Self::Contract { .. }
            | Self::Archiver(_)
            | Self::Internal(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete { kernel, variants, artifacts } => write!(
                f,
                "{kernel}: a record of {variants} variants with {artifacts} artifacts doesn't answer this kernel; \
                 run `cargo cutegen check`"
            ),
            Self::Names(collisions) => {
                let lines: Vec<String> = collisions.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::SymbolTaken { symbol } => write!(
                f,
                "two different artifacts are called `{symbol}`; rename one of the variants in its record"
            ),
            Self::Content { kernel, problems } => write!(
                f,
                "{kernel}: its object may not be linked: {}; run `cargo cutegen tune`, then `cargo cutegen accept`",
                problems.join("; ")
            ),
            Self::NotCanonical { kernel, path } => write!(
                f,
                "{kernel}: its object, {} in the store, holds more than what is linked of it, or is of an older \
                 version; run `cargo cutegen lock --renew`",
                path.display()
            ),
            Self::Contract { kernel, why } => {
                write!(f, "{kernel}: the launch contract can't be emitted: {why}; run `cargo cutegen check`")
            }
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Archiver(why) => {
                write!(f, "the archiver failed: {why}; install binutils or name another archiver in `AR`")
            }
            Self::Internal(why) => write!(f, "emitted text doesn't parse, a bug in cutegen: {why}"),
        }
    }
}
