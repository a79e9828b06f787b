//! Helpers shared by the suite: where the workspace is, the command under test, crates made on the spot.

pub mod results;
pub mod safetensors;
pub mod store_sample;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The workspace's folder.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// What a command printed and whether it succeeded.
#[derive(Debug)]
pub struct Ran {
    /// Exit status was 0.
    pub ok: bool,
    /// Exit code, when it exited.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            ok: output.status.success(),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a command to its end.
///
/// # Panics
/// When it cannot be started.
pub fn run(command: &mut Command) -> Ran {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")).into()
}

/// Runs a command that must succeed.
///
/// # Panics
/// When it does not; the message holds what it printed.
pub fn must(command: &mut Command) -> Ran {
    let ran = run(command);
    assert!(ran.ok, "{command:?} failed\n--- stdout\n{}\n--- stderr\n{}", ran.stdout, ran.stderr);
    ran
}

/// A cargo that knows nothing of the cargo that runs the tests.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG") || name.starts_with("CARGO_MANIFEST") || name.starts_with("CUTEGEN_")
        {
            command.env_remove(name);
        }
    }
    command.env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    command
}

/// Cargo for a crate outside the workspace, in `folder`. All such crates share a target folder, and the workspace's lock
/// file where they have none, so that what they have in common is built once.
///
/// # Panics
/// When there is no such folder.
#[must_use]
pub fn cargo_outside(folder: &Path) -> Command {
    let lock = folder.join("Cargo.lock");
    if !lock.exists() {
        let ours = workspace().join("Cargo.lock");
        std::fs::copy(&ours, &lock).unwrap_or_else(|error| panic!("{}: {error}", lock.display()));
    }
    let mut command = cargo();
    command.current_dir(folder).env("CARGO_TARGET_DIR", outside_target());
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    command
}

/// Where cargo builds crates outside the workspace.
#[must_use]
pub fn outside_target() -> PathBuf {
    workspace().join("target/suite/outside-target")
}

/// The `cargo-cutegen` program: the one that `CUTEGEN_TEST_PROGRAM` names, such as an older one that a test must fail with;
/// else built once, as the tests are: they have built all that it is made of.
pub fn cutegen_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(named) = std::env::var_os("CUTEGEN_TEST_PROGRAM") {
            return PathBuf::from(named);
        }
        let build = ["build", "--profile", "test", "--locked", "--workspace", "--bin", "cargo-cutegen"];
        must(cargo().current_dir(workspace()).args(build));
        workspace().join("target/debug/cargo-cutegen")
    })
}

/// `cargo cutegen`, with the pinned toolchain installed and `home` as the user's folder for results.
#[must_use]
pub fn cutegen(home: &Path) -> Command {
    let mut command = Command::new(cutegen_program());
    command.arg("cutegen").env("XDG_CACHE_HOME", home).env_remove("CUTEGEN_HOME");
    command
}

/// Installs the pinned toolchain where it is not yet; what tests of generated kernels compile with.
pub fn install_toolchain() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        must(Command::new(cutegen_program()).args(["cutegen", "toolchain", "install", "--tests"]));
    });
}

/// A folder of its own for a test, emptied.
///
/// # Panics
/// When it cannot be made.
#[must_use]
pub fn scratch(name: &str) -> PathBuf {
    let folder = workspace().join("target/suite").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

/// Writes a file, making its folder.
///
/// # Panics
/// When it cannot.
pub fn write(path: &Path, text: &str) {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// How often random kills and races are tried: 50 times, or as `CUTEGEN_STRESS` says.
///
/// # Panics
/// When that is no number.
#[must_use]
pub fn stress() -> usize {
    let text = std::env::var("CUTEGEN_STRESS");
    text.map_or(50, |text| text.parse().unwrap_or_else(|error| panic!("CUTEGEN_STRESS={text}: {error}")))
}
