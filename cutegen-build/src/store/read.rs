//! Reading an entry: what lies there ([`record_text`], [`file`]) and whether it may be believed ([`answer`],
//! [`check_artifact`], [`check_source`]). The first part returns unverified bytes, so nothing but [`entry`] calls it.
//!
//! Only regular files directly inside the entry are opened; sizes are capped before allocation.

use std::fs;
use std::io;
use std::path::Path;

use cutegen_spec::digest::{ArtifactDigest, CacheKey};
use cutegen_spec::record::{self, COMPRESSED, Record, Variant};

use super::inflate::inflate;
use super::regular::{self, Refused};
use super::{CorruptEntry, Entry, FILE_LIMIT, Lookup, RECORD_LIMIT, Reason, seal};

/// How much of an entry is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Record and artifacts.
    Artifacts,
    /// Record, artifacts and sources.
    Sources,
}

/// How a record is read from its text.
type Open = fn(&str) -> Result<Record, Reason>;

/// The entry at `dir`, verified.
pub(super) fn entry(dir: &Path, key: &CacheKey, depth: Depth) -> Lookup {
    match folder(dir) {
        Ok(true) => {}
        Ok(false) => return Lookup::Miss,
        Err(reason) => return Lookup::Corrupt(CorruptEntry { path: dir.to_owned(), reason }),
    }
    match verified(dir, key, (depth, seal::open)) {
        Ok(entry) => Lookup::Hit(entry),
        Err(reason) => Lookup::Corrupt(CorruptEntry { path: dir.to_owned(), reason }),
    }
}

/// The entry at `dir` with its sources, verified, also where its record is of version 1.
pub(super) fn old_entry(dir: &Path, key: &CacheKey) -> Result<Entry, CorruptEntry> {
    let there = folder(dir).and_then(|is_there| {
        if is_there {
            verified(dir, key, (Depth::Sources, seal::open_old))
        } else {
            Err(Reason::Missing { file: record::FILE.to_owned() })
        }
    });
    there.map_err(|reason| CorruptEntry { path: dir.to_owned(), reason })
}

fn verified(dir: &Path, key: &CacheKey, (depth, open): (Depth, Open)) -> Result<Entry, Reason> {
    let text = record_text(dir)?;
    let record = answers(open(&text)?, key)?;
    let mut artifacts = Vec::with_capacity(record.variants.len());
    for variant in &record.variants {
        let bytes = file(dir, &variant.artifact.file, FILE_LIMIT)?;
        check_artifact(variant, &bytes)?;
        artifacts.push(bytes);
    }
    let sources = match depth {
        Depth::Artifacts => Vec::new(),
        Depth::Sources => sources(dir, &record)?,
    };
    Ok(Entry { record, artifacts, sources, dir: dir.to_owned(), text })
}

fn sources(dir: &Path, record: &Record) -> Result<Vec<Vec<u8>>, Reason> {
    let source = |variant: &Variant| {
        let bytes = file(dir, &variant.source.file, FILE_LIMIT)?;
        check_source(variant, &bytes)?;
        Ok(bytes)
    };
    record.variants.iter().map(source).collect()
}

/// The record in `text` if its seal holds and it answers `key`.
pub(super) fn answer(text: &str, key: &CacheKey) -> Result<Record, Reason> {
    answers(seal::open(text)?, key)
}

fn answers(record: Record, key: &CacheKey) -> Result<Record, Reason> {
    if record.key != *key {
        return Err(Reason::OtherKey(record.key));
    }
    Ok(record)
}

/// Whether `bytes` are the stored artifact that `variant` names, and give what was judged. A record lets cubins alone be
/// compressed.
pub(super) fn check_artifact(variant: &Variant, bytes: &[u8]) -> Result<(), Reason> {
    let artifact = &variant.artifact;
    check_digest(&artifact.file, bytes, artifact.stored)?;
    let contradiction = |detail| Err(Reason::Contradiction { file: artifact.file.clone(), detail });
    if artifact.file.ends_with(COMPRESSED) {
        return inflate(artifact, bytes).map(drop).or_else(contradiction);
    }
    if artifact.artifact != artifact.stored {
        return contradiction("not compressed, yet its two digests differ".to_owned());
    }
    if artifact.bytes != bytes.len() as u64 {
        return contradiction(format!("{} bytes recorded, {} found", artifact.bytes, bytes.len()));
    }
    Ok(())
}

/// Whether `bytes` are the source that `variant` names.
pub(super) fn check_source(variant: &Variant, bytes: &[u8]) -> Result<(), Reason> {
    check_digest(&variant.source.file, bytes, variant.source.digest)
}

fn check_digest(file: &str, bytes: &[u8], expected: ArtifactDigest) -> Result<(), Reason> {
    let found = ArtifactDigest::of(bytes);
    if found != expected {
        return Err(Reason::Digest { file: file.to_owned(), bytes: bytes.len() as u64, found, expected });
    }
    Ok(())
}

/// Whether an entry's folder is there; a link to one is not.
pub(super) fn folder(dir: &Path) -> Result<bool, Reason> {
    match fs::symlink_metadata(dir) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => Err(Reason::NotAFolder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unreadable("", &error)),
    }
}

/// `record.toml`, unverified.
pub(super) fn record_text(dir: &Path) -> Result<String, Reason> {
    let bytes = file(dir, record::FILE, RECORD_LIMIT)?;
    String::from_utf8(bytes).map_err(|error| Reason::Seal(format!("not text: {}", error.utf8_error())))
}

/// A file of an entry, unverified.
pub(super) fn file(dir: &Path, name: &str, limit: u64) -> Result<Vec<u8>, Reason> {
    let file = || name.to_owned();
    match regular::read(&dir.join(name), limit) {
        Ok(bytes) if bytes.is_empty() => Err(Reason::Empty { file: file() }),
        Ok(bytes) => Ok(bytes),
        Err(Refused::NotRegular) => Err(Reason::NotRegular { file: file() }),
        Err(Refused::TooLarge(bytes)) => Err(Reason::TooLarge { file: file(), bytes, limit }),
        Err(Refused::Io(error)) => Err(unreadable(name, &error)),
    }
}

fn unreadable(file: &str, error: &io::Error) -> Reason {
    let file = file.to_owned();
    if error.kind() == io::ErrorKind::NotFound {
        return Reason::Missing { file };
    }
    Reason::Unreadable { file, error: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cutegen_spec::digest::ArtifactDigest;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::{answer, check_artifact, check_source, file, record_text};
    use crate::store::{FILE_LIMIT, Lookup, Reason, Store, sample};

    /// Each check is worth having: the reading below it returns the changed bytes without complaint.
    #[test]
    fn without_the_checks_changed_bytes_would_be_returned() {
        let (record, files) = sample::entry(1);
        let store = Store::new(sample::folder());
        store.put(&record, &sample::borrowed(&files)).expect("put");
        let dir = store.entry_dir(&record.key);
        for (name, original) in &files {
            let mut flipped = original.clone();
            flipped[7] ^= 0x10;
            fs::write(dir.join(name), &flipped).expect("written");
            let unverified = file(&dir, name, FILE_LIMIT).expect("reads");
            assert_eq!(unverified, flipped, "{name}: the reading alone does not notice");
            let variant = record.variants.iter().find(|v| name.starts_with(&v.name)).expect("named");
            let check = if name.ends_with(".o") { check_artifact } else { check_source };
            assert!(matches!(check(variant, &unverified), Err(Reason::Digest { .. })), "{name}");
            assert!(check(variant, original).is_ok(), "{name}");
            fs::write(dir.join(name), original).expect("restored");
        }
        assert!(matches!(store.get_full(&record.key), Lookup::Hit(_)));
    }

    #[test]
    fn without_the_seal_a_changed_record_would_be_returned() {
        let (record, files) = sample::entry(1);
        let store = Store::new(sample::folder());
        store.put(&record, &sample::borrowed(&files)).expect("put");
        let text = record_text(&store.entry_dir(&record.key)).expect("reads");
        let changed = text.replacen("origin = \"test\"", "origin = \"tost\"", 1);
        let parsed = cutegen_spec::record::Record::parse(&changed).expect("the parser alone does not notice");
        assert_ne!(parsed, record);
        assert!(matches!(answer(&changed, &record.key), Err(Reason::Seal(_))));
        assert_eq!(answer(&text, &record.key), Ok(record));
    }

    #[test]
    fn only_a_compressed_artifact_differs_from_what_was_judged() {
        let (mut record, files) = sample::entry(1);
        let bytes = &files[0].1;
        let variant = &mut record.variants[0];
        assert_eq!(check_artifact(variant, bytes), Ok(()));
        variant.artifact.bytes += 1;
        assert!(matches!(check_artifact(variant, bytes), Err(Reason::Contradiction { .. })));
        variant.artifact.bytes -= 1;
        variant.artifact.artifact = ArtifactDigest::of(b"judged");
        assert!(matches!(check_artifact(variant, bytes), Err(Reason::Contradiction { .. })));

        let stored = compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest);
        variant.artifact.file = "fast.cubin.zst".to_owned();
        variant.artifact.stored = ArtifactDigest::of(&stored);
        assert!(
            matches!(check_artifact(variant, &stored), Err(Reason::Contradiction { .. })),
            "others were judged"
        );
        variant.artifact.artifact = ArtifactDigest::of(bytes);
        assert_eq!(check_artifact(variant, &stored), Ok(()));
    }
}
