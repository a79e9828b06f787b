//! The example's build script started by hand, as cargo starts it: for triples that nothing is installed for, and in a
//! release build. What it says, what it links, and whether a crate takes what it emitted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_tests::{Ran, cargo_outside, cutegen, install_toolchain, must, run, scratch, workspace, write};

use super::{built, of_build_script};

const LINUX: &str = "x86_64-unknown-linux-gnu";

/// The script over the package in `folder`, with an OUT_DIR of its own.
struct Script {
    folder: PathBuf,
    out: PathBuf,
}

/// A kernel that no search has tuned.
const TWICE: &str = r#"
[package.metadata.kernels.twice]
targets = ["host"]
axes = { n = "1..=64" }
inputs = { x = "f32[n]" }
outputs = { y = "f32[n]" }
math = "y[n] = x[n] + x[n]"
workloads = [{ n = 64 }]
"#;

impl Script {
    fn new(name: &str) -> Self {
        Self { folder: built().folder.clone(), out: scratch(&format!("replay-script-{name}")) }
    }

    /// The package with one kernel more, locked and not tuned, and with `settings`.
    fn with_a_naive_kernel(name: &str, settings: &str) -> Self {
        let script = Self::new(name);
        let folder = script.out.join("package");
        fs::create_dir_all(&folder).expect("made");
        for part in ["cutegen-store", "cutegen.lock", "build.rs", "src"] {
            must(Command::new("cp").arg("-r").arg(script.folder.join(part)).arg(&folder));
        }
        let manifest = fs::read_to_string(script.folder.join("Cargo.toml")).expect("a manifest");
        write(&folder.join("Cargo.toml"), &format!("{manifest}\n{TWICE}\n{settings}\n"));
        install_toolchain();
        let home = workspace().join("target/suite/replay-home");
        must(cutegen(&home).args(["lock", "twice"]).current_dir(&folder));
        Self { folder, ..script }
    }

    fn run(&self, triple: &str, profile: &str) -> Ran {
        let ran = must(&mut self.command(triple, profile));
        assert!(!ran.stdout.contains("cargo::error"), "{}", ran.stdout);
        ran
    }

    fn command(&self, triple: &str, profile: &str) -> Command {
        let mut command = Command::new(of_build_script("replay-locked", "build-script-build"));
        command
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("OUT_DIR", &self.out).env("PROFILE", profile);
        command.env("CARGO_PKG_NAME", "replay-locked").env("CARGO_PKG_VERSION", "0.1.0");
        command.env("TARGET", triple).env("HOST", LINUX);
        command
    }

    fn wrappers(&self) -> PathBuf {
        self.out.join("cutegen/kernels.rs")
    }
}

fn warnings(ran: &Ran) -> Vec<&str> {
    ran.stdout.lines().filter_map(|line| line.strip_prefix("cargo::warning=")).collect()
}

fn links(ran: &Ran) -> bool {
    ran.stdout.contains("cargo::rustc-link-lib")
}

/// Runs one kernel on the CPU, and uses the type of the other module.
const MAIN: &str = r#"//! Calls what was emitted for another triple.
use cutegen_runtime::{AsView, AsViewMut};
use half::bf16;
cutegen_runtime::include_kernels!();

/// Loads what there is for CUDA, where there is any.
pub fn load(context: &std::sync::Arc<cutegen_runtime::cuda::CudaContext>) -> String {
    kernels::cuda::load(context).map_or_else(|error| error.to_string(), |kernels| kernels.explain().len().to_string())
}

fn main() {
    let (g, u, mut y) = ([bf16::from_f32(2.0); 3], [bf16::from_f32(4.0); 3], [bf16::NAN; 3]);
    let args = kernels::host::SiluMul { n: 3, g: g.view([3]), u: u.view([3]), y: y.view_mut([3]) };
    kernels::host::silu_mul(&mut kernels::host::workspace(), args).expect("computes");
    let explained = kernels::host::explain();
    println!("{} by {}", y[0], explained[0].variants[0].name);
}
"#;

/// A program over the emitted wrappers; it is only checked where it can't be linked here.
fn program(wrappers: &Path, verb: &str) -> Ran {
    let root = scratch(&format!("replay-script-program-{verb}")); // a test of its own each
    let runtime = workspace().join("cutegen-runtime");
    let manifest = format!(
        "[package]\nname = \"replay-program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         cutegen-runtime = {{ path = {runtime:?}, features = [\"cuda\"] }}\nhalf = \"2\"\n"
    );
    write(&root.join("Cargo.toml"), &manifest);
    write(&root.join("src/main.rs"), MAIN);
    let mut command = cargo_outside(&root);
    run(command.args([verb, "--quiet", "--offline"]).env("CUTEGEN_KERNELS", wrappers))
}

/// 2 / (1 + exp(-2)) * 4, rounded to bf16.
const SILU_MUL: &str = "7.03125";

#[test]
fn a_triple_without_elf_gets_the_math_and_stubs_with_one_warning() {
    for triple in ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"] {
        let script = Script::new(triple);
        let ran = script.run(triple, "debug");
        let said = warnings(&ran);
        let [warning] = said.as_slice() else { panic!("{said:?}") };
        for part in [triple, "the math itself, a slow fallback", "stubs, which fail to load"] {
            assert!(warning.contains(part), "{warning}");
        }
        assert!(!links(&ran), "{}", ran.stdout);
        let program = program(&script.wrappers(), "run");
        assert_eq!(program.stdout.trim(), format!("{SILU_MUL} by math"), "{}", program.stderr);
    }
}

#[test]
fn another_elf_triple_gets_the_math_and_cubins_with_one_warning() {
    let triple = "aarch64-unknown-linux-gnu";
    let script = Script::new(triple);
    let ran = script.run(triple, "debug");
    let said = warnings(&ran);
    let [warning] = said.as_slice() else { panic!("{said:?}") };
    assert!(warning.contains(triple) && !warning.contains("CUDA"), "{warning}");
    assert!(links(&ran), "{}", ran.stdout);
    let program = program(&script.wrappers(), "check");
    assert!(program.ok, "{}", program.stderr);
}

#[test]
fn a_release_build_names_its_naive_kernels_once() {
    let script = Script::with_a_naive_kernel("release", "");
    let release = script.run(LINUX, "release");
    let said = warnings(&release);
    let [warning] = said.as_slice() else { panic!("{said:?}") };
    for part in ["twice (host)", "cargo cutegen tune", "warn-naive = false"] {
        assert!(warning.contains(part), "{warning}");
    }
    assert!(!warning.contains("silu_mul"), "a tuned kernel: {warning}");
    assert_eq!(warnings(&script.run(LINUX, "debug")), Vec::<&str>::new());

    let silenced = "[package.metadata.cutegen]\nwarn-naive = false";
    let silenced = Script::with_a_naive_kernel("silenced", silenced);
    assert_eq!(warnings(&silenced.run(LINUX, "release")), Vec::<&str>::new());
}

/// Evidence of a CPU has no name of a device, so a tuned host kernel says for which level it is, on every machine.
#[test]
fn a_tuned_host_kernel_is_tuned_on_no_other_device() {
    let script = Script::new("tuned");
    script.run(LINUX, "debug");
    let text = fs::read_to_string(script.wrappers()).expect("wrappers");
    let (cuda, host) = text.split_once("pub mod host").expect("both modules");
    let tuned_on = |module: &str| -> Vec<String> {
        let tuned = module.split("origin: Origin::Tuned").skip(1);
        tuned
            .filter_map(|rest| Some(rest.split("tuned_on: \"").nth(1)?.split('"').next()?.to_owned()))
            .collect()
    };
    let (cuda, host) = (tuned_on(cuda), tuned_on(host));
    assert!(!host.is_empty() && host.iter().all(String::is_empty), "{host:?}");
    assert!(!cuda.is_empty() && cuda.iter().all(|device| device.contains("NVIDIA")), "{cuda:?}");
}

/// cargo 1.95 and rustc 1.95 stop on such paths with internal errors: whoever meets ours first is told why.
#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf8_is_refused_with_the_reason() {
    let caf: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"caf\xe9");
    let script = Script::new("not-utf8");
    for variable in ["CARGO_MANIFEST_DIR", "OUT_DIR"] {
        let ran = must(script.command(LINUX, "debug").env(variable, script.out.join(caf)));
        for part in [&format!("cargo::error={variable} is not UTF-8"), "move the package"] {
            assert!(ran.stdout.contains(part), "{}", ran.stdout);
        }
        assert!(!ran.stdout.contains("is not set"), "{}", ran.stdout);
    }
}
