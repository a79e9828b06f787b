//! A record with newer evidence in place of the one that lies there: how a kernel that was re-verified keeps its bytes.

use cutegen_spec::record::{Record, Variant};

use super::write::Draft;
use super::{Entry, Put, Store, StoreError};

impl Store {
    /// Replaces the record of `entry`, which must come with its sources, by `record`. The two may differ in evidence
    /// only, so the lock that pins the one pins the other. What was put there since `entry` was read stays.
    pub fn restate(&self, entry: &Entry, record: &Record) -> Result<Put, StoreError> {
        if without_evidence(record) != without_evidence(&entry.record) {
            let reason = "judging again changes evidence, and this record differs in more".to_owned();
            return Err(StoreError::Unfit { key: record.key, reason });
        }
        self.put_over(entry, &Draft::restated(entry, record)?)
    }
}

fn without_evidence(record: &Record) -> Record {
    let variants = record.variants.iter().map(|variant| Variant { evidence: None, ..variant.clone() });
    Record { variants: variants.collect(), ..record.clone() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cutegen_spec::lock::Locked;
    use cutegen_spec::record::Evidence;

    use crate::store::{Lookup, Put, Store, StoreError, sample};

    fn stored() -> (Store, crate::store::Entry) {
        let (store, (record, files)) = (Store::new(sample::folder()), sample::entry(1));
        store.put(&record, &sample::borrowed(&files)).expect("put");
        let Lookup::Hit(entry) = store.get_full(&record.key) else { panic!("an entry") };
        (store, entry)
    }

    #[test]
    fn new_evidence_comes_under_a_new_seal_and_all_else_stays() {
        let (store, entry) = stored();
        let mut record = entry.record.clone();
        record.variants[0].evidence =
            Some(Evidence { gate: 6, device: "host x86_64".to_owned(), ..Evidence::default() });
        let pinned = Locked::pin("relu", "sm_90a", &entry.record);
        assert_eq!(store.restate(&entry, &record), Ok(Put::Replaced));
        let Lookup::Hit(now) = store.get_full(&record.key) else { panic!("a whole entry") };
        assert_eq!((&now.record, &now.artifacts, &now.sources), (&record, &entry.artifacts, &entry.sources));
        assert_ne!(now.text, entry.text);
        assert_eq!(Locked::pin("relu", "sm_90a", &now.record), pinned, "the lock need not move");
        assert_eq!(store.restate(&entry, &record), Ok(Put::Already));
    }

    /// While the old bytes were judged, an accept put other ones there, which the lock pins by now.
    #[test]
    fn what_was_accepted_meanwhile_stays() {
        let (store, entry) = stored();
        let mut record = entry.record.clone();
        record.variants[0].evidence =
            Some(Evidence { gate: 6, device: "host x86_64".to_owned(), ..Evidence::default() });
        let (other, files) = sample::entry(2);
        store.put(&other, &sample::borrowed(&files)).expect("put");
        assert!(matches!(store.restate(&entry, &record), Err(StoreError::Contended { .. })));
        assert_eq!(store.get(&record.key).hit().map(|entry| entry.record), Some(other));
    }

    #[test]
    fn nothing_but_evidence_may_change() {
        let (store, entry) = stored();
        let before = fs::read(entry.dir.join("record.toml")).expect("a record");
        let mut record = entry.record.clone();
        record.variants[0].origin = "somebody else".to_owned();
        assert!(matches!(store.restate(&entry, &record), Err(StoreError::Unfit { .. })));
        let mut record = entry.record.clone();
        record.variants.swap(0, 1);
        assert!(matches!(store.restate(&entry, &record), Err(StoreError::Unfit { .. })));
        assert_eq!(fs::read(entry.dir.join("record.toml")).expect("a record"), before);
    }
}
