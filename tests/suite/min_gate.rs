//! `min-gate`: what nothing has judged, or an older gate, is not linked; `verify --record` is the way above it, here
//! and by way of another machine. The kernel is small, because it is really judged.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::cargo::Build;
use cutegen_build::discover::Project;
use cutegen_build::error::Error;
use cutegen_build::event::Silent;
use cutegen_build::pipeline;
use cutegen_build::plan::Plan;
use cutegen_build::store::{Entry, Lookup, Store};
use cutegen_spec::record::{GATE, ReferenceOn};
use cutegen_spec::settings::Mode;
use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, workspace, write};

const KERNEL: &str = "[package.metadata.kernels.twice]\naxes = { n = \"1..=64\" }\ninputs = { x = \"f32[n]\" }\n\
                      outputs = { y = \"f32[n]\" }\nmath = \"y[n] = x[n] + x[n]\"\nworkloads = [{ n = 64 }]\n";

/// A package with one small kernel for `host`.
struct Package(PathBuf);

impl Package {
    fn new(name: &str, min_gate: Option<u32>) -> Self {
        let package = Self(scratch(name));
        package.trusts(min_gate);
        package
    }

    fn trusts(&self, min_gate: Option<u32>) {
        let gate = min_gate.map(|gate| format!("min-gate = {gate}\n")).unwrap_or_default();
        let head = "[package]\nname = \"gated\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let text = format!("{head}\n[package.metadata.cutegen]\ntargets = [\"host\"]\n{gate}\n{KERNEL}");
        write(&self.0.join("Cargo.toml"), &text);
    }

    fn run(&self, args: &[&str]) -> Ran {
        let home = workspace().join("target/suite/min-gate-home");
        run(cutegen(&home).args(args).arg("--manifest-path").arg(self.0.join("Cargo.toml")))
    }

    fn does(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert!(ran.ok, "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran
    }

    /// What the last command of a failure says to run.
    fn told(&self, args: &[&str]) -> (Ran, Vec<String>) {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(1), "{}\n{}", ran.stdout, ran.stderr);
        let command = ran.stderr.lines().rev().find_map(|line| line.strip_prefix("run: cargo cutegen "));
        let (command, manifest) =
            command.and_then(|c| c.split_once(" --manifest-path ")).expect("a next command");
        assert_eq!(Path::new(manifest), self.0.join("Cargo.toml"));
        let command = command.split(' ').map(str::to_owned).collect();
        (ran, command)
    }

    /// A replaying build, without cargo around it.
    fn builds(&self) -> Result<(), Vec<Error>> {
        let triple = "x86_64-unknown-linux-gnu".to_owned();
        let build = Build {
            manifest_dir: self.0.clone(),
            out_dir: scratch("min-gate-out"),
            package: "gated".to_owned(),
            version: "0.1.0".to_owned(),
            triple: triple.clone(),
            host: triple,
            mode: Some(Mode::Locked),
            release: false,
            docs_rs: false,
        };
        pipeline::run(&build, &mut Silent).map(|_| ())
    }

    fn entry(&self) -> Entry {
        let project = Project::package(&self.0).expect("a project");
        let key = Plan::all(&project.specs)[0].key;
        match Store::new(&project.store).get_full(&key) {
            Lookup::Hit(entry) => entry,
            other @ (Lookup::Miss | Lookup::Corrupt(_)) => panic!("{other:?}"),
        }
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.0.join("cutegen.lock")).expect("a lock")
    }
}

fn is_below(built: Result<(), Vec<Error>>) -> bool {
    let errors = built.expect_err("a build that fails");
    errors.len() == 1 && matches!(&errors[0], Error::BelowGate(below) if below.kernel == "twice")
}

#[test]
fn the_key_does_not_know_the_gate() {
    let package = Package::new("min-gate-key", None);
    let key = || Plan::all(&Project::package(&package.0).expect("a project").specs)[0].key;
    let without = key();
    package.trusts(Some(1));
    assert_eq!(Project::package(&package.0).expect("a project").settings.min_gate, Some(1));
    assert_eq!(key(), without);
}

#[test]
fn what_nothing_judged_is_linked_only_without_a_min_gate() {
    install_toolchain();
    let (package, away) = (Package::new("min-gate", None), Package::new("min-gate-away", None));
    package.does(&["lock"]);
    let checked = package.does(&["check"]);
    assert!(checked.stdout.contains("warning: not judged: twice/naive on host\n"), "{}", checked.stdout);
    package.builds().expect("nothing asks for evidence");

    package.trusts(Some(GATE));
    let (failed, next) = package.told(&["check"]);
    let said =
        format!("its evidence is below min-gate = {GATE}\n  naive: not judged, which is below every gate\n");
    assert!(
        failed.stderr.contains("kernel `twice` for host:") && failed.stderr.contains(&said),
        "{}",
        failed.stderr
    );
    assert!(is_below(package.builds()));
    // it passes the judge, and is still not trusted: nobody wrote that down
    let (verified, again) = package.told(&["verify"]);
    assert!(verified.stdout.contains("passed: "), "{}", verified.stdout);
    assert_eq!(next, again);

    copy(&package.0, &away.0);
    recorded(&package, &next, &away);
}

/// `next`, the command of the message, brings `package` above the gate, and with its results `away` too.
fn recorded(package: &Package, next: &[String], away: &Package) {
    let (before, lock) = (package.entry(), package.lock());
    let results = package.0.join("results.tar.gz").display().to_string();
    let args: Vec<&str> = next.iter().map(String::as_str).chain(["--results", &results]).collect();
    package.does(&args);
    let after = package.entry();
    assert_eq!(
        (&after.artifacts, &after.sources, package.lock()),
        (&before.artifacts, &before.sources, lock)
    );
    let evidence = after.record.variants[0].evidence.clone().expect("judged");
    assert_eq!((evidence.gate, evidence.reference), (GATE, Some(ReferenceOn::Host)));
    assert!(evidence.elements > 0 && evidence.judge_seconds.is_some_and(|s| s > 0.0), "{evidence:?}");
    let checked = package.does(&["check"]);
    assert!(!checked.stdout.contains("warning"), "{}", checked.stdout);
    package.builds().expect("judged by this gate");
    let explained = package.does(&["explain", "twice"]);
    assert!(
        explained.stdout.contains(&format!("judged        by gate {GATE} on host")),
        "{}",
        explained.stdout
    );

    assert!(is_below(away.builds()));
    let lock = away.lock();
    away.does(&["accept", "--results", &results]);
    assert_eq!((away.lock(), away.entry().record), (lock, after.record));
    away.builds().expect("accepted");

    let (this, next) = (GATE.to_string(), (GATE + 1).to_string());
    package.does(&["check", "--min-gate", &this]);
    let by_flag = package.run(&["check", "--min-gate", &next]);
    package.trusts(Some(GATE + 1));
    // a flag lowers nothing
    for failed in [by_flag, package.run(&["check"]), package.run(&["check", "--min-gate", &this])] {
        assert_eq!(failed.code, Some(1), "{}", failed.stderr);
        assert!(failed.stderr.contains(&format!("naive: judged by gate {GATE}\n")), "{}", failed.stderr);
    }
    assert!(is_below(package.builds()));
}

fn copy(from: &Path, to: &Path) {
    must(std::process::Command::new("cp").arg("-rT").arg(from).arg(to));
}
