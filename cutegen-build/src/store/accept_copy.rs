//! Copying an entry from one store into another, byte for byte: how `accept` brings what search found into a package.

use cutegen_spec::digest::CacheKey;

use super::write::Draft;
use super::{Entry, Lookup, Put, Store, StoreError};

/// Copies the entry for `key`, verified where it is read and again where it was written.
///
/// [`Put::Lost`] means that `to` got another answer in the meantime, which stays.
pub fn transfer(from: &Store, to: &Store, key: &CacheKey) -> Result<Put, StoreError> {
    let entry = whole(from, key)?;
    let put = to.put_draft(&Draft::of(&entry))?;
    let written = whole(to, key)?;
    if put != Put::Lost && written.text != entry.text {
        return Err(StoreError::Contended { path: written.dir });
    }
    Ok(put)
}

fn whole(store: &Store, key: &CacheKey) -> Result<Entry, StoreError> {
    let path = store.entry_dir(key);
    match store.get_full(key) {
        Lookup::Hit(entry) => Ok(entry),
        Lookup::Miss => Err(StoreError::NoEntry { path, reason: "no entry".to_owned() }),
        Lookup::Corrupt(bad) => Err(StoreError::NoEntry { path, reason: bad.reason.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::transfer;
    use crate::store::{Put, Store, sample};

    #[test]
    fn copies_every_byte_and_nothing_corrupt() {
        let (from, to) = (Store::new(sample::folder()), Store::new(sample::folder()));
        let (record, files) = sample::entry(1);
        let key = record.key;
        let missing = transfer(&from, &to, &key).expect_err("nothing there").to_string();
        assert!(missing.contains("no entry\nrun: cargo cutegen check"), "{missing}");
        from.put(&record, &sample::borrowed(&files)).expect("put");
        assert_eq!(transfer(&from, &to, &key), Ok(Put::Written));
        assert_eq!(transfer(&from, &to, &key), Ok(Put::Already));
        for name in files.iter().map(|(name, _)| name.as_str()).chain(["record.toml"]) {
            let read = |store: &Store| fs::read(store.entry_dir(&key).join(name)).expect("reads");
            assert_eq!(read(&from), read(&to), "{name}");
        }
        fs::write(from.entry_dir(&key).join("fast.cu"), b"x").expect("damaged");
        let corrupt = transfer(&from, &to, &key).expect_err("corrupt").to_string();
        assert!(corrupt.contains("fast.cu (1 bytes) has SHA-256"), "{corrupt}");
    }
}
