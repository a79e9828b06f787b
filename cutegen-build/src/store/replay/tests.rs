//! What replay finds, and what it says of what it does not.

use std::fs;
use std::path::PathBuf;

use cutegen_spec::key::Question;
use cutegen_spec::lock::{Lock, Locked};
use cutegen_spec::name::KernelName;
use cutegen_spec::record::Record;
use cutegen_spec::target::Target;

use super::{Request, apart, replay};
use crate::store::sample::{self, Files};
use crate::store::{Entry, Store};

/// A package whose kernel `relu` is locked and stored.
struct Package {
    root: PathBuf,
    lock: Lock,
    store: Store,
}

impl Package {
    fn new((record, files): (Record, Files)) -> Self {
        let root = sample::folder();
        let store = Store::new(root.join("cutegen-store"));
        store.put(&record, &sample::borrowed(&files)).expect("put");
        let mut lock = Lock::default();
        lock.set(Locked::pin("relu", "sm_90a", &record));
        Self { root, lock, store }
    }

    fn replay(&self, question: &Question, target: &str) -> Result<Entry, String> {
        let request = Request {
            kernel: &KernelName::new("relu").expect("a name"),
            target: &Target::parse(target).expect("a target"),
            question,
            axes: &sample::spec(64).axes,
            lock: &self.lock,
            lock_path: &self.root.join("cutegen.lock"),
            store: &self.store,
        };
        let root = format!("{}/", self.root.display());
        replay(&request).map_err(|error| error.to_string().replace(&root, ""))
    }

    fn error(&self, question: &Question) -> String {
        self.replay(question, "sm_90a").expect_err("no replay")
    }

    fn entry(&self) -> PathBuf {
        self.store.entry_dir(&sample::question(64).key())
    }
}

/// The entry's folder in messages.
fn place() -> String {
    let key = sample::question(64).key().to_string();
    format!("cutegen-store/v1/{}/{key}", &key[..2])
}

const TUNE: &str = "  untuned until then, without the device: cargo cutegen lock relu\n\
                    run: cargo cutegen tune relu && cargo cutegen accept relu";

const ACCEPT: &str = "  the store has what a search found for it, not pinned: an accept was cut short\n\
                      run: cargo cutegen accept relu";

#[test]
fn replays_what_is_pinned() {
    let package = Package::new(sample::entry(1));
    let entry = package.replay(&sample::question(64), "sm_90a").expect("a hit");
    assert_eq!(entry.record, sample::entry(1).0);
    assert_eq!(entry.artifacts.len(), 2);
}

#[test]
fn not_locked() {
    let mut package = Package::new(sample::entry(1));
    assert_eq!(
        package.replay(&sample::question(65), "sm_90a:h200").expect_err("no replay"),
        "kernel `relu` for sm_90a:h200: not in cutegen.lock\n  it is locked for sm_90a only\n\
         run: cargo cutegen lock relu"
    );
    package.lock = Lock::default();
    fs::remove_dir_all(package.entry()).expect("removed");
    assert_eq!(
        package.error(&sample::question(64)),
        "kernel `relu` for sm_90a: not in cutegen.lock\nrun: cargo cutegen lock relu"
    );
}

#[test]
fn key_moved() {
    let package = Package::new(sample::entry(1));
    let head = "kernel `relu` for sm_90a: its spec is not the one in cutegen.lock\n";
    let moved = "  axes: locked `m = 1..=64 by 1`, now `m = 1..=65 by 1`\n";
    assert_eq!(package.error(&sample::question(65)), format!("{head}{moved}{TUNE}"));
    fs::remove_dir_all(package.entry()).expect("removed");
    let unknown = "  which field moved is unknown: the locked entry is not in the store either\n";
    assert_eq!(package.error(&sample::question(65)), format!("{head}{unknown}{TUNE}"));
    let untuned = Package::new(sample::untuned());
    let expected = format!("{head}{moved}run: cargo cutegen lock relu");
    assert_eq!(untuned.error(&sample::question(65)), expected);
}

#[test]
fn entry_missing() {
    let text = |last| {
        format!(
            "kernel `relu` for sm_90a: locked in cutegen.lock, but its entry is not there\n  no {}: not \
             committed, ignored by git, or excluded from the package\n{last}",
            place()
        )
    };
    for (entry, last) in [(sample::entry(1), TUNE), (sample::untuned(), "run: cargo cutegen lock relu")] {
        let package = Package::new(entry);
        fs::remove_dir_all(package.entry()).expect("removed");
        assert_eq!(package.error(&sample::question(64)), text(last));
    }
}

#[test]
fn entry_corrupt() {
    let package = Package::new(sample::entry(1));
    fs::write(package.entry().join("fast.o"), b"").expect("emptied");
    assert_eq!(
        package.error(&sample::question(64)),
        format!(
            "kernel `relu` for sm_90a: its entry cannot be used\n  {0}: fast.o is empty\n  if it was never committed, \
             run: cargo cutegen tune relu && cargo cutegen accept relu\nrun: git checkout -- {0}",
            place()
        )
    );
}

#[test]
fn bytes_differ() {
    let package = Package::new(sample::entry(1));
    let (record, files) = sample::entry(2);
    package.store.put(&record, &sample::borrowed(&files)).expect("put");
    assert_eq!(
        package.error(&sample::question(64)),
        format!(
            "kernel `relu` for sm_90a: its entry is whole, but not the one that cutegen.lock pins\n  {0} \
             differs in: fast\n  to go back to the committed state: git checkout -- cutegen.lock {0}\n{ACCEPT}",
            place()
        )
    );
}

/// What the store holds whole, `lock` would replace by a naive kernel.
#[test]
fn what_was_searched_and_is_at_hand_is_never_locked_over() {
    let mut package = Package::new(sample::entry(1));
    package.lock = Lock::default();
    let head = "kernel `relu` for sm_90a: not in cutegen.lock\n";
    assert_eq!(package.error(&sample::question(64)), format!("{head}{ACCEPT}"));
    package.lock.set(Locked::pin("relu", "sm_90a", &sample::untuned().0));
    assert!(package.error(&sample::question(64)).ends_with(ACCEPT), "an untuned one is locked");
    fs::remove_file(package.entry().join("fast.cu")).expect("removed");
    let told = package.error(&sample::question(64));
    assert!(told.ends_with("run: cargo cutegen lock relu"), "accept would refuse it: {told}");
}

#[test]
fn long_fields_are_cut_around_the_difference() {
    let text = |middle: &str| format!("{}{middle}{}", "a".repeat(200), "b".repeat(200));
    let (was, is) = apart(&text("x"), &text("yy"));
    assert_eq!(was, format!("...{}x{}...", "a".repeat(40), "b".repeat(59)));
    assert_eq!(is, format!("...{}yy{}...", "a".repeat(40), "b".repeat(58)));
    assert_eq!(apart("8", "9"), ("8".to_owned(), "9".to_owned()));
}
