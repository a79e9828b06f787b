//! What all attacks are tried on: a secret, a place outside, another process of the same user, and the attempts of
//! native code, compiled four ways.

use std::cell::{OnceCell, RefCell, RefMut};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cutegen_build::compile::{CompileCache, CompileSetup, Limits, SandboxLayers, Workers};
use cutegen_build::evaluate::VARIABLE;
use cutegen_build::toolchain::{Places, locate};

use crate::runner::Host;

/// What no attack may learn.
pub(crate) const CANARY: &str = "CANARY-5eed-of-a-bird";
/// Set in the environment of every mode.
pub(crate) const TOKEN: &str = "CUTEGEN_ATTACK";
/// A worker of this test's own: it lets itself be traced, and sleeps.
pub(crate) const SIBLING: &str = "attack-sibling";

/// Code of every attempt, without an entry.
pub(crate) const ATTEMPTS: &str = include_str!("attempts.h");

/// One folder with everything.
pub(crate) struct Bed {
    folder: tempfile::TempDir,
    sibling: Child,
    host: OnceCell<RefCell<Host>>,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["headers/cute", "outside", "tool/bin", "tool/lib", "by-name", "candidates"] {
            fs::create_dir_all(at(name)).expect("a folder");
        }
        // a string literal, so that a compiler that reads it can carry it on
        fs::write(at("secret"), format!("\"{CANARY}\"\n")).expect("written");
        fs::write(at("by-name/planted.h"), format!("const char planted[] = \"{CANARY}\";\n"))
            .expect("written");
        fs::write(at("headers/cute/own.h"), "\n").expect("written");
        std::os::unix::fs::symlink(at("secret"), at("headers/cute/link.h")).expect("a link");
        let exe = std::env::current_exe().expect("this binary");
        let sibling =
            Command::new(exe).env(VARIABLE, SIBLING).stdin(Stdio::null()).spawn().expect("a sibling");
        let bed = Bed { folder, sibling, host: OnceCell::new() };
        bed.compile_attempts();
        bed
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn sibling(&self) -> u32 {
        self.sibling.id()
    }

    /// Judges of a candidate that attempts things, made when first needed.
    pub(crate) fn host(&self) -> RefMut<'_, Host> {
        self.host.get_or_init(|| RefCell::new(Host::new(self))).borrow_mut()
    }

    /// A compiler that does not compile, and a library with the attempts.
    fn compile_attempts(&self) {
        let tool = format!("{ATTEMPTS}\n{}", include_str!("tool.cpp"));
        compile_cpp(&tool, &self.at("tool/bin/c++"), &[]);
        let nvrtc = format!("{ATTEMPTS}\n{}", include_str!("nvrtc.cpp"));
        compile_cpp(&nvrtc, &self.at("tool/lib/libnvrtc.so"), &["-shared"]);
        let library = format!(
            "{ATTEMPTS}\nextern \"C\" int attack(const char* name, const char* secret, const char* outside, int sibling) {{
               return attempt(name, secret, outside, sibling);
             }}\n"
        );
        compile_cpp(&library, &self.at("candidates/attack.so"), &["-shared"]);
    }

    /// The located toolchain with one more header root.
    pub(crate) fn setup(&self, limits: Limits) -> CompileSetup {
        let mut toolchain = locate(&Places::from_env().expect("places")).expect("a toolchain");
        toolchain.header_roots.push(self.at("headers"));
        let workers = Workers::current().expect("this binary");
        CompileSetup { toolchain, workers, limits, cache: CompileCache::off() }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.sibling.kill();
        let _ = self.sibling.wait();
    }
}

/// Limits that bombs reach soon.
pub(crate) fn tight() -> Limits {
    Limits {
        wall: Duration::from_secs(60),
        cpu: Duration::from_secs(10),
        memory_bytes: 2 << 30,
        output_bytes: 1 << 20,
        processes: 100,
        ..Limits::default()
    }
}

/// The same without these sandbox layers.
pub(crate) fn without(limits: Limits, off: &[Layer]) -> Limits {
    let on = |layer| !off.contains(&layer);
    let layers = SandboxLayers {
        landlock: on(Layer::Landlock),
        seccomp: on(Layer::Seccomp),
        namespaces: on(Layer::Namespaces),
    };
    if on(Layer::Limits) {
        Limits { layers, ..limits }
    } else {
        Limits {
            layers,
            wall: Duration::from_secs(400),
            cpu: Duration::from_secs(100),
            memory_bytes: 1 << 40,
            output_bytes: 1 << 30,
            processes: 4096,
        }
    }
}

/// What stops an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Guard,
    Environment,
    Landlock,
    Seccomp,
    Namespaces,
    Limits,
    /// All of a runner's.
    Sandbox,
}

pub(crate) fn compile_cpp(source: &str, output: &Path, flags: &[&str]) {
    let text = output.with_extension("cpp");
    fs::write(&text, source).expect("written");
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-O1", "-fPIC", "-w"]).args(flags).arg("-o").arg(output).arg(&text);
    let run = command.env_remove("CPATH").env_remove("DEPENDENCIES_OUTPUT").output().expect("c++ runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
