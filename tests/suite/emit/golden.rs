//! The emitted text itself: committed, compared, and compiled as a strict crate would. `UPDATE_GOLDEN=1` rewrites it.

use std::path::Path;

use cutegen_build::emit::{self, EmitKernel};
use cutegen_spec::contract::{Arg, Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::int_expr::{IntExpr, Positions};
use cutegen_spec::record::Kind;
use cutegen_tests::{must, scratch, workspace};

use super::fixture::{
    Answered, Crates, PACKAGE, conditions, example_plans, manifest, plans, returning, runtime_dependency,
    untuned, variant,
};

/// A kernel that needs all that a wrapper can say: a derived axis, a multiple, scalars, names that locals have, and
/// contracts with several steps, clusters, occupancy, shared memory and workspace.
pub(super) const EVERYTHING: &str = r#"
[kernels.everything]
axes    = { m = { range = "8..=4096", multiple-of = 8 }, stream = "0..=64", k = 512, twice = "m * 2" }
inputs  = { check = "f32[m, k]", w = { type = "bf16[stream, k]", constant = true } }
outputs = { y = "f32[m, stream]", z = "f64[twice]" }
scalars = { eps = "f32", args = "f64" }
math    = """
y[m, stream] = sum(k, check[m, k] * w[stream, k]) + eps
z[twice] = args
"""
targets = ["host", "sm_90a", "sm_90a:h200"]
"#;

/// A kernel whose arguments are all but dense floats: strides, a range, values of which none repeats, packed rows, an
/// update in place, conditions.
const MEMORY: &str = r#"
[kernels.scatter]
axes    = { t = "1..=256", n = "256..=65536", d = { range = "2..=128", multiple-of = 2 }, ldx = "2..=4096", h = 3 }
inputs  = { x = { type = "i4[t, d]", constant = true }, scale = { type = "f32[t, d]", strides = ["ldx * 2", 1] }, slot = { type = "i32[t]", range = "0..n", unique = true }, kind = { type = "u4[h]", range = "1..=4" } }
inout   = { cache = { type = "f8e4m3[n, d]", strides = ["ldx", 1] } }
outputs = { code = "u4[t, d]", kept = "bool[t]", total = "i64[h]" }
math    = """
code[t, d] = cast(u4, scale[t, d])
kept[t] = max(d, abs(scale[t, d])) > 1
total[h] = kind[h] * sum((t, d), x[t, d])
cache[slot[t], d] = cache[slot[t], d] + x[t, d] * scale[t, d]
"""
targets = ["host", "sm_90a"]
"#;

fn int(text: &str) -> IntExpr {
    IntExpr::parse_positional(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn step(entry: &str, grid: [&str; 3], args: Vec<Arg>) -> Step {
    Step {
        entry: entry.to_owned(),
        grid: grid.map(int),
        block: ["384", "1", "1"].map(int),
        cluster: ones(),
        smem: int("0"),
        args,
        pdl: false,
        co_resident: false,
    }
}

fn arg(text: &str) -> Arg {
    Arg::parse(text, &Positions).expect("an argument")
}

fn splitting() -> Contract {
    let first = Step {
        cluster: ["2", "1", "1"].map(int),
        smem: int("min(device_smem, 232448)"),
        pdl: true,
        ..step(
            "split_0",
            ["min(ceil_div(a0, 128), max_active_clusters * 2)", "1", "1"],
            vec![
                Arg::Ptr(0),
                Arg::Ptr(1),
                Arg::Axis(0),
                Arg::Axis(2),
                Arg::Axis(3),
                Arg::Scalar(0),
                Arg::Workspace(1),
            ],
        )
    };
    let second = Step {
        co_resident: true,
        ..step(
            "split_1",
            ["sm_count * max_blocks_per_sm", "a1 / 8 + 1", "1"],
            vec![
                Arg::Workspace(0),
                Arg::Workspace(1),
                Arg::Scalar(1),
                Arg::Ptr(2),
                Arg::Workspace(2),
                Arg::Workspace(3),
                arg("int(ceil_div(a0, 64) * max_blocks_per_sm)"),
                arg(
                    "tma(w0, type = f32, offset = a2, dims = [a0, a2], strides = [a2, 1], box = [64, 32], swizzle = 128)",
                ),
            ],
        )
    };
    let part = |bytes, initial| WorkspacePart { bytes: int(bytes), initial };
    let workspace = vec![
        part("a0 * a2 * 4", Initial::Undefined),
        part("1024", Initial::Zeroed),
        part("ceil_div(a0, 64) * 4", Initial::KeptZero),
        part("4", Initial::KeptZero),
    ];
    Contract { workspace, steps: vec![first, second] }
}

/// [`everything`], where a variant for the host keeps counters of its own zero.
fn counting() -> Vec<Answered> {
    let mut all = everything();
    let naive = all.remove(0);
    let entry = "cutegen_0123456789abcdef";
    let mut contract = naive.record.variants[0].contract.clone();
    let at = contract.workspace.len();
    contract.workspace.push(WorkspacePart { bytes: int("a0 * 4"), initial: Initial::KeptZero });
    contract.steps[0].entry = entry.to_owned();
    contract.steps[0].args.push(Arg::Workspace(at));
    let bytes = returning(entry);
    let mut tuned = variant(&naive.plan.target, "counting", Kind::Tuned, contract, &bytes);
    tuned.eligibility = conditions("a0 <= 1024");
    all.insert(0, naive.prefer(tuned, bytes));
    all
}

/// [`EVERYTHING`] on three targets, with a tuned variant on the device that one of them names.
pub(super) fn everything() -> Vec<Answered> {
    let mut all: Vec<Answered> = plans(EVERYTHING).into_iter().map(untuned).collect();
    let last = all.pop().expect("three targets");
    let mut tuned = variant(&last.plan.target, "split-2", Kind::Tuned, splitting(), b"a cubin");
    tuned.eligibility = conditions("a0 % 8 == 0 and t0 aligned 16 and t1 aligned 16");
    tuned.prefer = conditions("(a0 * a1) >= 1024 and a1 <= 64");
    tuned.shared_memory = Some(232_448);
    all.push(last.prefer(tuned, b"a cubin".to_vec()));
    all
}

/// [`MEMORY`] by its naive kernels.
fn memory() -> Vec<Answered> {
    plans(MEMORY).into_iter().map(untuned).collect()
}

/// The example's kernels, one of those for CUDA with a tuned variant.
pub(super) fn example() -> Vec<Answered> {
    example_plans()
        .into_iter()
        .map(|plan| {
            let target = plan.target.clone();
            let is_naive = target.is_host() || plan.spec.name.as_str() != "silu_mul";
            let naive = untuned(plan);
            if is_naive {
                return naive;
            }
            let mut contract = naive.record.variants[0].contract.clone();
            contract.steps[0].entry = "silu_mul_vector8".to_owned();
            contract.steps[0].grid[0] = int("min(ceil_div(a0, 2048), sm_count * 8)");
            let mut vector = variant(&target, "vector8", Kind::Tuned, contract, b"vector8 cubin");
            vector.eligibility = conditions("t0 aligned 16 and t1 aligned 16 and t2 aligned 16");
            vector.prefer = conditions("a0 >= 4096");
            naive.prefer(vector, b"vector8 cubin".to_vec())
        })
        .collect()
}

fn kernels(answered: &[Answered]) -> Vec<EmitKernel<'_>> {
    answered.iter().map(Answered::emit).collect()
}

fn compare(name: &str, emitted: &Path) {
    let golden = workspace().join("tests/golden").join(name);
    let text = std::fs::read_to_string(emitted).expect("emitted");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).expect("written");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    let differs = text.lines().zip(expected.lines()).find(|(new, old)| new != old);
    assert!(text == expected, "{name}: first at {differs:?}; UPDATE_GOLDEN=1 rewrites it");
    assert!(
        !text.contains(env!("CARGO_MANIFEST_DIR")) && !text.contains("target/suite"),
        "a path of this machine"
    );
}

#[test]
fn the_text_is_the_committed_one_and_the_same_twice() {
    let all = [("example_app.rs", example()), ("everything.rs", counting()), ("memory.rs", memory())];
    for (name, answered) in all {
        let folder = scratch(&format!("emit-golden-{name}"));
        let emitted = emit::emit(&PACKAGE, &kernels(&answered), &folder).expect("emits");
        compare(name, &emitted.rust_file);
        let before = std::fs::metadata(&emitted.rust_file).and_then(|m| m.modified()).expect("a time");
        let manifest = std::fs::read_to_string(&emitted.manifest).expect("a manifest");
        let archive =
            std::fs::read(folder.join("cutegen/libcutegen_example_app_0_1_0.a")).expect("an archive");

        let again = emit::emit(&PACKAGE, &kernels(&answered), &folder).expect("emits again");
        assert_eq!(emitted, again);
        let after = std::fs::metadata(&emitted.rust_file).and_then(|m| m.modified()).expect("a time");
        assert_eq!(before, after, "an unchanged file is not written");

        let elsewhere = scratch(&format!("emit-golden-again-{name}"));
        let other = emit::emit(&PACKAGE, &kernels(&answered), &elsewhere).expect("emits elsewhere");
        compare(name, &other.rust_file);
        assert_eq!(manifest, std::fs::read_to_string(&other.manifest).expect("a manifest"));
        let there =
            std::fs::read(elsewhere.join("cutegen/libcutegen_example_app_0_1_0.a")).expect("an archive");
        assert!(archive == there, "archives differ by where and when they were made");
    }
}

#[test]
fn stubs_are_the_committed_ones() {
    let folder = scratch("emit-golden-stub");
    let mut all = example_plans();
    all.extend(plans(EVERYTHING));
    all.extend(plans(MEMORY));
    let emitted = emit::stub(&PACKAGE, &all, &folder).expect("emits");
    compare("stub.rs", &emitted.rust_file);
    assert_eq!((emitted.lib_name, emitted.system_libs), (None, Vec::new()));
    assert!(!emitted.lib_dir.join("objects").exists());
}

const STRICT: &str = "//! A crate that is stricter than most.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, missing_debug_implementations)]
#![deny(missing_copy_implementations, unused_qualifications, single_use_lifetimes, nonstandard_style)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery, clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]
#![deny(clippy::missing_safety_doc, clippy::allow_attributes)]
cutegen_runtime::include_kernels!();
";

/// Under the lints of a strict crate, in two editions and under two names of the runtime, and documented without a broken
/// link.
#[test]
fn strict_crates_take_it_without_a_warning() {
    let mut crates = Crates::new("strict");
    let goldens = workspace().join("tests/golden");
    for name in ["example_app", "everything", "memory", "stub"] {
        for (edition, runtime) in [("2021", "cutegen_runtime"), ("2024", "ct")] {
            let emitted = crates.folder.join(format!("emitted-{name}"));
            let text = std::fs::read_to_string(goldens.join(format!("{name}.rs"))).expect("golden");
            cutegen_tests::write(&emitted.join("kernels.rs"), &text);
            let package = format!("strict-{}-{edition}", name.replace('_', "-"));
            let dependency = runtime_dependency("\"cuda\"")
                .replace("cutegen-runtime = {", &format!("{runtime} = {{ package = \"cutegen-runtime\","));
            let manifest = manifest(&package, "0.1.0", &dependency).replace("2024", edition);
            let strict = STRICT.replace("cutegen_runtime::", &format!("{runtime}::"));
            crates.member(&package, &manifest, &[("src/lib.rs", &strict)], Some(&emitted));
        }
    }
    must(&mut crates.cargo(&["clippy", "--workspace", "--quiet"]));
    must(crates.cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"));
}
