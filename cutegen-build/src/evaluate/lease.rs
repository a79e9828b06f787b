//! [`Lease`]: who may use a device. Timing has it alone, judging shares it with other judging. An advisory lock on a
//! file of the temporary folder, named by the device, so it binds all of a user's processes and ends with them; other
//! programs know nothing of it.
//!
//! A lease is waited for as long as it takes, and after a few seconds that is said once. Where there can be none, work
//! goes on, and [`Lease::missing`] says so in words.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How often a lock that somebody holds is tried again.
const AGAIN: Duration = Duration::from_millis(20);
/// Waiting that is not worth a word.
const PATIENCE: Duration = Duration::from_secs(3);

/// The lease of one device.
#[derive(Clone, Debug)]
pub struct Lease(Place);

#[derive(Clone, Debug)]
enum Place {
    /// Nothing is shared.
    Nowhere,
    /// The file to lock.
    At(Rc<File>),
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
        let path = folder.join(format!("cutegen-{}.lock", key.chars().map(plain).collect::<String>()));
        Self(match open(&path) {
            Ok(file) => Place::At(Rc::new(file)),
            Err(error) => Place::Missing(format!("device lease ({}: {error})", path.display())),
        })
    }

    /// Why nothing keeps other processes off the device.
    #[must_use]
    pub fn missing(&self) -> Option<&str> {
        match &self.0 {
            Place::Missing(reason) => Some(reason),
            Place::Nowhere | Place::At(_) => None,
        }
    }

    /// The device for this process alone.
    pub fn alone(&self) -> Held {
        self.wait(File::try_lock)
    }

    /// The device, which others may judge on as well.
    pub fn shared(&self) -> Held {
        self.wait(File::try_lock_shared)
    }

    fn wait(&self, attempt: fn(&File) -> Result<(), TryLockError>) -> Held {
        let Place::At(file) = &self.0 else { return Held(None) };
        let (started, mut told) = (Instant::now(), false);
        loop {
            match attempt(file) {
                Ok(()) => return Held(Some(Rc::clone(file))),
                // a file system without locks
                Err(TryLockError::Error(_)) => return Held(None),
                Err(TryLockError::WouldBlock) => {}
            }
            if !told && started.elapsed() > PATIENCE {
                told = true;
                // nobody reads it: then nobody is told
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
    use super::Lease;
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
    fn what_cannot_be_leased_is_said() {
        let lease = Lease::named("/nonexistent".as_ref(), "GPU-1");
        assert!(lease.missing().is_some_and(|reason| reason.starts_with("device lease")));
        let _held = (lease.alone(), lease.alone(), Lease::none().alone());
        assert_eq!(Lease::none().missing(), None);
    }
}
