//! `lock --renew` on entries as an older printer and older flags made them, and with the evidence of their day: what changes,
//! what stays, and that no kill loses anything.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use cutegen_build::store::{Entry, Files, Store, lock_file};
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::lock::{Locked, Pinned};
use cutegen_spec::record::{Evidence, GATE, Kind, Record, Seeds, Timing, Variant, incumbent};
use cutegen_tests::{Ran, install_toolchain, workspace, write};

use super::package::Package;

const ON_GPU: &str = "edition = 1
[kernels.mul_on_gpu]
axes = { n = '1..=1073741824' }
inputs = { g = 'bf16[n]', u = 'bf16[n]' }
outputs = { y = 'bf16[n]' }
math = 'y[n] = silu(g[n]) * u[n]'
targets = ['sm_90a']
";

/// Names here, and of the example's kernel that asks the same, with where its target begins.
const KERNELS: [(&str, &str, &str); 4] = [
    ("mul_on_gpu", "silu_mul", "sm_90a"),
    ("silu_mul", "silu_mul", "host"),
    ("twin", "silu_mul", "host"),
    ("z_norm", "rms_norm", "host"),
];

/// An entry of the example's store, and the target that it is locked for.
fn committed(kernel: &str, target: &str) -> (Entry, String) {
    let example = workspace().join("example-app");
    let lock = lock_file::read(&example.join("cutegen.lock")).expect("a lock");
    let is_it = |k: &&Locked| k.name == kernel && k.target.starts_with(target);
    let locked = lock.kernels.iter().find(is_it).expect("locked");
    let entry = Store::new(example.join("cutegen-store")).get_full(&locked.key).hit();
    (entry.expect("a whole entry"), locked.target.clone())
}

fn timed(against: &str) -> Timing {
    Timing { incumbent: against.to_owned(), micros: 7.0, speedup: 2.0, ..Timing::default() }
}

/// The entry as it may have been: its naive kernel by another printer, host objects by other flags, all judged and timed.
fn aged(entry: &Entry, is_host: bool) -> (Record, Files) {
    let (mut record, mut files) = (entry.record.clone(), Files::new());
    for (at, variant) in record.variants.iter_mut().enumerate() {
        let (mut artifact, mut source) = (entry.artifacts[at].clone(), entry.sources[at].clone());
        if variant.kind == Kind::Naive {
            source.extend(b"// by an older printer\n");
        }
        if is_host {
            artifact.extend(b"by other flags");
            let digest = ArtifactDigest::of(&artifact);
            (variant.artifact.artifact, variant.artifact.stored) = (digest, digest);
            variant.artifact.bytes = artifact.len() as u64;
        }
        variant.source.digest = ArtifactDigest::of(&source);
        variant.evidence = Some(Evidence {
            gate: GATE,
            device: if is_host { "host x86_64" } else { "NVIDIA H100, sm_90" }.to_owned(),
            sanitizer: "clean: memcheck".to_owned(),
            seeds: Seeds { judging: 3, timing: Some(3) },
            timings: [incumbent::NAIVE, incumbent::CUBLASLT].map(timed).to_vec(),
            ..Evidence::default()
        });
        files.push((variant.artifact.file.clone(), artifact));
        files.push((variant.source.file.clone(), source));
    }
    (record, files)
}

/// A library whose entries are all of another day. `twice` is not locked.
fn library() -> Package {
    install_toolchain();
    let package = Package::new();
    write(&package.path("specs/gpu.toml"), ON_GPU);
    let mut lock = package.lock();
    for (name, example, target) in KERNELS {
        let (entry, target) = committed(example, target);
        let (record, files) = aged(&entry, target.starts_with("host"));
        let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
        package.store().put(&record, &files).expect("put");
        lock.set(Locked::pin(name, &target, &record));
    }
    lock_file::write(&package.path("cache/cutegen.lock"), &lock).expect("written");
    package
}

fn record(package: &Package, name: &str) -> Record {
    let lock = package.lock();
    let locked = lock.kernels.iter().find(|locked| locked.name == name).expect("locked");
    let record = package.entry(locked).expect("a whole entry");
    assert!(locked.matches(&record), "{name}: the lock pins what lies there");
    record
}

fn naive(record: &Record) -> &Variant {
    record.variants.last().expect("a variant")
}

fn exits(ran: &Ran, code: i32) {
    assert_eq!(ran.code, Some(code), "--- stdout\n{}\n--- stderr\n{}", ran.stdout, ran.stderr);
}

#[test]
fn what_is_made_otherwise_today_is_renewed_and_nothing_else() {
    let package = library();
    let old = KERNELS.map(|(name, ..)| record(&package, name));
    let ran = package.done(&["lock", "--renew"]);
    let tuned: Vec<Vec<&Variant>> =
        old.iter().map(|r| r.variants.iter().filter(|v| v.kind == Kind::Tuned).collect()).collect();
    assert!(tuned.iter().all(|tuned| !tuned.is_empty()), "all are tuned");
    assert!(ran.stdout.contains("mul_on_gpu on sm_90a: renewed: naive\n"), "{}", ran.stdout);
    for (name, tuned) in [("silu_mul", &tuned[1]), ("twin", &tuned[1]), ("z_norm", &tuned[3])] {
        let names: Vec<&str> = tuned.iter().map(|variant| variant.name.as_str()).collect();
        let told = format!(
            "{name} on host:x86_64-unknown-linux-gnu:x86-64-v3: renewed: {}, naive\n",
            names.join(", ")
        );
        assert!(ran.stdout.contains(&told), "{told}{}", ran.stdout);
    }
    assert!(ran.stdout.contains("4 kernels renewed, 0 as they were\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("cargo cutegen verify --record"), "{}", ran.stderr);

    // the naive kernels are those that `lock` makes where nothing is locked
    let fresh = Package::new();
    write(&fresh.path("specs/gpu.toml"), ON_GPU);
    fresh.done(&["lock"]);
    for ((name, ..), old) in KERNELS.iter().zip(&old) {
        let new = record(&package, name);
        assert_eq!(naive(&new), naive(&record(&fresh, name)), "{name}");
        assert_eq!(naive(&new).evidence, None, "{name}");
        assert_eq!(new.variants.len(), old.variants.len(), "{name}");
        for (new, old) in new.variants.iter().zip(&old.variants) {
            let dispatch =
                |v: &Variant| (v.name.clone(), v.eligibility.clone(), v.prefer.clone(), v.tiles.clone());
            assert_eq!(dispatch(new), dispatch(old), "{name}");
        }
    }
    for (name, old) in [("silu_mul", &old[1]), ("z_norm", &old[3])] {
        let new = record(&package, name);
        for (new, old) in new.variants.iter().zip(&old.variants).filter(|(_, old)| old.kind == Kind::Tuned) {
            assert_ne!(new.artifact.artifact, old.artifact.artifact, "{name}: other flags gave other bytes");
            assert_eq!(
                (&new.source, &new.contract, &new.evidence),
                (&old.source, &old.contract, &None),
                "{name}"
            );
        }
    }
    assert_eq!(record(&package, "silu_mul"), record(&package, "twin"));
    // the cubins are what they were, and so is what was seen of them, but for the times against what is gone
    let (new, old) = (record(&package, "mul_on_gpu"), &old[0]);
    for (new, old) in new.variants.iter().zip(&old.variants).filter(|(_, old)| old.kind == Kind::Tuned) {
        assert_eq!(Pinned::of(new), Pinned::of(old));
        let (new, old) = (new.evidence.clone().expect("kept"), old.evidence.clone().expect("planted"));
        assert_eq!(new.timings, [timed(incumbent::CUBLASLT)]);
        assert_eq!(new.not_timed, ["naive: it was another kernel, and was renewed"]);
        assert_eq!(Evidence { timings: old.timings.clone(), not_timed: Vec::new(), ..new }, old);
    }

    // today's compilers make the same again; and nothing has judged it
    exits(&package.run(&["verify", "--rebuild"]), 0);
    let checked = package.done(&["check"]);
    assert!(
        checked.stdout.contains("not judged") || checked.stderr.contains("not judged"),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    let whole = package.cache();
    let again = package.done(&["lock", "--renew"]);
    assert!(again.stdout.ends_with("\n0 kernels renewed, 5 as they were\n"), "{}", again.stdout);
    assert_eq!(package.cache(), whole, "nothing changes twice");
}

#[test]
fn a_renewal_that_is_killed_loses_nothing_and_is_gone_on_with() {
    let aged = library();
    let (files, old_lock) = (aged.files(), aged.lock());
    let mut child = aged.command(&["lock", "--renew"]).stdout(Stdio::piped()).spawn().expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a kernel is done");
    child.kill().expect("killed");
    child.wait().expect("ends");
    assert!(line.contains("renewed: "), "{line}");
    KERNELS.iter().for_each(|(name, ..)| drop(record(&aged, name)));
    aged.done(&["lock", "--renew"]);

    let whole = Package::of(&files);
    whole.done(&["lock", "--renew"]);
    assert_eq!(aged.cache(), whole.cache(), "as if nothing had happened");

    // killed behind the entries, before the lock: a plain lock must not take that for nothing
    let renewed = whole.cache();
    lock_file::write(&whole.path("cache/cutegen.lock"), &old_lock).expect("written");
    let before = whole.cache();
    let ran = whole.run(&["lock", "z_norm"]);
    exits(&ran, 1);
    assert!(ran.stderr.contains("run: cargo cutegen lock --renew z_norm"), "{}", ran.stderr);
    assert_eq!(whole.cache(), before, "nothing was written");
    let ran = whole.done(&["lock", "--renew"]);
    assert!(
        ran.stdout
            .contains("z_norm on host:x86_64-unknown-linux-gnu:x86-64-v3: renewed before, pinned now\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(whole.cache(), renewed);
}

#[test]
fn bytes_that_are_neither_pinned_nor_made_today_are_not_pinned() {
    let package = library();
    let (entry, target) = committed("rms_norm", "host");
    let (mut record, mut files) = aged(&entry, true);
    let forged = [files[0].1.as_slice(), b", or by hand"].concat();
    let digest = ArtifactDigest::of(&forged);
    let artifact = &mut record.variants[0].artifact;
    (artifact.artifact, artifact.stored, artifact.bytes) = (digest, digest, forged.len() as u64);
    files[0].1 = forged;
    let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
    package.store().put(&record, &files).expect("put");
    let before = fs::read(package.path("cache/cutegen.lock")).expect("a lock");
    let ran = package.run(&["lock", "--renew", "z_norm"]);
    exits(&ran, 1);
    let told = format!(
        "z_norm on {target}: `{}` is neither what the lock pins nor what is made today",
        record.variants[0].name
    );
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    assert_eq!(fs::read(package.path("cache/cutegen.lock")).expect("a lock"), before);
}
