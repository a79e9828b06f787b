//! [`RunnerSlot`]: the place of the one runner: linking what it opens, replacing it when a candidate took it down, and turning its answers into
//! outcomes.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use cutegen_spec::contract::Contract;

use super::backend::MemoryBackend;
use super::candidate::{Candidate, Loadable, prepare};
use super::lease::Lease;
use crate::evaluate::error::Error;
use crate::evaluate::settings::Settings;
use crate::evaluate::wire::protocol::{Backend, Code, Job, Program, Region, Reply, Variant};
use crate::evaluate::wire::worker::{Answer, First, RUN, Worker};
use crate::outcome::{Check, Crash, Outcome};

/// Why judging ends early: an outcome of the candidate, or an error of ours.
pub(in crate::evaluate) enum Halt {
    Outcome(Box<Outcome>),
    Error(Error),
}

/// Errors of ours apart from outcomes.
pub(in crate::evaluate) fn settle<T>(ended: Result<T, Halt>) -> Result<Result<T, Box<Outcome>>, Error> {
    match ended {
        Ok(done) => Ok(Ok(done)),
        Err(Halt::Outcome(outcome)) => Ok(Err(outcome)),
        Err(Halt::Error(error)) => Err(error),
    }
}

/// A live runner, and the memory that it shares with the judge. Each has its own: nothing that an earlier runner left
/// behind can reach the memory of a later one. The runner goes first: memory may not be freed while another process has
/// it open by handle.
pub(in crate::evaluate) struct Live<A> {
    pub(in crate::evaluate) worker: Worker,
    pub(in crate::evaluate) arena: A,
}

/// A runner if one is alive, what the next is started with, and the folder of what it opens. The runner goes before the backend:
/// what it maps is the backend's.
pub(in crate::evaluate) struct RunnerSlot<D: MemoryBackend> {
    pub(in crate::evaluate) live: Option<Live<D::Arena>>,
    pub(in crate::evaluate) lease: Lease,
    /// Whether runners open cuBLASLt.
    pub(in crate::evaluate) with_cublaslt: bool,
    folder: tempfile::TempDir,
    linked: u64,
    settings: Rc<Settings>,
    backend: Rc<D>,
}

impl<D: MemoryBackend> RunnerSlot<D> {
    /// No runner yet.
    pub(in crate::evaluate) fn new(settings: Rc<Settings>, backend: Rc<D>) -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(|e| Error::system("make a temporary folder", e))?;
        let card = backend.card();
        let lease =
            card.as_ref().map_or_else(Lease::none, |card| Lease::named(&std::env::temp_dir(), card.name()));
        Ok(Self { live: None, lease, with_cublaslt: false, folder, linked: 0, settings, backend })
    }

    /// A path in the folder that no other call gave, `what` its last part.
    pub(in crate::evaluate) fn fresh(&mut self, what: &str) -> PathBuf {
        self.linked += 1;
        self.folder.path().join(format!("{}{what}", self.linked))
    }

    /// The folder of what runners open.
    pub(in crate::evaluate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Links what must be linked, and starts a runner that no other host candidate has touched.
    pub(in crate::evaluate) fn load(&mut self, candidates: &[Candidate]) -> Result<Vec<Loadable>, Halt> {
        let backend = self.settings.workers.backend;
        if backend == Backend::Host {
            self.live = None;
        }
        let inspects = self.settings.checks.has(Check::Content);
        let mut loaded = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let shared = self.fresh(".so");
            loaded.push(prepare(candidate, (backend, inspects), &self.settings.linker, shared)??);
        }
        Ok(loaded)
    }

    /// Ends the present runner; the next launch starts another.
    pub(in crate::evaluate) fn replace_worker(&mut self) {
        self.live = None;
    }

    /// The present runner with an arena of at least this length, or a new one.
    pub(in crate::evaluate) fn bench(&mut self, bytes: u64) -> Result<&mut Live<D::Arena>, Error> {
        let backend = &*self.backend;
        let fits = match &mut self.live {
            Some(bench) => backend.grow(&mut bench.arena, bytes)?,
            None => false,
        };
        if !fits {
            self.live = None; // first, or both arenas must fit at once
            let arena = backend.arena(bytes)?;
            let kernels = self.settings.device.as_ref().map(|device| device.kernels.as_path());
            let cublaslt = self.with_cublaslt.then_some(self.settings.libraries.as_slice());
            let first =
                First { memory: backend.memory(&arena), candidates: self.folder.path(), kernels, cublaslt };
            let worker = self.settings.workers.start(RUN, first)?;
            self.live = Some(Live { worker, arena });
        }
        self.live.as_mut().ok_or_else(|| Error::Worker("vanished".to_owned()))
    }

    /// Whether an arena can be this long, `own` bytes of it workspace. Where it could without, that is the candidate's; where
    /// the tensors alone are too much, making the arena says so.
    pub(in crate::evaluate) fn room(&self, bytes: u64, own: u64) -> Result<(), Halt> {
        if own == 0 {
            return Ok(());
        }
        let most = self.backend.most(self.live.as_ref().map(|bench| &bench.arena))?;
        if bytes < most || bytes - own >= most {
            return Ok(());
        }
        let asks = format!("asks for {own} bytes of workspace, for which there is no room in an arena");
        Err(Outcome::Blocked(format!("{asks} of less than {most}")).into())
    }

    /// The device that the present runner works on, in words.
    pub(in crate::evaluate) fn device(&self) -> String {
        self.live.as_ref().map(|b| b.worker.ready.device.clone()).unwrap_or_default()
    }

    /// Isolation that the present runner does not have.
    pub(in crate::evaluate) fn not_enforced(&self) -> Vec<String> {
        let runner = self.live.as_ref().map(|b| b.worker.ready.not_enforced.clone()).unwrap_or_default();
        runner.into_iter().chain(self.lease.missing().map(str::to_owned)).collect()
    }

    /// The runner's reply; a runner that is gone is replaced at the next launch.
    pub(in crate::evaluate) fn answer(&mut self, job: Job, deadline: Duration) -> Result<Reply, Halt> {
        let bench = self.bench(job.arena_bytes)?;
        let outcome = match bench.worker.answer(job, deadline)? {
            Answer::Reply(reply) => return Ok(reply),
            Answer::Refused(reason) => return Err(Outcome::Blocked(reason).into()),
            Answer::Crashed(crash) => Outcome::Crashed(crash),
            Answer::TimedOut(after) => Outcome::TimedOut(after),
        };
        self.live = None;
        Err(outcome.into())
    }

    /// A reply to another question than was asked.
    pub(in crate::evaluate) fn unexpected(&mut self, reply: &Reply) -> Halt {
        self.live = None;
        let reason = format!("answered {reply:?}");
        match self.settings.workers.backend {
            Backend::Host => Outcome::Crashed(Crash::Protocol(reason)).into(),
            Backend::Cuda => Halt::Error(Error::Worker(reason)),
        }
    }
}

/// What is launched on a case, and the contract that sizes its workspace.
pub(in crate::evaluate) struct Launchable {
    pub(in crate::evaluate) code: Code,
    pub(in crate::evaluate) contract: Contract,
}

impl From<&Loadable> for Launchable {
    fn from(variant: &Loadable) -> Self {
        Self { code: code(variant), contract: variant.candidate.contract.clone() }
    }
}

/// A program over these slots.
pub(in crate::evaluate) fn program(code: Code, slots: Vec<Vec<Region>>, workspaces: Vec<Region>) -> Program {
    let (written, only_read, constant) = (Vec::new(), Vec::new(), Vec::new());
    Program { code, slots, workspaces, written, only_read, constant }
}

/// What a runner is told of a variant.
pub(in crate::evaluate) fn code(variant: &Loadable) -> Code {
    let (artifact, contract) = (variant.artifact.clone(), variant.candidate.contract.clone());
    Code::Variant(Variant { artifact, format: variant.format, contract })
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
