//! [`Store`]: the folder of accepted (or found) answers, `v1/<first two digits of key>/<key>/` under one root.
//!
//! Owns what an entry looks like on disk and what may be believed of it. Every read is verified: the record is
//! sealed, answers the asked key, and every file has the digest that the record names. A bad entry is a value
//! ([`Lookup::Corrupt`]), never a panic and never a hit: a miss when searching, a clear error when replaying.
//! Knows nothing of kernels' names or locks (see [`replay`]), of search, or of the environment.
//!
//! Invariant: a name without a leading dot is a whole entry. Entries are written beside their place and renamed
//! into it (`write.rs`); hidden names are work in progress or its remains after a kill (`temp.rs`).

pub mod accept_copy;
pub mod change;
mod dispatched;
mod exchange;
mod guard;
pub(crate) mod inflate;
pub mod lock_file;
mod migrate;
mod read;
mod regular;
pub mod replay;
mod restate;
#[cfg(test)]
mod sample;
mod seal;
mod temp;
pub mod trust;
pub mod unlocked;
mod write;

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cutegen_spec::digest::{ArtifactDigest, CacheKey};
use cutegen_spec::record::{ARTIFACT_LIMIT, Record};
use cutegen_spec::unread::Unread;

pub use write::{Put, StoreError};

/// Version of the layout: the first folder under the root.
pub const LAYOUT: &str = "v1";

/// Largest artifact or source that is read or written; checked before anything is allocated.
pub const FILE_LIMIT: u64 = ARTIFACT_LIMIT;

/// Largest `record.toml`.
pub const RECORD_LIMIT: u64 = 4 << 20;

/// An entry's artifacts and sources by name.
pub type Files = Vec<(String, Vec<u8>)>;

/// A folder of entries. Cheap to make: nothing is read or created until asked.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    /// Of a store that is held: keeps every other writer out, and readers from believing what they miss.
    guard: Option<Arc<File>>,
}

/// A verified entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The answer.
    pub record: Record,
    /// Bytes of each variant's stored artifact, in the record's order.
    pub artifacts: Vec<Vec<u8>>,
    /// Bytes of each variant's source, in the record's order; empty from [`Store::get`].
    pub sources: Vec<Vec<u8>>,
    /// The entry's folder.
    pub dir: PathBuf,
    /// `record.toml` as it lies there, seal included.
    pub(crate) text: String,
}

/// What the store has for a key.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// A verified entry.
    Hit(Entry),
    /// Nothing.
    Miss,
    /// Something that must not be used.
    Corrupt(CorruptEntry),
}

/// An entry that must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorruptEntry {
    /// The entry's folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with an entry; a `file` is a name inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The entry is a file, a symbolic link or something else that is no folder.
    NotAFolder,
    /// A file that must be there is not.
    Missing {
        /// The file.
        file: String,
    },
    /// A symbolic link, folder, pipe or device where a regular file must be.
    NotRegular {
        /// The file.
        file: String,
    },
    /// A file of no bytes.
    Empty {
        /// The file.
        file: String,
    },
    /// Larger than anything the store writes.
    TooLarge {
        /// The file.
        file: String,
        /// Its size.
        bytes: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The system does not give it out: permissions, a failing disk.
    Unreadable {
        /// The file; empty for the folder itself.
        file: String,
        /// The system's words.
        error: String,
    },
    /// `record.toml` has no seal, or does not match it.
    Seal(String),
    /// `record.toml` is not read: another version, or a question that does not hash to its key.
    Record(Unread),
    /// A whole entry, but for another question.
    OtherKey(CacheKey),
    /// The record contradicts itself about a file.
    Contradiction {
        /// The file.
        file: String,
        /// How.
        detail: String,
    },
    /// A file's bytes are not those that were accepted.
    Digest {
        /// The file.
        file: String,
        /// Its size.
        bytes: u64,
        /// SHA-256 of what is there.
        found: ArtifactDigest,
        /// SHA-256 in the record.
        expected: ArtifactDigest,
    },
}

impl Store {
    /// The store under `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), guard: None }
    }

    /// The same store, held: no other process writes to it as long as the value or a clone of it lives. What killed
    /// writers left is put back or removed.
    pub fn hold(&self) -> Result<Self, StoreError> {
        if self.guard.is_some() {
            return Ok(self.clone());
        }
        let root = self.root.clone();
        fs::create_dir_all(&root).map_err(|error| StoreError::io("create", &root, &error))?;
        let guard =
            guard::hold(&root).map_err(|error| StoreError::io("lock", &root.join(guard::FILE), &error))?;
        let Some(guard) = guard else { return Err(StoreError::Busy { path: root }) };
        let held = Self { root, guard: Some(Arc::new(guard)) };
        held.sweep(None);
        Ok(held)
    }

    /// The folder given to [`Store::new`].
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the entry for `key` lies or would lie.
    #[must_use]
    pub fn entry_dir(&self, key: &CacheKey) -> PathBuf {
        let digits = key.to_string();
        self.layout_dir().join(&digits[..2]).join(digits)
    }

    /// Record and artifacts for `key`, verified: all that a replay needs.
    #[must_use]
    pub fn get(&self, key: &CacheKey) -> Lookup {
        self.look(key, read::Depth::Artifacts)
    }

    /// As [`Store::get`], and the sources with it.
    #[must_use]
    pub fn get_full(&self, key: &CacheKey) -> Lookup {
        self.look(key, read::Depth::Sources)
    }

    /// Keys of all entries, sorted, whole or corrupt. Names that are no key are passed over.
    pub fn keys(&self) -> Result<Vec<CacheKey>, StoreError> {
        let mut keys = Vec::new();
        for prefix in names_in(&self.layout_dir())? {
            let folder = self.layout_dir().join(&prefix);
            let inside = if folder.is_dir() { names_in(&folder)? } else { Vec::new() };
            let parsed = inside.iter().filter_map(|name| CacheKey::parse(name).ok());
            keys.extend(parsed.filter(|key| key.to_string().starts_with(&prefix)));
        }
        keys.sort_unstable();
        Ok(keys)
    }

    fn layout_dir(&self) -> PathBuf {
        self.root.join(LAYOUT)
    }

    /// A miss or a bad entry may be a writer between two renames, so it is believed only once no writer is there.
    fn look(&self, key: &CacheKey, depth: read::Depth) -> Lookup {
        let dir = self.entry_dir(key);
        match read::entry(&dir, key, depth) {
            Lookup::Hit(entry) => Lookup::Hit(entry),
            first @ (Lookup::Miss | Lookup::Corrupt(_)) => match self.wait_for_writers() {
                Some(_guard) => read::entry(&dir, key, depth),
                None => first,
            },
        }
    }

    /// Waits until no other process writes, where one may.
    fn wait_for_writers(&self) -> Option<File> {
        if self.guard.is_some() { None } else { guard::wait_for_writers(&self.root) }
    }
}

impl Lookup {
    /// The entry, where a bad one counts as none: how search looks.
    #[must_use]
    pub fn hit(self) -> Option<Entry> {
        match self {
            Lookup::Hit(entry) => Some(entry),
            Lookup::Miss | Lookup::Corrupt(_) => None,
        }
    }
}

impl fmt::Display for CorruptEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotAFolder => f.write_str("the entry is no folder"),
            Reason::Missing { file } => write!(f, "{file} is missing"),
            Reason::NotRegular { file } => write!(f, "{file} is no regular file"),
            Reason::Empty { file } => write!(f, "{file} is empty"),
            Reason::TooLarge { file, bytes, limit } => {
                write!(f, "{file} has {bytes} bytes, more than the {limit} that are read")
            }
            Reason::Unreadable { file, error } if file.is_empty() => write!(f, "cannot be read: {error}"),
            Reason::Unreadable { file, error } => write!(f, "{file} cannot be read: {error}"),
            Reason::Seal(detail) => write!(f, "record.toml: {detail}"),
            Reason::Record(unread) => write!(f, "record.toml: {unread}"),
            Reason::OtherKey(key) => write!(f, "record.toml answers another question, key {key}"),
            Reason::Contradiction { file, detail } => write!(f, "record.toml on {file}: {detail}"),
            Reason::Digest { file, bytes, found, expected } => {
                write!(f, "{file} ({bytes} bytes) has SHA-256 {found}, accepted was {expected}")
            }
        }
    }
}

/// Names in a folder, sorted; none when there is no such folder.
fn names_in(folder: &Path) -> Result<Vec<String>, StoreError> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("list", folder, &error)),
    };
    let mut names = Vec::new();
    for item in listing {
        let item = item.map_err(|error| StoreError::io("list", folder, &error))?;
        names.extend(item.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}
