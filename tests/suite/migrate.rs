//! `lock` on stores of version 1: entries of the three committed ones, as they were before version 2, with their specs
//! (`tests/golden/version1.tar.gz`). What is tuned stays tuned, its cubins as they are, and the rest is made anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_build::search::migrated;
use cutegen_build::store::Store;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::lock::{Lock, Locked, State, v1};
use cutegen_spec::record::Record;
use cutegen_tests::{Ran, cutegen, must, run, scratch, workspace, write};

/// What each store has: kernels on targets, of them tuned.
const STORES: [(&str, usize, usize); 3] = [("cache", 4, 3), ("bars", 2, 2), ("example", 5, 4)];

/// Unpacks the old stores for a test.
pub(super) fn unpacked(name: &str) -> PathBuf {
    let folder = scratch(name);
    let archive = workspace().join("tests/golden/version1.tar.gz");
    must(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(&folder));
    folder.join("version1")
}

pub(super) fn on(store: &Path, args: &[&str]) -> Ran {
    let mut command = cutegen(&store.join("home"));
    run(command.current_dir(store).args(args).args(["--specs", "specs", "--cache", "cache"]))
}

pub(super) fn exits(ran: &Ran, code: i32) {
    assert_eq!(ran.code, Some(code), "--- stdout\n{}\n--- stderr\n{}", ran.stdout, ran.stderr);
}

pub(super) fn lock_text(store: &Path) -> String {
    fs::read_to_string(store.join("cache/cutegen.lock")).expect("a lock")
}

fn old_lock(store: &Path) -> v1::Lock {
    v1::Lock::parse(&lock_text(store)).expect("parses").expect("of version 1")
}

fn lock(store: &Path) -> Lock {
    Lock::parse(&lock_text(store)).expect("of version 2")
}

pub(super) fn entry_of(store: &Path, key: &str) -> PathBuf {
    store.join("cache/v1").join(&key[..2]).join(key)
}

/// Bytes of all files of all entries, by path.
fn files(store: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for locked in old_lock(store).kernels {
        for file in fs::read_dir(entry_of(store, &locked.key.to_string())).expect("an entry") {
            let path = file.expect("a file").path();
            let bytes = fs::read(&path).expect("read");
            found.insert(path, bytes);
        }
    }
    found
}

/// Edits a record and seals it again.
pub(super) fn forge(entry: &Path, edit: impl Fn(&str) -> String) {
    let path = entry.join("record.toml");
    let text = fs::read_to_string(&path).expect("a record");
    let body = text.split_once('\n').expect("a seal").1;
    let edited = edit(body);
    assert_ne!(edited, body, "nothing was edited");
    let seal = ArtifactDigest::of(edited.as_bytes());
    write(&path, &format!("# sha256 of the lines below: {seal}\n{edited}"));
}

#[test]
fn version_1_becomes_version_2_and_all_that_is_tuned_stays_tuned() {
    let stores = unpacked("migrate");
    for (name, kernels, tuned) in STORES {
        let store = stores.join(name);
        let (before, was) = (files(&store), old_lock(&store));
        let ran = on(&store, &["lock"]);
        exits(&ran, 0);
        let told = format!("{kernels} kernels migrated from lock version 1\n");
        assert!(ran.stdout.starts_with(&told) && ran.stdout.contains(" kernels renewed, "), "{}", ran.stdout);
        let is = lock(&store);
        assert_eq!((is.kernels.len(), was.kernels.len()), (kernels, kernels));
        assert_eq!(is.kernels.iter().filter(|k| k.state == State::Tuned).count(), tuned);
        for (old, new) in was.kernels.iter().zip(&is.kernels) {
            assert_eq!(
                (&old.name, &old.target, old.key, old.state),
                (&new.name, &new.target, new.key, new.state)
            );
        }
        let is_renewed = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            name == "record.toml" || name.starts_with("naive.") || name.ends_with(".o")
        };
        for (path, bytes) in before.iter().filter(|(path, _)| !is_renewed(path)) {
            assert_eq!(&fs::read(path).expect("still there"), bytes, "{}", path.display());
        }
        exits(&on(&store, &["check"]), 0);
        let (stamped, again) = (lock_text(&store), on(&store, &["lock"]));
        assert_eq!((again.stdout, lock_text(&store)), (String::new(), stamped), "once is enough");
    }
}

#[test]
fn tiles_are_those_of_the_template_and_of_no_other() {
    let store = unpacked("migrate-tiles").join("example");
    // a name that no template proposes
    let key =
        old_lock(&store).kernels.iter().find(|k| k.name == "llama_norm").expect("locked").key.to_string();
    let (entry, name) = (entry_of(&store, &key), "rowwise-reg-x8t256u2q1c1-oswd");
    forge(&entry, |record| record.replacen(&format!("name = \"{name}\""), "name = \"mine\"", 1));
    write(&store.join("cache/cutegen.lock"), &lock_text(&store).replacen(name, "mine", 1));
    let ran = on(&store, &["lock"]);
    exits(&ran, 0);
    let listed = "without tiles, as no template proposes them by these names any more:\n  llama_norm for sm_90a: mine\n";
    assert!(ran.stdout.contains(listed), "{}", ran.stdout);
    let tiles = |kernel: &str, target: &str| -> Vec<String> {
        let lock = lock(&store);
        let is_it = |k: &&cutegen_spec::lock::Locked| k.name == kernel && k.target.starts_with(target);
        let key = lock.kernels.iter().find(is_it).expect("locked").key.to_string();
        let text = fs::read_to_string(entry_of(&store, &key).join("record.toml")).expect("a record");
        let record = Record::parse(&text).expect("of version 2");
        record.variants[0].tiles.iter().map(ToString::to_string).collect()
    };
    assert_eq!(tiles("llama_norm", "sm_90a"), [""; 0]);
    // gemm-6x16-k256-m192-n256-u4-p computes 6 rows by 16 columns at a time, 8 steps of the sum in a vector
    assert_eq!(tiles("down_residual", "host"), ["a0 by 6", "a1 by 16", "a2 by 8"]);
}

/// Everything but `lock` names it.
#[test]
fn other_commands_and_builds_stop_at_version_1() {
    let store = unpacked("migrate-others").join("example");
    let before = lock_text(&store);
    let out = store.join("pack.tar.gz").display().to_string();
    for verb in [
        &["check"][..],
        &["tune", "silu_mul"],
        &["accept"],
        &["verify", "silu_mul"],
        &["bench", "silu_mul"],
        &["explain", "silu_mul"],
        &["report", "--out", "report"],
        &["pack", "--out", &out],
    ] {
        let ran = on(&store, verb);
        exits(&ran, 1);
        let told = "cache/cutegen.lock: lock version 1, of an older CuTeGen\nrun: cargo cutegen lock --specs specs --cache cache\n";
        assert_eq!((ran.stderr.as_str(), ran.stdout.as_str()), (told, ""), "{verb:?}");
        assert_eq!(lock_text(&store), before, "{verb:?}");
    }
}

#[test]
fn what_is_not_as_it_was_is_not_migrated() {
    let stores = unpacked("migrate-refused");
    let store = stores.join("cache");
    let entry = |name: &str| {
        let key = old_lock(&store).kernels.iter().find(|k| k.name == name).expect("locked").key.to_string();
        entry_of(&store, &key)
    };
    let refused = |what: &str| {
        let before = (lock_text(&store), files(&store));
        let ran = on(&store, &["lock"]);
        exits(&ran, 1);
        assert!(
            ran.stderr.starts_with("the lock is of version 1, and nothing of it is migrated:\n"),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(what) && ran.stdout.is_empty(), "{what}: {}{}", ran.stdout, ran.stderr);
        assert!((lock_text(&store), files(&store)) == before, "{what}: something was written");
    };
    let object = entry("rms_norm").join("naive.o");
    let bytes = fs::read(&object).expect("an object");
    fs::write(&object, b"other").expect("damaged");
    refused("naive.o (5 bytes) has SHA-256");
    fs::write(&object, &bytes).expect("restored");
    fs::rename(entry("rms_norm"), stores.join("aside")).expect("moved");
    let ran = on(&store, &["lock"]);
    exits(&ran, 1);
    assert!(
        ran.stderr.contains("rms_norm for host") && ran.stderr.contains("record.toml is missing"),
        "{}",
        ran.stderr
    );
    fs::rename(stores.join("aside"), entry("rms_norm")).expect("moved back");
    exits(&on(&store, &["lock"]), 0);
}

/// Nothing pinned how a naive kernel of version 1 is launched, so it is made anew.
#[test]
fn a_naive_kernel_of_version_1_is_launched_as_the_math_says() {
    let stores = unpacked("migrate-naive");
    let [honest, forged] = ["honest", "forged"].map(|name| stores.join(name));
    for store in [&honest, &forged] {
        must(Command::new("cp").arg("-r").arg(stores.join("cache")).arg(store));
    }
    let key =
        old_lock(&forged).kernels.iter().find(|k| k.name == "silu_mul").expect("locked").key.to_string();
    forge(&entry_of(&forged, &key), |text| {
        let (before, after) = text.rsplit_once("\"ptr(t0)\"").expect("an argument");
        format!("{before}\"ptr(t1)\"{after}")
    });
    for store in [&honest, &forged] {
        exits(&on(store, &["lock"]), 0);
    }
    assert_eq!(lock_text(&honest), lock_text(&forged));
}

/// What the record of a kernel for a device becomes.
fn becomes(store: &Path, kernel: &str) -> Record {
    let project = Project::library(&store.join("specs"), &store.join("cache")).expect("a library");
    let plans = Plan::all(&project.specs);
    let is_it = |p: &&Plan| p.spec.name.as_str() == kernel && !p.target.is_host();
    let plan = plans.iter().find(is_it).expect("declared");
    let entry = Store::new(&project.store).get_old(&plan.key).expect("of version 1");
    migrated(plan, &entry).record
}

/// A kill between records and lock leaves records of version 2 under a lock of version 1.
#[test]
fn a_migration_that_was_cut_short_is_gone_on_with() {
    let stores = unpacked("migrate-cut");
    let (store, whole) = (stores.join("bars"), stores.join("whole"));
    must(Command::new("cp").arg("-r").arg(&store).arg(&whole));
    exits(&on(&whole, &["lock"]), 0);
    let kernel = &old_lock(&store).kernels[0];
    let (key, becomes) = (kernel.key.to_string(), becomes(&store, &kernel.name));
    let record = |store: &Path| entry_of(store, &key).join("record.toml");
    let body = becomes.to_toml().expect("prints");
    let sealed = format!("# sha256 of the lines below: {}\n{body}", ArtifactDigest::of(body.as_bytes()));
    fs::write(record(&store), &sealed).expect("written");
    exits(&on(&store, &["lock"]), 0);
    assert_eq!(lock_text(&store), lock_text(&whole));

    // and a record of version 1 under the lock of version 2 that pins what it becomes
    let store = unpacked("migrate-cut-old").join("bars");
    let mut pinned = Lock::default();
    for kernel in old_lock(&store).kernels {
        let becomes = self::becomes(&store, &kernel.name);
        pinned.set(Locked::pin(&kernel.name, &kernel.target, &becomes));
    }
    write(&store.join("cache/cutegen.lock"), &pinned.to_toml().expect("prints"));
    let ran = on(&store, &["check"]);
    exits(&ran, 1);
    assert!(
        ran.stderr.contains("record version 1") && ran.stderr.contains("run: cargo cutegen lock cumsum_8192"),
        "{}",
        ran.stderr
    );
    exits(&on(&store, &["lock", "cumsum_8192"]), 0);
    assert_eq!(fs::read_to_string(record(&store)).expect("read"), sealed);
}
