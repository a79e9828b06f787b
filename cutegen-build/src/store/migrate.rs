//! Entries whose record is of version 1, which pinned no launches and had no tiles: read as they are, and rewritten as
//! records of today. Nothing else reads them.

use cutegen_spec::digest::CacheKey;
use cutegen_spec::record::Record;

use super::write::Draft;
use super::{CorruptEntry, Entry, Put, Store, StoreError, read};

impl Store {
    /// The entry for `key` with its sources, verified, its record of version 1 or of today.
    pub fn get_old(&self, key: &CacheKey) -> Result<Entry, CorruptEntry> {
        read::old_entry(&self.entry_dir(key), key)
    }

    /// Rewrites the record of an entry from [`Store::get_old`] as `record`, which may differ from it in tiles only.
    pub fn renew(&self, entry: &Entry, record: &Record) -> Result<Put, StoreError> {
        if without_tiles(record) != without_tiles(&entry.record) {
            let reason = "a migration adds tiles, and this record differs in more".to_owned();
            return Err(StoreError::Unfit { key: record.key, reason });
        }
        self.put_over(entry, &Draft::restated(entry, record)?)
    }
}

fn without_tiles(record: &Record) -> Record {
    let mut record = record.clone();
    record.variants.iter_mut().for_each(|variant| variant.tiles.clear());
    record
}
