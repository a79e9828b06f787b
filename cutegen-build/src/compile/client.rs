//! The client's side: guard, worker under a deadline, inspection. Safe to call from many threads at once.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Instant;

use super::batch::Batch;
use super::cache::Way;
use super::diagnostics::{self, Diagnostic, Severity};
use super::error::Error;
use super::job::{
    Artifact, CompileFailure, CompileFor, CompileJob, CompileOutcome, CompileSetup, Confinement,
    FailureReason, Forbidden, Inspected, Tool, WorkerJob, WorkerReply, WorkerResult,
};
use super::process::{self, Ended, start_of, words_of};
use super::worker::ARTIFACT;
use super::{guard, tool_log};
use crate::inspect;
use crate::inspect::cubin;
use crate::toolchain::CxxFamily;

/// Bytes that are not inspected.
#[derive(Debug)]
pub struct RawArtifact {
    /// The cubin or object.
    pub bytes: Vec<u8>,
    /// What the compiler said about the candidate.
    pub diagnostics: Vec<Diagnostic>,
    /// From start to end of the worker.
    pub wall_ms: u64,
    /// Which sandbox layers stood around the compiler.
    pub confinement: Confinement,
    /// Whether its headers came precompiled.
    pub precompiled: bool,
}

/// Guards, compiles and inspects one candidate, in a process of its own.
pub fn compile(job: &CompileJob, setup: &CompileSetup) -> Result<CompileOutcome, Error> {
    guarded(job, setup, Way::Alone, || compile_unguarded(job, setup))
}

/// The same in a fork of the batch's zygote.
pub fn compile_in(batch: &Batch, job: &CompileJob) -> Result<CompileOutcome, Error> {
    guarded(job, &batch.setup, Way::Fork, || compile_unguarded_in(batch, job))
}

/// A worker, or what one answered before, between the guard and the inspection.
fn guarded(
    job: &CompileJob,
    setup: &CompileSetup,
    way: Way,
    worker: impl FnOnce() -> Result<Result<RawArtifact, CompileFailure>, Error>,
) -> Result<CompileOutcome, Error> {
    let fingerprint = fingerprint(job, setup)?;
    let violations = guard::check(&job.source, guard::Language::of(&job.compile_for));
    if !violations.is_empty() {
        return Ok(forbidden(violations.into_iter().map(Forbidden::Source).collect(), Vec::new()));
    }
    let raw = match setup.cache.answer((job, setup, way), worker)? {
        Ok(raw) => raw,
        Err(failure) => return Ok(CompileOutcome::Failed(failure)),
    };
    if raw.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Advisory) {
        return Ok(failed(FailureReason::Diagnostics, raw.diagnostics));
    }
    Ok(match inspect(job, &raw.bytes) {
        Ok((bytes, inspected)) => compiled(RawArtifact { bytes, ..raw }, inspected, fingerprint),
        Err(problems) => forbidden(problems.into_iter().map(Forbidden::Artifact).collect(), raw.diagnostics),
    })
}

/// The worker alone: neither guard nor inspection. For tests that show what those two keep out.
#[doc(hidden)]
pub fn compile_unguarded(
    job: &CompileJob,
    setup: &CompileSetup,
) -> Result<Result<RawArtifact, CompileFailure>, Error> {
    raw(&worker_job(job, setup)?, setup, &Place::Alone)
}

/// The same in a fork of the batch's zygote.
#[doc(hidden)]
pub fn compile_unguarded_in(
    batch: &Batch,
    job: &CompileJob,
) -> Result<Result<RawArtifact, CompileFailure>, Error> {
    let job = batch.adopt(worker_job(job, &batch.setup)?);
    raw(&job, &batch.setup, &Place::Fork(batch))
}

/// A cubin of our own text, with options that no candidate has. Neither guard nor inspection looks at it; the worker's
/// limits hold all the same.
pub fn own_cubin(setup: &CompileSetup, arch: &str, source: &str, options: &[&str]) -> Result<Vec<u8>, Error> {
    let compile_for = CompileFor::Cuda { arch: arch.to_owned() };
    let job = CompileJob { source: source.to_owned(), entries: Vec::new(), compile_for };
    let mut job = worker_job(&job, setup)?;
    if let Tool::Nvrtc { linker, extra, .. } = &mut job.tool {
        *linker = None; // it would generate code anew, without these options
        extra.extend(options.iter().map(|option| (*option).to_owned()));
    }
    raw(&job, setup, &Place::Alone)?.map(|raw| raw.bytes).map_err(|failure| Error::Ours(Box::new(failure)))
}

/// Where a worker runs.
enum Place<'a> {
    Alone,
    Fork(&'a Batch),
}

fn raw(
    job: &WorkerJob,
    setup: &CompileSetup,
    place: &Place<'_>,
) -> Result<Result<RawArtifact, CompileFailure>, Error> {
    let parent = match place {
        Place::Alone => std::env::temp_dir(),
        Place::Fork(batch) => batch.folder.path().to_owned(),
    };
    let dir = tempfile::tempdir_in(&parent).map_err(Error::io("creating a folder in", &parent))?;
    let started = Instant::now();
    let ended = match place {
        Place::Alone => process::run(job, setup, dir.path())?,
        Place::Fork(batch) => batch.run(job, dir.path())?,
    };
    let wall_ms = started.elapsed().as_millis() as u64;
    let Some(mut ended) = ended else { return Ok(Err(failure(FailureReason::TimedOut))) };
    if let Some(signal) = ended.status.signal() {
        return Ok(Err(failure(death(signal, &words_of(&mut ended.said.stderr)))));
    }
    let reply = reply(&mut ended, setup)?;
    let found = diagnostics::parse(&reply.log, &setup.toolchain.header_roots);
    match reply.result {
        WorkerResult::Broken(reason) => Err(worker_error(setup, format!("stopped: {reason}"))),
        WorkerResult::Failed(reason) => Ok(Err(CompileFailure { reason, diagnostics: found })),
        WorkerResult::Compiled => Ok(artifact_of(dir.path(), setup)?.map(|bytes| RawArtifact {
            bytes,
            diagnostics: found,
            wall_ms,
            confinement: reply.confinement,
            precompiled: reply.precompiled,
        })),
    }
}

/// What is kept of the bytes: a cubin as it is, an object in the form that is judged and linked.
fn inspect(job: &CompileJob, bytes: &[u8]) -> Result<(Vec<u8>, Inspected), Vec<String>> {
    match job.compile_for {
        CompileFor::Cuda { .. } => {
            let info = cubin::check(bytes, &job.entries)?;
            Ok((bytes.to_vec(), Inspected::Cubin(info)))
        }
        CompileFor::Host { .. } => {
            let canonical = inspect::object::canonical(bytes, &job.entries)?;
            let info = inspect::judged(&canonical, &job.entries)?;
            Ok((canonical, Inspected::Object(info)))
        }
    }
}

fn compiled(raw: RawArtifact, inspected: Inspected, fingerprint: String) -> CompileOutcome {
    CompileOutcome::Compiled(Box::new(Artifact {
        bytes: raw.bytes,
        inspected,
        log_warnings: raw.diagnostics,
        wall_ms: raw.wall_ms,
        fingerprint,
        confinement: raw.confinement,
        precompiled: raw.precompiled,
    }))
}

fn fingerprint(job: &CompileJob, setup: &CompileSetup) -> Result<String, Error> {
    Ok(match job.compile_for {
        CompileFor::Cuda { .. } => setup.toolchain.cuda_fingerprint()?,
        CompileFor::Host { .. } => setup.toolchain.host_fingerprint()?,
    })
}

pub(super) fn worker_job(job: &CompileJob, setup: &CompileSetup) -> Result<WorkerJob, Error> {
    Ok(WorkerJob {
        source: job.source.clone(),
        tool: tool(job, setup)?,
        header_roots: setup.toolchain.header_roots.clone(),
        wall_ms: setup.limits.wall.as_millis() as u64,
        cpu_s: setup.limits.cpu.as_secs().max(1),
        memory_bytes: setup.limits.memory_bytes,
        output_bytes: setup.limits.output_bytes,
        file_bytes: setup.limits.output_bytes,
        processes: setup.limits.processes,
        layers: setup.limits.layers,
        parent_pid: std::process::id(),
    })
}

/// Targets end up in a command line, so only the known forms pass.
fn tool(job: &CompileJob, setup: &CompileSetup) -> Result<Tool, Error> {
    match &job.compile_for {
        CompileFor::Cuda { arch } => {
            let digits = arch.strip_prefix("sm_").map(|rest| rest.trim_end_matches(['a', 'f']));
            if !digits
                .is_some_and(|digits| digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
            {
                return Err(Error::Target { target: arch.clone(), expected: "an arch such as sm_90a" });
            }
            let nvrtc = setup.toolchain.need_nvrtc()?;
            Ok(Tool::Nvrtc {
                library: nvrtc.library.clone(),
                builtins: nvrtc.builtins.clone(),
                linker: nvrtc.linker.as_ref().map(|linker| linker.library.clone()),
                arch: arch.clone(),
                extra: Vec::new(),
                precompiled: None,
            })
        }
        CompileFor::Host { triple, level } => {
            if triple != "x86_64-unknown-linux-gnu" {
                return Err(Error::Target { target: triple.clone(), expected: "x86_64-unknown-linux-gnu" });
            }
            if !["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"].contains(&level.as_str()) {
                return Err(Error::Target { target: level.clone(), expected: "a level such as x86-64-v3" });
            }
            let cxx = setup.toolchain.need_cxx()?;
            Ok(Tool::Cxx {
                program: cxx.program.clone(),
                clang: cxx.family == CxxFamily::Clang,
                level: level.clone(),
            })
        }
    }
}

fn death(signal: i32, stderr: &str) -> FailureReason {
    let memory = ["memory allocation of", "bad_alloc", "out of memory"];
    if memory.iter().any(|word| stderr.contains(word)) {
        return FailureReason::OverMemory;
    }
    tool_log::signal(signal)
}

fn reply(ended: &mut Ended, setup: &CompileSetup) -> Result<WorkerReply, Error> {
    serde_json::from_slice(&start_of(&mut ended.said.stdout, 8 << 20)).map_err(|error| {
        let (status, stderr) = (ended.status, words_of(&mut ended.said.stderr));
        worker_error(setup, format!("answered no reply ({status}, {error}): {}", stderr.trim()))
    })
}

/// The worker is ours, but the compiler shared its folder: no links, no pipes, no more bytes than allowed.
fn artifact_of(dir: &Path, setup: &CompileSetup) -> Result<Result<Vec<u8>, CompileFailure>, Error> {
    let path = dir.join(ARTIFACT);
    let options = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).to_owned();
    let mut file = options.open(&path).map_err(Error::io("reading", &path))?;
    let about = file.metadata().map_err(Error::io("reading", &path))?;
    if !about.is_file() || about.len() > setup.limits.output_bytes {
        return Ok(Err(failure(FailureReason::OutputTooLarge)));
    }
    Ok(Ok(start_of(&mut file, setup.limits.output_bytes)))
}

pub(super) fn worker_error(setup: &CompileSetup, reason: String) -> Error {
    Error::Worker { exe: setup.workers.exe.clone(), reason }
}

fn failure(reason: FailureReason) -> CompileFailure {
    CompileFailure { reason, diagnostics: Vec::new() }
}

fn failed(reason: FailureReason, diagnostics: Vec<Diagnostic>) -> CompileOutcome {
    CompileOutcome::Failed(CompileFailure { reason, diagnostics })
}

fn forbidden(found: Vec<Forbidden>, diagnostics: Vec<Diagnostic>) -> CompileOutcome {
    failed(FailureReason::Forbidden(found), diagnostics)
}
