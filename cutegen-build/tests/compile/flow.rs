//! What host kernels may do with stack and control: refused by the compiler's flags, or by what inspection reads in their code.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::compile::{CompileFailure, FailureReason, Forbidden};
use cutegen_build::inspect;

use crate::setup::{compiled, failed, host, setup};

pub(crate) const TESTS: &[crate::Test] = &[
    ("flow::stacks_that_grow_are_refused", stacks_that_grow_are_refused),
    ("flow::flags_cannot_be_undone", flags_cannot_be_undone),
    ("flow::code_that_leads_anywhere_is_refused", code_that_leads_anywhere_is_refused),
    ("flow::what_compilers_write_passes", what_compilers_write_passes),
    ("flow::committed_objects_pass", committed_objects_pass),
];

const HEAD: &str = "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <immintrin.h>\n\
                    #define ENTRY extern \"C\" __attribute__((visibility(\"default\"), externally_visible)) void\n";

fn failure(source: &str) -> CompileFailure {
    failed(&host(&format!("{HEAD}{source}"), "k"), &setup())
}

/// Each is refused by the named warning of GCC, at its line.
fn stacks_that_grow_are_refused() {
    for (source, line, code, words) in [
        (
            "ENTRY k(float* y, long n) {\n  float* t = (float*)alloca(n * 4);\n  for (long i = 0; i < n; ++i) t[i] = y[n - 1 - i];\n  for (long i = 0; i < n; ++i) y[i] = t[i] + t[n - 1 - i];\n}",
            7,
            "-Werror=alloca",
            "alloca",
        ),
        (
            "ENTRY k(float* y, long n) {\n  float* t = (float*)__builtin_alloca_with_align(n * 4, 256);\n  for (long i = 0; i < n; ++i) t[i] = y[n - 1 - i];\n  for (long i = 0; i < n; ++i) y[i] = t[i];\n}",
            7,
            "-Werror=alloca",
            "alloca",
        ),
        (
            "ENTRY k(float* y, long n) {\n  float t[n];\n  for (long i = 0; i < n; ++i) t[i] = y[n - 1 - i];\n  for (long i = 0; i < n; ++i) y[i] = t[i];\n}",
            7,
            "-Werror=vla",
            "variable length array",
        ),
        (
            "ENTRY k(float* y, long n) {\n  volatile float t[17000];\n  for (long i = 0; i < n; ++i) t[i] = y[i];\n  y[0] = t[n];\n}",
            10,
            "-Werror=frame-larger-than=",
            "the frame size of 680",
        ),
    ] {
        let failure = failure(source);
        let found = failure.diagnostics.iter().find(|found| found.code.as_deref() == Some(code));
        let found = found.unwrap_or_else(|| panic!("{source}\n{failure:?}"));
        assert_eq!((&failure.reason, found.line), (&FailureReason::Diagnostics, Some(line)), "{failure:?}");
        assert!(found.message.contains(words), "{failure:?}");
    }
}

/// What would undo them falls to the guard.
fn flags_cannot_be_undone() {
    for (line, what) in [
        ("#pragma GCC diagnostic ignored \"-Walloca\"", "#pragma GCC diagnostic"),
        ("#pragma GCC system_header", "#pragma GCC system_header"),
        ("#pragma GCC optimize(\"jump-tables\")", "#pragma GCC optimize"),
        ("# 1 \"x.h\" 3", "#1"),
        ("_Pragma(\"GCC diagnostic ignored \\\"-Wvla\\\"\")", "_Pragma"),
        ("__attribute__((optimize(\"jump-tables\")))", "optimize"),
        ("__attribute__((no_split_stack))", "no_split_stack"),
        ("__attribute__((noreturn))", "noreturn"),
        ("[[gnu::optimize(\"jump-tables\")]]", "gnu"),
        ("__extension__", "__extension__"),
    ] {
        let failure = failure(&format!("{line}\nENTRY k(float* y) {{ *y = 0; }}"));
        let FailureReason::Forbidden(found) = &failure.reason else { panic!("{line}: {failure:?}") };
        let [Forbidden::Source(found)] = found.as_slice() else { panic!("{line}: {found:?}") };
        assert!(found.found.starts_with(what), "{line}: {found:?}");
    }
}

fn code_that_leads_anywhere_is_refused() {
    let mut missed = Vec::new();
    for (source, words) in [
        ("ENTRY k(float* y, void (*f)(float*)) { f(y); }", "a `jmp` through a register or memory"),
        (
            "typedef float (*F)(float); ENTRY k(float* y, F f) { *y = f(*y) + f(2); }",
            "a `call` through a register or memory",
        ),
        (
            "ENTRY k(float* y, long n) { static void* const to[] = { &&a, &&b, &&c }; goto *to[n]; a: y[0] = 1; return; b: y[1] = 2; return; c: y[2] = 3; }",
            "constants may hold numbers, not addresses",
        ),
        (
            "ENTRY k(float* y) { void* b[5]; __builtin_longjmp((void**)y, 1); }",
            "moves its stack by what it computes",
        ),
        (
            "static __attribute__((noinline)) float f(const float* x, long n) { return n <= 1 ? *x : f(x, n / 2) * 3 + f(x + n / 2, n - n / 2); } ENTRY k(float* y, long n) { *y = f(y, n); }",
            "no recursion",
        ),
        (
            "static float g(const float*, long); static __attribute__((noinline)) float f(const float* x, long n) { return n <= 1 ? *x : g(x, n - 1) * 3 + 1; } static __attribute__((noinline)) float g(const float* x, long n) { return n <= 2 ? *x : f(x + 1, n - 1) * 5 + 2; } ENTRY k(float* y, long n) { *y = f(y, n); }",
            "no recursion",
        ),
        (
            "#define F(name, inner) static __attribute__((noinline)) float name(const float* x, long n) { volatile float t[12000]; for (long i = 0; i < n; ++i) t[i] = x[i]; return t[n / 2] + inner; }\nF(a, 1) F(b, a(x, n)) F(c, b(x, n)) ENTRY k(float* y, long n) { *y = c(y, n); }",
            "bytes of stack one in another",
        ),
        ("ENTRY k(unsigned* y) { __builtin_ia32_rdrand32_step(y); }", "needs isa option"),
        (
            "extern \"C\" float expf(float); ENTRY k(float* y) { float (*volatile f)(float) = &expf; *y = f(*y); }",
            "a relocation that is no distance to code or constants",
        ),
    ] {
        let failure = failure(source);
        if !format!("{failure:?}").contains(words) {
            missed.push(format!("{source}\n{failure:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Frames that are probed page by page, switches, cold paths, calls of own functions and of libraries, tables.
fn what_compilers_write_passes() {
    for source in [
        "ENTRY k(float* y, long n) { float t[10000]; for (long i = 0; i < n; ++i) t[i] = y[n - 1 - i] * 2; for (long i = 0; i < n; ++i) y[i] = t[i] + t[n - i]; }",
        "ENTRY k(float* y, long n) { volatile float t[16200]; for (long i = 0; i < n; ++i) t[i] = y[n - 1 - i]; for (long i = 0; i < n; ++i) y[i] = t[i]; }",
        "ENTRY k(float* y, long n) { switch (n) { case 0: y[0] = expf(y[1]); break; case 1: y[1] = 7; break; case 2: y[5] = logf(y[4]); break; case 3: y[2] = 9; break; case 4: y[8] = tanhf(y[2]); break; case 5: y[1] = 3; break; case 6: memset(y, 0, 800); break; default: y[0] = 8; } }",
        "static __attribute__((noinline, cold)) void rare(float* y) { y[0] = powf(y[1], y[2]); } ENTRY k(float* y, long n) { if (__builtin_expect(n == 77, 0)) rare(y); else y[0] = 1; }",
        "static const float table[] = { 1, 5, 2, 9, 3, 7, 4, 8, 6 }; ENTRY k(float* y, long n) { for (long i = 0; i < n; ++i) y[i] = table[(long)y[i] % 9] + table[i % 8 + 1]; }",
        "alignas(64) static const double table[] = { 1, 5, 2, 9, 3, 7, 4, 8, 6 }; ENTRY k(double* y, long n) { for (long i = 0; i < n; ++i) y[i] *= table[i & 7]; }",
        "ENTRY k(float* y, long n) { long double s = 0; for (long i = 0; i < n; ++i) s += y[i]; y[0] = (float)s; y[1] = (float)(long)s; }",
        "ENTRY k(float* y, long n) { if (n == 777) __builtin_trap(); y[0] = 1; }",
        "static __attribute__((noinline)) float sum8(float a, float b, float c, float d, float e, float f, float g, float h, long i, long j, long k, long l, long m, long n, long o, long p) { return a + b * c - d / e + f * g + h + i + j + k + l + m + n * o + p; } ENTRY k(float* y, long n) { for (long i = 0; i < n; ++i) y[i] = sum8(y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7], i, 2 * i, 3, n, i + 1, n + 1, i + n, 5); }",
        "ENTRY k(float* y, long n) { __m256 s = _mm256_setzero_ps(); for (long i = 0; i + 8 <= n; i += 8) { __builtin_prefetch(y + i + 64); s = _mm256_fmadd_ps(_mm256_loadu_ps(y + i), s, _mm256_set1_ps(3.5f)); } _mm256_storeu_ps(y, s); _mm256_zeroupper(); }",
    ] {
        compiled(&host(&format!("{HEAD}{source}"), "k"), &setup());
    }
}

/// Host objects of all committed entries.
fn committed() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let stores = ["cache/v1", "example-app/cutegen-store/v1", "tests/bars/cache/v1"];
    let mut open: Vec<PathBuf> = stores.map(|store| root.join(store)).into();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "o") {
                found.push(path);
            }
        }
    }
    found
}

/// The only function that an object shows.
fn entry_of(bytes: &[u8]) -> Vec<String> {
    use object::{Object, ObjectSymbol};
    let file = object::File::parse(bytes).expect("an object");
    let shown = file.symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined());
    shown.map(|symbol| symbol.name().expect("a name").to_owned()).collect()
}

fn committed_objects_pass() {
    let objects = committed();
    assert!(objects.len() >= 100, "{}", objects.len());
    for path in objects {
        let bytes = fs::read(&path).expect("readable");
        let entries = entry_of(&bytes);
        let canonical = inspect::object::canonical(&bytes, &entries);
        let read = canonical.and_then(|canonical| inspect::judged(&canonical, &entries));
        read.unwrap_or_else(|problems| panic!("{}: {problems:?}", path.display()));
    }
}
