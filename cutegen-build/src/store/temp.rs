//! Work in progress: hidden names `.cutegen-tmp-<pid>-<n>` beside the place they will be renamed to, and the sweep of what
//! killed processes left. Knows nothing of entries.
//!
//! Invariant: something is removed only by its maker, or when its maker is dead. A maker holds a lock on what it made,
//! which the system drops with the process; the number in the name says nothing, another process may have it by now.
//! Where a file system knows no locks, what is over a day old is taken for dead. Age is measured against a folder made
//! just now, so that no clock is read and a server's clock cannot mislead.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const PREFIX: &str = ".cutegen-tmp-";
const STALE: Duration = Duration::from_secs(24 * 3600);

/// A folder that is removed when dropped, unless it was renamed away.
#[derive(Debug)]
pub(super) struct TempDir {
    pub(super) path: PathBuf,
    /// Tells sweeps that the maker lives.
    _claim: Option<File>,
}

/// Whose a temporary folder is.
enum Claim {
    /// Ours: nothing else holds it.
    Held(File),
    /// A living process's, or no longer there.
    Lost,
    /// The file system knows no locks.
    Unknown,
}

impl TempDir {
    /// A new empty folder in `parent`.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        loop {
            let path = fresh(parent);
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue, // left by an earlier process
                Err(error) => return Err(error),
            }
            match claim(&path) {
                Ok(Claim::Held(file)) => return Ok(Self { path, _claim: Some(file) }),
                Ok(Claim::Unknown) => return Ok(Self { path, _claim: None }),
                Ok(Claim::Lost) => {} // a sweep was faster
                Err(error) => {
                    remove(&path);
                    return Err(error);
                }
            }
        }
    }

    /// Writes a file that is on the disk when this returns.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_synced(&self.path.join(name), bytes)
    }

    /// When it was made, by the clock of its file system.
    pub(super) fn made(&self) -> Option<SystemTime> {
        fs::metadata(&self.path).and_then(|m| m.modified()).ok()
    }

    /// Leaves it, for a sweep to look into.
    pub(super) fn keep(mut self) {
        self.path = PathBuf::new();
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            remove(&self.path);
        }
    }
}

/// Replaces the file at `path` whole: readers see the old bytes or the new.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = parent_of(path);
    let temp = TempDir::new(parent)?;
    sweep(parent, temp.made(), &mut |_| true);
    temp.write("file", bytes)?;
    fs::rename(temp.path.join("file"), path)?;
    sync_folder(parent)
}

/// The folder that a file lies in.
pub(super) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name in `parent` that this process has not used.
fn fresh(parent: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let n = COUNTER.fetch_add(1, Ordering::Relaxed);
    parent.join(format!("{PREFIX}{}-{n}", process::id()))
}

/// Takes the lock of a temporary folder. Whoever has it may write or remove, so what a sweep removed in between is
/// [`Claim::Lost`].
fn claim(path: &Path) -> io::Result<Claim> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Claim::Lost),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) if is_at(&file, path) => Ok(Claim::Held(file)),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(Claim::Lost),
        Err(TryLockError::Error(_)) => Ok(Claim::Unknown),
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let [held, there] = [file.metadata(), fs::symlink_metadata(path)].map(|m| m.map(|m| (m.dev(), m.ino())));
    matches!((held, there), (Ok(held), Ok(there)) if held == there)
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Removes a folder with its contents, or whatever else bears the name; links are not followed. What cannot be
/// removed now is left to a later sweep.
pub(super) fn remove(path: &Path) {
    let _ = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes what killed processes left in `folder`, as far as `rescue`, which sees each first, agrees. `now`, where it is
/// known, is what age is measured against.
pub(super) fn sweep(folder: &Path, now: Option<SystemTime>, rescue: &mut dyn FnMut(&Path) -> bool) {
    let Ok(listing) = fs::read_dir(folder) else { return };
    for item in listing.flatten() {
        if !item.file_name().to_str().is_some_and(is_temporary) {
            continue;
        }
        let path = item.path();
        let is_folder = item.file_type().is_ok_and(|kind| kind.is_dir());
        let claim = if is_folder { claim(&path) } else { Ok(Claim::Unknown) };
        let is_dead = match &claim {
            Ok(Claim::Held(_)) => true,
            Ok(Claim::Unknown) => {
                item.metadata().and_then(|m| m.modified()).is_ok_and(|made| is_old(made, now))
            }
            Ok(Claim::Lost) | Err(_) => false,
        };
        if is_dead && rescue(&path) {
            remove(&path);
        }
    }
}

fn is_old(made: SystemTime, now: Option<SystemTime>) -> bool {
    now.is_some_and(|now| now.duration_since(made).is_ok_and(|age| age > STALE))
}

/// Whether it is a name that [`fresh`] gives.
fn is_temporary(name: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().is_ok();
    let rest = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    rest.is_some_and(|(pid, n)| number(pid) && number(n))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;
    use std::process;
    use std::time::{Duration, SystemTime};

    use super::{STALE, TempDir, sweep};
    use crate::store::sample;

    fn garbage(parent: &Path, name: &str) {
        fs::create_dir(parent.join(name)).expect("made");
        fs::write(parent.join(name).join("half"), b"x").expect("written");
    }

    /// The number of a living process, ours or the first one's, protects nothing; the lock of a maker does.
    #[test]
    fn sweeps_the_remains_of_the_dead_whatever_their_number() {
        let folder = sample::folder();
        let mine = process::id();
        for gone in [format!("{mine}-900000"), "1-1".to_owned(), "4190000000-1".to_owned()] {
            garbage(&folder, &format!(".cutegen-tmp-{gone}"));
        }
        for kept in ["ab", ".cutegen-tmp-x-1", ".cutegen-tmp-1-mine"] {
            garbage(&folder, kept);
        }
        let at_work = TempDir::new(&folder).expect("made");
        let mut expected: Vec<_> =
            ["ab", ".cutegen-tmp-x-1", ".cutegen-tmp-1-mine"].map(str::to_owned).into();
        expected.push(at_work.path.file_name().expect("named").to_string_lossy().into_owned());
        expected.sort();
        let mut seen = 0;
        sweep(&folder, at_work.made(), &mut |_| {
            seen += 1;
            false
        });
        assert_eq!(
            (seen, super::super::names_in(&folder).expect("listed").len()),
            (3, 7),
            "looked at, and kept"
        );
        sweep(&folder, at_work.made(), &mut |_| true);
        assert_eq!(super::super::names_in(&folder).expect("listed"), expected);
        drop(at_work);
        expected.retain(|name| !name.contains(&format!("tmp-{mine}-")));
        assert_eq!(super::super::names_in(&folder).expect("listed"), expected);
    }

    /// A stray file bears no lock, so age alone tells.
    #[test]
    fn what_bears_no_lock_goes_with_age() {
        let folder = sample::folder();
        let aged = |name: &str, age: Duration| {
            let path = folder.join(name);
            fs::write(&path, b"x").expect("written");
            File::options()
                .write(true)
                .open(&path)
                .and_then(|f| f.set_modified(SystemTime::now() - age))
                .expect("aged");
        };
        aged(".cutegen-tmp-1-1", STALE + Duration::from_secs(60));
        aged(".cutegen-tmp-1-2", STALE - Duration::from_secs(60));
        let now = TempDir::new(&folder).expect("made");
        sweep(&folder, None, &mut |_| true);
        assert!(folder.join(".cutegen-tmp-1-1").exists(), "without a now nothing is old");
        sweep(&folder, now.made(), &mut |_| true);
        drop(now);
        assert_eq!(super::super::names_in(&folder).expect("listed"), [".cutegen-tmp-1-2"]);
    }
}
