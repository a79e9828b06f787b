//! Compiled things, by the digest of what they are compiled from, in one folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use cutegen_build::compile::{
    CompileCache, CompileFor, CompileJob, CompileOutcome, CompileSetup, Limits, Workers, compile,
};
use cutegen_build::evaluate::{Candidate, KERNELS, OPTIONS};
use cutegen_build::generate;
use cutegen_build::print::reference::print_cuda;
use cutegen_build::toolchain::{Places, locate};

/// Where compiled things lie: the given folder, else one that is removed at the end.
static FOLDER: LazyLock<(PathBuf, Option<tempfile::TempDir>)> =
    LazyLock::new(|| match std::env::var_os("CUTEGEN_GPU_FIXTURES") {
        Some(folder) => (folder.into(), None),
        None => {
            let folder = tempfile::tempdir().expect("a folder");
            (folder.path().to_owned(), Some(folder))
        }
    });

/// Why kernels can neither be found nor compiled.
pub(crate) fn missing() -> Option<String> {
    if std::env::var_os("CUTEGEN_GPU_FIXTURES").is_some() {
        return None;
    }
    no_toolchain()
}

/// Why nothing can be compiled here.
pub(crate) fn no_toolchain() -> Option<String> {
    let toolchain = Places::from_env().and_then(|places| locate(&places));
    match toolchain {
        Ok(toolchain) if toolchain.nvrtc.is_some() && toolchain.cxx.is_some() => None,
        Ok(_) => Some("no NVRTC or no C++ compiler".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Compiles everything that any test needs.
pub(crate) fn prepare(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    let fresh = |path: PathBuf| println!("{}", path.display());
    fresh(reference_in(folder, &crate::bench::reference(0)));
    fresh(reference_in(folder, &crate::bars::reference()));
    fresh(own_cubin_in(folder, KERNELS, &OPTIONS));
    crate::bars::own_sources().for_each(|source| fresh(own_cubin_in(folder, &source, &[])));
    copy_specs(&crate::specs::texts_in(folder));
    let sources = crate::faults::sources().chain(crate::sanitized::sources()).chain(crate::bars::sources());
    let sources = sources.chain(crate::profile::sources()).chain(crate::tensor_maps::sources());
    sources.for_each(|(source, entries)| fresh(cubin_in(folder, &source, &entries)));
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    crate::corpora::prepare(folder, lanes);
    let rings: Vec<_> = crate::rings::plans().iter().flat_map(crate::rings::rings).collect();
    candidates_in(folder, &[rings, crate::template::in_parts()].concat());
    // all of the language: on every core
    let plans = Mutex::new(
        crate::specs::all().into_iter().chain(crate::template::more()).chain(crate::rows::plans()),
    );
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(plan) = { plans.lock().expect("not poisoned").next() } {
                    let (source, entries, _) = crate::specs::printed(&plan);
                    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
                    fresh(cubin_in(folder, &source, &entries));
                    match print_cuda(&plan) {
                        Some(printed) => fresh(own_cubin_in(folder, &printed.source, &printed.options)),
                        None => fresh(reference_in(folder, &cutegen_build::print::reference::print(&plan))),
                    }
                }
            });
        }
    });
}

/// Candidates as the gate takes them, in order: compiled on every core but for an eighth, as another process may time.
pub(crate) fn compiled(candidates: &[generate::Candidate]) -> Vec<Candidate> {
    candidates_in(&FOLDER.0, candidates)
}

fn candidates_in(folder: &Path, candidates: &[generate::Candidate]) -> Vec<Candidate> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let lanes = cores - cores / 8;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some((at, candidate)) = numbered(candidates, &next) {
                    let entries: Vec<&str> =
                        candidate.contract.steps.iter().map(|s| s.entry.as_str()).collect();
                    let artifact = cubin_in(folder, &candidate.source, &entries);
                    let gate = Candidate {
                        artifact,
                        contract: candidate.contract.clone(),
                        eligibility: candidate.eligibility.clone(),
                        prefer: Default::default(),
                        tiles: Vec::new(),
                        shared_memory: None,
                    };
                    done.lock().expect("not poisoned").push((at, gate));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("not poisoned");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, gate)| gate).collect()
}

fn numbered<'a, T>(all: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, all.get(at)?))
}

/// The specs of this checkout, by file.
fn specs_here() -> Vec<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-specs");
    // a machine that only has this binary and a checkout
    let root = if built.is_dir() { built } else { PathBuf::from("kernel-specs") };
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(|e| e.expect("readable"));
    files.map(|e| e.into_path()).filter(|path| path.extension().is_some_and(|e| e == "toml")).collect()
}

fn copy_specs(to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for (number, path) in specs_here().iter().enumerate() {
        std::fs::copy(path, to.join(format!("{number:03}.toml"))).expect("copied");
    }
}

/// The texts of all spec files: those that were prepared, else this checkout's.
pub(crate) fn spec_texts() -> Vec<String> {
    let prepared = crate::specs::texts_in(&FOLDER.0);
    let mut files = match std::fs::read_dir(&prepared) {
        Ok(entries) => entries.map(|e| e.expect("readable").path()).collect(),
        Err(_) => specs_here(),
    };
    files.sort();
    files.iter().map(|path| std::fs::read_to_string(path).expect("readable")).collect()
}

/// The compiled reference of the kernel that all tests share.
pub(crate) fn reference() -> PathBuf {
    reference_of(&crate::bench::reference(0))
}

/// The compiled form of a reference.
pub(crate) fn reference_of(source: &str) -> PathBuf {
    reference_in(&FOLDER.0, source)
}

/// The cubin of a source.
pub(crate) fn cubin(source: &str, entries: &[&str]) -> PathBuf {
    cubin_in(&FOLDER.0, source, entries)
}

/// The gate's own kernels.
pub(crate) fn gate_kernels() -> PathBuf {
    own_cubin(KERNELS, &OPTIONS)
}

/// The cubin of a source of ours.
pub(crate) fn own_cubin(source: &str, options: &[&str]) -> PathBuf {
    own_cubin_in(&FOLDER.0, source, options)
}

fn own_cubin_in(folder: &Path, source: &str, options: &[&str]) -> PathBuf {
    let path = folder.join(format!("{:016x}.own.cubin", fnv(source)));
    if !path.is_file() {
        let bytes = cutegen_build::compile::own_cubin(&setup(), "sm_90a", source, options);
        write(&path, &bytes.expect("it compiles"));
    }
    path
}

/// Whole or not at all: tests that run side by side share the folder.
fn write(path: &Path, bytes: &[u8]) {
    let parent = path.parent().expect("a folder");
    let mut file = tempfile::NamedTempFile::new_in(parent).expect("a file");
    std::io::Write::write_all(&mut file, bytes).expect("written");
    file.persist(path).expect("renamed");
}

fn setup() -> CompileSetup {
    let toolchain = Places::from_env().and_then(|places| locate(&places)).expect("a toolchain");
    let workers = Workers::current().expect("this program has a path");
    CompileSetup { toolchain, workers, limits: Limits::default(), cache: CompileCache::off() }
}

pub(crate) fn reference_in(folder: &Path, source: &str) -> PathBuf {
    let path = folder.join(format!("{:016x}.so", fnv(source)));
    if !path.is_file() {
        let text = path.with_extension("cpp");
        std::fs::write(&text, source).expect("written");
        let mut command = Command::new("c++");
        command.args(["-std=c++17", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-o"]);
        let run = command.arg(&path).arg(&text).output().expect("c++ runs");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    path
}

pub(crate) fn cubin_in(folder: &Path, source: &str, entries: &[&str]) -> PathBuf {
    let path = folder.join(format!("{:016x}.cubin", fnv(source)));
    if !path.is_file() {
        let job = CompileJob {
            source: source.to_owned(),
            entries: entries.iter().map(|&entry| entry.to_owned()).collect(),
            compile_for: CompileFor::Cuda { arch: "sm_90a".to_owned() },
        };
        match compile(&job, &setup()).expect("the machine can compile") {
            CompileOutcome::Compiled(artifact) => write(&path, &artifact.bytes),
            CompileOutcome::Failed(failure) => panic!("{failure:#?}\n{source}"),
        }
    }
    path
}

fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}
