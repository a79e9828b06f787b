//! [`Judging`]: the command's end of a judge process. The judge draws seeds and inputs, holds references and decides;
//! the command, which generates, compiles and stores, sees verdicts and times.

mod serve;
mod setting;
mod wire;

use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cutegen_spec::record::ReferenceOn;
use cutegen_spec::target::Target;

use super::compiled::{self, Compiled, DeviceFiles, KERNELS, ON_HOST, REFERENCE};
use super::error::SearchError;
use crate::compile::CompileSetup;
use crate::env;
use crate::evaluate::judge::profile::Profiled;
use crate::evaluate::judge::sanitize::{Sanitized, Tool};
use crate::evaluate::wire::protocol::Regime;
use crate::evaluate::{
    Candidate, Comparison, Incumbent, JUDGE, Measured, Outcome, Ran, Unmeasured, UserLaunch, VARIABLE,
};
use crate::plan::{Plan, cost};
use wire::{Batch, Request, Response, Start};

pub(crate) use serve::main;
pub use setting::Devices;
pub(super) use setting::Setting;

/// What a judge process inherits: where temporary files go, the linker's parts, and which device is meant.
const INHERITED: [&str; 9] = [
    "PATH",
    "TMPDIR",
    "HOME",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "LD_LIBRARY_PATH",
    // PyTorch's compiler
    "CUDA_HOME",
    "CC",
    "TORCHINDUCTOR_CACHE_DIR",
];

/// A judge process; it ends with this.
pub(super) struct Judging {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// Seed of everything that it draws.
    pub(super) seed: u64,
    /// Why the card's state is not read while something is timed, where there is a card.
    pub(super) not_watched: Option<String>,
    /// Where it computes references.
    pub(super) reference: ReferenceOn,
}

/// What a judge holds results against, compiled.
pub(super) struct Oracle {
    /// The reference, where it is computed on the host.
    reference: Option<PathBuf>,
    device: Option<DeviceFiles>,
}

impl Oracle {
    /// What was compiled into `folder` before.
    pub(super) fn in_folder(plan: &Plan, folder: &Path) -> Self {
        let there = |name: &str| Some(folder.join(name)).filter(|path| path.is_file());
        let device = match &plan.target {
            Target::Host { .. } => None,
            Target::Cuda { .. } => {
                Some(DeviceFiles { kernels: folder.join(KERNELS), reference: there(REFERENCE) })
            }
        };
        Self { reference: there(ON_HOST), device }
    }

    /// Compiles it into `folder`.
    pub(super) fn compile(setup: &CompileSetup, plan: &Plan, folder: &Path) -> Result<Self, SearchError> {
        let device = match &plan.target {
            Target::Host { .. } => None,
            Target::Cuda { arch, .. } => Some(compiled::on_device(setup, plan, *arch, folder)?),
        };
        // the device has its own, but for what only the host can or does sooner
        let reference = match &device {
            Some(DeviceFiles { reference: Some(_), .. }) if !cost::has_total(plan) => None,
            Some(_) | None => Some(compiled::reference(setup, plan, folder)?),
        };
        Ok(Self { reference, device })
    }
}

impl Judging {
    /// Compiles what the judge needs of ours into `folder`, and starts it.
    pub(super) fn start(
        setup: &CompileSetup,
        plan: &Plan,
        folder: &Path,
        tiles: Vec<i64>,
        naive: &Compiled,
    ) -> Result<Self, SearchError> {
        Self::beside(setup, plan, folder, tiles, naive.for_gate(plan, folder)?)
    }

    /// The same, with another baseline than one just compiled: enough for what accepts nothing.
    pub(super) fn beside(
        setup: &CompileSetup,
        plan: &Plan,
        folder: &Path,
        tiles: Vec<i64>,
        baseline: Candidate,
    ) -> Result<Self, SearchError> {
        let oracle = Oracle::compile(setup, plan, folder)?;
        Self::with(setup, plan, (oracle, Setting::default()), tiles, baseline)
    }

    /// The same, with what is compiled already.
    pub(super) fn with(
        setup: &CompileSetup,
        plan: &Plan,
        (oracle, setting): (Oracle, Setting),
        mut tiles: Vec<i64>,
        baseline: Candidate,
    ) -> Result<Self, SearchError> {
        tiles.sort_unstable();
        tiles.dedup();
        let linker = match &plan.target {
            Target::Host { .. } => Some(setup.toolchain.need_cxx()?.program.clone()),
            Target::Cuda { .. } => None,
        };
        let start = Start {
            spec: plan.spec.clone(),
            target: plan.target.clone(),
            workers: setting.devices.narrow(compiled::run_workers(setup, plan)),
            seed: setting.seed,
            linker,
            reference: oracle.reference,
            device: oracle.device,
            tiles,
            baseline,
            libraries: compiled::vendor_folders(),
        };
        Self::spawn(setup, start, &setting.devices)
    }

    fn spawn(setup: &CompileSetup, start: Start, devices: &Devices) -> Result<Self, SearchError> {
        let mut command = Command::new(&setup.workers.exe);
        command.args(&setup.workers.args).env_clear().env(VARIABLE, JUDGE);
        command.envs(INHERITED.into_iter().filter_map(|name| Some((name, env::variable_os(name)?))));
        command.envs(devices.visible());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(SearchError::Worker)?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(SearchError::Judge("has no pipes".to_owned()));
        };
        let reference = match &start.device {
            Some(DeviceFiles { reference: Some(_), .. }) => ReferenceOn::Device,
            Some(_) | None => ReferenceOn::Host,
        };
        let replies = BufReader::new(replies);
        let mut judging = Self { child, requests, replies, seed: 0, not_watched: None, reference };
        match judging.ask(&Request::Start(Box::new(start)))? {
            Response::Ready { seed, not_watched } => {
                (judging.seed, judging.not_watched) = (seed, not_watched)
            }
            other => return Err(unexpected(&other)),
        }
        Ok(judging)
    }

    fn ask(&mut self, ask: &Request) -> Result<Response, SearchError> {
        let gone = |error: String| SearchError::Judge(format!("ended: {error}"));
        let mut bytes = Vec::new();
        ciborium::into_writer(ask, &mut bytes).map_err(|error| gone(error.to_string()))?;
        self.requests.write_all(&bytes).map_err(|error| gone(error.to_string()))?;
        match wire::read(&mut self.replies) {
            Ok(Response::Failed(reason)) => Err(SearchError::Judge(reason)),
            Ok(tell) => Ok(tell),
            Err(error) => Err(gone(error)),
        }
    }

    /// See [`Judge::screen`](crate::evaluate::Judge::screen).
    pub(super) fn screen(&mut self, candidate: &Candidate) -> Result<Outcome, SearchError> {
        self.judged(&Request::Screen(candidate.clone()))
    }

    /// See [`Judge::full`](crate::evaluate::Judge::full).
    pub(super) fn full(&mut self, variants: &[Candidate]) -> Result<Outcome, SearchError> {
        self.judged(&Request::Full(variants.to_vec()))
    }

    fn judged(&mut self, ask: &Request) -> Result<Outcome, SearchError> {
        match self.ask(ask)? {
            Response::Judged(outcome) => Ok(*outcome),
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Judge::measure`](crate::evaluate::Judge::measure).
    pub(super) fn measure(
        &mut self,
        candidate: &Candidate,
        incumbent: &Incumbent,
        axes: &[i64],
        regime: Regime,
    ) -> Result<Result<Measured, Unmeasured>, SearchError> {
        let (candidate, incumbent, axes) = (candidate.clone(), incumbent.clone(), axes.to_vec());
        match self.ask(&Request::Measure { candidate, incumbent, axes, regime })? {
            Response::Measured(measured) => Ok(*measured),
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Judge::expect_peer`](crate::evaluate::Judge::expect_peer).
    pub(super) fn expect_peer(&mut self) -> Result<(), SearchError> {
        match self.ask(&Request::ExpectPeer)? {
            Response::Expecting => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Judge::batch`](crate::evaluate::Judge::batch).
    pub(super) fn batch(
        &mut self,
        batch_reference: &Candidate,
        others: Vec<Candidate>,
        axes: &[i64],
        rounds: usize,
    ) -> Result<Vec<Result<Comparison, Outcome>>, SearchError> {
        let (batch_reference, axes) = (batch_reference.clone(), axes.to_vec());
        match self.ask(&Request::Batch(Batch { batch_reference, others, axes, rounds }))? {
            Response::Ranked(rankings) => Ok(rankings),
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Judge::run`](crate::evaluate::Judge::run).
    pub(super) fn run(&mut self, user_launch: UserLaunch) -> Result<Result<Ran, Outcome>, SearchError> {
        match self.ask(&Request::Run(Box::new(user_launch)))? {
            Response::Ran(ran) => Ok(*ran),
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Judge::sanitize`](crate::evaluate::Judge::sanitize).
    pub(super) fn sanitize(
        &mut self,
        candidates: &[Candidate],
        sanitizer: &Path,
        tools: &[Tool],
    ) -> Result<Vec<Sanitized>, SearchError> {
        let (candidates, program, tools) = (candidates.to_vec(), sanitizer.to_owned(), tools.to_vec());
        match self.ask(&Request::Sanitize { candidates, program, tools })? {
            Response::Sanitized(sanitized) => Ok(sanitized),
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Judge::profile`](crate::evaluate::Judge::profile).
    pub(super) fn profile(
        &mut self,
        candidate: &Candidate,
        axes: &[i64],
        program: &Path,
    ) -> Result<Profiled, SearchError> {
        let (candidate, axes, program) = (candidate.clone(), axes.to_vec(), program.to_owned());
        match self.ask(&Request::Profile { candidate, axes, program })? {
            Response::Profiled(profiled) => Ok(profiled),
            other => Err(unexpected(&other)),
        }
    }
}

impl Drop for Judging {
    fn drop(&mut self) {
        // its runners die with it; one that is gone already leaves nothing to be done
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn unexpected(tell: &Response) -> SearchError {
    SearchError::Judge(format!("answered {tell:?}"))
}
