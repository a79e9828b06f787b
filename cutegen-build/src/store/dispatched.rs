//! What of an entry a build links and dispatches among. A predicted variant waits for evidence: until a gate run has passed it,
//! the variants behind it run, the naive kernel last. Knows records alone; what evidence counts, they say.

use super::Entry;

impl Entry {
    /// The same entry without the variants that builds pass over.
    #[must_use]
    pub fn dispatched(self) -> Self {
        let record = self.record.dispatched();
        let is_kept: Vec<bool> = self.record.variants.iter().map(|variant| variant.is_dispatched()).collect();
        let kept = |files: Vec<Vec<u8>>| {
            files.into_iter().zip(&is_kept).filter(|(_, is_kept)| **is_kept).map(|(file, _)| file).collect()
        };
        Self { record, artifacts: kept(self.artifacts), sources: kept(self.sources), ..self }
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::record::{Evidence, GATE, Kind};

    use super::Entry;
    use crate::store::{Lookup, Store, sample};

    /// A predicted entry that lies in a store, with this evidence.
    fn entry(evidence: Option<Evidence>) -> Entry {
        let (mut record, files) = sample::entry(1);
        record.variants[0].kind = Kind::Predicted;
        record.variants[0].evidence = evidence;
        let store = Store::new(sample::folder());
        store.put(&record, &sample::borrowed(&files)).expect("put");
        match store.get_full(&record.key) {
            Lookup::Hit(entry) => entry,
            other @ (Lookup::Miss | Lookup::Corrupt(_)) => panic!("{other:?}"),
        }
    }

    fn names(entry: &Entry) -> Vec<&str> {
        entry.record.variants.iter().map(|variant| variant.name.as_str()).collect()
    }

    #[test]
    fn a_predicted_variant_waits_for_evidence_with_its_bytes() {
        let judged = |gate| Some(Evidence { gate, device: "host x86_64".to_owned(), ..Evidence::default() });
        for none in [None, judged(GATE + 1)] {
            let whole = entry(none);
            let dispatched = whole.clone().dispatched();
            assert_eq!(names(&dispatched), ["naive"]);
            assert_eq!(dispatched.artifacts, whole.artifacts[1..]);
            assert_eq!(dispatched.sources, whole.sources[1..]);
        }
        let whole = entry(judged(GATE));
        let dispatched = whole.clone().dispatched();
        assert_eq!(names(&dispatched), ["fast", "naive"]);
        assert_eq!((&dispatched.record, &dispatched.artifacts), (&whole.record, &whole.artifacts));
    }
}
