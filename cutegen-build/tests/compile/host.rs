//! Host candidates: objects that depend on the source alone, and what an object may not hold.

use cutegen_build::compile::{FailureReason, Forbidden, Inspected, compile_unguarded};
use cutegen_build::inspect::object;

use crate::setup::{compiled, failed, host, setup, setup_with, toolchain};

pub(crate) const TESTS: &[crate::Test] = &[
    ("host::gemm_compiles_to_one_symbol", gemm_compiles_to_one_symbol),
    ("host::bytes_depend_on_the_source_alone", bytes_depend_on_the_source_alone),
    ("host::template_instances_become_local", template_instances_become_local),
    ("host::bad_objects_are_refused", bad_objects_are_refused),
    ("host::garbage_is_refused", garbage_is_refused),
    ("host::errors_point_into_the_candidate", errors_point_into_the_candidate),
];

const ENTRY: &str = r#"extern "C" __attribute__((visibility("default"), externally_visible)) void"#;

pub(crate) const GEMM: &str = r#"
#include <cute/tensor.hpp>
using namespace cute;
template <class T> __attribute__((noinline)) T not_inlined(T x) { return x * 3; }
extern "C" __attribute__((visibility("default"), externally_visible))
void gemm(float const* a, float const* b, float* c, long k_len) {
    Tensor gC = make_tensor(c, Shape<_8, _8>{});
    for (long k = 0; k < k_len; ++k) {
        Tensor gA = make_tensor(a + 8 * k, Shape<_8, _1>{});
        Tensor gB = make_tensor(b + 8 * k, Shape<_8, _1>{});
        gemm(gA, gB, gC);
    }
    c[0] += not_inlined(expf(a[0]));
}
"#;

fn gemm_compiles_to_one_symbol() {
    let artifact = compiled(&host(GEMM, "gemm"), &setup());
    println!(
        "  {} ms, {} bytes, {:?}, {}",
        artifact.wall_ms,
        artifact.bytes.len(),
        artifact.confinement,
        artifact.fingerprint
    );
    let Inspected::Object(info) = artifact.inspected else { panic!("an object was asked for") };
    assert_eq!(
        (info.entry.as_str(), info.undefined.contains(&"expf".to_owned())),
        ("gemm", true),
        "{info:?}"
    );
}

fn bytes_depend_on_the_source_alone() {
    let dir = tempfile::tempdir().expect("a temp dir");
    let mut moved = toolchain();
    for (index, root) in moved.header_roots.iter_mut().enumerate() {
        let link = dir.path().join(format!("another place {index}"));
        std::os::unix::fs::symlink(&*root, &link).expect("writable");
        *root = link;
    }
    let (here, there) = (setup(), setup_with(moved, Default::default()));
    let job = host(GEMM, "gemm");
    let first = compiled(&job, &here).bytes;
    assert!(first == compiled(&job, &here).bytes && first == compiled(&job, &there).bytes);
}

/// Without `-fwhole-program` the instance would be a weak symbol that the linker merges with a namesake's.
fn template_instances_become_local() {
    let raw = compile_unguarded(&host(GEMM, "gemm"), &setup()).expect("compiles").expect("compiles");
    assert!(object::check(&raw.bytes, &["gemm".into()]).is_ok());
    let dir = tempfile::tempdir().expect("a temp dir");
    std::fs::write(dir.path().join("k.cpp"), "template <class T> __attribute__((noinline)) T f(T x) { return x * 3; }\nextern \"C\" void k(float* y) { *y = f(*y); }").expect("writable");
    let cxx = toolchain().cxx.expect("main checked that there is one").program;
    let status = std::process::Command::new(cxx)
        .current_dir(dir.path())
        .args(["-O3", "-fPIC", "-c", "k.cpp", "-o", "k.o"])
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    let problems = object::check(&std::fs::read(dir.path().join("k.o")).expect("written"), &["k".into()])
        .expect_err("a weak symbol");
    // its section is of a group, too
    assert!(problems.iter().any(|problem| problem.contains("is visible outside")), "{problems:?}");
}

/// Each is accepted by the compiler alone.
fn bad_objects_are_refused() {
    let setup = setup();
    for (source, word) in [
        (
            "struct S { S(); int x; }; int g(); static volatile int y; S::S() : x(y = 3) {} static S s; ENTRY k() {}",
            "constructors",
        ),
        (
            "__attribute__((constructor)) static void early() { *(volatile int*)64 = 1; } ENTRY k() {}",
            "constructors",
        ),
        ("extern \"C\" int system(const char*); ENTRY k() { system(\"true\"); }", "`system`"),
        ("extern \"C\" int puts(const char*); ENTRY k() { puts(\"x\"); }", "`puts`"),
        ("ENTRY k() {} ENTRY other() {}", "`other` is visible"),
        (
            "__attribute__((externally_visible)) extern const int data; const int data = 3; ENTRY k() {}",
            "visible outside",
        ),
        ("static int calls; ENTRY k(int* y) { *y = ++calls; }", "mutable statics"),
        ("static thread_local int calls; ENTRY k(int* y) { *y = ++calls; }", "thread-local"),
        (
            "static void (*pick())() { return nullptr; } extern \"C\" __attribute__((ifunc(\"_ZL4pickv\"), externally_visible)) void k();",
            "ifunc",
        ),
        ("void k() {}", "no function `k`"),
    ] {
        let source = source.replace("ENTRY", ENTRY);
        let job = host(&source, "k");
        let raw = compile_unguarded(&job, &setup)
            .expect("the machine can compile")
            .unwrap_or_else(|failure| panic!("{source}\n{failure:?}"));
        let problems = object::check(&raw.bytes, &job.entries).expect_err(&source);
        assert!(problems.iter().any(|problem| problem.contains(word)), "{source}\n{problems:?}");
    }
}

fn garbage_is_refused() {
    let good = compiled(&host(GEMM, "gemm"), &setup()).bytes;
    for bytes in [&b""[..], b"\x7fELF", &good[..good.len() / 2], &good[..64]] {
        assert!(object::check(bytes, &["gemm".into()]).is_err());
    }
    let mut flipped = good.clone();
    for at in (0..good.len()).step_by(7) {
        flipped[at] ^= 0xff;
        let _ = object::check(&flipped, &["gemm".into()]);
        flipped[at] = good[at];
    }
}

fn errors_point_into_the_candidate() {
    let failure = failed(&host("\nextern \"C\" void k(float* y) {\n  *y = missing;\n}\n", "k"), &setup());
    assert_eq!(
        (&failure.reason, failure.diagnostics[0].line),
        (&FailureReason::Diagnostics, Some(3)),
        "{failure:?}"
    );
    let FailureReason::Forbidden(found) = failed(&host("#include </etc/passwd>", "k"), &setup()).reason
    else {
        panic!("guarded")
    };
    assert!(matches!(found[0], Forbidden::Source(_)));
}
