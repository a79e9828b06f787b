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
/// A commit takes milliseconds; after one second its holder is stuck.
const TRIES: u32 = 500;

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
