//! Writers that race for a key, replace it under a reader, or die with `kill -9` at any moment.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cutegen_build::store::{Lookup, Put, Store};
use cutegen_tests::store_sample::{Sample, noise};

use super::{Fixture, remains};

const WRITERS: u64 = 8;

fn writer(verb: &str, root: &Path, salt: u64, bytes: usize) -> Child {
    Command::new(env!("CARGO_BIN_EXE_store-writer"))
        .arg(verb)
        .arg(root)
        .args([salt.to_string(), bytes.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts")
}

/// Eight processes start at one word; returns what each put and what it read right after.
fn race(root: &Path, salt: impl Fn(u64) -> u64) -> Vec<(String, String)> {
    let mut children: Vec<Child> = (0..WRITERS).map(|n| writer("put", root, salt(n), 40_000)).collect();
    for child in &mut children {
        child.stdin.take().expect("piped").write_all(b"go\n").expect("reads");
    }
    let outcome = |mut child: Child| {
        let mut text = String::new();
        child.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
        child.wait().expect("ends");
        let (put, get) = text.trim_end().split_once('\n').expect("two lines");
        (put.to_owned(), get.to_owned())
    };
    children.into_iter().map(outcome).collect()
}

#[test]
fn racing_writers_leave_one_whole_entry() {
    const ROUNDS: u64 = 12;
    for differing in [false, true] {
        for round in 0..ROUNDS {
            let fixture = Fixture::empty();
            let stale = round % 2 == 1;
            if stale {
                Sample::new(64, 99, 40_000).put(&fixture.store).expect("put");
            }
            let outcomes = race(fixture.store.root(), |n| if differing { n } else { 7 });
            let case = format!("round {round} of {ROUNDS}, {WRITERS} processes, differing {differing}");
            let won = if stale { "put: Replaced" } else { "put: Written" };
            assert!(outcomes.iter().any(|(put, _)| put == won), "{case}: {outcomes:?}");
            for (put, get) in &outcomes {
                assert!(put.starts_with("put: "), "{case}: {put}");
                assert!(get.starts_with("get: hit template relu "), "{case}: {get}");
            }
            assert!(matches!(fixture.full(), Lookup::Hit(_)), "{case}");
            assert!(remains(fixture.folder.path()).is_empty(), "{case}");
            let written = outcomes.iter().filter(|(put, _)| put == "put: Written").count();
            assert_eq!(written, usize::from(!stale), "{case}: {outcomes:?}");
        }
    }
}

#[test]
fn a_reader_beside_replacing_writers_always_hits() {
    let fixture = Fixture::new();
    let mut writers: Vec<Child> = [10, 20].map(|n| writer("loop", fixture.store.root(), n, 10_000)).into();
    let start = Instant::now();
    let (mut reads, mut seen) = (0_u64, BTreeSet::new());
    let mut bad = None;
    while bad.is_none() && start.elapsed() < Duration::from_secs(3) {
        match fixture.full() {
            Lookup::Hit(entry) => drop(seen.insert(entry.record.variants[0].origin.clone())),
            Lookup::Miss => bad = Some("a miss".to_owned()),
            Lookup::Corrupt(corrupt) => bad = Some(corrupt.to_string()),
        }
        reads += 1;
    }
    for child in &mut writers {
        child.kill().expect("killed");
        child.wait().expect("ends");
    }
    assert_eq!(bad, None, "after {reads} reads");
    assert!(seen.len() > 2, "{reads} reads saw only {seen:?}");
    println!("{reads} reads, {} answers seen", seen.len());
}

/// What a killed writer left: how many files in how many hidden folders.
fn shape(root: &Path) -> Vec<usize> {
    let files = |folder: &PathBuf| fs::read_dir(folder).map_or(0, Iterator::count);
    let mut shape: Vec<usize> = remains(root).iter().map(files).collect();
    shape.sort_unstable();
    shape
}

#[test]
fn a_killed_writer_leaves_a_whole_entry_or_none() {
    const KILLS: usize = 100;
    let delays = noise(11, 2 * KILLS);
    let (mut shapes, mut misses) = (BTreeSet::new(), 0);
    for kill in 0..KILLS {
        let fixture = if kill % 2 == 0 { Fixture::empty() } else { Fixture::new() };
        let mut child = writer("loop", fixture.store.root(), 1, 10_000);
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("ready");
        // up to 32 ms: a put takes a few
        let delay = u64::from(u16::from_le_bytes([delays[2 * kill], delays[2 * kill + 1]])) / 2;
        thread::sleep(Duration::from_micros(delay));
        child.kill().expect("killed");
        child.wait().expect("ends");
        match fixture.full() {
            Lookup::Hit(_) => {}
            Lookup::Miss => misses += 1,
            Lookup::Corrupt(bad) => panic!("kill {kill} of {KILLS} after {delay} us: {bad}"),
        }
        shapes.insert(shape(fixture.folder.path()));
        recovers(&fixture, kill);
    }
    assert!(shapes.len() > 3, "{KILLS} kills, all between the same steps: {shapes:?}");
    println!("{KILLS} kills: {misses} misses, remains {shapes:?}");
}

/// The next writer succeeds, and once the remains are old it removes them.
fn recovers(fixture: &Fixture, kill: usize) {
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 3600);
    for folder in remains(fixture.folder.path()) {
        File::open(&folder).and_then(|f| f.set_modified(long_ago)).expect("aged");
    }
    let put = Sample::new(64, 50, 300).put(&fixture.store);
    assert!(matches!(put, Ok(Put::Written | Put::Replaced)), "kill {kill}: {put:?}");
    assert_eq!(fixture.sample.put(&fixture.store), Ok(Put::Replaced), "kill {kill}");
    assert!(fixture.full().hit().is_some_and(|entry| fixture.is_sample(&entry)), "kill {kill}");
    let left = remains(fixture.folder.path());
    assert!(left.is_empty(), "kill {kill}: {left:?}");
}

#[test]
fn a_stuck_lock_holder_delays_but_does_not_block() {
    let fixture = Fixture::new();
    let held = File::open(fixture.store.root().join(".lock")).expect("there");
    held.lock().expect("locked");
    let start = Instant::now();
    let missing = Sample::new(65, 1, 300);
    assert!(matches!(fixture.full(), Lookup::Hit(_)), "a hit needs no lock");
    assert!(start.elapsed() < Duration::from_secs(1), "a hit waits for nobody");
    assert!(matches!(Store::new(fixture.store.root()).get(&missing.record.key), Lookup::Miss));
    assert_eq!(missing.put(&fixture.store), Ok(Put::Written));
    assert!(start.elapsed() < Duration::from_secs(60), "gave up waiting");
}
