//! The compile cache: what workers answered before, in a folder of the user's, each answer under the digest of all that makes
//! it. Owns the folder, its limit and the counts of a search. It must not know what an answer is for.
//!
//! Guard and inspection stand outside: a source passes the one, and its bytes the other, however old the answer is.
//! Invariant: only this process writes, from a worker's answer, and a file is handed on only where its digest holds. A file
//! that is wrong, missing or cannot be written costs a compile and nothing else.

mod file;
mod key;
#[cfg(test)]
mod sample;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::client::RawArtifact;
use super::error::Error;
use super::job::{CompileFailure, CompileJob, CompileSetup};
use crate::event::Compiles;
pub(super) use key::Way;
use key::{Key, System};

/// The most bytes of the files in one of its 256 folders: 1 GiB in all.
const FOLDER_BYTES_MAX: u64 = 4 << 20;

/// What a worker answers.
pub(super) type Answer = Result<RawArtifact, CompileFailure>;

/// Answers of workers, kept across searches; and how many of a search were there already.
#[derive(Clone, Debug, Default)]
pub struct CompileCache {
    folder: Option<PathBuf>,
    /// What every answer depends on; none where this machine cannot say.
    system: Arc<OnceLock<Option<System>>>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    made: AtomicUsize,
    cached: AtomicUsize,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Answers.
    pub answers: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl CompileCache {
    /// No cache: every compile is made, and counted.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// The cache in `folder`, which need not be there yet.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..Self::default() }
    }

    /// The same answers, counted from nothing.
    #[must_use]
    pub fn counted(&self) -> Self {
        Self { counts: Arc::default(), ..self.clone() }
    }

    /// How many answers were given so far.
    #[must_use]
    pub fn counts(&self) -> Compiles {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        Compiles { made: of(&self.counts.made), cached: of(&self.counts.cached) }
    }

    /// What a worker answered before to just this, else what it answers now. A fork's answer serves forks alone, a lone
    /// worker's serves both.
    pub(super) fn answer(
        &self,
        (job, setup, way): (&CompileJob, &CompileSetup, Way),
        worker: impl FnOnce() -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        let keys = self.keys(job, setup, way);
        if let Some(known) = keys.iter().find_map(|key| self.get(key)) {
            self.counts.cached.fetch_add(1, Ordering::Relaxed);
            return Ok(known);
        }
        let answer = worker()?;
        self.counts.made.fetch_add(1, Ordering::Relaxed);
        if let Some(key) = keys.last() {
            // without the file, the next search compiles
            let _ = self.put(key, &answer);
        }
        Ok(answer)
    }

    /// Where an answer may lie, its own place last.
    fn keys(&self, job: &CompileJob, setup: &CompileSetup, way: Way) -> Vec<Key> {
        let system = || self.system.get_or_init(|| System::of(setup)).as_ref();
        let Some(system) = self.folder.as_ref().and_then(|_| system()) else { return Vec::new() };
        let ways: &[Way] = match way {
            Way::Alone => &[Way::Alone],
            Way::Fork => &[Way::Alone, Way::Fork],
        };
        ways.iter().filter_map(|way| Key::of(job, setup, system, *way)).collect()
    }

    fn get(&self, key: &Key) -> Option<Answer> {
        let path = self.path(key)?;
        let file = File::options().read(true).write(true).open(&path).ok()?;
        if file.metadata().ok()?.len() > FOLDER_BYTES_MAX {
            return None;
        }
        let answer = file::decode(key, &fs::read(&path).ok()?)?;
        // the oldest go first, and this one is of use
        let _ = file.set_modified(SystemTime::now());
        Some(answer)
    }

    /// Whole or not at all: written beside its place and renamed.
    fn put(&self, key: &Key, answer: &Answer) -> io::Result<()> {
        let (Some(path), Some(bytes)) = (self.path(key), file::encode(key, answer)) else { return Ok(()) };
        let room = FOLDER_BYTES_MAX.checked_sub(bytes.len() as u64);
        let (Some(folder), Some(room)) = (path.parent(), room) else { return Ok(()) };
        fs::create_dir_all(folder)?;
        make_room(folder, room)?;
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(&bytes)?;
        temporary.persist(path)?;
        Ok(())
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(key.folder()).join(key.name()))
    }

    /// What it holds.
    #[must_use]
    pub fn held(&self) -> Held {
        let files = folders(self.folder.as_deref()).into_iter().flat_map(|folder| files(&folder));
        files.filter(|(_, path, _)| is_answer(path)).fold(Held::default(), |held, (_, _, bytes)| Held {
            answers: held.answers + 1,
            bytes: held.bytes + bytes,
        })
    }

    /// Removes all of it.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        folders(self.folder.as_deref()).iter().try_for_each(fs::remove_dir_all)
    }
}

/// The folders of answers: nothing else in `root` is this cache's.
fn folders(root: Option<&Path>) -> Vec<PathBuf> {
    let names = (0..=u8::MAX).map(|start| format!("{start:02x}"));
    let all = root.into_iter().flat_map(|root| names.clone().map(|name| root.join(name)));
    all.filter(|folder| folder.is_dir()).collect()
}

/// Removes the oldest files until what is left takes at most `room` bytes. What a killed process left goes with them.
fn make_room(folder: &Path, room: u64) -> io::Result<()> {
    let mut files = files(folder);
    files.sort();
    let mut held: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
    for (_, path, bytes) in files {
        if held <= room {
            break;
        }
        fs::remove_file(path)?;
        held -= bytes;
    }
    Ok(())
}

/// Files of a folder with their ages and sizes.
fn files(folder: &Path) -> Vec<(SystemTime, PathBuf, u64)> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let about = |item: fs::DirEntry| {
        let about = item.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((about.modified().ok()?, item.path(), about.len()))
    };
    listing.flatten().filter_map(about).collect()
}

/// Whether it is the file of an answer, not one that is being written.
fn is_answer(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| !name.starts_with('.'))
}

#[cfg(test)]
mod tests;
