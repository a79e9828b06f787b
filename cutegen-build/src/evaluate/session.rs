//! A session's runner: linking what it opens, replacing it when a candidate took it down, and turning its answers into
//! outcomes.

use std::path::Path;
use std::time::Duration;

use super::candidate::{Candidate, Loadable, prepare};
use super::error::Error;
use super::judge::Judge;
use super::outcome::{Crash, Outcome};
use super::protocol::{Backend, Job, Program, Region, Reply};
use super::worker::{Answer, Worker, Workers};

/// Why judging ends early: an outcome of the candidate, or an error of ours.
pub(super) enum Halt {
    Outcome(Box<Outcome>),
    Error(Error),
}

impl Judge {
    /// Links what must be linked, and starts a runner that no other host candidate has touched.
    pub(super) fn load(&mut self, candidates: &[Candidate]) -> Result<Vec<Loadable>, Halt> {
        if self.settings.workers.backend == Backend::Host {
            self.worker = None;
        }
        let mut loaded = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            self.linked += 1;
            let shared = self.folder.path().join(format!("{}.so", self.linked));
            match prepare(candidate, self.settings.workers.backend, &self.settings.linker, shared)? {
                Ok(loadable) => loaded.push(loadable),
                Err(log) => return Err(Outcome::CompileFailed(log).into()),
            }
        }
        Ok(loaded)
    }

    /// Ends the present runner; the next launch starts another.
    pub(super) fn replace_worker(&mut self) {
        self.worker = None;
    }

    /// The present runner, or a new one.
    pub(super) fn worker(&mut self) -> Result<&mut Worker, Error> {
        running(&mut self.worker, &self.settings.workers, self.folder.path())
    }

    /// The device that the present runner works on, in words.
    pub(super) fn device(&self) -> String {
        self.worker.as_ref().map(|w| w.ready.device.clone()).unwrap_or_default()
    }

    /// Isolation that the present runner does not have.
    pub(super) fn not_enforced(&self) -> Vec<String> {
        self.worker.as_ref().map(|w| w.ready.not_enforced.clone()).unwrap_or_default()
    }

    /// Whether a runner may map an arena of this length twice, as it does when the arena grows.
    pub(super) fn check_size(&self, bytes: u64) -> Result<(), Error> {
        let limit = self.settings.workers.limits.address_space / 2;
        match self.settings.workers.backend {
            Backend::Host if bytes >= limit => {
                Err(Error::Shape(format!("an arena of {bytes} bytes exceeds the runner's {limit}")))
            }
            Backend::Host | Backend::Cuda => Ok(()),
        }
    }

    /// The runner's reply; a runner that is gone is replaced at the next launch.
    pub(super) fn answer(&mut self, job: Job, deadline: Duration) -> Result<Reply, Halt> {
        let outcome = match self.worker()?.answer(job, deadline)? {
            Answer::Reply(reply) => return Ok(reply),
            Answer::Refused(reason) => return Err(Outcome::Blocked(reason).into()),
            Answer::Crashed(crash) => Outcome::Crashed(crash),
            Answer::TimedOut(after) => Outcome::TimedOut(after),
        };
        self.worker = None;
        Err(outcome.into())
    }

    /// A reply to another question than was asked.
    pub(super) fn unexpected(&mut self, reply: &Reply) -> Halt {
        self.worker = None;
        let reason = format!("answered {reply:?}");
        match self.settings.workers.backend {
            Backend::Host => Outcome::Crashed(Crash::Protocol(reason)).into(),
            Backend::Cuda => Halt::Error(Error::Worker(reason)),
        }
    }
}

/// The runner in `present`, started when there is none.
pub(super) fn running<'a>(
    present: &'a mut Option<Worker>,
    workers: &Workers,
    candidates: &Path,
) -> Result<&'a mut Worker, Error> {
    match present {
        Some(worker) => Ok(worker),
        empty => Ok(empty.insert(workers.start(candidates)?)),
    }
}

/// A program over these slots.
pub(super) fn program(variant: &Loadable, slots: Vec<Vec<Region>>, workspace: Region) -> Program {
    let (artifact, contract) = (variant.artifact.clone(), variant.candidate.contract.clone());
    Program { artifact, format: variant.format, contract, slots, workspace }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Error(error)
    }
}

impl From<Outcome> for Halt {
    fn from(outcome: Outcome) -> Self {
        Halt::Outcome(Box::new(outcome))
    }
}
