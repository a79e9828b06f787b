//! Evidence that an author wrote: no gate of this program, no device that runs the kernel. Entries are those of the library,
//! changed and packed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::GATE;
use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, workspace, write};

use crate::migrate::{entry_of, exits, forge, lock_text};
use crate::resealed::key_of;

/// The gate that judged the library's `silu_mul`.
const COMMITTED: u32 = 7;
const H200: &str = "NVIDIA H200, sm_90, driver 580 (CUDA 13.0)";

/// The library, whose `silu_mul` may be changed, and a package that accepts it.
struct Results {
    store: PathBuf,
    package: PathBuf,
}

impl Results {
    fn new(name: &str, min_gate: u32) -> Self {
        let store = scratch(&format!("forged-{name}"));
        for (from, to) in [("kernel-specs", "specs"), ("cache", "cache")] {
            must(Command::new("cp").arg("-r").arg(workspace().join(from)).arg(store.join(to)));
        }
        let package = scratch(&format!("forged-{name}-package"));
        let head = "[package]\nname = \"taker\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[package.metadata.cutegen]\n";
        write(&package.join("Cargo.toml"), &format!("{head}min-gate = {min_gate}\nspecs = \"specs\"\n"));
        must(Command::new("cp").arg("-r").arg(store.join("specs")).arg(&package));
        Self { store, package }
    }

    fn entry(&self, target: &str) -> PathBuf {
        entry_of(&self.store, &key_of(&lock_text(&self.store), "silu_mul", target))
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = cutegen(&self.store.join("home"));
        run(command.args(args).arg("--manifest-path").arg(self.package.join("Cargo.toml")))
    }

    /// Packs what lies in the store and accepts it.
    fn accept(&self, target: &str) -> Ran {
        let file = self.store.join("r.tgz");
        must(Command::new("tar").arg("czf").arg(&file).arg("-C").arg(self.store.join("cache")).arg("v1"));
        self.run(&["accept", "silu_mul", "--target", target, "--results", &file.display().to_string()])
    }

    fn refused(&self, target: &str, why: &str) {
        let ran = self.accept(target);
        exits(&ran, 1);
        assert!(
            ran.stderr.starts_with("nothing is accepted:\n") && ran.stderr.contains(why),
            "{why}: {}",
            ran.stderr
        );
        assert!(!self.package.join("cutegen.lock").exists(), "nothing is pinned");
    }
}

#[test]
fn accept_says_whose_evidence_it_takes() {
    let results = Results::new("honest", COMMITTED);
    let ran = results.accept("sm_90a");
    exits(&ran, 0);
    let told = format!("judged by gate {COMMITTED} on {H200}, by the word of the file, not here\n");
    assert!(ran.stdout.ends_with(&told), "{}", ran.stdout);
    let explained = results.run(&["explain", "silu_mul", "--target", "sm_90a"]);
    exits(&explained, 0);
    let said = explained.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = format!(
        "evidence came with the record, judged by gate {COMMITTED} on {H200}; nothing was judged here"
    );
    assert!(said.contains(&told), "{}", explained.stdout);
}

#[test]
fn a_gate_above_ours_is_below_every_min_gate() {
    let results = Results::new("gate", COMMITTED);
    forge(&results.entry("host"), |record| {
        record.replace(&format!("gate = {COMMITTED}\n"), "gate = 4294967295\n")
    });
    results.refused("host", "judged or timed by gate 4294967295");
    // without a min-gate it is taken, as a kernel that nothing has judged
    write(
        &results.package.join("Cargo.toml"),
        &fs::read_to_string(results.package.join("Cargo.toml"))
            .expect("a manifest")
            .replace("min-gate = ", "# "),
    );
    let ran = results.accept("host");
    exits(&ran, 0);
    let checked = results.run(&["check", "silu_mul", "--target", "host"]);
    exits(&checked, 0);
    let warned = "warning: judged or timed by gate 4294967295, later than gate ";
    assert!(
        checked.stdout.contains(warned) && !checked.stdout.contains("x\n"),
        "no speed-up: {}",
        checked.stdout
    );
    exits(&results.run(&["check", "silu_mul", "--target", "host", "--min-gate", "1"]), 1);
}

#[test]
fn a_device_that_does_not_run_the_kernel_has_judged_nothing() {
    let results = Results::new("device", 1);
    for (target, from, to) in [("host", "host x86_64", H200), ("sm_90a", H200, "host x86_64")] {
        let path = results.entry(target).join("record.toml");
        let honest = fs::read_to_string(&path).expect("a record");
        forge(&results.entry(target), |record| {
            record.replace(&format!("device = \"{from}\""), &format!("device = \"{to}\""))
        });
        results.refused(target, &format!("and was judged on {to}"));
        write(&path, &honest);
    }
}

#[test]
fn a_naive_kernel_that_is_launched_otherwise_is_not_accepted() {
    for target in ["host", "sm_90a"] {
        let results = Results::new("naive", 1);
        forge(&results.entry(target), |record| {
            let (before, after) = record.rsplit_once("\"ptr(t0)\"").expect("an argument");
            format!("{before}\"ptr(t1)\"{after}")
        });
        results.refused(target, "`naive` is not launched as the naive kernel that is printed from the math");
    }
}

/// What `verify --record` keeps of an earlier judging it can tie to a gate.
#[test]
fn timings_of_a_gate_that_is_not_known_are_dropped() {
    install_toolchain();
    let folder = scratch("forged-timings");
    let manifest = "[package]\nname = \"timed\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[package.metadata.kernels.twice]\n\
                    axes = { n = \"1..=64\" }\ninputs = { x = \"f32[n]\" }\noutputs = { y = \"f32[n]\" }\n\
                    math = \"y[n] = x[n] + x[n]\"\nworkloads = [{ n = 64 }]\ntargets = [\"host\"]\n";
    write(&folder.join("Cargo.toml"), manifest);
    let on = |args: &[&str]| {
        let home = workspace().join("target/suite/forged-home");
        run(cutegen(&home).args(args).arg("--manifest-path").arg(folder.join("Cargo.toml")))
    };
    exits(&on(&["lock"]), 0);
    exits(&on(&["verify", "--record"]), 0);
    let lock = fs::read_to_string(folder.join("cutegen.lock")).expect("a lock");
    let key = key_of(&lock, "twice", "host");
    let path = folder.join("cutegen-store/v1").join(&key[..2]).join(&key).join("record.toml");
    for (gate, kept) in [(GATE, true), (GATE + 1, false)] {
        forge_timing(&path, gate);
        exits(&on(&["verify", "--record"]), 0);
        let record = fs::read_to_string(&path).expect("a record");
        assert_eq!(record.contains("speedup = 5000.0"), kept, "gate {gate}:\n{record}");
        assert!(record.contains(&format!("gate = {GATE}\n")) && !record.contains("timed-by"), "{record}");
    }
}

/// As if a gate had timed the one variant of a record.
fn forge_timing(path: &Path, gate: u32) {
    let text = fs::read_to_string(path).expect("a record");
    let body = text.split_once('\n').expect("a seal").1;
    let lines: Vec<&str> = body.lines().collect();
    let timing = "[[variants.evidence.timings]]\nmicros = 0.1\nincumbent = \"naive\"\nspeedup = 5000.0\nlow = 4999.0\n\
                  high = 5001.0\nsamples = 30\n\n[variants.evidence.timings.workload]\nn = 64\n";
    let forged = lines.join("\n").replace(&format!("gate = {GATE}"), &format!("gate = {gate}"));
    let forged = if forged.contains("speedup = 5000.0") {
        format!("{forged}\n")
    } else {
        format!("{forged}\n\n{timing}")
    };
    let seal = ArtifactDigest::of(forged.as_bytes());
    write(path, &format!("# sha256 of the lines below: {seal}\n{forged}"));
}
