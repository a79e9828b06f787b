//! [`Lease`]: which processes may use a device. Timing has it alone, judging shares it with other judging. An advisory lock on a
//! file of the temporary folder, named by the device, so it binds all of a user's processes and ends with them; other
//! programs know nothing of it.
//!
//! A process that waits for a device holds the turn meanwhile, a second lock that each takes first. Without it, one that wants
//! the device alone would wait until no process judges, which may be never. A lease is waited for as long as it takes, and after a
//! few seconds that is said once. Where there can be none, work goes on, and [`Lease::missing`] says so in words.

use std::cell::OnceCell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How a record begins that tells why there was none.
pub const LEASE: &str = "device lease";

/// How often a lock that somebody holds is tried again.
const AGAIN: Duration = Duration::from_millis(2);
/// Waiting that is not worth a word.
const PATIENCE: Duration = Duration::from_secs(3);

/// The lease of one device.
#[derive(Clone, Debug)]
pub struct Lease(Place);

#[derive(Clone, Debug)]
enum Place {
    /// Nothing is shared.
    Nowhere,
    /// The files to lock, and why that once failed.
    At { turn: Rc<File>, device: Rc<File>, failed: Rc<OnceCell<String>> },
    /// None can be had.
    Missing(String),
}

/// A lease that is held until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Held(Option<Rc<File>>);

impl Lease {
    /// For work that shares no device.
    #[must_use]
    pub fn none() -> Self {
        Self(Place::Nowhere)
    }

    /// The lease of the device that `key` names, among the files of `folder`.
    #[must_use]
    pub fn named(folder: &Path, key: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let file = |what: &str| {
            let path = folder.join(format!("cutegen-{}.{what}", key.chars().map(plain).collect::<String>()));
            let missing = |error| format!("{LEASE} ({}: {error})", path.display());
            open(&path).map(Rc::new).map_err(missing)
        };
        Self(match (file("turn"), file("lock")) {
            (Ok(turn), Ok(device)) => Place::At { turn, device, failed: Rc::default() },
            (Err(reason), _) | (_, Err(reason)) => Place::Missing(reason),
        })
    }

    /// Why nothing keeps other processes off the device, or once did not. That a file cannot be locked shows when it is
    /// tried.
    #[must_use]
    pub fn missing(&self) -> Option<&str> {
        match &self.0 {
            Place::Missing(reason) => Some(reason),
            Place::At { failed, .. } => failed.get().map(String::as_str),
            Place::Nowhere => None,
        }
    }

    /// The device for this process alone.
    pub fn alone(&self) -> Held {
        self.take(File::try_lock)
    }

    /// The device, which others may judge on as well.
    pub fn shared(&self) -> Held {
        self.take(File::try_lock_shared)
    }

    fn take(&self, attempt: Attempt) -> Held {
        let Place::At { turn, device, failed } = &self.0 else { return Held(None) };
        let mut wait = Wait { started: Instant::now(), told: false };
        let without = |error: io::Error| {
            failed.get_or_init(|| format!("{LEASE} (its file cannot be locked: {error})"));
            Held(None)
        };
        let _turn = wait.for_lock(turn, File::try_lock).unwrap_or_else(without);
        wait.for_lock(device, attempt).unwrap_or_else(without)
    }
}

type Attempt = fn(&File) -> Result<(), TryLockError>;

/// A process that waits.
struct Wait {
    started: Instant,
    told: bool,
}

impl Wait {
    fn for_lock(&mut self, file: &Rc<File>, attempt: Attempt) -> io::Result<Held> {
        loop {
            match attempt(file) {
                Ok(()) => return Ok(Held(Some(Rc::clone(file)))),
                // a file system without locks
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {}
            }
            if !self.told && self.started.elapsed() > PATIENCE {
                self.told = true;
                // a reader that is gone is not told
                let _ = writeln!(
                    std::io::stderr(),
                    "waiting for the device: another process is timing or judging on it"
                );
            }
            std::thread::sleep(AGAIN);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // closing the file would give it up as well
            let _ = file.unlock();
        }
    }
}

/// Another user's file can be locked although it cannot be written. No link is followed in a folder of everybody's.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW);
    let own = options.clone().write(true).create(true).truncate(false).open(path);
    own.or_else(|_| options.open(path))
}

#[cfg(test)]
mod tests {
    use crate::evaluate::Lease;
    use std::fs::TryLockError;
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn timing_is_alone_and_judging_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let lease = || Lease::named(folder.path(), "GPU-1/2");
        let (one, other) = (lease().shared(), lease().shared());
        let (entered, enters) = mpsc::channel();
        let path = folder.path().to_owned();
        let timing = std::thread::spawn(move || {
            let _held = Lease::named(&path, "GPU-1/2").alone();
            entered.send(()).expect("heard");
        });
        let soon = Duration::from_millis(200);
        assert!(enters.recv_timeout(soon).is_err(), "two judge");
        drop(one);
        assert!(enters.recv_timeout(soon).is_err(), "one judges");
        drop(other);
        enters.recv_timeout(Duration::from_secs(10)).expect("the device is free");
        timing.join().expect("ends");
        let _elsewhere = Lease::named(folder.path(), "GPU-3").alone();
        let _free = lease().alone();
    }

    #[test]
    fn who_judges_again_and_again_lets_others_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // one of three always judges: without turns the device is never free
            for judge in 0..3 {
                let is_done = &is_done;
                scope.spawn(move || {
                    let lease = Lease::named(path, "GPU-1");
                    std::thread::sleep(Duration::from_millis(20 * judge));
                    while !is_done.load(Ordering::Relaxed) {
                        let _held = lease.shared();
                        std::thread::sleep(Duration::from_millis(60));
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(100));
            let (entered, enters) = mpsc::channel();
            scope.spawn(move || {
                let _held = Lease::named(path, "GPU-1").alone();
                entered.send(()).expect("heard");
            });
            let timed = enters.recv_timeout(Duration::from_secs(5));
            is_done.store(true, Ordering::Relaxed);
            timed.expect("a turn");
        });
    }

    #[test]
    fn what_cannot_be_leased_is_said() {
        let lease = Lease::named("/nonexistent".as_ref(), "GPU-1");
        assert!(lease.missing().is_some_and(|reason| reason.starts_with("device lease")));
        let _held = (lease.alone(), lease.alone(), Lease::none().alone());
        assert_eq!(Lease::none().missing(), None);
    }

    #[test]
    fn a_file_system_without_locks_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let lease = Lease::named(folder.path(), "GPU-1");
        drop(lease.alone());
        assert_eq!(lease.missing(), None, "it was held");
        let other = lease.clone();
        let _held = lease.take(|_| Err(TryLockError::Error(io::Error::from_raw_os_error(libc::ENOLCK))));
        let _free = lease.alone();
        for lease in [lease, other] {
            let reason = lease.missing().expect("once no process was kept off");
            assert!(reason.starts_with("device lease (its file cannot be locked: "), "{reason}");
        }
    }
}
