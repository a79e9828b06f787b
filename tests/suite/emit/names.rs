//! Names that Rust or emitted code has a use for: those that can step aside work, the others are told, all at once and
//! before anything is emitted.

use cutegen_build::cargo::Build;
use cutegen_build::{event, pipeline};
use cutegen_spec::name::KernelName;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::symbol::collisions;
use cutegen_spec::target::DEFAULT_TRIPLE;
use cutegen_tests::{cutegen, must, run, scratch, workspace, write};

use super::fixture::{Crates, PACKAGE, manifest, plans, runtime_dependency, untuned};
use super::linked::emitted;

/// Keywords, generated locals, functions that only emitted code calls, and items of the other module.
const ODD: &str = r#"
[kernels.move]
axes    = { type = "1..=64", workspace = "1..=8", gen = "type * 2" }
inputs  = { in = "f32[type, workspace]", config = "f32[type]" }
outputs = { box = "f32[type]", become = "f32[gen]" }
scalars = { try = "f32" }
math    = """
box[type] = sum(workspace, in[type, workspace]) * try + config[type]
become[gen] = try
"""
targets = ["host", "sm_90a"]

[kernels.move_variant]
axes    = { param_n = "1..=64" }
inputs  = { workspace = "f32[param_n]", its_workspace = "f32[param_n]", move_variant_host_naive = "f32[param_n]", fits = "f32[param_n]" }
inout   = { fallback_move_variant = "f32[param_n]" }
outputs = { launched = "f32[param_n]" }
math    = """
launched[param_n] = workspace[param_n] + 10 * its_workspace[param_n] + 100 * move_variant_host_naive[param_n] + 1000 * fits[param_n]
fallback_move_variant[param_n] = 7
"""
targets = ["host", "sm_90a"]

[kernels.move_host_naive]
axes    = { n = "1..=64" }
inputs  = { x = "f32[n]" }
outputs = { y = "f32[n]" }
math    = "y[n] = 3 * x[n]"
targets = ["host", "sm_90a"]

[kernels.load]
axes    = { n = "1..=64" }
inputs  = { x = "f32[n]" }
outputs = { y = "f32[n]" }
math    = "y[n] = 5 * x[n]"
targets = ["host", "sm_90a"]

[kernels.ok]
axes    = { n = "1..=64" }
inputs  = { x = "f32[n]" }
outputs = { y = "f32[n]" }
math    = "y[n] = 7 * x[n]"
targets = ["host", "sm_90a"]
"#;

const CALLS: &str = r#"//! Every kernel by its linked object; its result against what stands in its math.
use cutegen_runtime::{AsView, AsViewMut};
cutegen_runtime::include_kernels!();
use kernels::host;

fn main() {
    std::hint::black_box(kernels::cuda::load as fn(_) -> _);
    std::hint::black_box(kernels::cuda::Kernels::r#move as for<'a, 'b, 'c, 'd> fn(&'a _, &'b _, &'c mut _, _) -> _);
    let mut ws = host::workspace();
    let (a, b, c, d) = ([1.0_f32, 2.0], [3.0_f32, 4.0], [5.0_f32, 6.0], [7.0_f32, 8.0]);
    let (mut y, mut z) = ([f32::NAN; 2], [f32::NAN; 4]);
    let args = host::Move {
        r#type: 2, workspace: 2, r#in: [1.0_f32, 2.0, 3.0, 4.0].as_slice().view([2, 2]), config: a.view([2]),
        r#box: y.view_mut([2]), r#become: z.view_mut([4]), r#try: 2.0,
    };
    host::r#move(&mut ws, args).expect("runs");
    assert_eq!((y, z), ([7.0, 16.0], [2.0; 4]));

    let mut kept = [0.0_f32; 2];
    let args = host::MoveVariant {
        param_n: 2, workspace: a.view([2]), its_workspace: b.view([2]), move_variant_host_naive: c.view([2]),
        fits: d.view([2]), fallback_move_variant: kept.view_mut([2]), launched: y.view_mut([2]),
    };
    host::move_variant(&mut ws, args).expect("runs");
    assert_eq!((y, kept), ([7531.0, 8642.0], [7.0; 2]));

    host::move_host_naive(&mut ws, host::MoveHostNaive { n: 2, x: a.view([2]), y: y.view_mut([2]) }).expect("runs");
    assert_eq!(y, [3.0, 6.0]);
    host::load(&mut ws, host::Load { n: 2, x: a.view([2]), y: y.view_mut([2]) }).expect("runs");
    assert_eq!(y, [5.0, 10.0]);
    host::ok(&mut ws, host::Ok { n: 2, x: a.view([2]), y: y.view_mut([2]) }).expect("runs");
    assert_eq!(y, [7.0, 14.0]);
    assert!(host::explain().iter().all(|kernel| kernel.variants[0].name == "naive"));
}
"#;

#[test]
fn odd_names_compile_and_compute() {
    let mut crates = Crates::new("names");
    let linked = emitted(&crates, &PACKAGE, plans(ODD).into_iter().map(untuned).collect());
    let manifest = manifest("names", "0.1.0", &runtime_dependency("\"cuda\""));
    crates.member("names", &manifest, &[("src/main.rs", CALLS)], Some(&linked));
    must(&mut crates.cargo(&["run", "--quiet", "--bin", "names"]));
    must(crates.cargo(&["doc", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"));

    let text = std::fs::read_to_string(linked.join("kernels.rs")).expect("wrappers");
    for function in text.split("pub fn ").skip(1) {
        let bound = function.lines().filter_map(|line| line.trim().strip_prefix("let bound_"));
        let mut names: Vec<&str> = bound.filter_map(|rest| rest.split(' ').next()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "a tensor's memory is hidden: {function}");
    }
}

/// Five that collide, in two files, beside one that does not.
const COLLIDING: &str = "
[package.metadata.kernels.workspace]
BODY
[package.metadata.kernels.vec]
BODY
[package.metadata.kernels.fine]
BODY
[package.metadata.kernels.a_b]
BODY
[package.metadata.kernels.a__b]
BODY
[package.metadata.kernels.norm]
BODY
targets = [\"sm_90a\"]
[package.metadata.kernels.norm_raw]
BODY
targets = [\"sm_90a\"]
";
const BODY: &str =
    "axes = { n = 8 }\ninputs = { x = \"f32[n]\" }\noutputs = { y = \"f32[n]\" }\nmath = \"y[n] = x[n]\"";
const TOLD: [&str; 4] = [
    "kernel `workspace` would emit `workspace`",
    "kernel `vec` would emit `Vec`",
    "kernels `a_b` and `a__b` would both emit `AB`",
    "kernels `norm` and `norm_raw` would both emit `norm_raw`",
];

fn colliding(test: &str) -> std::path::PathBuf {
    let folder = scratch(&format!("names-colliding-{test}"));
    let head = "[package]\nname = \"colliding\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    write(&folder.join("Cargo.toml"), &format!("{head}{}", COLLIDING.replace("BODY", BODY)));
    folder
}

fn told(text: &str) {
    for line in TOLD {
        assert!(text.contains(line), "{line}: not in\n{text}");
    }
    assert!(text.contains("rename") && !text.contains("fine"), "{text}");
}

#[test]
fn check_and_lock_tell_every_collision() {
    let folder = colliding("check");
    for verb in ["check", "lock"] {
        let ran = run(cutegen(&folder.join("home")).current_dir(&folder).arg(verb));
        assert!(!ran.ok, "{verb}: {}", ran.stdout);
        told(&ran.stderr);
    }
    assert!(!folder.join("cutegen.lock").exists(), "nothing is locked");
}

#[test]
fn a_build_tells_every_collision() {
    let folder = colliding("build");
    let build = Build {
        out_dir: folder.join("out"),
        package: "colliding".to_owned(),
        version: "0.1.0".to_owned(),
        triple: DEFAULT_TRIPLE.to_owned(),
        host: DEFAULT_TRIPLE.to_owned(),
        mode: None,
        release: false,
        docs_rs: true,
        manifest_dir: folder,
    };
    let errors = pipeline::run(&build, &mut event::Silent).expect_err("names collide");
    told(&errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
}

/// A kernel of this name.
fn named(name: &str) -> KernelSpec {
    let mut plans = plans(&format!("[kernels.k]\n{BODY}\ntargets = [\"host\", \"sm_90a\"]"));
    let spec = plans.swap_remove(0).spec;
    KernelSpec { name: KernelName::new(name).expect("a name"), ..spec }
}

/// What an emitted module imports, no kernel may emit: the list of such names is as long as the imports are.
#[test]
fn what_emitted_modules_import_is_taken() {
    let goldens = ["example_app.rs", "everything.rs", "memory.rs"]
        .map(|name| std::fs::read_to_string(workspace().join("tests/golden").join(name)).expect("golden"));
    let text = goldens.concat().replace('\n', " ");
    let uses = text.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    let words =
        uses.flat_map(|path| path.rsplit("::").next().unwrap_or_default().split([',', '{', '}', ' ']));
    let imported: std::collections::BTreeSet<&str> =
        words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())).collect();
    assert!(imported.len() > 20 && imported.contains("KernelEntry"), "{imported:?}");
    for item in imported {
        let split = |c: char| {
            if c.is_ascii_uppercase() { format!("_{}", c.to_ascii_lowercase()) } else { c.to_string() }
        };
        let name: String = item.chars().map(split).collect();
        assert!(!collisions(&[&named(name.trim_start_matches('_'))]).is_empty(), "`{item}` is free");
    }
    for free in ["load", "ok", "none", "cpu", "math", "params"] {
        assert!(collisions(&[&named(free)]).is_empty(), "`{free}` is taken");
    }
}
