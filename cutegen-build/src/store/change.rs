//! [`Change`]: one read-change-write of a package's lock together with its store. The store is held from before the lock
//! is read until it is written, so that of two commands at once neither loses what the other pinned, and a reader that
//! waits for writers sees a lock and a store that belong together. Knows nothing of what is pinned.

use std::fmt;
use std::path::PathBuf;

use cutegen_spec::lock::Lock;

use super::lock_file::{self, LockError, Written};
use super::{Store, StoreError, temp};

/// A lock and its store, for this process alone to change. Without [`Change::write`] the lock stays as it is.
#[derive(Debug)]
pub struct Change {
    /// As it is on disk now, to be changed.
    pub lock: Lock,
    /// The store, held.
    pub store: Store,
    path: PathBuf,
}

/// Why a lock and its store could not be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The store cannot be held.
    Store(StoreError),
    /// The lock cannot be read.
    Lock(LockError),
}

impl Change {
    /// Waits for its turn, puts right what a killed process left, and reads the lock at `path`.
    pub fn begin(store: &Store, path: impl Into<PathBuf>) -> Result<Self, ChangeError> {
        let (store, path) = (store.hold().map_err(ChangeError::Store)?, path.into());
        temp::sweep(temp::parent_of(&path), None, &mut |_| true);
        let lock = lock_file::read(&path).map_err(ChangeError::Lock)?;
        Ok(Self { lock, store, path })
    }

    /// Writes the lock. Others have their turn when the change is dropped.
    pub fn write(&self) -> Result<Written, LockError> {
        lock_file::write(&self.path, &self.lock)
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::Store(error) => error.fmt(f),
            ChangeError::Lock(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChangeError {}
