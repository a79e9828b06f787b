//! The words of compiling: job, limits, outcome; and the private protocol between client and worker.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cache::CompileCache;
use super::diagnostics::Diagnostic;
use super::guard::GuardViolation;
use crate::inspect::cubin::CubinInfo;
use crate::inspect::object::ObjectInfo;
use crate::toolchain::Toolchain;

/// What the bytes are to run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompileFor {
    /// A GPU, by NVRTC.
    Cuda {
        /// Such as `sm_90a`.
        arch: String,
    },
    /// A CPU, by the C++ compiler.
    Host {
        /// Such as `x86_64-unknown-linux-gnu`.
        triple: String,
        /// Such as `x86-64-v3`.
        level: String,
    },
}

/// One source to compile.
#[derive(Debug, Clone)]
pub struct CompileJob {
    /// The whole source, flattened.
    pub source: String,
    /// The symbols it must define. A host object defines exactly one.
    pub entries: Vec<String>,
    /// For what.
    pub compile_for: CompileFor,
}

/// With what to compile; the same for every job of a search.
#[derive(Debug, Clone)]
pub struct CompileSetup {
    /// Compilers and headers.
    pub toolchain: Toolchain,
    /// How to start a worker.
    pub workers: Workers,
    /// What a worker may use.
    pub limits: Limits,
    /// What was compiled before.
    pub cache: CompileCache,
}

/// A program whose `main` calls [`worker_main`](super::worker_main) when [`WORKER_VAR`](super::WORKER_VAR) is set.
#[derive(Debug, Clone)]
pub struct Workers {
    /// The program: this one, usually.
    pub exe: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// What one compile may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until the whole process group is killed.
    pub wall: Duration,
    /// CPU time per process.
    pub cpu: Duration,
    /// Address space per process. NVRTC maps far more than it touches.
    pub memory_bytes: u64,
    /// Largest file a process may write.
    pub output_bytes: u64,
    /// Processes that the user may have while it compiles; in namespaces of its own, at most 64 of the compile's own.
    pub processes: u64,
    /// Which sandbox layers to ask the kernel for. Some are off only in tests of what the others hold.
    #[doc(hidden)]
    pub layers: SandboxLayers,
}

/// Sandbox layers that need the kernel's help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLayers {
    /// Files, TCP, and signals to others.
    pub landlock: bool,
    /// System calls.
    pub seccomp: bool,
    /// Networks and processes of its own.
    pub namespaces: bool,
}

/// What became of a candidate.
#[derive(Debug)]
pub enum CompileOutcome {
    /// Bytes that passed inspection.
    Compiled(Box<Artifact>),
    /// Feedback for the generator.
    Failed(CompileFailure),
}

/// Compiled bytes and their circumstances.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The cubin or object.
    pub bytes: Vec<u8>,
    /// What inspection read in them.
    pub inspected: Inspected,
    /// The compiler's remarks about the candidate.
    pub log_warnings: Vec<Diagnostic>,
    /// From start to end of the worker.
    pub wall_ms: u64,
    /// What compiled them.
    pub fingerprint: String,
    /// Which sandbox layers stood around the compiler.
    pub confinement: Confinement,
    /// Whether its headers came precompiled, from a [`Batch`](super::Batch).
    pub precompiled: bool,
}

/// What is known of an artifact's inside.
#[derive(Debug, Clone)]
pub enum Inspected {
    /// A GPU image.
    Cubin(CubinInfo),
    /// A host object.
    Object(ObjectInfo),
}

/// Why there is no artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileFailure {
    /// In one word.
    pub reason: FailureReason,
    /// What the compiler said about the candidate.
    pub diagnostics: Vec<Diagnostic>,
}

/// The closed list of reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureReason {
    /// The source is wrong.
    Diagnostics,
    /// The wall clock or CPU limit was reached.
    TimedOut,
    /// The memory limit was reached.
    OverMemory,
    /// The output limit was reached.
    OutputTooLarge,
    /// A compiler process died of this signal.
    Crashed(i32),
    /// Guard or inspection refused it.
    #[serde(skip)]
    Forbidden(Vec<Forbidden>),
}

/// One thing that may not be in a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forbidden {
    /// In its source.
    Source(GuardViolation),
    /// In its bytes: a sentence for the generator.
    Artifact(String),
}

impl CompileFailure {
    /// Why, in a sentence.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        match self.reason {
            FailureReason::Diagnostics => "it does not compile",
            FailureReason::TimedOut => "its compiler did not end in time",
            FailureReason::OverMemory => "its compiler took too much memory",
            FailureReason::OutputTooLarge => "its compiler wrote too much",
            FailureReason::Crashed(_) => "its compiler crashed",
            FailureReason::Forbidden(_) => "it has what no candidate may have",
        }
    }

    /// All that the compiler, the guard and the inspection said: the line of the flattened source, and the message.
    #[must_use]
    pub fn said(&self) -> Vec<(Option<u32>, String)> {
        let diagnostics = self.diagnostics.iter().map(|said| (said.line, said.message.clone()));
        let forbidden = match &self.reason {
            FailureReason::Forbidden(all) => all.as_slice(),
            FailureReason::Diagnostics
            | FailureReason::TimedOut
            | FailureReason::OverMemory
            | FailureReason::OutputTooLarge
            | FailureReason::Crashed(_) => &[],
        };
        diagnostics.chain(forbidden.iter().map(Forbidden::said)).collect()
    }
}

impl Forbidden {
    fn said(&self) -> (Option<u32>, String) {
        match self {
            Self::Source(violation) => {
                (Some(violation.line), format!("guard, {:?}: `{}`", violation.rule, violation.found))
            }
            Self::Artifact(message) => (None, message.clone()),
        }
    }
}

/// Which of the sandbox layers that need kernel support were up. Reported, since an old kernel lacks them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// Files outside the toolchain cannot be opened.
    pub landlock: bool,
    /// Sockets, tracing, namespaces and the like are refused.
    pub seccomp: bool,
    /// It has networks, processes and a user of its own.
    pub namespaces: bool,
    /// It has given away every capability.
    pub capabilities: bool,
    /// What this kernel's Landlock is too old for.
    pub lacking: Vec<String>,
}

/// How a record tells sandbox layers that the compiler lacked from those that the runner lacked.
pub const COMPILER: &str = "compiler: ";

impl Confinement {
    /// What was not enforced around the compiler, in words.
    #[must_use]
    pub fn not_enforced(&self) -> Vec<String> {
        let layers = [
            (self.landlock, "file reads and writes (no landlock)"),
            (self.seccomp, "network and other system calls (no seccomp)"),
            (self.namespaces, "namespaces (users may not make them here)"),
            (self.capabilities, "capabilities (they could not be dropped)"),
        ];
        let down = layers.into_iter().filter(|(up, _)| !up).map(|(_, what)| what.to_owned());
        down.chain(self.lacking.iter().cloned()).map(|what| format!("{COMPILER}{what}")).collect()
    }
}

/// What the client tells the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorkerJob {
    pub(super) source: String,
    pub(super) tool: Tool,
    pub(super) header_roots: Vec<PathBuf>,
    /// The deadline of a zygote's forks; a worker's is its client's affair.
    pub(super) wall_ms: u64,
    pub(super) cpu_s: u64,
    pub(super) memory_bytes: u64,
    pub(super) output_bytes: u64,
    /// Largest file of any kind.
    pub(super) file_bytes: u64,
    pub(super) processes: u64,
    pub(super) layers: SandboxLayers,
    pub(super) parent_pid: u32,
}

/// What compiles it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Tool {
    Nvrtc {
        library: PathBuf,
        builtins: PathBuf,
        /// nvJitLink, of what is linked.
        linker: Option<PathBuf>,
        arch: String,
        extra: Vec<String>,
        /// Headers that a zygote has read: it writes this file, and its forks read it.
        precompiled: Option<PathBuf>,
    },
    Cxx {
        program: PathBuf,
        clang: bool,
        level: String,
    },
}

/// What the worker answers; the bytes are in its folder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorkerReply {
    pub(super) result: WorkerResult,
    pub(super) log: String,
    pub(super) confinement: Confinement,
    /// Whether the headers came precompiled.
    pub(super) precompiled: bool,
}

/// What a zygote tells of a fork of its own.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ForkEnded {
    /// The fork's folder, as the client named it.
    pub(super) folder: String,
    /// As `waitpid` gives it; none where the deadline passed.
    pub(super) status: Option<i32>,
}

/// How it went.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum WorkerResult {
    Compiled,
    Failed(FailureReason),
    Broken(String),
}

impl Default for Limits {
    /// Room for the largest known kernels: ten times what they need.
    fn default() -> Limits {
        Limits {
            wall: Duration::from_secs(180),
            cpu: Duration::from_secs(180),
            memory_bytes: 16 << 30,
            output_bytes: 64 << 20,
            processes: 4096,
            layers: SandboxLayers { landlock: true, seccomp: true, namespaces: true },
        }
    }
}

impl Workers {
    /// This very program, re-executed.
    pub fn current() -> std::io::Result<Workers> {
        Ok(Workers { exe: std::env::current_exe()?, args: Vec::new() })
    }
}
