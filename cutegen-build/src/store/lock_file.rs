//! `cutegen.lock` on disk: read with the path in every error, written whole or not at all, and only when it changes,
//! so that an unchanged lock rebuilds nothing. What a lock means is [`cutegen_spec::lock`]'s.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

use cutegen_spec::lock::{Lock, v1};
use cutegen_spec::unread::{UPDATE, Unread};

use super::regular::{self, Refused};
use super::temp;

/// Largest lock that is read: some hundred thousand kernels.
pub const LIMIT: u64 = 64 << 20;

/// Why a lock could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockError {
    /// The lock's path.
    pub path: PathBuf,
    /// What happened.
    pub cause: Cause,
}

/// What happened to a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The system refused.
    Io {
        /// What was being done.
        action: &'static str,
        /// The system's words.
        error: String,
    },
    /// Git left a conflict in it.
    Conflict {
        /// Line of the first marker, from 1.
        line: usize,
    },
    /// No lock of this version.
    Unread(Unread),
    /// A kernel is there twice on one target, as after a merge that kept both sides.
    Twice {
        /// The kernel.
        kernel: String,
        /// The target.
        target: String,
    },
}

/// What [`write()`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The file holds the new text.
    Changed,
    /// It already did; its time stamp stays.
    Unchanged,
}

/// Reads the lock at `path`; a package that has none yet has an empty one.
pub fn read(path: &Path) -> Result<Lock, LockError> {
    let Some(text) = text(path)? else { return Ok(Lock::default()) };
    parse(&text).map_err(|cause| LockError::new(path, cause))
}

/// The lock at `path` if it is of version 1, which a migration brings to the present one.
pub fn read_old(path: &Path) -> Result<Option<v1::Lock>, LockError> {
    let Some(text) = text(path)? else { return Ok(None) };
    let old = whole(&text).and_then(|()| v1::Lock::parse(&text).map_err(Cause::Unread));
    let old = old.and_then(|old| {
        let names = old.iter().flat_map(|lock| &lock.kernels).map(|k| (k.name.as_str(), k.target.as_str()));
        once(&names.collect::<Vec<_>>()).map(|()| old.clone())
    });
    old.map_err(|cause| LockError::new(path, cause))
}

/// The text at `path`; none where there is no file.
fn text(path: &Path) -> Result<Option<String>, LockError> {
    let bytes = match regular::read(path, LIMIT) {
        Ok(bytes) => bytes,
        Err(Refused::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(refused) => return Err(LockError::new(path, Cause::io("read", &refused.into()))),
    };
    let not_text = |error: FromUtf8Error| Unread::Wrong(format!("not text: {}", error.utf8_error()));
    String::from_utf8(bytes).map(Some).map_err(|error| LockError::new(path, Cause::Unread(not_text(error))))
}

/// Brings the file at `path` to `lock`, whole or not at all.
pub fn write(path: &Path, lock: &Lock) -> Result<Written, LockError> {
    let text = lock.to_toml().and_then(|text| parse(&text).map(|_| text).map_err(|cause| cause.to_string()));
    let text = text.map_err(|error| LockError::new(path, Cause::Unread(Unread::Wrong(error))))?;
    if regular::read(path, LIMIT).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(Written::Unchanged);
    }
    let written = temp::replace_file(path, text.as_bytes());
    written.map_err(|error| LockError::new(path, Cause::io("write", &error)))?;
    Ok(Written::Changed)
}

fn parse(text: &str) -> Result<Lock, Cause> {
    whole(text)?;
    let lock = Lock::parse(text).map_err(Cause::Unread)?;
    let names = lock.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.target.as_str()));
    once(&names.collect::<Vec<_>>())?;
    Ok(lock)
}

/// Whether no merge left its marks.
fn whole(text: &str) -> Result<(), Cause> {
    let marker = |line: &str| ["<<<<<<< ", ">>>>>>> ", "||||||| "].iter().any(|m| line.starts_with(m));
    if let Some(at) = text.lines().position(marker) {
        return Err(Cause::Conflict { line: at + 1 });
    }
    Ok(())
}

/// Whether each kernel is there once on a target.
fn once(kernels: &[(&str, &str)]) -> Result<(), Cause> {
    let mut seen = BTreeSet::new();
    match kernels.iter().find(|kernel| !seen.insert(**kernel)) {
        Some((kernel, target)) => {
            Err(Cause::Twice { kernel: (*kernel).to_owned(), target: (*target).to_owned() })
        }
        None => Ok(()),
    }
}

impl LockError {
    fn new(path: &Path, cause: Cause) -> Self {
        Self { path: path.to_owned(), cause }
    }
}

impl Cause {
    fn io(action: &'static str, error: &io::Error) -> Self {
        Self::Io { action, error: error.to_string() }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Io { action, error } => write!(f, "cannot {action} it: {error}"),
            Cause::Conflict { line } => write!(f, "line {line} is a conflict marker of an unfinished merge"),
            Cause::Unread(unread) => write!(f, "{unread}"),
            Cause::Twice { kernel, target } => write!(f, "`{kernel}` is locked twice for {target}"),
        }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        writeln!(f, "{path}: {}", self.cause)?;
        match &self.cause {
            Cause::Io { .. } => write!(f, "run: ls -ld {path}"),
            Cause::Conflict { .. } => write!(f, "run: git checkout --ours -- {path} && cargo cutegen check"),
            Cause::Unread(Unread::Old { .. }) => f.write_str("run: cargo cutegen lock"),
            Cause::Unread(Unread::Newer(_)) => f.write_str(UPDATE),
            Cause::Unread(Unread::Wrong(_)) => write!(f, "run: git checkout -- {path}"),
            Cause::Twice { kernel, .. } => {
                write!(f, "delete one of the two tables, then\nrun: cargo cutegen check {kernel}")
            }
        }
    }
}

impl std::error::Error for LockError {}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use cutegen_spec::lock::{Lock, Locked};

    use super::{Written, read, write};
    use crate::store::sample;

    fn lock() -> Lock {
        let mut lock = Lock::default();
        let (record, _) = sample::entry(1);
        lock.set(Locked::pin("relu", "sm_90a", &record));
        lock.set(Locked::pin("axpy", "sm_90a", &record));
        lock
    }

    #[test]
    fn round_trips_and_keeps_the_time_stamp() {
        let folder = sample::folder();
        let path = folder.join("cutegen.lock");
        assert_eq!(read(&path), Ok(Lock::default()), "no file");
        assert_eq!(write(&path, &lock()), Ok(Written::Changed));
        let stamp = fs::metadata(&path).and_then(|m| m.modified()).expect("stamped");
        assert_eq!(read(&path), Ok(lock()));
        assert_eq!(write(&path, &lock()), Ok(Written::Unchanged));
        assert_eq!(fs::metadata(&path).and_then(|m| m.modified()).expect("stamped"), stamp);
        assert_eq!(write(&path, &Lock::default()), Ok(Written::Changed));
        assert_eq!(super::super::names_in(&folder).expect("listed"), ["cutegen.lock"], "no remains");
    }

    #[test]
    fn a_conflict_names_its_line_and_the_way_out() {
        let folder = sample::folder();
        let path = folder.join("cutegen.lock");
        let text = lock().to_toml().expect("prints");
        let conflict = text.replacen("[[kernel]]", "<<<<<<< HEAD\n[[kernel]]\n=======\n>>>>>>> other", 1);
        let line = conflict.lines().position(|l| l.starts_with("<<<")).expect("there") + 1;
        fs::write(&path, conflict).expect("written");
        let shown = path.display();
        assert_eq!(
            read(&path).expect_err("a conflict").to_string(),
            format!(
                "{shown}: line {line} is a conflict marker of an unfinished merge\n\
                 run: git checkout --ours -- {shown} && cargo cutegen check"
            )
        );
    }

    #[test]
    fn errors_carry_the_path() {
        let folder = sample::folder();
        let path = folder.join("cutegen.lock");
        let text = lock().to_toml().expect("prints");
        let table = &text[text.find("[[kernel]]").expect("a table")..];
        let cases = [
            (text.replacen("version = 2", "version = 3", 1), "lock version 3 is not 2"),
            (text.replacen("key = ", "kee = ", 1), "unknown field `kee`"),
            (format!("{text}{table}"), "`axpy` is locked twice for sm_90a"),
            (text.replacen("key = \"", "key = \"x", 1), "64 lower-case hex digits"),
        ];
        for (text, what) in cases {
            fs::write(&path, text).expect("written");
            let error = read(&path).expect_err(what).to_string();
            assert!(error.starts_with(&path.display().to_string()) && error.contains(what), "{error}");
            assert!(error.lines().last().is_some_and(|l| l.contains("run: ")), "{error}");
        }
        let error = read(&folder).expect_err("a folder").to_string();
        assert!(error.contains("cannot read it") && error.contains("run: ls -ld"), "{error}");
        let nowhere = Path::new("/proc/none/cutegen.lock");
        let error = write(nowhere, &lock()).expect_err("no folder").to_string();
        assert!(error.contains("/proc/none/cutegen.lock: cannot write it"), "{error}");
    }
}
