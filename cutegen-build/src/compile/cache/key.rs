//! The key of an answer: a digest of all that makes it. The source with its entry symbols and whatever it has of the kit, the
//! target, compiler and linker by their files, headers by their contents, options, sandbox, and this program's own text
//! of guard and worker.
//!
//! Invariant: where a file lies enters no key but the host compiler's, whose contents are beyond one file.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::compile::job::{CompileFor, CompileJob, CompileSetup};
use crate::env;
use crate::toolchain::{CxxFamily, Output, Toolchain, cuda_options, headers_digest, host_flags};

/// What of this program decides on an answer. As text, so that no number is forgotten when it changes.
const PROGRAM: [&str; 12] = [
    include_str!("../allowed.rs"),
    include_str!("../client.rs"),
    include_str!("../diagnostics.rs"),
    include_str!("../guard.rs"),
    include_str!("../lexer.rs"),
    include_str!("../tool_log.rs"),
    include_str!("../worker.rs"),
    include_str!("../zygote.rs"),
    include_str!("../../toolchain/cxx.rs"),
    include_str!("../../toolchain/nvjitlink.rs"),
    include_str!("../../toolchain/nvrtc.rs"),
    include_str!("../../../shim/iostream"),
];

/// How a worker is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compile) enum Way {
    /// A process of its own: its bytes are judged and shipped.
    Alone,
    /// A fork of a zygote: its bytes rank candidates.
    Fork,
}

/// What is the same for all answers of a search.
#[derive(Clone, Debug)]
pub(super) struct System {
    program: String,
    headers: String,
    /// What this kernel has for a sandbox.
    kernel: String,
}

impl System {
    /// None where the headers cannot be read.
    pub(super) fn of(setup: &CompileSetup) -> Option<Self> {
        let mut program = Fields::default();
        PROGRAM.iter().for_each(|text| program.add(text));
        let headers = headers_digest(&setup.toolchain).ok()?;
        Some(Self { program: program.digest(), headers, kernel: kernel() })
    }
}

/// What decides on the layers of a sandbox here: the kernel's release, its security modules, and whether filters are this
/// process's to raise.
fn kernel() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    let filters = status.lines().find(|line| line.starts_with("Seccomp:")).unwrap_or_default();
    let (release, modules) = (read("/proc/sys/kernel/osrelease"), read("/sys/kernel/security/lsm"));
    format!("{}; {}; {filters}", release.trim(), modules.trim())
}

/// A key in 64 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(String);

impl Key {
    /// None where what compiles cannot be named.
    pub(super) fn of(job: &CompileJob, setup: &CompileSetup, system: &System, way: Way) -> Option<Self> {
        let mut fields = Fields::default();
        let layers = format!("{way:?}, {:?}", setup.limits.layers);
        let System { program, headers, kernel } = system;
        for field in [program, headers, kernel, &layers, &job.source] {
            fields.add(field);
        }
        compiler(job, &setup.toolchain)?.iter().for_each(|field| fields.add(field));
        Some(Self(fields.digest()))
    }

    /// The folder of the cache that its file lies in.
    pub(super) fn folder(&self) -> &str {
        &self.0[..2]
    }

    /// The name of its file.
    pub(super) fn name(&self) -> &str {
        &self.0
    }

    #[cfg(test)]
    pub(super) fn sample(text: &str) -> Self {
        let mut fields = Fields::default();
        fields.add(text);
        Self(fields.digest())
    }
}

/// What compiles a job, and with which options; header roots are told by their contents.
fn compiler(job: &CompileJob, toolchain: &Toolchain) -> Option<Vec<String>> {
    match &job.compile_for {
        CompileFor::Cuda { arch } => {
            let nvrtc = toolchain.nvrtc.as_ref()?;
            let linker = nvrtc.linker.as_ref().map(|linker| (&linker.version, &linker.sha256));
            let named = format!("{} {} {linker:?}", nvrtc.version, nvrtc.sha256);
            let options = cuda_options(arch, &[], Output::Cubin);
            Some([vec![named, toolchain.cuda_fingerprint().ok()?], options].concat())
        }
        CompileFor::Host { triple, level } => {
            let cxx = toolchain.cxx.as_ref()?;
            let family = match cxx.family {
                CxxFamily::Gcc => "gcc",
                CxxFamily::Clang => "clang",
            };
            let named = format!("{family} {} {triple}", cxx.version);
            Some([vec![named, file(&cxx.program)?], host_flags(cxx.family, level, &[])].concat())
        }
    }
}

/// A program's file as the system tells it from another: its path, size and time of change.
fn file(program: &Path) -> Option<String> {
    let path = found(program)?.canonicalize().ok()?;
    let about = path.metadata().ok()?;
    let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", path.display(), about.len(), changed.as_nanos()))
}

/// A bare name is looked for where the system does.
fn found(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let folders = env::variable_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Fields that are hashed with their lengths before them.
#[derive(Default)]
struct Fields(blake3::Hasher);

impl Fields {
    fn add(&mut self, field: &str) {
        self.0.update(&(field.len() as u64).to_le_bytes()).update(field.as_bytes());
    }

    fn digest(self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}
