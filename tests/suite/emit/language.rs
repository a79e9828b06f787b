//! The whole language through its wrappers: every spec of the library compiles as a user's crate, and kernels of every
//! kind run as linked code and as math, on numbers and on what must be refused.

use std::path::PathBuf;

use cutegen_build::emit::{self, Package};
use cutegen_build::plan::Plan;
use cutegen_spec::edition;
use cutegen_spec::settings::Settings;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use cutegen_tests::{must, workspace};

use super::fixture::{Answered, Crates, PACKAGE, manifest, runtime_dependency, untuned};
use super::linked::emitted;

/// What no spec of the library has: strides, an update in place, conditions as outputs, rows that may be odd.
const SPECS: &str = r#"edition = 1
[kernels.gemm_ld]
axes    = { m = "1..=64", n = 24, k = 40, ldx = "40..=4096", ldw = "40..=4096", ldy = "1..=4096" }
inputs  = { x = { type = "f32[m, k]", strides = ["ldx", 1] }, w = { type = "f32[n, k]", strides = ["ldw", 1] } }
outputs = { y = { type = "f32[m, n]", strides = ["ldy", 1] } }
math    = "y[m, n] = sum(k, x[m, k] * w[n, k])"

[kernels.add_norm]
axes    = { m = "1..=64", d = 96 }
inputs  = { x = "bf16[m, d]", w = "bf16[d]" }
inout   = { h = "bf16[m, d]" }
outputs = { y = "bf16[m, d]" }
scalars = { eps = "f32" }
math    = """
a[m, d] = cast(bf16, x[m, d] + h[m, d])
h[m, d] = a[m, d]
y[m, d] = rms_norm(d, a[m, d], eps) * w[d]
"""

[kernels.between]
axes    = { n = "1..=4096" }
inputs  = { x = "f32[n]", lo = "i8[n]" }
outputs = { inside = "bool[n]", count = "u8[n]" }
math    = """
inside[n] = x[n] >= lo[n] and not x[n] > 2
count[n] = where(x[n] > 0, n - 3, 0)
"""

[kernels.unpack]
axes    = { m = "1..=64", k = "1..=64" }
inputs  = { w = "u4[m, k]" }
outputs = { y = "i4[m, k]", z = "i64[m]" }
math    = """
y[m, k] = w[m, k] - 8
z[m] = sum(k, w[m, k] * w[m, k])
"""

[kernels.pick]
axes    = { n = "1..=64", k = "1..=16" }
inputs  = { which = { type = "u4[n]", range = "0..k" }, table = "f32[k]" }
outputs = { y = "f32[n]" }
math    = "y[n] = table[which[n]]"
"#;

const CHOSEN: [&str; 10] = [
    "kv_append",
    "embedding",
    "quantise_fp8",
    "quantise_int8",
    "gemm_int4_group",
    "argmax_last",
    "cumsum_masked",
    "rope_half",
    "attention_causal",
    "conv2d_padded",
];

const PROGRAM: &str = r#"//! The same checks of linked kernels and of the math.
cutegen_runtime::include_kernels!();
mod linked {
    use crate::kernels::host;
    include!("checks.rs");
}
mod math {
    use language_math::kernels::host;
    include!("checks.rs");
}
fn main() {
    linked::all();
    math::all();
    let first = |all: Vec<cutegen_runtime::dispatch::Explain>| all[0].variants[0].name;
    println!("{} {}", first(kernels::host::explain()), first(language_math::kernels::host::explain()));
}
"#;

fn specs(text: &str) -> Vec<KernelSpec> {
    edition::spec_file(text, &Settings::default()).into_kernels().expect("right specs")
}

/// All specs of the library, file by file in order.
fn library() -> Vec<KernelSpec> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![workspace().join("kernel-specs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                files.push(path);
            }
        }
    }
    files.sort();
    files.iter().flat_map(|path| specs(&std::fs::read_to_string(path).expect("a spec"))).collect()
}

fn on(wanted: impl Fn(&Target) -> bool, mut spec: KernelSpec) -> KernelSpec {
    spec.targets.retain(wanted);
    spec
}

fn host_kernels() -> Vec<Answered> {
    let chosen = library().into_iter().filter(|spec| CHOSEN.contains(&spec.name.as_str()));
    let all: Vec<KernelSpec> = chosen.chain(specs(SPECS)).map(|spec| on(Target::is_host, spec)).collect();
    assert_eq!(all.len(), CHOSEN.len() + 5);
    Plan::all(&all).into_iter().map(untuned).collect()
}

#[test]
fn kernels_of_every_kind_compute_and_refuse() {
    let mut crates = Crates::new("language");
    let linked = emitted(&crates, &PACKAGE, host_kernels());
    let foreign = Package { name: "language-math", triple: "x86_64-unknown-linux-musl", ..PACKAGE };
    let math = emitted(&crates, &foreign, host_kernels());
    let runtime = runtime_dependency("");
    let dependencies = format!("{runtime}language-math = {{ path = \"../language-math\" }}\n");
    let files = [("src/main.rs", PROGRAM), ("src/checks.rs", include_str!("language_checks.rs.in"))];
    crates.member("language", &manifest("language", "0.1.0", &dependencies), &files, Some(&linked));
    let lib = [("src/lib.rs", "//! The math alone.\ncutegen_runtime::include_kernels!();\n")];
    crates.member("language-math", &manifest("language-math", "0.1.0", &runtime), &lib, Some(&math));
    let ran = must(&mut crates.cargo(&["run", "--quiet", "-p", "language"]));
    assert_eq!(ran.stdout.trim(), "naive math");
}

/// Under lints that a crate may set, for both modules and for the stubs.
const QUIET: &str = "//! Every spec of the library.
#![deny(warnings, missing_docs, unreachable_pub, unsafe_code, missing_debug_implementations)]
#![deny(missing_copy_implementations, unused_qualifications, single_use_lifetimes, nonstandard_style)]
#![deny(trivial_casts, trivial_numeric_casts, unused_lifetimes, unused_results, unsafe_op_in_unsafe_fn)]
cutegen_runtime::include_kernels!();
";

#[test]
fn every_spec_of_the_library_compiles_without_a_warning() {
    let mut crates = Crates::new("library");
    let all: Vec<KernelSpec> = library().into_iter().chain(specs(SPECS)).collect();
    assert!(all.len() > 100, "{} specs", all.len());
    let host: Vec<KernelSpec> = all.iter().cloned().map(|spec| on(Target::is_host, spec)).collect();
    let plans = Plan::all(&all);
    let sides = [("both", "\"cuda\"", plans.clone()), ("host", "", Plan::all(&host))];
    for (name, features, plans) in sides {
        let answered: Vec<Answered> = plans.into_iter().map(untuned).collect();
        let kernels: Vec<_> = answered.iter().map(Answered::emit).collect();
        let out = crates.folder.join(format!("out-{name}"));
        let emitted = emit::emit(&PACKAGE, &kernels, &out).expect("emits");
        member(&mut crates, name, features, &emitted.lib_dir);
    }
    let stubs = emit::stub(&PACKAGE, &plans, &crates.folder.join("out-stub")).expect("emits");
    member(&mut crates, "stub", "\"cuda\"", &stubs.lib_dir);
    for name in ["both", "host", "stub"] {
        must(&mut crates.cargo(&["check", "--quiet", "-p", &format!("library-{name}")]));
    }
}

fn member(crates: &mut Crates, name: &str, features: &str, emitted: &std::path::Path) {
    let package = format!("library-{name}");
    let manifest = manifest(&package, "0.1.0", &runtime_dependency(features));
    crates.member(&package, &manifest, &[("src/lib.rs", QUIET)], Some(emitted));
}
