//! The guard of a store: an advisory lock on `.lock` in its root, held for the renames that commit an entry, and by
//! [`hold`] for a change of the package's lock together with the store.
//!
//! Entries are right without it. It keeps two writers from moving each other's entry aside, gives readers a store and a
//! lock that belong together, and closes the moment between two renames where names cannot be exchanged. The system
//! drops it when its holder dies. Where a file system knows no locks, all go on without; where the holder is stuck,
//! readers and writers of entries do, and a change of the lock is refused.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::regular::{self, Refused};

/// File name in the store's root.
pub(super) const FILE: &str = ".lock";

const PAUSE: Duration = Duration::from_millis(2);
/// A commit takes milliseconds; after one second its holder is stuck.
const TRIES: u32 = 500;
/// Changes of the lock queue up, so a minute of them is no sign of a stuck one.
const PATIENT_TRIES: u32 = 30_000;

/// Waits until no writer commits; `None` when nothing was ever written here, so that there was nothing to wait for.
pub(super) fn wait_for_writers(root: &Path) -> Option<File> {
    let file = regular::open(&root.join(FILE), OpenOptions::new().read(true)).ok()?;
    patiently(TRIES, || file.try_lock_shared());
    Some(file)
}

/// Waits until no other process commits; the lock lasts as long as the returned file.
pub(super) fn commit(root: &Path) -> Option<File> {
    let file = open(root).ok()?;
    patiently(TRIES, || file.try_lock());
    Some(file)
}

/// Waits until no other process writes, and keeps all others from it as long as the returned file lives; `None` after a minute.
pub(super) fn hold(root: &Path) -> io::Result<Option<File>> {
    let file = open(root)?;
    Ok(patiently(PATIENT_TRIES, || file.try_lock()).then_some(file))
}

fn open(root: &Path) -> io::Result<File> {
    let path = root.join(FILE);
    match regular::open(&path, OpenOptions::new().append(true)) {
        Err(Refused::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            match OpenOptions::new().create_new(true).append(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    regular::open(&path, OpenOptions::new().append(true)).map_err(io::Error::from)
                }
                opened => opened,
            }
        }
        opened => opened.map_err(io::Error::from),
    }
}

/// Whether the lock was had, or none can be.
fn patiently(tries: u32, try_lock: impl Fn() -> Result<(), TryLockError>) -> bool {
    for _ in 0..tries {
        match try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Ok(()) | Err(TryLockError::Error(_)) => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::store::read::{self, Depth};
    use crate::store::{Lookup, Put, Store, sample};

    /// A writer replaces without pause: a reader that does not look again behind the guard finds nothing, or a mix.
    #[test]
    fn without_the_guard_a_reader_would_miss() {
        let store = Store::new(sample::folder());
        let key = sample::entry(1).0.key;
        let put = |salt| {
            let (record, files) = sample::entry(salt);
            store.put(&record, &sample::borrowed(&files)).expect("put")
        };
        put(1);
        let stop = AtomicBool::new(false);
        let (mut unguarded, mut guarded) = (0_u32, 0_u32);
        thread::scope(|scope| {
            scope.spawn(|| {
                let salts = (0..u8::MAX).cycle().take_while(|_| !stop.load(Ordering::Relaxed));
                salts.for_each(|salt| assert_ne!(put(salt), Put::Lost));
            });
            let (start, dir) = (Instant::now(), store.entry_dir(&key));
            while unguarded < 5 && start.elapsed() < Duration::from_secs(30) {
                unguarded += u32::from(!matches!(read::entry(&dir, &key, Depth::Artifacts), Lookup::Hit(_)));
                guarded += u32::from(!matches!(store.get(&key), Lookup::Hit(_)));
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(
            (unguarded, guarded),
            (5, 0),
            "reads that found no whole entry, without and with the guard"
        );
    }
}
