//! The worker's side: reads one job from stdin, confines itself, compiles, answers on stdout.
//!
//! Runs in a temporary folder with a cleared environment, as a process of its own or as a fork of a
//! [`zygote`](super::zygote). The bytes go to [`ARTIFACT`] there.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::job::{Confinement, FailureReason, Tool, WorkerJob, WorkerReply, WorkerResult};
use super::landlock::Access;
use super::sandboxed::compiler_folders;
use super::seccomp::Confine;
use super::{sandbox, tool_log};
use crate::toolchain::{
    CxxFamily, Error, LinkFailure, NvJitLink, Nvrtc, NvrtcFailure, Output, cuda_options, host_flags,
    use_headers, write_shim,
};

/// Set in a worker's environment; says which kind of worker it is to be.
pub const WORKER_VAR: &str = "CUTEGEN_WORKER";

/// Its value for a compiler.
pub const WORKER_KIND: &str = "compile";

/// The file a worker leaves in its folder.
pub(super) const ARTIFACT: &str = "artifact";

const HOST_SOURCE: &str = "kernel.cpp";
const HOST_LOG: &str = "cxx.log";
const LOG_BYTES_MAX: usize = 1 << 18;

/// What a zygote has ready for its forks.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) libraries: Libraries,
    /// Whether the job's file of precompiled headers is there.
    pub(super) headers: bool,
}

/// What compiles for a GPU.
#[derive(Debug)]
pub(super) struct Libraries {
    pub(super) nvrtc: Nvrtc,
    /// What links the code, where it is linked.
    linker: Option<NvJitLink>,
}

impl Libraries {
    /// Opens those that the job names.
    pub(super) fn open(tool: &Tool) -> Result<Libraries, String> {
        let Tool::Nvrtc { library, builtins, linker, .. } = tool else {
            return Err("a job for another compiler".to_owned());
        };
        let told = |error: Error| error.to_string();
        let linker = linker.as_deref().map(NvJitLink::open).transpose().map_err(told)?;
        Ok(Libraries { nvrtc: Nvrtc::open(library, builtins).map_err(told)?, linker })
    }

    /// What NVRTC is to make for `arch`.
    pub(super) fn output(&self, arch: &str) -> Output {
        if self.linker(arch).is_some() { Output::Linkable } else { Output::Cubin }
    }

    /// What links for `arch`: nothing for families, of which nvJitLink 13.0 makes the plain architecture (its code generator
    /// writes `.target sm_100` for sm_100f, which has no `setmaxnreg`).
    fn linker(&self, arch: &str) -> Option<&NvJitLink> {
        self.linker.as_ref().filter(|_| !arch.ends_with('f'))
    }

    /// A cubin, or why there is none; and what was said of it.
    fn cubin(&self, source: &str, arch: &str, options: &[String]) -> (Result<Made, WorkerResult>, String) {
        let output = match self.nvrtc.compile(source, options, self.output(arch)) {
            Ok(output) => output,
            Err(NvrtcFailure::Rejected { log }) => {
                return (Err(WorkerResult::Failed(tool_log::reason(&log))), log);
            }
            Err(NvrtcFailure::OutOfMemory) => {
                return (Err(WorkerResult::Failed(FailureReason::OverMemory)), String::new());
            }
            Err(NvrtcFailure::Broken(error)) => {
                return (Err(WorkerResult::Broken(error.to_string())), String::new());
            }
        };
        let (precompiled, log) = (output.used_headers(), output.log);
        let Some(linker) = self.linker(arch) else {
            return (Ok(Made { cubin: output.bytes, precompiled }), log);
        };
        match linker.link(&output.bytes, arch) {
            Ok(linked) => (Ok(Made { cubin: linked.cubin, precompiled }), joined(log, &linked.log)),
            Err(LinkFailure::Rejected { log: said }) => {
                (Err(WorkerResult::Failed(tool_log::reason(&said))), joined(log, &said))
            }
            Err(LinkFailure::Broken(error)) => (Err(WorkerResult::Broken(error.to_string())), log),
        }
    }
}

/// A cubin, and whether the headers were not read again for it.
struct Made {
    cubin: Vec<u8>,
    precompiled: bool,
}

fn joined(log: String, more: &str) -> String {
    if more.is_empty() { log } else { format!("{log}\n{more}") }
}

/// The whole life of a compile worker. Call it first thing in `main`, before any thread exists.
pub fn worker_main() -> ! {
    answer(None)
}

/// A worker's life from its job to its end, in a process of its own or in a fork of a zygote.
pub(super) fn answer(ready: Option<&Ready>) -> ! {
    let reply = read_job(&mut io::stdin().lock())
        .map_or_else(|reason| broken(reason.to_string()), |job| run(&job, ready));
    let text = serde_json::to_vec(&reply).expect("a reply holds only strings and numbers");
    let mut stdout = io::stdout().lock();
    let status = match stdout.write_all(&text).and_then(|()| stdout.flush()) {
        Ok(()) => 0,
        Err(_) => 1,
    };
    // SAFETY: nothing is left to flush; the compiler's exit handlers are not wanted after hostile input
    unsafe { libc::_exit(status) }
}

fn read_job(from: &mut dyn Read) -> io::Result<WorkerJob> {
    let mut text = Vec::new();
    from.read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::from)
}

fn run(job: &WorkerJob, ready: Option<&Ready>) -> WorkerReply {
    if let Err(error) = sandbox::limit(job) {
        return broken(format!("cannot limit itself: {error}"));
    }
    match (&job.tool, ready) {
        (Tool::Nvrtc { .. }, Some(ready)) => nvrtc(job, ready),
        (Tool::Nvrtc { .. }, None) => match Libraries::open(&job.tool) {
            Ok(libraries) => nvrtc(job, &Ready { libraries, headers: false }),
            Err(reason) => broken(reason),
        },
        (Tool::Cxx { program, clang, level }, _) => {
            let family = if *clang { CxxFamily::Clang } else { CxxFamily::Gcc };
            cxx(job, program, family, level).unwrap_or_else(|error| broken(error.to_string()))
        }
    }
}

fn nvrtc(job: &WorkerJob, ready: &Ready) -> WorkerReply {
    let Tool::Nvrtc { arch, extra, precompiled, .. } = &job.tool else {
        return broken("a job for another compiler".to_owned());
    };
    let headers = precompiled.as_ref().filter(|_| ready.headers);
    let access = Access {
        readable: readable(job).into_iter().chain(headers.cloned()).collect(),
        writable: vec![".".into()],
        devices: Vec::new(),
    };
    let confinement = sandbox::confine(job, &access, Confine::Threads);
    // options on precompiled headers come first
    let mut options: Vec<String> = headers.map(|path| use_headers(path)).into_iter().collect();
    options.extend(cuda_options(arch, &job.header_roots, ready.libraries.output(arch)));
    options.extend_from_slice(extra);
    let (made, log) = ready.libraries.cubin(&job.source, arch, &options);
    let (result, precompiled) = match made {
        Ok(made) => (store(&made.cubin, job), made.precompiled),
        Err(result) => (result, false),
    };
    WorkerReply { result, log: capped(log), confinement, precompiled }
}

/// What NVRTC and nvJitLink read: headers, and their own libraries.
pub(super) fn readable(job: &WorkerJob) -> Vec<PathBuf> {
    let libraries: Vec<&Path> = match &job.tool {
        Tool::Nvrtc { library, linker, .. } => [Some(library), linker.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|library| library.parent())
            .collect(),
        Tool::Cxx { .. } => Vec::new(),
    };
    job.header_roots.iter().cloned().chain(libraries.into_iter().map(Path::to_owned)).collect()
}

fn store(bytes: &[u8], job: &WorkerJob) -> WorkerResult {
    if bytes.len() as u64 > job.output_bytes {
        return WorkerResult::Failed(FailureReason::OutputTooLarge);
    }
    fs::write(ARTIFACT, bytes)
        .map_or_else(|error| WorkerResult::Broken(error.to_string()), |()| WorkerResult::Compiled)
}

fn cxx(job: &WorkerJob, program: &Path, family: CxxFamily, level: &str) -> io::Result<WorkerReply> {
    write_shim(Path::new(".")).map_err(io::Error::other)?;
    fs::write(HOST_SOURCE, &job.source)?;
    let log = fs::File::create(HOST_LOG)?;
    let readable = compiler_folders(program).into_iter().chain(job.header_roots.iter().cloned()).collect();
    let access = Access { readable, writable: vec![".".into(), "/dev/null".into()], devices: Vec::new() };
    let confinement = sandbox::confine(job, &access, Confine::Programs);
    let mut command = Command::new(program);
    command.args(host_flags(family, level, &job.header_roots)).args(["-c", HOST_SOURCE, "-o", ARTIFACT]);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).status()?;
    let mut log = Vec::new();
    fs::File::open(HOST_LOG)?.take(LOG_BYTES_MAX as u64).read_to_end(&mut log)?;
    let log = String::from_utf8_lossy(&log).into_owned();
    let result = if status.success() { WorkerResult::Compiled } else { host_failure(&log, status) };
    Ok(WorkerReply { result, log, confinement, precompiled: false })
}

fn host_failure(log: &str, status: std::process::ExitStatus) -> WorkerResult {
    use std::os::unix::process::ExitStatusExt;
    if let Some(reason) = tool_log::broken_compiler(log) {
        return WorkerResult::Broken(reason);
    }
    WorkerResult::Failed(status.signal().map_or_else(|| tool_log::reason(log), tool_log::signal))
}

fn broken(reason: String) -> WorkerReply {
    WorkerReply {
        result: WorkerResult::Broken(reason),
        log: String::new(),
        confinement: Confinement::default(),
        precompiled: false,
    }
}

fn capped(mut log: String) -> String {
    if log.len() > LOG_BYTES_MAX {
        let end = (0..=LOG_BYTES_MAX).rev().find(|at| log.is_char_boundary(*at)).unwrap_or(0);
        log.truncate(end);
    }
    log
}
