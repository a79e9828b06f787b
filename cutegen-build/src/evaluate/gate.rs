//! [`Judge`]: the gate's door. Behind it a session judges on the host or on a device, as its workers' backend says.

use std::path::Path;
use std::rc::Rc;

use cutegen_spec::contract::Step;
use cutegen_spec::tensor::Tensor;

use crate::evaluate::device::waits::{check_waits, takes_constants};
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::MemoryBackend;
use crate::evaluate::judge::backend::cuda::{Choice, CudaBackend, Totals};
use crate::evaluate::judge::backend::host::HostBackend;
use crate::evaluate::judge::candidate::Candidate;
use crate::evaluate::judge::checker::Checker;
use crate::evaluate::judge::profile::Profiled;
use crate::evaluate::judge::reference::Reference;
use crate::evaluate::judge::sanitize::{Sanitized, Tool};
use crate::evaluate::judge::user_launch::{Ran, UserLaunch};
use crate::evaluate::settings::{OnDevice, Question, Settings, Terms};
use crate::evaluate::timing::incumbent::{Incumbent, Measured, Unmeasured};
use crate::evaluate::timing::{Timer, Timing};
use crate::evaluate::wire::gemm::Gemm;
use crate::evaluate::wire::protocol::{Backend, Regime};
use crate::inspect::cubin;
use crate::outcome::{Comparison, Outcome};

/// A judging session. Bound to the thread that made it, as its runners are.
pub struct Judge(At);

enum At {
    Host(Box<Session<HostBackend>>),
    Cuda(Box<Session<CudaBackend>>),
}

/// What judges and what times. The timer goes first: what it holds is the backend's.
struct Session<D: MemoryBackend> {
    timer: Timer<D>,
    checker: Checker<D>,
    tensors: Vec<Tensor>,
}

impl<D: MemoryBackend> Session<D> {
    fn new(question: Question, settings: Settings, backend: D) -> Result<Self, Error> {
        let backend = Rc::new(backend);
        let timer = Timer::new(backend.card().as_ref());
        let tensors = question.spec.tensors.clone();
        Ok(Self { timer, checker: Checker::new(question, Rc::new(settings), backend)?, tensors })
    }

    fn timing(&mut self) -> Timing<'_, D> {
        Timing { checker: &mut self.checker, timer: &mut self.timer }
    }

    fn expect_peer(&mut self) {
        self.timer.expect_peer(self.checker.settings.python.as_ref());
    }
}

/// The same call on whichever session there is.
macro_rules! at {
    ($judge:expr, $session:ident => $call:expr) => {
        match &mut $judge.0 {
            At::Host($session) => $call,
            At::Cuda($session) => $call,
        }
    };
}

impl Judge {
    /// A session for `question`.
    pub fn new(question: Question, settings: Settings) -> Result<Self, Error> {
        match (settings.workers.backend, settings.device.clone()) {
            (Backend::Host, _) => {
                let reference = Reference::load(&question.reference)?;
                let backend = HostBackend::new(reference, settings.workers.limits.address_space);
                Ok(Self(At::Host(Box::new(Session::new(question, settings, backend)?))))
            }
            (Backend::Cuda, Some(device)) => {
                let oracle = choose(&question, &device)?;
                let backend = CudaBackend::open(&device.kernels, oracle, settings.sharing)?;
                Ok(Self(At::Cuda(Box::new(Session::new(question, settings, backend)?))))
            }
            (Backend::Cuda, None) => {
                Err(Error::Worker("a device is judged with kernels of the gate's own".to_owned()))
            }
        }
    }

    /// The shapes that a full pass judges.
    #[must_use]
    pub fn shapes(&self) -> &[Vec<i64>] {
        match &self.0 {
            At::Host(session) => session.checker.shapes(),
            At::Cuda(session) => session.checker.shapes(),
        }
    }

    /// Why the card's state is not read while something is timed, in words; none where it is, or where there is no card.
    #[must_use]
    pub fn not_watched(&self) -> Option<String> {
        match &self.0 {
            At::Host(session) => session.timer.not_watched(),
            At::Cuda(session) => session.timer.not_watched(),
        }
    }

    /// Judges one candidate where it is eligible, on few shapes and distributions.
    pub fn screen(&mut self, candidate: &Candidate) -> Result<Outcome, Error> {
        match self.reads_early(std::slice::from_ref(candidate))? {
            Some(reason) => Ok(Outcome::Blocked(reason)),
            None => at!(self, session => session.checker.screen(candidate)),
        }
    }

    /// Judges a list of variants as the runtime would dispatch it, on every shape and distribution.
    pub fn full(&mut self, variants: &[Candidate]) -> Result<Outcome, Error> {
        match self.reads_early(variants)? {
            Some(reason) => Ok(Outcome::Blocked(reason)),
            None => at!(self, session => session.checker.full(variants)),
        }
    }

    /// Which kernel reads memory before it waits for the kernel before it, and takes no constants; told of cubins. Runners,
    /// which refuse all else that comes before a wait, don't know the spec.
    fn reads_early(&self, variants: &[Candidate]) -> Result<Option<String>, Error> {
        let At::Cuda(session) = &self.0 else { return Ok(None) };
        for variant in variants {
            let path = &variant.artifact;
            let bytes = std::fs::read(path)
                .map_err(|error| Error::File { path: path.clone(), reason: error.to_string() })?;
            // what is no cubin is refused as it is loaded
            let Ok(info) = cubin::read(&bytes) else { continue };
            let may_read = |step: &Step| takes_constants(step, &session.tensors);
            if let Err(reason) = check_waits(&variant.contract, &info.kernels, &may_read) {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// Judges a library's product on every shape at which there is one, and every distribution, as a candidate.
    pub fn full_product(&mut self, product: &dyn Fn(&[i64]) -> Option<Gemm>) -> Result<Outcome, Error> {
        at!(self, session => session.checker.full_product(product))
    }

    /// Times `candidate` against `incumbent` at these extents. The outcome when either cannot be timed: it crashes,
    /// hangs, is not eligible, or leaves other outputs than when it is not timed.
    pub fn compare(
        &mut self,
        candidate: &Candidate,
        incumbent: &Candidate,
        axes: &[i64],
    ) -> Result<Result<Comparison, Outcome>, Error> {
        let alone = self.batch(incumbent, std::slice::from_ref(candidate), axes, usize::MAX)?.pop();
        Ok(alone.expect("a batch has an answer for each candidate"))
    }

    /// Times all of `others` against `batch_reference` at once, by at most so many rounds of a block each: enough to rank them. The
    /// outcome of each that cannot be timed.
    pub fn batch(
        &mut self,
        batch_reference: &Candidate,
        others: &[Candidate],
        axes: &[i64],
        rounds: usize,
    ) -> Result<Vec<Result<Comparison, Outcome>>, Error> {
        at!(self, session => session.timing().batch(batch_reference, others, axes, rounds))
    }

    /// Times a finalist as [`Self::compare`] does, but in a new process and on inputs that it has not met. An incumbent
    /// that is not there, or cannot do this, says nothing of the finalist.
    pub fn measure(
        &mut self,
        candidate: &Candidate,
        incumbent: &Incumbent,
        axes: &[i64],
        regime: Regime,
    ) -> Result<Result<Measured, Unmeasured>, Error> {
        at!(self, session => session.timing().measure(candidate, incumbent, axes, regime))
    }

    /// Starts the peer worker, which imports PyTorch while other things are done: for a session that will measure against
    /// it. Whether it could be started is told by the first such measurement.
    pub fn expect_peer(&mut self) {
        at!(self, session => session.expect_peer());
    }

    /// Launches variants on tensors that somebody brings, and computes the reference for them where that is asked for. The
    /// outcome when a variant cannot be launched, crashes or hangs; whether it is right is not judged.
    pub fn run(&mut self, user_launch: &UserLaunch) -> Result<Result<Ran, Outcome>, Error> {
        at!(self, session => session.checker.run(user_launch))
    }

    /// Runs each of the candidates under the tools, at the smallest shapes where it is eligible; all of it at once.
    pub fn sanitize(
        &mut self,
        candidates: &[Candidate],
        sanitizer: &Path,
        tools: &[Tool],
    ) -> Result<Vec<Sanitized>, Error> {
        at!(self, session => session.checker.sanitize(candidates, sanitizer, tools))
    }

    /// Launches a candidate once at these extents under Nsight Compute: what is measured then. Nothing is judged.
    pub fn profile(&mut self, candidate: &Candidate, axes: &[i64], ncu: &Path) -> Result<Profiled, Error> {
        at!(self, session => session.checker.profile(candidate, axes, ncu))
    }
}

/// The printed reference's kernels, beside the host's for long totals, else the host's reference.
fn choose(question: &Question, device: &OnDevice) -> Result<Choice, Error> {
    let totals = |terms: &Terms| {
        let reference = Reference::load(&question.reference)?;
        Ok::<_, Error>(Totals { reference, terms: terms.clone() })
    };
    Ok(match &device.reference {
        Some((cubin, printed)) => Choice::Device(
            Rc::from(cubin.as_path()),
            Box::new(printed.clone()),
            device.totals.as_ref().map(totals).transpose()?,
        ),
        None => Choice::Host(Reference::load(&question.reference)?),
    })
}
