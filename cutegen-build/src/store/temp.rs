//! Work in progress: hidden names `.cutegen-tmp-<pid>-<n>` beside the place they will be renamed to, and the sweep of what
//! killed processes left. Knows nothing of entries.
//!
//! Invariant: something is removed only by its maker, or when it is over an hour old and its maker is dead. Age is
//! measured against a folder made just now, so that no clock is read and a server's clock cannot mislead.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const PREFIX: &str = ".cutegen-tmp-";
const STALE: Duration = Duration::from_secs(3600);
/// Where the system cannot say who lives, only age tells.
const STALE_ANYWHERE: Duration = Duration::from_secs(24 * 3600);

/// A folder that is removed when dropped, unless it was renamed away.
#[derive(Debug)]
pub(super) struct TempDir {
    pub(super) path: PathBuf,
}

impl TempDir {
    /// A new empty folder in `parent`.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        loop {
            let path = fresh(parent);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {} // an earlier process of this pid
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes a file that is on the disk when this returns.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_synced(&self.path.join(name), bytes)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Replaces the file at `path` whole: readers see the old bytes or the new.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temp = TempDir::new(parent)?;
    sweep(parent, &temp);
    temp.write("file", bytes)?;
    fs::rename(temp.path.join("file"), path)?;
    sync_folder(parent)
}

/// A name in `parent` that this process has not used.
fn fresh(parent: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let n = COUNTER.fetch_add(1, Ordering::Relaxed);
    parent.join(format!("{PREFIX}{}-{n}", process::id()))
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

/// Removes what killed processes left in `folder`, judged against the age of `now`, made just now.
pub(super) fn sweep(folder: &Path, now: &TempDir) {
    let Ok(now) = fs::metadata(&now.path).and_then(|m| m.modified()) else { return };
    let Ok(listing) = fs::read_dir(folder) else { return };
    for item in listing.flatten() {
        let name = item.file_name();
        let Some(pid) = name.to_str().and_then(maker) else { continue };
        let Ok(made) = item.metadata().and_then(|m| m.modified()) else { continue };
        if is_stale(pid, made, now) {
            remove(&item.path());
        }
    }
}

fn is_stale(pid: u32, made: SystemTime, now: SystemTime) -> bool {
    let age = now.duration_since(made).unwrap_or(Duration::ZERO);
    match lives(pid) {
        Some(true) => false,
        Some(false) => age > STALE,
        None => age > STALE_ANYWHERE,
    }
}

/// The process that made a temporary name.
fn maker(name: &str) -> Option<u32> {
    let (pid, n) = name.strip_prefix(PREFIX)?.split_once('-')?;
    n.parse::<u64>().ok()?;
    pid.parse().ok()
}

/// Whether a process lives, where the system says so.
fn lives(pid: u32) -> Option<bool> {
    let proc = Path::new("/proc");
    proc.join("self").exists().then(|| proc.join(pid.to_string()).exists())
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

    fn garbage(parent: &Path, name: &str, age: Duration) {
        let path = parent.join(name);
        fs::create_dir(&path).expect("made");
        fs::write(path.join("half"), b"x").expect("written");
        let when = SystemTime::now() - age;
        File::open(&path).and_then(|f| f.set_modified(when)).expect("aged");
    }

    #[test]
    fn sweeps_only_the_old_remains_of_the_dead() {
        let folder = sample::folder();
        let old = STALE + Duration::from_secs(60);
        let dead = 4_190_000_000_u32; // above any pid_max
        let mine = process::id();
        garbage(&folder, &format!(".cutegen-tmp-{dead}-1"), old);
        garbage(&folder, &format!(".cutegen-tmp-{dead}-2"), Duration::from_secs(60));
        garbage(&folder, &format!(".cutegen-tmp-{mine}-900000"), old);
        garbage(&folder, ".cutegen-tmp-x-1", old);
        garbage(&folder, &format!(".cutegen-tmp-{dead}-mine"), old);
        garbage(&folder, "ab", old);
        let now = TempDir::new(&folder).expect("made");
        sweep(&folder, &now);
        drop(now);
        let mut left = super::super::names_in(&folder).expect("listed");
        left.sort();
        let mut expected = [&format!("{dead}-2"), &format!("{dead}-mine"), &format!("{mine}-900000"), "x-1"]
            .map(|rest| format!(".cutegen-tmp-{rest}"))
            .to_vec();
        expected.push("ab".to_owned());
        expected.sort();
        assert_eq!(left, expected);
    }
}
