//! The guard of a store: an advisory lock on `.lock` in its root, held only for the renames that commit an entry.
//!
//! Entries are right without it. It closes the moment between the two renames of a replacement, in which a reader
//! would find nothing, and keeps two writers from moving each other's entry aside. The system drops it when its
//! holder dies. Where a file system knows no locks, or the holder is stuck, readers and writers go on without.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// File name in the store's root.
pub(super) const FILE: &str = ".lock";

const PAUSE: Duration = Duration::from_millis(2);
/// A commit takes milliseconds; after these two seconds its holder is stuck.
const TRIES: u32 = 1000;

/// Waits until no writer commits; `None` when nobody ever wrote here, so that there was nothing to wait for.
pub(super) fn wait_for_writers(root: &Path) -> Option<File> {
    let file = File::open(root.join(FILE)).ok()?;
    patiently(|| file.try_lock_shared());
    Some(file)
}

/// Waits until nobody else commits; the lock lasts as long as the returned file.
pub(super) fn commit(root: &Path) -> Option<File> {
    let file = OpenOptions::new().create(true).append(true).open(root.join(FILE)).ok()?;
    patiently(|| file.try_lock());
    Some(file)
}

fn patiently(try_lock: impl Fn() -> Result<(), TryLockError>) {
    for _ in 0..TRIES {
        match try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Ok(()) | Err(TryLockError::Error(_)) => return,
        }
    }
}
