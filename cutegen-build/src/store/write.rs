//! Writing an entry: files into a hidden folder beside the place, synced, then one rename.
//!
//! Killed at any moment, this leaves the old entry or the new one, never a part of one. Where a file system cannot
//! exchange two names it may leave none, with the old entry in a hidden folder, from which the next writer puts it back.
//! Of writers who race for one key the first wins: the others find its entry and report it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cutegen_spec::digest::CacheKey;
use cutegen_spec::record::{self, Record};

use super::read::{self, Depth};
use super::temp::{self, TempDir};
use super::{Entry, FILE_LIMIT, LAYOUT, Lookup, RECORD_LIMIT, Reason, Store, exchange, guard, seal};

/// Name of an entry that was moved aside, in a temporary folder beside its place.
const ASIDE: &str = "old";

/// How often a commit starts over when others keep changing the entry under it.
const ROUNDS: u32 = 16;

/// What a committed store tells git: no line-ending conversion, sources are generated (code hosts fold them in reviews),
/// objects in even where a parent ignores `*.o`, our own scaffolding out.
const SCAFFOLD: [(&str, &str); 2] = [
    (
        ".gitattributes",
        "* -text\n*.zst binary\n*.o binary\n*.cu linguist-generated\n*.cpp linguist-generated\n",
    ),
    (".gitignore", "!*.o\n!*.zst\n.lock\n.cutegen-tmp-*\n"),
];

/// What became of an entry that was put. In all four the store now holds a whole entry for the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// There was none.
    Written,
    /// Another answer, or a corrupt entry, gave way to it.
    Replaced,
    /// The same entry was there.
    Already,
    /// Somebody put another answer while this one was being written; theirs stays.
    Lost,
}

/// Why the store could not do as asked. Search reports it and goes on: the winner is still in its hands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The system refused.
    Io {
        /// What was being done.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// Kind of refusal.
        kind: io::ErrorKind,
        /// The system's words.
        error: String,
    },
    /// The record and the files handed over do not fit together: a bug of the caller.
    Unfit {
        /// The entry's key.
        key: CacheKey,
        /// How.
        reason: String,
    },
    /// The entry that should be read from is not there or corrupt.
    NoEntry {
        /// Where it should lie.
        path: PathBuf,
        /// What is there instead.
        reason: String,
    },
    /// Other processes kept changing the entry.
    Contended {
        /// The entry's folder.
        path: PathBuf,
    },
    /// Another process has been writing for too long.
    Busy {
        /// The store's folder.
        path: PathBuf,
    },
}

/// A whole entry, about to be written.
pub(super) struct Draft {
    key: CacheKey,
    text: String,
    files: BTreeMap<String, Vec<u8>>,
}

impl Store {
    /// Puts an entry in its place. `files` are exactly the artifacts and sources that `record` names. An equal entry
    /// stays untouched, a corrupt or other one is replaced.
    pub fn put(&self, record: &Record, files: &[(&str, &[u8])]) -> Result<Put, StoreError> {
        self.put_draft(&Draft::new(record, files)?)
    }

    /// Puts an entry in the place of `entry`. What was put there since that was read stays, which is an error.
    pub fn replace(
        &self,
        entry: &Entry,
        record: &Record,
        files: &[(&str, &[u8])],
    ) -> Result<Put, StoreError> {
        self.put_over(entry, &Draft::new(record, files)?)
    }

    pub(super) fn put_draft(&self, draft: &Draft) -> Result<Put, StoreError> {
        let dir = self.entry_dir(&draft.key);
        let before = self.get_full(&draft.key).hit();
        if before.as_ref().is_some_and(|entry| entry.text == draft.text) {
            return Ok(Put::Already);
        }
        let parent = parent_of(&dir);
        self.prepare(parent)?;
        let temp = TempDir::new(parent).map_err(|error| StoreError::io("write in", parent, &error))?;
        let before = match self.sweep(temp.made()) {
            0 => before,
            _rescued => self.get_full(&draft.key).hit(),
        };
        draft.write(&temp)?;
        self.commit(draft, &temp, before.as_ref())
    }

    /// Puts `draft` in the place of `entry`. What was put there since that was read stays.
    pub(super) fn put_over(&self, entry: &Entry, draft: &Draft) -> Result<Put, StoreError> {
        let held = self.hold()?;
        let contended = || StoreError::Contended { path: entry.dir.clone() };
        let now = read::old_entry(&self.entry_dir(&draft.key), &draft.key).map_err(|_| contended())?;
        match () {
            () if draft.text == now.text => Ok(Put::Already),
            () if entry.text == now.text => held.put_draft(draft),
            () => Err(contended()),
        }
    }

    /// Folders and scaffold.
    fn prepare(&self, parent: &Path) -> Result<(), StoreError> {
        fs::create_dir_all(parent).map_err(|error| StoreError::io("create", parent, &error))?;
        for (name, text) in SCAFFOLD {
            let path = self.root().join(name);
            if !path.exists() {
                let written = temp::replace_file(&path, text.as_bytes());
                written.map_err(|error| StoreError::io("write", &path, &error))?;
            }
        }
        Ok(())
    }

    /// Removes what killed writers left anywhere in the store, and puts back the entries in it; best effort. How many came
    /// back.
    pub(super) fn sweep(&self, now: Option<SystemTime>) -> usize {
        let (layout, mut rescued) = (self.root().join(LAYOUT), 0);
        temp::sweep(self.root(), now, &mut |_| true);
        for prefix in super::names_in(&layout).unwrap_or_default() {
            temp::sweep(&layout.join(prefix), now, &mut |remains| match self.rescue(remains) {
                Ok(back) => {
                    rescued += usize::from(back);
                    true
                }
                Err(_) => false, // it stays for the next one
            });
        }
        rescued
    }

    /// Puts a whole entry that a killed writer moved aside back to its place, if that is free.
    fn rescue(&self, remains: &Path) -> io::Result<bool> {
        let old = remains.join(ASIDE);
        let Some(key) = read::record_text(&old).ok().and_then(|text| key_of(&text)) else { return Ok(false) };
        let dir = self.entry_dir(&key);
        if read::old_entry(&old, &key).is_err() || read::folder(&dir) != Ok(false) {
            return Ok(false);
        }
        fs::rename(&old, &dir)?;
        temp::sync_folder(parent_of(&dir)).map(|()| true)
    }

    /// Moves the written folder to its place, unless somebody was faster.
    fn commit(&self, draft: &Draft, temp: &TempDir, before: Option<&Entry>) -> Result<Put, StoreError> {
        let dir = self.entry_dir(&draft.key);
        let _guard = if self.guard.is_some() { None } else { guard::commit(self.root()) };
        for _ in 0..ROUNDS {
            match read::entry(&dir, &draft.key, Depth::Sources) {
                Lookup::Hit(now) if now.text == draft.text => return Ok(Put::Already),
                Lookup::Hit(now) if before.is_none_or(|before| before.text != now.text) => {
                    return Ok(Put::Lost);
                }
                Lookup::Hit(_) | Lookup::Corrupt(_) => {
                    if replace(&dir, temp)? {
                        return Ok(Put::Replaced);
                    }
                }
                Lookup::Miss => {
                    if move_in(&dir, temp)? {
                        return Ok(Put::Written);
                    }
                }
            }
        }
        Err(StoreError::Contended { path: dir })
    }
}

impl Draft {
    fn new(record: &Record, files: &[(&str, &[u8])]) -> Result<Self, StoreError> {
        let unfit = |reason| StoreError::Unfit { key: record.key, reason };
        let body = record.to_toml().map_err(unfit)?;
        if body.len() as u64 > RECORD_LIMIT / 2 {
            return Err(unfit(format!("its record has {} bytes", body.len())));
        }
        let mut map = BTreeMap::new();
        for (name, bytes) in files {
            if map.insert((*name).to_owned(), bytes.to_vec()).is_some_and(|other| other != *bytes) {
                return Err(unfit(format!("two files are named {name}")));
            }
        }
        let draft = Self { key: record.key, text: seal::seal(&body), files: map };
        draft.check().map_err(unfit)?;
        Ok(draft)
    }

    /// A verified entry under another record.
    pub(super) fn restated(entry: &Entry, record: &Record) -> Result<Self, StoreError> {
        let Self { files, .. } = Self::of(entry);
        let files: Vec<_> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        Self::new(record, &files)
    }

    /// A verified entry, byte for byte.
    pub(super) fn of(entry: &Entry) -> Self {
        let mut files = BTreeMap::new();
        let all = entry.record.variants.iter().zip(&entry.artifacts).zip(&entry.sources);
        for ((variant, artifact), source) in all {
            files.insert(variant.artifact.file.clone(), artifact.clone());
            files.insert(variant.source.file.clone(), source.clone());
        }
        Self { key: entry.record.key, text: entry.text.clone(), files }
    }

    /// Everything that a reader will check, and that no file is left over or clashes on a caseless file system.
    fn check(&self) -> Result<(), String> {
        let record = read::answer(&self.text, &self.key).map_err(|reason| reason.to_string())?;
        let mut named = BTreeMap::from([(record::FILE.to_owned(), record::FILE)]);
        for variant in &record.variants {
            let artifact = self.file(&variant.artifact.file)?;
            read::check_artifact(variant, artifact).map_err(|reason| reason.to_string())?;
            let source = self.file(&variant.source.file)?;
            read::check_source(variant, source).map_err(|reason| reason.to_string())?;
            for file in [&variant.artifact.file, &variant.source.file] {
                if named.insert(file.to_lowercase(), file).is_some_and(|other| other != file) {
                    return Err(format!("two files are named {file}, up to case"));
                }
            }
        }
        match self.files.keys().find(|name| !named.contains_key(&name.to_lowercase())) {
            Some(extra) => Err(format!("no variant names the file {extra}")),
            None if self.files.contains_key(record::FILE) => Err("a file is named record.toml".to_owned()),
            None => Ok(()),
        }
    }

    fn file(&self, name: &str) -> Result<&[u8], String> {
        match self.files.get(name) {
            None => Err(Reason::Missing { file: name.to_owned() }.to_string()),
            Some(bytes) if bytes.is_empty() => Err(Reason::Empty { file: name.to_owned() }.to_string()),
            Some(bytes) if bytes.len() as u64 > FILE_LIMIT => {
                Err(format!("{name} is over {FILE_LIMIT} bytes"))
            }
            Some(bytes) => Ok(bytes),
        }
    }

    fn write(&self, temp: &TempDir) -> Result<(), StoreError> {
        let files = self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        for (name, bytes) in files.chain([(record::FILE, self.text.as_bytes())]) {
            let written = temp.write(name, bytes);
            written.map_err(|error| StoreError::io("write", &temp.path.join(name), &error))?;
        }
        temp::sync_folder(&temp.path).map_err(|error| StoreError::io("sync", &temp.path, &error))
    }
}

/// Renames the new entry to its free place; false when it is no longer free.
fn move_in(dir: &Path, temp: &TempDir) -> Result<bool, StoreError> {
    match fs::rename(&temp.path, dir) {
        Ok(()) => {
            let parent = parent_of(dir);
            temp::sync_folder(parent).map_err(|error| StoreError::io("sync", parent, &error))?;
            Ok(true)
        }
        Err(error) if is_taken(error.kind()) => Ok(false),
        Err(error) => Err(StoreError::io("rename into place", dir, &error)),
    }
}

/// Gives the new entry the place of what is at `dir`; false when somebody was faster.
fn replace(dir: &Path, temp: &TempDir) -> Result<bool, StoreError> {
    match exchange::exchange(&temp.path, dir) {
        Ok(()) => {
            let parent = parent_of(dir);
            temp::sync_folder(parent).map_err(|error| StoreError::io("sync", parent, &error))?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => replace_in_two(dir, temp),
        Err(error) => Err(StoreError::io("rename into place", dir, &error)),
    }
}

/// The same where two names cannot be exchanged: moves what is at `dir` aside and the new entry in.
fn replace_in_two(dir: &Path, temp: &TempDir) -> Result<bool, StoreError> {
    let parent = parent_of(dir);
    let aside = TempDir::new(parent).map_err(|error| StoreError::io("write in", parent, &error))?;
    let old = aside.path.join(ASIDE);
    match fs::rename(dir, &old) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StoreError::io("move aside", dir, &error)),
    }
    let moved = move_in(dir, temp);
    // the refusal is reported; the old entry is better than none
    if moved.is_err() && fs::rename(&old, dir).is_err() && read::folder(dir) == Ok(false) {
        aside.keep();
    }
    moved
}

/// The key that a record of any version says it answers.
fn key_of(text: &str) -> Option<CacheKey> {
    text.lines().find_map(|line| CacheKey::parse(line.strip_prefix("key = \"")?.strip_suffix('"')?).ok())
}

fn is_taken(kind: io::ErrorKind) -> bool {
    [io::ErrorKind::AlreadyExists, io::ErrorKind::DirectoryNotEmpty, io::ErrorKind::NotADirectory]
        .contains(&kind)
}

fn parent_of(dir: &Path) -> &Path {
    dir.parent().expect("an entry lies two folders under the root")
}

impl StoreError {
    pub(super) fn io(action: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), kind: error.kind(), error: error.to_string() }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Io { action, path, kind, error } => {
                write!(f, "store: cannot {action} {}: {error}\n{}", path.display(), remedy(*kind, path))
            }
            StoreError::Unfit { key, reason } => {
                write!(
                    f,
                    "store: refused the entry {}: {reason}\nrun: cargo cutegen toolchain show",
                    key.short()
                )
            }
            StoreError::NoEntry { path, reason } => {
                let path = path.display();
                write!(f, "store: nothing to copy at {path}: {reason}\nrun: cargo cutegen check")
            }
            StoreError::Contended { path } => {
                let path = path.display();
                write!(f, "store: other processes keep changing {path}\nrun the same command again")
            }
            StoreError::Busy { path } => {
                let path = path.display();
                write!(
                    f,
                    "store: another process has been writing to {path} for a minute\nrun the same command again"
                )
            }
        }
    }
}

impl std::error::Error for StoreError {}

/// The next command, for a system error.
fn remedy(kind: io::ErrorKind, path: &Path) -> String {
    let folder = path.ancestors().find(|folder| folder.is_dir()).unwrap_or(path).display();
    if [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&kind) {
        return format!("run: df -h {folder}");
    }
    format!("run: ls -ld {folder}")
}

#[cfg(test)]
mod tests;
