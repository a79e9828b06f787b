//! How long a locked build takes for 100 kernels of 40 KB, host and `sm_90a` by turns, and where the time goes.
//!
//! Makes a package in a temporary folder, its records cut from the example's committed ones, and replays it in a
//! fresh process per sample, as a build script is one. Each sample is taken twice: with an archiver that makes an
//! empty file, so that what is left is lookup, verification and writing, and with the real one, timed apart.
//! It waits for a quiet machine before each, keeps every sample, and counts those beside which others ran all the
//! same. Prints one JSON object:
//! `cargo run --release -p cutegen-build --example replay_speed`
#![expect(clippy::unwrap_used, reason = "an example")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use cutegen_build::cargo::Build;
use cutegen_build::discover::Project;
use cutegen_build::emit::{self, EmitKernel, Package};
use cutegen_build::event::Silent;
use cutegen_build::inspect::object::canonical;
use cutegen_build::pipeline;
use cutegen_build::plan::Plan;
use cutegen_build::store::replay::replay;
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_spec::contract::Contract;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::lock::{Lock, Locked};
use cutegen_spec::record::Record;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

const KERNELS: usize = 100;
const BYTES: usize = 40 << 10;
const SAMPLES: usize = 15;
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => parent(),
        ["parts", package] => parts(Path::new(package)),
        ["whole", package] => whole(Path::new(package)),
        // asked as an archiver: `crsD ARCHIVE MEMBER...`
        ["crsD", archive, ..] => fs::write(archive, b"").unwrap(),
        _ => panic!("takes no arguments"),
    }
}

/// Milliseconds of every sample, by part.
fn parent() {
    let folder = std::env::temp_dir().join(format!("cutegen-replay-speed-{}", std::process::id()));
    let stored = make_package(&folder);
    let mut rows: [Vec<f64>; 5] = Default::default();
    let (mut busy, mut first) = (0, true);
    while rows[0].len() < SAMPLES {
        let quiet = wait_until_quiet();
        let parts = child(&folder, "parts", true);
        let whole = child(&folder, "whole", false);
        let values = [parts[0], parts[1], parts[2], archive(&folder), whole[0]];
        // the first one reads what the disk has not yet given
        if std::mem::take(&mut first) {
            continue;
        }
        busy += usize::from(!quiet || !is_quiet());
        rows.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
    }
    fs::remove_dir_all(&folder).unwrap();
    let [specs, lookup, emit, archive, whole] = rows.map(|row| format!("{row:.3?}"));
    let build = if cfg!(debug_assertions) { "opt-level 0" } else { "opt-level 3" };
    println!(
        "{{\"build\": \"{build}\", \"kernels\": {KERNELS}, \"stored_bytes\": {stored}, \"busy\": {busy}, \"specs_ms\": {specs}, \
         \"lookup_ms\": {lookup}, \"emit_ms\": {emit}, \"archive_ms\": {archive}, \"whole_ms\": {whole}}}"
    );
}

/// Waits until no other process has wanted a core for half a second, at most ten; says whether it came to that.
fn wait_until_quiet() -> bool {
    let mut still = 0;
    for _ in 0..100 {
        still = if is_quiet() { still + 1 } else { 0 };
        if still == 5 {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    false
}

/// Whether this thread is the only one that runs.
fn is_quiet() -> bool {
    let load = fs::read_to_string("/proc/loadavg").unwrap();
    load.split_whitespace().nth(3).is_some_and(|running| running.starts_with("1/"))
}

fn child(package: &Path, what: &str, mock_archiver: bool) -> Vec<f64> {
    let _ = fs::remove_dir_all(package.join("out"));
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(&program);
    command.arg(what).arg(package).env_remove("AR");
    if mock_archiver {
        command.env("AR", &program);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

/// Specs to plans, plans to verified entries, entries to files.
fn parts(package: &Path) {
    let start = Instant::now();
    let project = Project::package(package).unwrap();
    let plans = Plan::all(&project.specs);
    let planned = start.elapsed();
    let entries = entries(&project, &plans);
    let found = start.elapsed();
    let kernels: Vec<EmitKernel<'_>> = plans
        .iter()
        .zip(&entries)
        .map(|(plan, entry)| EmitKernel { plan, record: &entry.record, artifacts: &entry.artifacts })
        .collect();
    assert_eq!(kernels.len(), KERNELS);
    let of = Package { name: "replayed", version: "0.1.0", triple: TRIPLE, host: TRIPLE };
    emit::emit(&of, &kernels, &package.join("out")).unwrap();
    let emitted = start.elapsed();
    for part in [planned, found - planned, emitted - found] {
        println!("{}", part.as_secs_f64() * 1e3);
    }
}

fn entries(project: &Project, plans: &[Plan]) -> Vec<Entry> {
    let lock = lock_file::read(&project.lock).unwrap();
    let store = Store::new(&project.store);
    plans.iter().map(|plan| replay(&pipeline::request(plan, project, &lock, &store)).unwrap()).collect()
}

/// All that a build script does, the real archiver within.
fn whole(package: &Path) {
    let build = Build {
        manifest_dir: package.to_owned(),
        out_dir: package.join("out"),
        package: "replayed".to_owned(),
        version: "0.1.0".to_owned(),
        triple: TRIPLE.to_owned(),
        host: TRIPLE.to_owned(),
        mode: None,
        release: false,
        docs_rs: false,
    };
    let start = Instant::now();
    pipeline::run(&build, &mut Silent).unwrap();
    println!("{}", start.elapsed().as_secs_f64() * 1e3);
}

/// The archiver by itself on the members of the last emit.
fn archive(package: &Path) -> f64 {
    let folder = package.join("out").join(emit::FOLDER).join("objects");
    let files = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    let members: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "o")).collect();
    let start = Instant::now();
    let status = Command::new("ar").arg("crsD").arg(package.join("out/again.a")).args(members).status();
    assert!(status.unwrap().success());
    start.elapsed().as_secs_f64() * 1e3
}

/// Specs, lock and store of a package; returns the bytes of its artifacts.
fn make_package(folder: &Path) -> usize {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    let kernel = |i: usize| {
        format!(
            "[package.metadata.kernels.silu_mul_{i}]\naxes = {{ n = '1..={}' }}\n\
             inputs = {{ g = 'bf16[n]', u = 'bf16[n]' }}\noutputs = {{ y = 'bf16[n]' }}\n\
             math = 'y[n] = silu(g[n]) * u[n]'\ntargets = ['{}']\nworkloads = [{{ n = 180224 }}]\n",
            (1 << 20) + i,
            if i.is_multiple_of(2) { "host" } else { "sm_90a" }
        )
    };
    let kernels: String = (0..KERNELS).map(kernel).collect();
    let head = "[package]\nname = \"replayed\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(folder.join("Cargo.toml"), format!("{head}{kernels}")).unwrap();
    let project = Project::package(folder).unwrap();
    let store = Store::new(&project.store);
    let [host, cuda] = [true, false].map(|host| padded(&committed(host), host));
    let (mut lock, mut stored) = (Lock::default(), 0);
    for (i, plan) in Plan::all(&project.specs).iter().enumerate() {
        let entry = if plan.target.is_host() { &host } else { &cuda };
        let (record, files) = answer(plan, entry, i);
        stored += record.variants.iter().map(|v| files[&v.artifact.file].len()).sum::<usize>();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
        store.put(&record, &files).unwrap();
        lock.set(Locked::pin(plan.spec.name.as_str(), &plan.target.to_string(), &record));
    }
    lock_file::write(&project.lock, &lock).unwrap();
    stored
}

/// `silu_mul` of the example, as a search found it.
fn committed(host: bool) -> Entry {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("example-app");
    let project = Project::package(&root).unwrap();
    let plans = Plan::all(&project.specs);
    let named = |plan: &&Plan| plan.spec.name.as_str() == "silu_mul" && plan.target.is_host() == host;
    let plan = plans.iter().find(named).unwrap();
    Store::new(&project.store).get_full(&plan.key).hit().unwrap()
}

type Files = std::collections::BTreeMap<String, Vec<u8>>;

/// A committed answer with its judged bytes, of which the tuned ones are padded until all files have [`BYTES`].
struct Padded {
    entry: Entry,
    judged: Vec<Vec<u8>>,
}

fn padded(entry: &Entry, host: bool) -> Padded {
    if host { padded_object(entry) } else { padded_cubin(entry) }
}

/// The tuned object with constants beside its own, in the form that the inspection writes.
fn padded_object(entry: &Entry) -> Padded {
    let mut judged = entry.artifacts.clone();
    let more = BYTES - judged.iter().map(Vec::len).sum::<usize>();
    let noise: Vec<u8> = (0..more).map(|at| (SEED.wrapping_mul(at as u64) >> 56) as u8).collect();
    let folder = std::env::temp_dir().join(format!("cutegen-replay-object-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (object, constants) = (folder.join("object.o"), folder.join("constants"));
    fs::write(&object, &judged[0]).unwrap();
    fs::write(&constants, noise).unwrap();
    let mut objcopy = Command::new("objcopy");
    objcopy.arg(format!("--add-section=.rodata.more={}", constants.display()));
    objcopy.arg("--set-section-flags=.rodata.more=alloc,readonly,data").arg(&object);
    assert!(objcopy.status().unwrap().success());
    let entries = [entry.record.variants[0].contract.steps[0].entry.clone()];
    judged[0] = canonical(&fs::read(&object).unwrap(), &entries).unwrap();
    let _ = fs::remove_dir_all(&folder);
    Padded { entry: entry.clone(), judged }
}

fn padded_cubin(entry: &Entry) -> Padded {
    let variants = entry.record.variants.iter().zip(&entry.artifacts);
    let mut judged: Vec<Vec<u8>> =
        variants.map(|(variant, stored)| inflated(stored, variant.artifact.bytes)).collect();
    let others: usize = entry.artifacts[1..].iter().map(Vec::len).sum();
    let (first, mut more) = (judged[0].clone(), 0_u64);
    while stored(&judged[0], false).len() < BYTES - others {
        // code that is like the cubin's and not the same: a byte in four is another
        let mixed = first.iter().enumerate().map(|(at, byte)| match at % 4 {
            0 => byte ^ (SEED.wrapping_mul(more + at as u64) >> 56) as u8,
            _ => *byte,
        });
        judged[0].extend(mixed.take(2048));
        more += first.len() as u64;
    }
    Padded { entry: entry.clone(), judged }
}

/// Odd, with its bits spread: multiples of it look like noise.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

fn inflated(stored: &[u8], bytes: u64) -> Vec<u8> {
    let mut judged = vec![0; usize::try_from(bytes).unwrap()];
    let written = ruzstd::decoding::FrameDecoder::new().decode_all(stored, &mut judged).unwrap();
    assert_eq!(written, judged.len());
    judged
}

fn stored(judged: &[u8], host: bool) -> Vec<u8> {
    if host { judged.to_vec() } else { compress_to_vec(judged, CompressionLevel::Fastest) }
}

/// The padded answer as one to `plan`, none like another.
fn answer(plan: &Plan, Padded { entry, judged }: &Padded, number: usize) -> (Record, Files) {
    let mut record = Record { key: plan.key, question: plan.question.clone(), ..entry.record.clone() };
    let mut files = Files::new();
    for (at, variant) in record.variants.iter_mut().enumerate() {
        let mut bytes = judged[at].clone();
        if plan.target.is_host() {
            rename(&mut variant.contract, &mut bytes, number);
        } else {
            bytes.extend((number as u64).to_le_bytes());
        }
        let file = stored(&bytes, plan.target.is_host());
        (variant.artifact.artifact, variant.artifact.bytes) =
            (ArtifactDigest::of(&bytes), bytes.len() as u64);
        variant.artifact.stored = ArtifactDigest::of(&file);
        files.insert(variant.artifact.file.clone(), file);
        files.insert(variant.source.file.clone(), entry.sources[at].clone());
    }
    (record, files)
}

/// Gives the kernels of a host object entries of their own: two objects of one archive have none in common.
fn rename(contract: &mut Contract, bytes: &mut [u8], number: usize) {
    for step in &mut contract.steps {
        let (old, new) =
            (step.entry.clone(), format!("cutegen_{:016x}", digest(&step.entry) + number as u64));
        assert_eq!(old.len(), new.len());
        let places: Vec<usize> =
            (0..=bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old.as_bytes())).collect();
        places.iter().for_each(|at| bytes[*at..*at + new.len()].copy_from_slice(new.as_bytes()));
        step.entry = new;
    }
}

/// The number that an entry's name ends with.
fn digest(entry: &str) -> u64 {
    u64::from_str_radix(&entry["cutegen_".len()..], 16).unwrap() >> 1
}
