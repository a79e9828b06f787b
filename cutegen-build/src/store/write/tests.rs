//! What is written, and what is refused.

use std::fs;
use std::io;
use std::path::Path;

use cutegen_spec::record::{Record, Variant};

use super::{Draft, Put, StoreError, remedy};
use crate::store::temp::TempDir;
use crate::store::{Lookup, Store, sample};

fn put(store: &Store, salt: u8) -> Put {
    let (record, files) = sample::entry(salt);
    store.put(&record, &sample::borrowed(&files)).expect("put")
}

#[test]
fn outcomes() {
    let store = Store::new(sample::folder());
    let (record, files) = sample::entry(1);
    assert!(matches!(store.get(&record.key), Lookup::Miss));
    assert_eq!(put(&store, 1), Put::Written);
    assert_eq!(put(&store, 1), Put::Already);
    assert_eq!(put(&store, 2), Put::Replaced);
    fs::write(store.entry_dir(&record.key).join("naive.cu"), b"x").expect("damaged");
    assert_eq!(put(&store, 2), Put::Replaced);
    assert_eq!(store.keys(), Ok(vec![record.key]));
    let entry = store.get_full(&record.key).hit().expect("a hit");
    assert_eq!(entry.sources[1], files[3].1);
    assert_eq!(entry.record, sample::entry(2).0);
}

#[test]
fn variants_of_one_kernel_share_its_files() {
    let store = Store::new(sample::folder());
    let (mut record, files) = sample::entry(1);
    let fast = record.variants[0].clone();
    record.variants.insert(1, Variant { name: "fast-small".to_owned(), ..fast });
    assert_eq!(store.put(&record, &sample::borrowed(&files)), Ok(Put::Written));
    let kept = fs::read_dir(store.entry_dir(&record.key)).expect("a folder").count();
    assert_eq!(kept, 5, "two files of each kernel, and the record");
    let entry = store.get_full(&record.key).hit().expect("a hit");
    assert_eq!(entry.artifacts[0], entry.artifacts[1]);
    assert_eq!((entry.record.variants.len(), entry.sources[1].as_slice()), (3, files[1].1.as_slice()));
}

/// The writer saw nothing (or salt 1); meanwhile somebody put salt 2.
#[test]
fn the_first_of_racing_writers_wins() {
    let store = Store::new(sample::folder());
    let (record, files) = sample::entry(3);
    let draft = Draft::new(&record, &sample::borrowed(&files)).expect("fits");
    let dir = store.entry_dir(&record.key);
    for before in [None, Some(1)] {
        before.map(|salt| put(&store, salt));
        let seen = store.get_full(&record.key).hit();
        let _ = fs::create_dir_all(super::parent_of(&dir));
        let temp = TempDir::new(super::parent_of(&dir)).expect("made");
        draft.write(&temp).expect("written");
        put(&store, 2);
        assert_eq!(store.commit(&draft, &temp, seen.as_ref()), Ok(Put::Lost), "{before:?}");
        drop(temp);
        assert_eq!(store.get(&record.key).hit().map(|e| e.record), Some(sample::entry(2).0));
    }
    let left = crate::store::names_in(super::parent_of(&dir)).expect("listed");
    assert_eq!(left, [record.key.to_string()], "no remains");
}

/// Killed between the two renames of a replacement, on a file system that cannot exchange names.
#[test]
fn a_displaced_entry_comes_back_before_anything_is_swept() {
    let displaced = || {
        let store = Store::new(sample::folder());
        put(&store, 1);
        let dir = store.entry_dir(&sample::entry(1).0.key);
        let aside = super::parent_of(&dir).join(".cutegen-tmp-1-0");
        fs::create_dir(&aside).expect("made");
        fs::rename(&dir, aside.join("old")).expect("moved aside");
        assert!(matches!(store.get(&sample::entry(1).0.key), Lookup::Miss));
        (store, aside)
    };
    let (store, aside) = displaced();
    let held = store.hold().expect("held");
    assert_eq!(held.get_full(&sample::entry(1).0.key).hit().map(|e| e.record), Some(sample::entry(1).0));
    assert!(!aside.exists());
    drop(held);

    let (store, aside) = displaced();
    assert_eq!(put(&store, 2), Put::Replaced, "the newer one wins over what came back");
    assert!(!aside.exists());

    let (store, aside) = displaced();
    fs::write(aside.join("old/naive.cu"), b"x").expect("damaged");
    let held = store.hold().expect("held");
    assert!(matches!(held.get(&sample::entry(1).0.key), Lookup::Miss), "only whole entries come back");
    assert!(!aside.exists());
}

#[test]
fn replaces_where_names_cannot_be_exchanged() {
    let store = Store::new(sample::folder());
    put(&store, 1);
    let dir = store.entry_dir(&sample::entry(1).0.key);
    let (record, files) = sample::entry(2);
    let temp = TempDir::new(super::parent_of(&dir)).expect("made");
    Draft::new(&record, &sample::borrowed(&files)).expect("fits").write(&temp).expect("written");
    assert_eq!(super::replace_in_two(&dir, &temp), Ok(true));
    assert_eq!(store.get_full(&record.key).hit().map(|e| e.record), Some(record));
    // nothing to move in: what was moved aside is put back
    assert!(super::replace_in_two(&dir, &temp).is_err());
    assert!(matches!(store.get_full(&sample::entry(2).0.key), Lookup::Hit(_)));
    drop(temp);
    assert_eq!(crate::store::names_in(super::parent_of(&dir)).expect("listed").len(), 1, "no remains");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    type Corrupt = fn(&mut Record, &mut sample::Files);
    let cases: [(&str, Corrupt); 8] = [
        ("fast.o is missing", |_, files| drop(files.remove(0))),
        ("naive.cu is empty", |_, files| files[3].1.clear()),
        ("accepted was", |_, files| files[1].1.push(b'x')),
        ("no variant names the file extra.o", |_, files| files.push(("extra.o".into(), vec![1]))),
        ("a file is named record.toml", |_, files| files.push(("record.toml".into(), vec![1]))),
        ("two files are named fast.o", |_, files| files.push(("fast.o".into(), vec![1]))),
        ("the question's key is", |record, _| record.question = sample::question(65)),
        ("up to case", |record, files| {
            record.variants[1].source.file = "FAST.cu".into();
            files[3].0 = "FAST.cu".into();
        }),
    ];
    for (expected, corrupt) in cases {
        let (mut record, mut files) = sample::entry(1);
        corrupt(&mut record, &mut files);
        let root = sample::folder().join("store");
        let refused = Store::new(&root).put(&record, &sample::borrowed(&files)).expect_err(expected);
        assert!(matches!(refused, StoreError::Unfit { .. }), "{refused}");
        assert!(refused.to_string().contains(expected), "{expected}: {refused}");
        assert!(!root.exists(), "{expected}");
    }
}

#[test]
fn errors_end_with_a_command() {
    let temp = Path::new("/tmp/none/x");
    assert_eq!(remedy(io::ErrorKind::StorageFull, temp), "run: df -h /tmp");
    assert_eq!(remedy(io::ErrorKind::PermissionDenied, temp), "run: ls -ld /tmp");
    let error = StoreError::io("write", temp, &io::Error::from(io::ErrorKind::StorageFull)).to_string();
    assert_eq!(error, "store: cannot write /tmp/none/x: no storage space\nrun: df -h /tmp");
}
