//! What can go wrong with the toolchain itself. A candidate that fails to compile is never one of these.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::home::HomeError;

/// A broken or missing toolchain. The last line of each message is the next command.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing a file failed.
    Io {
        /// What was being done.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// No folder for toolchains can be named.
    Home(HomeError),
    /// No toolchain folder was found.
    NotInstalled {
        /// The folders that were looked into.
        searched: Vec<PathBuf>,
    },
    /// A folder that calls itself a toolchain lacks something, or has another version of it.
    Damaged {
        /// The folder.
        dir: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Headers are there, but no NVRTC of the pinned version.
    NoNvrtc {
        /// The version that is needed.
        pinned: String,
        /// What was looked at, and why each was turned down.
        rejected: Vec<String>,
    },
    /// No host C++ compiler answered.
    NoCxx {
        /// The program names that were tried.
        tried: Vec<PathBuf>,
    },
    /// `pip` failed.
    Pip {
        /// The folder it was to fill.
        dir: PathBuf,
        /// The last lines it printed.
        output: String,
    },
    /// A shared library could not be opened or lacks a function.
    Library {
        /// The library.
        path: PathBuf,
        /// The loader's message.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source }
    }

    pub(crate) fn damaged(dir: &Path, reason: impl Into<String>) -> Error {
        Error::Damaged { dir: dir.to_owned(), reason: reason.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { doing, path, source } => {
                write!(
                    f,
                    "{doing} {} failed: {source}\ncheck the folder, then run `cargo cutegen toolchain show`",
                    path.display()
                )
            }
            Error::Home(error) => error.fmt(f),
            Error::NotInstalled { searched } => {
                write!(f, "no toolchain in {}\nrun `cargo cutegen toolchain install`", list(searched))
            }
            Error::Damaged { dir, reason } => {
                write!(
                    f,
                    "the toolchain in {} is not usable: {reason}\ndelete that folder and run `cargo cutegen toolchain install`",
                    dir.display()
                )
            }
            Error::NoNvrtc { pinned, rejected } => no_nvrtc(f, pinned, rejected),
            Error::NoCxx { tried } => {
                write!(
                    f,
                    "no C++ compiler answers: tried {}\ninstall g++ or set CXX, then run `cargo cutegen toolchain show`",
                    list(tried)
                )
            }
            Error::Pip { dir, output } => {
                write!(
                    f,
                    "pip could not fill {}:\n{output}\ncheck pip's index settings, then run `cargo cutegen toolchain install`",
                    dir.display()
                )
            }
            Error::Library { path, reason } => {
                write!(f, "cannot use {}: {reason}\nrun `cargo cutegen toolchain install`", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Home(_)
            | Error::NotInstalled { .. }
            | Error::Damaged { .. }
            | Error::NoNvrtc { .. }
            | Error::NoCxx { .. }
            | Error::Pip { .. }
            | Error::Library { .. } => None,
        }
    }
}

fn no_nvrtc(f: &mut fmt::Formatter<'_>, pinned: &str, rejected: &[String]) -> fmt::Result {
    write!(f, "no NVRTC {pinned}")?;
    for reason in rejected {
        write!(f, "\n  {reason}")?;
    }
    f.write_str("\nrun `cargo cutegen toolchain install`, or `cargo cutegen pack --with-nvrtc` for a machine without pip")
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if shown.is_empty() { "(nothing)".to_owned() } else { shown.join(", ") }
}
