//! The compile cache: what was compiled before is not compiled again, and whatever changes is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cutegen_build::compile::{
    Artifact, Batch, CompileCache, CompileFor, CompileJob, CompileOutcome, CompileSetup, FailureReason,
    Inspected, Limits, SandboxLayers, compile, compile_in,
};
use cutegen_build::event::Compiles;
use cutegen_spec::digest::ArtifactDigest;

use crate::setup::{compiled, cuda, failed, host, setup, toolchain};

pub(crate) const TESTS: &[crate::Test] = &[
    ("cache::the_second_compile_is_none", the_second_compile_is_none),
    ("cache::whatever_changes_is_compiled", whatever_changes_is_compiled),
    ("cache::headers_are_known_by_what_is_in_them", headers_are_known_by_what_is_in_them),
    ("cache::a_refusal_is_refused_again_by_the_same_words", a_refusal_is_refused_again_by_the_same_words),
    ("cache::the_guard_stands_before_it", the_guard_stands_before_it),
    ("cache::what_was_late_is_tried_again", what_was_late_is_tried_again),
    ("cache::a_corrupt_file_is_compiled_again", a_corrupt_file_is_compiled_again),
    ("cache::a_forks_bytes_serve_no_lone_compile", a_forks_bytes_serve_no_lone_compile),
    ("cache::a_writer_that_is_killed_leaves_no_answer", a_writer_that_is_killed_leaves_no_answer),
    ("cache::many_at_once_agree", many_at_once_agree),
];

/// Of a process that compiles into the cache in this folder, and does nothing else.
const WRITER: &str = "CUTEGEN_TEST_CACHE_WRITER";

const ENTRY: &str = r#"extern "C" __attribute__((visibility("default"), externally_visible)) void"#;

fn scaled(by: &str) -> CompileJob {
    host(&format!("{ENTRY} k(float* y) {{ *y = *y * {by}; }}\n"), "k")
}

/// A kernel whose object has 2 MiB.
fn large() -> CompileJob {
    let table = "static const unsigned char table[2 << 20] = {1};";
    host(&format!("{table}\n{ENTRY} k(unsigned char* y) {{ *y = table[*y * 1000]; }}\n"), "k")
}

/// A setup whose cache lies in a folder of its own.
fn cached() -> (tempfile::TempDir, CompileSetup) {
    let folder = tempfile::tempdir().expect("a temp dir");
    let cache = CompileCache::in_folder(folder.path().to_owned());
    (folder, CompileSetup { cache, ..setup() })
}

fn counts(setup: &CompileSetup) -> [usize; 2] {
    let Compiles { made, cached } = setup.cache.counts();
    [made, cached]
}

fn is_same(one: &Artifact, other: &Artifact) -> bool {
    let info = |artifact: &Artifact| match &artifact.inspected {
        Inspected::Cubin(info) => format!("{info:?}"),
        Inspected::Object(info) => format!("{info:?}"),
    };
    one.bytes == other.bytes
        && info(one) == info(other)
        && (&one.log_warnings, &one.fingerprint) == (&other.log_warnings, &other.fingerprint)
        && (&one.confinement, one.wall_ms) == (&other.confinement, other.wall_ms)
}

/// The files of answers below a folder.
fn answers(folder: &Path) -> Vec<PathBuf> {
    let within = |folder: &Path| fs::read_dir(folder).expect("a folder").flatten().map(|item| item.path());
    let files =
        within(folder).filter(|path| path.is_dir()).flat_map(|folder| within(&folder).collect::<Vec<_>>());
    files
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect()
}

fn the_second_compile_is_none() {
    let kernel = "extern \"C\" __global__ void k(float* y) { int unused; *y = 2.0f; }\n";
    for job in [scaled("2"), cuda(kernel, &["k"])] {
        let (_folder, setup) = cached();
        let first = compiled(&job, &setup);
        let later = CompileSetup { cache: setup.cache.counted(), ..setup.clone() };
        assert!(is_same(&first, &compiled(&job, &later)));
        assert_eq!((counts(&setup), counts(&later)), ([1, 0], [0, 1]));
    }
}

fn whatever_changes_is_compiled() {
    let (_folder, setup) = cached();
    let job = scaled("2");
    compiled(&job, &setup);
    let level = |level: &str| {
        let triple = "x86_64-unknown-linux-gnu".to_owned();
        let compile_for = CompileFor::Host { triple, level: level.to_owned() };
        CompileJob { compile_for, ..job.clone() }
    };
    let mut version = setup.clone();
    version.toolchain.cxx.as_mut().expect("main checked").version.push_str(".1");
    let mut packages = setup.clone();
    packages.toolchain.stamp.packages.insert("nvidia-cutlass".to_owned(), "4.2.0.1".to_owned());
    let layers = SandboxLayers { landlock: false, ..Limits::default().layers };
    let open = CompileSetup { limits: Limits { layers, ..Limits::default() }, ..setup.clone() };
    let others = [
        ("a source", scaled("3"), &setup),
        ("an option", level("x86-64-v2"), &setup),
        ("a compiler", job.clone(), &version),
        ("a sandbox layer", job.clone(), &open),
    ];
    for (at, (what, job, other)) in (1..).zip(others) {
        compiled(&job, other);
        assert_eq!(counts(&setup), [at + 1, 0], "another {what}");
    }
    // a host object names headers by contents; a cubin's fingerprint has the packages too
    let kernel = cuda("extern \"C\" __global__ void k(float* y) { *y = 2.0f; }\n", &["k"]);
    let before = counts(&setup)[0];
    compiled(&kernel, &setup);
    compiled(&kernel, &packages);
    let mut library = setup.clone();
    library.toolchain.nvrtc.as_mut().expect("main checked").sha256.replace_range(60.., "0000");
    compiled(&kernel, &library);
    compiled(&kernel, &CompileSetup { toolchain: toolchain().without_linker(), ..setup.clone() });
    assert_eq!(counts(&setup), [before + 4, 0]);
}

fn headers_are_known_by_what_is_in_them() {
    let (folder, mut setup) = cached();
    let dir = folder.path().join("toolchain");
    fs::create_dir_all(dir.join("include/cute")).expect("writable");
    let header = |by: u32| {
        fs::write(dir.join("include/cute/by.hpp"), format!("#define BY {by}\n")).expect("writable");
    };
    setup.toolchain.header_roots = vec![dir.join("include")];
    setup.toolchain.stamp.header_roots = vec!["include".into()];
    setup.toolchain.dir = dir.clone();
    let job = host(&format!("#include <cute/by.hpp>\n{ENTRY} k(int* y) {{ *y = *y * BY; }}\n"), "k");
    let once = |by| {
        header(by);
        // of a process of its own
        let cache = CompileCache::in_folder(folder.path().to_owned());
        let setup = CompileSetup { cache, ..setup.clone() };
        (compiled(&job, &setup).bytes, counts(&setup))
    };
    let ((seven, made), (again, cached), (nine, anew)) = (once(7), once(7), once(9));
    assert_eq!((made, cached, anew), ([1, 0], [0, 1], [1, 0]));
    assert!(seven == again && seven != nine);
}

fn a_refusal_is_refused_again_by_the_same_words() {
    let (_folder, setup) = cached();
    let job = host("int unknown = nowhere;\n", "k");
    let (first, again) = (failed(&job, &setup), failed(&job, &setup));
    assert!(first == again && first.diagnostics[0].message.contains("nowhere"), "{first:?}");
    assert_eq!(counts(&setup), [1, 1]);
    // what inspection refuses is refused by inspection, each time
    let job = host(&format!("extern \"C\" int puts(const char*); {ENTRY} k() {{ puts(\"x\"); }}\n"), "k");
    let (first, again) = (failed(&job, &setup), failed(&job, &setup));
    assert!(first == again && matches!(first.reason, FailureReason::Forbidden(_)), "{first:?}");
    assert_eq!(counts(&setup), [2, 2]);
}

fn the_guard_stands_before_it() {
    let (folder, setup) = cached();
    let job = host(&format!("#include \"/etc/passwd\"\n{ENTRY} k() {{}}\n"), "k");
    for _ in 0..2 {
        assert!(matches!(failed(&job, &setup).reason, FailureReason::Forbidden(_)));
    }
    assert_eq!((counts(&setup), answers(folder.path()).len()), ([0, 0], 0));
}

fn what_was_late_is_tried_again() {
    let (_folder, setup) = cached();
    let limits = Limits { wall: Duration::from_millis(1), ..Limits::default() };
    let hurried = CompileSetup { limits, ..setup.clone() };
    assert_eq!(failed(&scaled("2"), &hurried).reason, FailureReason::TimedOut);
    compiled(&scaled("2"), &setup);
    assert_eq!(counts(&setup), [2, 0]);
}

/// A factor becomes another one. Inspection sees nothing of that: with a digest of its own, that code would be judged.
fn a_corrupt_file_is_compiled_again() {
    let (folder, setup) = cached();
    let (job, factor) = (scaled("12345.678f"), 12_345.678_f32.to_le_bytes());
    let first = compiled(&job, &setup).bytes;
    let path = answers(folder.path()).pop().expect("one answer");
    let mut file = fs::read(&path).expect("readable");
    let at = file.windows(4).position(|bytes| bytes == factor).expect("the factor");
    file[at] ^= 1;
    fs::write(&path, &file).expect("writable");
    assert!(compiled(&job, &setup).bytes == first && counts(&setup) == [2, 0], "compiled again");
    assert!(compiled(&job, &setup).bytes == first && counts(&setup) == [2, 1], "and replaced");
    let end = file.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let sealed = [ArtifactDigest::of(&file[end..]).to_string().as_bytes(), b"\n", &file[end..]].concat();
    fs::write(&path, sealed).expect("writable");
    assert!(compiled(&job, &setup).bytes != first && counts(&setup) == [2, 2], "what the digest keeps out");
}

/// Finalists are compiled alone, whatever ranked them; what was compiled alone may rank.
fn a_forks_bytes_serve_no_lone_compile() {
    let source = "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(__half* y) { *y = __half(2.0f); }\n";
    let (_folder, setup) = cached();
    let job = cuda(source, &["k"]);
    let batch = Batch::start(&setup, "sm_90a", source).expect("a zygote");
    let fork = |job: &CompileJob| match compile_in(&batch, job).expect("a fork") {
        CompileOutcome::Compiled(artifact) => artifact.precompiled,
        CompileOutcome::Failed(failure) => panic!("{failure:?}"),
    };
    assert!(fork(&job) && fork(&job));
    assert_eq!(counts(&setup), [1, 1]);
    assert!(!compiled(&job, &setup).precompiled);
    assert_eq!(counts(&setup), [2, 1]);
    assert!(!compiled(&job, &setup).precompiled && !fork(&job));
    assert_eq!(counts(&setup), [2, 3]);
}

/// By the limit on its files, in the middle of the answer's: nothing handles that signal.
fn a_writer_that_is_killed_leaves_no_answer() {
    let (folder, setup) = cached();
    let exe = std::env::current_exe().expect("a path");
    let mut writer = Command::new("sh");
    writer
        .args(["-c", "ulimit -c 0 && ulimit -S -f 2048 && exec \"$0\""])
        .arg(exe)
        .env(WRITER, folder.path());
    let status = writer.status().expect("a shell");
    assert!(!status.success(), "{status}");
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!((left, answers(folder.path()).len()), (1, 0), "it had begun to write");
    let first = compiled(&large(), &setup);
    assert!(is_same(&first, &compiled(&large(), &setup)) && counts(&setup) == [1, 1]);
}

/// A writer's whole life: it compiles what is large, once.
pub(crate) fn write_if_asked() {
    let Some(folder) = std::env::var_os(WRITER) else { return };
    let setup = CompileSetup { cache: CompileCache::in_folder(folder.into()), ..setup() };
    let outcome = compile(&large(), &setup);
    std::process::exit(i32::from(outcome.is_err()));
}

fn many_at_once_agree() {
    let (folder, setup) = cached();
    let other = CompileSetup { cache: CompileCache::in_folder(folder.path().to_owned()), ..setup.clone() };
    let all: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let one = |at: usize| {
            let setup = if at.is_multiple_of(2) { &setup } else { &other };
            scope.spawn(move || compiled(&scaled("2"), setup).bytes)
        };
        let threads: Vec<_> = (0..8).map(one).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(all.iter().all(|bytes| *bytes == all[0]));
    assert_eq!(answers(folder.path()).len(), 1);
    assert_eq!([counts(&setup), counts(&other)].concat().iter().sum::<usize>(), 8);
    assert!(compiled(&scaled("2"), &setup).bytes == all[0]);
}
