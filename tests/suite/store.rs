//! The store: nothing damaged is ever returned, and no kill, race or full disk damages anything.

mod archives;
mod at_once;
mod damage;
mod faults;
mod hostile;
mod mounts;
mod package;
mod processes;
mod renew;

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::store::{Entry, Lookup, Reason, Store};
use cutegen_tests::store_sample::Sample;
use tempfile::TempDir;

/// A store in a folder that goes with it.
struct Fixture {
    folder: TempDir,
    store: Store,
    sample: Sample,
}

impl Fixture {
    /// With one entry, small enough to damage at every byte.
    fn new() -> Self {
        let fixture = Self::empty();
        fixture.sample.put(&fixture.store).expect("put");
        fixture
    }

    /// As [`Fixture::new`], as it comes out of git: without the lock of writers.
    fn checked_out() -> Self {
        let fixture = Self::new();
        fs::remove_file(fixture.store.root().join(".lock")).expect("removed");
        fixture
    }

    fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(folder.path().join("store"));
        Self { folder, store, sample: Sample::new(64, 1, 300) }
    }

    fn entry_dir(&self) -> PathBuf {
        self.store.entry_dir(&self.sample.record.key)
    }

    fn full(&self) -> Lookup {
        self.store.get_full(&self.sample.record.key)
    }

    /// What is wrong with the entry.
    fn reason(&self) -> Reason {
        match self.full() {
            Lookup::Corrupt(bad) => bad.reason,
            Lookup::Hit(_) | Lookup::Miss => panic!("not corrupt"),
        }
    }

    /// Every file of the entry with its bytes.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = self.sample.files.clone();
        files
            .push(("record.toml".to_owned(), fs::read(self.entry_dir().join("record.toml")).expect("reads")));
        files
    }

    /// Whether an entry is the sample, bytes included.
    fn is_sample(&self, entry: &Entry) -> bool {
        let file = |name: &str| &self.sample.files.iter().find(|(n, _)| n == name).expect("named").1;
        entry.record == self.sample.record
            && entry.record.variants.iter().zip(&entry.artifacts).all(|(v, b)| file(&v.artifact.file) == b)
            && entry.record.variants.iter().zip(&entry.sources).all(|(v, b)| file(&v.source.file) == b)
    }
}

/// Hidden temporary folders anywhere below `folder`.
fn remains(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = item.path();
        if item.file_name().to_string_lossy().starts_with(".cutegen-tmp-") {
            found.push(path);
        } else if path.is_dir() {
            found.extend(remains(&path));
        }
    }
    found
}
