//! [`Instrumented`]: our own runner under a tool that watches what it launches, compute-sanitizer or Nsight Compute, from its
//! start to what the tool wrote. It must not know what a tool's report says.
//!
//! The runner is started as `run-apart`: every tensor and workspace part has a device allocation of its own, and nothing
//! closes descriptors that a tool needs. Pipes and the arena's descriptor are inherited through the tool.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cutegen_spec::contract::Contract;

use super::backend::host::fill;
use super::backend::{Filling, Found};
use super::content::Bytes;
use super::image::Image;
use super::runner_slot::program;
use crate::evaluate::error::Error;
use crate::evaluate::wire::arena::POISON;
use crate::evaluate::wire::memory::SharedMemory;
use crate::evaluate::wire::protocol::{Action, Code, Job, Memory, Reply, Run, ScalarValue};
use crate::evaluate::wire::worker::{Answer, First, RUN_APART, Worker, Workers};
use crate::outcome::Checks;

/// One launch, and what it finds.
pub(super) struct Look {
    pub(super) code: Code,
    pub(super) contract: Contract,
    pub(super) image: Image,
    pub(super) axes: Vec<i64>,
    pub(super) scalars: Vec<ScalarValue>,
    pub(super) contents: Bytes,
}

/// A runner under a tool, and the jobs that it is given in turn.
pub(super) struct Instrumented {
    /// How it is started.
    pub(super) workers: Workers,
    /// What it may open.
    pub(super) folder: PathBuf,
    /// Where the tool writes.
    pub(super) log: PathBuf,
    /// Its arena, which the caller keeps.
    pub(super) arena: RawFd,
    pub(super) jobs: Vec<Job>,
    /// The longest that a job, or the exit, may take.
    pub(super) deadline: Duration,
}

/// What became of a runner under a tool.
pub(super) enum Watched {
    /// It took no jobs.
    NotStarted {
        /// Why.
        reason: String,
        /// What the tool wrote.
        report: String,
    },
    /// It is gone.
    Ended {
        /// Its first answer that was not the expected one.
        answer: Option<String>,
        /// The tool's exit status; none where it did not end in time, or by a signal.
        status: Option<i32>,
        /// What the tool wrote.
        report: String,
    },
}

impl Instrumented {
    /// Starts it, has it do its jobs, and ends it.
    pub(super) fn watched(self) -> Result<Watched, Error> {
        let memory = Memory::Host { fd: self.arena };
        let first = First { memory, candidates: &self.folder, kernels: None, cublaslt: None };
        let report = || std::fs::read_to_string(&self.log).unwrap_or_default();
        let worker = match self.workers.start(RUN_APART, first) {
            Ok(worker) => worker,
            Err(error) => return Ok(Watched::NotStarted { reason: error.to_string(), report: report() }),
        };
        let (answer, status) = drive(worker, self.jobs, self.deadline)?;
        Ok(Watched::Ended { answer, status, report: report() })
    }
}

/// The first answer that was not the expected one, and the tool's exit status.
fn drive(
    mut worker: Worker,
    jobs: Vec<Job>,
    deadline: Duration,
) -> Result<(Option<String>, Option<i32>), Error> {
    for job in jobs {
        let told = match worker.answer(job, deadline) {
            Ok(Answer::Reply(Reply::Done(_))) => continue,
            Ok(late @ Answer::TimedOut(_)) => return Ok((Some(format!("{late:?}")), None)), // nor would it end in time
            Ok(other) => format!("{other:?}"),
            Err(Error::Worker(reason)) => reason,
            Err(error) => return Err(error),
        };
        return Ok((Some(told), worker.finish(deadline)?));
    }
    Ok((None, worker.finish(deadline)?))
}

/// Starts runners under `tool` with these arguments; `own` are variables of the tool beside those of the runner.
pub(super) fn under(
    workers: &Workers,
    tool: &Path,
    arguments: Vec<String>,
    own: Vec<(OsString, OsString)>,
) -> Workers {
    let mut args = arguments;
    args.push(workers.exe.display().to_string());
    args.extend(workers.args.iter().cloned());
    let env = workers.env.iter().cloned().chain(own).collect();
    Workers { exe: tool.to_owned(), args, env, ..workers.clone() }
}

/// The folder of a log, for what else a tool writes.
pub(super) fn beside(log: &Path) -> OsString {
    log.parent().unwrap_or(Path::new("/tmp")).as_os_str().to_owned()
}

/// These launches' images in one arena, filled, and their jobs.
pub(super) fn side_by_side(looks: &[&Look], checks: &Checks) -> Result<(SharedMemory, Vec<Job>), Error> {
    let (mut arena, mut jobs, mut end) = (SharedMemory::create()?, Vec::new(), 0);
    for Look { code, contract, image, axes, scalars, contents } in looks {
        let image = image.further(end);
        end = image.bytes;
        arena.grow(end)?;
        let (poison, found) = (POISON, &Found::Poison);
        let filling = Filling { image: &image, held: &(), contract, poison, found, checks };
        fill(&mut arena, contents, &filling)?;
        let programs = vec![program(code.clone(), vec![image.tensors], vec![image.workspace])];
        let (axes, scalars, action) = (axes.clone(), scalars.clone(), Action::Run(Run::AFRESH));
        jobs.push(Job { arena_bytes: end, axes, scalars, programs, action });
    }
    Ok((arena, jobs))
}
