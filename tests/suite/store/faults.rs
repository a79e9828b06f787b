//! The command killed, and refused by the system, at every call that touches lock or store. What it leaves is whole,
//! nothing that was locked is lost, and the same command run again ends where it would have ended.
//!
//! Where a command compiles or judges in between, every few of these runs are made, and `CUTEGEN_SAMPLE_SEED` decides which;
//! with `CUTEGEN_STRESS` above 50 all are.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cutegen_build::store::change::Change;
use cutegen_spec::lock::Locked;
use cutegen_spec::record::Record;
use cutegen_tests::{install_toolchain, must, stress};

use super::package::{Files, Package};
use super::remains;

/// What happens at a call.
const KINDS: [&str; 3] = ["KILL", "ENOSPC", "EIO"];

/// Of how many faults one is tried: of a command that copies, that compiles, that judges. Multiples of 3 would be one kind.
const COPIES: usize = 1;
const COMPILES: usize = 7;
const JUDGES: usize = 22;

/// How a run under faults is made and what it may leave.
struct Case<'a> {
    name: &'a str,
    /// Before the command.
    before: Files,
    /// The command.
    args: &'a [&'a str],
    /// Of how many faults one is tried when there is no time for all.
    every: usize,
    /// Whether the file system lets two names change places.
    exchange: bool,
    /// What of the result differs from run to run, such as fresh evidence.
    varies: bool,
}

/// The library that is loaded into the command.
fn injector() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = cutegen_tests::scratch("faults");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite/store/faults.c");
        let library = folder.join("faults.so");
        must(
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl"),
        );
        library
    })
}

impl Case<'_> {
    /// Runs the command with a fault at call `at`; how it ended and which calls it made.
    fn faulty(
        &self,
        package: &Package,
        fault: Option<(usize, &str)>,
    ) -> (Option<i32>, Option<i32>, Vec<String>) {
        let log = package.path("calls");
        let mut command = package.command(self.args);
        command.env("LD_PRELOAD", injector()).env("FAULT_ROOT", package.path("cache")).env("FAULT_LOG", &log);
        if let Some((at, kind)) = fault {
            command.env("FAULT_AT", at.to_string()).env("FAULT_KIND", kind);
        }
        if !self.exchange {
            command.env("FAULT_NO_EXCHANGE", "1");
        }
        let status = command.output().expect("starts").status;
        let calls = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        (status.code(), status.signal(), calls.lines().map(str::to_owned).collect())
    }

    /// The faults at every call that are tried; how many calls there are.
    fn hold(&self) -> usize {
        let whole = Package::of(&self.before);
        let locked = whole.lock().kernels;
        let old: Vec<Option<Record>> = locked.iter().map(|locked| whole.entry(locked)).collect();
        let (code, _, calls) = self.faulty(&whole, None);
        assert_eq!(code, Some(0), "{}: without a fault", self.name);
        assert!(calls.len() > 10, "{}: {calls:?}", self.name);
        if self.exchange {
            assert!(
                calls.iter().any(|call| call == "rename" || call == "renameat2"),
                "{}: {calls:?}",
                self.name
            );
        }
        let after = whole.cache();
        assert!(remains(&whole.path("cache")).is_empty(), "{}: remains of a whole run", self.name);
        let (every, first) = self.sample();
        let points = (1..=calls.len()).flat_map(|at| KINDS.map(|kind| (at, kind)));
        let tried: Vec<_> = points.skip(first).step_by(every).collect();
        tried.iter().for_each(|(at, kind)| self.survives(*at, kind, (&locked, &old), &after));
        println!(
            "{}: {} calls, {} faults of {}",
            self.name,
            calls.len(),
            tried.len(),
            calls.len() * KINDS.len()
        );
        calls.len()
    }

    /// Of how many faults one is tried, and which is the first.
    fn sample(&self) -> (usize, usize) {
        if stress() > 50 {
            return (1, 0);
        }
        let mut hasher = DefaultHasher::new();
        (std::env::var("CUTEGEN_SAMPLE_SEED").ok(), self.name).hash(&mut hasher);
        (self.every, (hasher.finish() % self.every as u64) as usize)
    }

    fn survives(&self, at: usize, kind: &str, (locked, old): (&[Locked], &[Option<Record>]), after: &Files) {
        let package = Package::of(&self.before);
        let case = format!("{}, {kind} at call {at}", self.name);
        let (code, signal, calls) = self.faulty(&package, Some((at, kind)));
        let case = format!("{case} ({:?})", calls.get(at - 1));
        match kind {
            "KILL" => assert_eq!((code, signal), (None, Some(9)), "{case}"),
            _ => assert!(code.is_some_and(|code| (0..4).contains(&code)), "{case}: {code:?} {signal:?}"),
        }
        if !self.exchange {
            drop(package.store().hold().expect("held")); // as the next writer does
        }
        for key in package.store().keys().expect("listed") {
            let is_whole = package.store().get_full(&key).hit().is_some();
            assert!(is_whole || self.is_damaged(), "{case}: {key} is not whole");
        }
        let now = package.lock();
        for (kernel, old) in locked.iter().zip(old) {
            let there = now.get(&kernel.name, &kernel.target);
            let is_undeclared = kernel.name == "gone";
            assert!(there.is_some() || is_undeclared, "{case}: {} is not locked any more", kernel.name);
            let is_there = package.entry(kernel).is_some();
            assert!(is_there || old.is_none(), "{case}: the entry of {} is lost", kernel.name);
        }
        // again
        let ran = package.run(self.args);
        assert!(ran.ok, "{case}, again: {}\n{}", ran.stdout, ran.stderr);
        // one that was killed as it cleared up leaves nothing to write, so what is left waits for the next that writes
        drop(Change::begin(&package.store(), package.path("cache/cutegen.lock")).expect("begins"));
        assert!(remains(&package.path("cache")).is_empty(), "{case}: {:?}", remains(&package.path("cache")));
        let (found, after) = (package.cache(), after);
        assert_eq!(found.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{case}");
        if !self.varies {
            assert!(&found == after, "{case}: another end");
        }
        let checked = package.run(&["check", "silu_mul"]);
        assert!(checked.ok || !locked.iter().any(|k| k.name == "silu_mul"), "{case}: {}", checked.stderr);
    }

    fn is_damaged(&self) -> bool {
        self.name.contains("damaged")
    }
}

/// Both ways of replacing an entry.
fn both_ways(name: &str, before: &Files, args: &[&str]) {
    for (exchange, way) in [(true, "names exchanged"), (false, "in two renames")] {
        let name = format!("{name}, {way}");
        let case = Case { name: &name, before: before.clone(), args, every: COPIES, exchange, varies: false };
        assert!(case.hold() > 20, "{name}");
    }
}

#[test]
fn accept_of_new_entries() {
    let args: &[&str] = &["accept", "--results", "@tuned.tgz"];
    let before = Package::new().files();
    let case = Case { name: "accept, new", before, args, every: COPIES, exchange: true, varies: false };
    assert!(case.hold() > 20);
}

#[test]
fn accept_of_other_entries() {
    let package = Package::new();
    package.done(&["accept", "--results", "@naive.tgz"]);
    both_ways("accept, replacing", &package.files(), &["accept", "silu_mul", "--results", "@tuned.tgz"]);
}

/// `twin` is locked with `silu_mul`, which asks the same, and `gone` is dropped.
#[test]
fn lock_of_what_is_at_hand() {
    let package = Package::new();
    package.done(&["accept", "--results", "@tuned.tgz"]);
    let mut lock = package.lock();
    let mut gone = lock.kernels.pop().expect("some");
    assert_eq!(gone.name, "z_norm");
    lock.set(gone.clone());
    lock.kernels.retain(|kernel| kernel.name != "twin");
    gone.name = "gone".to_owned();
    lock.set(gone);
    cutegen_build::store::lock_file::write(&package.path("cache/cutegen.lock"), &lock).expect("written");
    let specs = fs::read_to_string(package.path("specs/some.toml")).expect("specs");
    let specs = specs.split("[kernels.twice]").next().expect("a head").to_owned();
    cutegen_tests::write(&package.path("specs/some.toml"), &specs);
    let args: &[&str] = &["lock", "--prune"];
    let case = Case {
        name: "lock, pinning",
        before: package.files(),
        args,
        every: COPIES,
        exchange: true,
        varies: false,
    };
    assert!(case.hold() > 10);
}

#[test]
fn lock_of_what_is_compiled() {
    install_toolchain();
    let every = COMPILES;
    let empty = Package::new();
    let args: &[&str] = &["lock", "twice"];
    let before = empty.files();
    Case { name: "lock, from nothing", before, args, every, exchange: true, varies: false }.hold();

    let damaged = Package::new();
    damaged.done(args);
    let entry = damaged.store().entry_dir(&damaged.lock().kernels[0].key);
    fs::write(entry.join("naive.o"), b"x").expect("damaged");
    for exchange in [true, false] {
        let name = format!("lock, over a damaged entry, exchange {exchange}");
        Case { name: &name, before: damaged.files(), args, every, exchange, varies: false }.hold();
    }
}

#[test]
fn verify_record() {
    install_toolchain();
    let package = Package::new();
    package.done(&["lock", "twice"]);
    let args: &[&str] = &["verify", "--record", "twice"];
    for (exchange, every) in [(true, JUDGES), (false, 2 * JUDGES)] {
        let name = format!("verify --record, exchange {exchange}");
        Case { name: &name, before: package.files(), args, every, exchange, varies: true }.hold();
    }
}
