//! The runner: the process that loads and launches candidates. It reads requests, does what they say and replies;
//! it decides nothing. A `Device` per backend does the work.
//!
//! It must not know: seeds, distributions, references, bounds, verdicts.

mod apart;
mod channel;
mod cuda;
mod host;
mod limits;
mod rng;
#[doc(hidden)]
pub mod sandbox;

use std::os::fd::{FromRawFd as _, OwnedFd};

use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::memory::Lent;
use crate::evaluate::wire::memory::SharedMemory;
use crate::evaluate::wire::protocol::{
    Action, Backend, Done, Job, Memory, Program, Ready, Reply, Request, Run, Start, TimePlan, Timed, Variant,
};
use apart::Apart;
use channel::Channel;
use cuda::Cuda;
use host::Host;

pub use cuda::cublaslt;

/// What a backend does with its arena.
pub(crate) trait Device {
    /// What was found when the backend started; called once, after limits are in place.
    fn ready(&mut self) -> Result<Ready, DeviceError>;

    /// Launches the job's first program on each of its slots, see [`Run`].
    fn run(&mut self, job: &Job, run: Run) -> Result<Done, DeviceError>;

    /// Times the job's programs, see [`TimePlan`].
    fn time(&mut self, job: &Job, plan: &TimePlan) -> Result<Timed, DeviceError>;

    /// Times more blocks of the programs that were timed last.
    fn blocks(&mut self, order: &[usize]) -> Result<Timed, DeviceError>;

    /// Launches what was timed last once more, see [`Action::Settle`]; the last round of each program.
    fn settle(&mut self) -> Result<Vec<usize>, DeviceError>;
}

/// Where a CUDA runner's tensors lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// In the judge's arena: guards and misalignment as it made them.
    Together,
    /// Each in an allocation of its own, for compute-sanitizer.
    Apart,
}

/// The body of a worker process: serves requests until its input closes. Call it before anything else when the
/// worker variable says `run`.
#[must_use]
pub fn main() -> i32 {
    run_as(Placement::Together)
}

/// The body of a worker process that runs under compute-sanitizer: as [`main`], but each region has a device
/// allocation of its own. Call it when the worker variable says `run-apart`.
#[must_use]
pub fn main_apart() -> i32 {
    run_as(Placement::Apart)
}

fn run_as(placement: Placement) -> i32 {
    match serve(placement) {
        Ok(()) => 0,
        Err(_) => 70,
    }
}

fn serve(placement: Placement) -> Result<(), String> {
    let mut channel = Channel::claim_stdio()?;
    let Some(Request::Start(start)) = channel.receive()? else { return Err("no start".to_owned()) };
    if placement == Placement::Together {
        // under the sanitizer some belong to it
        let [requests, replies] = channel.fds();
        limits::close_leaked([requests, replies].into_iter().chain(start.memory.fd()).collect())?;
    }
    let mut device = match open(&start, placement) {
        Ok((device, ready)) => {
            channel.send(&Reply::Ready(ready))?;
            device
        }
        Err(stop) => return channel.send(&stop.into_reply()),
    };
    while let Some(request) = channel.receive()? {
        let Request::Job(job) = request else { return Err("a second start".to_owned()) };
        let reply = answer(device.as_mut(), &job).unwrap_or_else(DeviceError::into_reply);
        channel.send(&reply)?;
        if let Reply::Faulted(_) = reply {
            leave();
        }
    }
    Ok(())
}

/// Ends the process at once: on a lost context the driver's own clean-up would wait for a kernel that never ends.
fn leave() -> ! {
    // SAFETY: ends the process; nothing is buffered, and the system takes back what it held.
    unsafe { libc::_exit(0) }
}

fn open(start: &Start, placement: Placement) -> Result<(Box<dyn Device>, Ready), DeviceError> {
    limits::apply(start).map_err(DeviceError::Failed)?;
    let mut device = device(start, placement)?;
    let mut ready = device.ready()?;
    // the last thing before it takes candidates: what it needed of this machine it has read
    let layers = match placement {
        Placement::Together => start.limits.sandboxed,
        // the sanitizer speaks with this process by means of its own
        Placement::Apart => false,
    };
    ready.not_enforced.extend(sandbox::raise(start.backend, layers, &start.candidates));
    Ok((device, ready))
}

fn device(start: &Start, placement: Placement) -> Result<Box<dyn Device>, DeviceError> {
    // SAFETY: the judge made this descriptor inheritable for this process and names it once.
    let own = |fd| unsafe { OwnedFd::from_raw_fd(fd) };
    match (start.backend, start.memory, placement) {
        (Backend::Host, Memory::Host { fd }, _) => Ok(Box::new(Host::new(SharedMemory::adopt(own(fd)))?)),
        (Backend::Cuda, Memory::Host { fd }, Placement::Apart) => {
            Ok(Box::new(Apart::open(SharedMemory::adopt(own(fd)))?))
        }
        (Backend::Cuda, Memory::Device { fd, bytes }, Placement::Together) => {
            Ok(Box::new(Cuda::open(&Lent::Descriptor(own(fd)), bytes, start)?))
        }
        (Backend::Cuda, Memory::DeviceByHandle { handle, bytes }, Placement::Together) => {
            Ok(Box::new(Cuda::open(&Lent::Handle(handle), bytes, start)?))
        }
        (backend, memory, _) => Err(DeviceError::Failed(format!("{backend:?} on {memory:?}"))),
    }
}

fn answer(device: &mut dyn Device, job: &Job) -> Result<Reply, DeviceError> {
    if job.programs.iter().any(|p| p.slots.is_empty()) {
        return Err(DeviceError::Failed("a program without a slot".to_owned()));
    }
    match &job.action {
        Action::Run(_) | Action::Time(_) if job.programs.is_empty() => {
            Err(DeviceError::Failed("a job without a program".to_owned()))
        }
        Action::Run(run) => device.run(job, *run).map(Reply::Done),
        Action::Time(plan) if plan.order.iter().any(|p| *p >= job.programs.len()) => {
            Err(DeviceError::Failed("a block names no program".to_owned()))
        }
        Action::Time(plan) => device.time(job, plan).map(Reply::Timed),
        Action::Blocks(order) => device.blocks(order).map(Reply::Timed),
        Action::Settle => device.settle().map(Reply::Settled),
    }
}

/// The variant that a backend without libraries launches.
fn variant(program: &Program) -> Result<&Variant, DeviceError> {
    program.variant().ok_or_else(|| DeviceError::Lacking("no libraries on this backend".to_owned()))
}

impl DeviceError {
    fn into_reply(self) -> Reply {
        match self {
            DeviceError::Refused(reason) => Reply::Refused(reason),
            DeviceError::Faulted(reason) => Reply::Faulted(reason),
            DeviceError::Lacking(reason) => Reply::Lacking(reason),
            DeviceError::Failed(reason) => Reply::Failed(reason),
        }
    }
}
