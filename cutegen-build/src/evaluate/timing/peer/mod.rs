//! Peers: what other libraries make of the same math, in a worker process of their own. A spec's `peers` table says it
//! as an expression; [`Peer`] has it run on the same data, over a rotation of the same size, as blocks of as many
//! launches, and [`compare()`] times them in turn with ours.
//!
//! Invariant: a machine without Python, PyTorch or a device is no error, nor is an expression that fails: [`Stopped`]
//! says so in words, and those go into the record. A peer that computes something else is reported ([`agreement`]).

mod compare;
mod cubin;
mod process;
mod protocol;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cutegen_spec::dtype::DType;
use cutegen_spec::spec::{KernelSpec, Multiply};
use cutegen_spec::tensor::Role;

pub use compare::{Agreement, Blocks, agreement, compare, given};
pub use cubin::Cubin;
use process::Process;
pub use protocol::{Device, Mode, Output, Prepare, Prepared, Ready, Scalar, Tensor, What};
use protocol::{Reply, Request};

use crate::evaluate::error::Error;
use crate::evaluate::wire::protocol::ScalarValue;

/// Importing PyTorch takes seconds, from a cold disk more.
const START_DEADLINE: Duration = Duration::from_secs(120);
/// Longest a block may take, its untimed lead-in included.
const BLOCK_DEADLINE: Duration = Duration::from_secs(30);

/// The interpreter.
#[derive(Clone, Debug)]
pub struct Python {
    /// Usually `python3`.
    pub command: PathBuf,
    /// The only variables that it inherits: `PATH` and `HOME`, and where libraries lie.
    pub env: Vec<(OsString, OsString)>,
}

/// Why there is nothing from a peer, in words for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// This machine lacks something.
    NotRun(String),
    /// The expression cannot be run; the worker goes on.
    Refused(String),
    /// The worker ended.
    Died(String),
    /// The worker did not answer in this time.
    Late(Duration),
    /// The worker answered something else.
    Garbled(String),
}

/// A worker that was started and not yet waited for: it imports PyTorch meanwhile, and touches no device before it is asked.
#[derive(Debug)]
pub struct Starting(Process);

impl Starting {
    /// Starts its process.
    pub fn begin(python: &Python) -> Result<Self, Stopped> {
        Process::start(python).map(Self)
    }

    /// Waits until it takes requests.
    pub fn ready(self, device: Device) -> Result<Peer, Stopped> {
        self.ready_within(device, START_DEADLINE)
    }

    fn ready_within(self, device: Device, deadline: Duration) -> Result<Peer, Stopped> {
        let Starting(mut process) = self;
        match process.ask(&Request::Start { device }, deadline)? {
            Reply::Ready(ready) => Ok(Peer { process, ready, launches: 0 }),
            Reply::Absent(reason) => Err(Stopped::NotRun(reason)),
            other => Err(unexpected(other)),
        }
    }
}

/// A worker that has started.
#[derive(Debug)]
pub struct Peer {
    process: Process,
    ready: Ready,
    launches: u32,
}

impl Peer {
    /// Starts a worker.
    pub fn start(python: &Python, device: Device) -> Result<Self, Stopped> {
        Self::start_within(python, device, START_DEADLINE)
    }

    /// The same, with another deadline.
    pub fn start_within(python: &Python, device: Device, deadline: Duration) -> Result<Self, Stopped> {
        Starting::begin(python)?.ready_within(device, deadline)
    }

    /// Versions and device.
    #[must_use]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Prepares a block. After [`Stopped::Refused`] the worker takes the next one; after anything else it is gone.
    pub fn prepare(&mut self, prepare: &Prepare, deadline: Duration) -> Result<Prepared, Stopped> {
        self.launches = 0;
        match self.process.ask(&Request::Prepare(prepare), deadline)? {
            Reply::Prepared(prepared) => {
                self.launches = prepared.launches;
                Ok(prepared)
            }
            other => Err(unexpected(other)),
        }
    }

    /// Nanoseconds of one block of what is prepared.
    pub fn time(&mut self) -> Result<u64, Stopped> {
        match self.process.ask(&Request::Block {}, BLOCK_DEADLINE)? {
            Reply::Block { ns } => Ok(ns),
            other => Err(unexpected(other)),
        }
    }
}

impl Blocks for Peer {
    fn launches(&self) -> u32 {
        self.launches
    }

    fn block(&mut self) -> Result<u64, String> {
        self.time().map_err(|stopped| stopped.to_string())
    }
}

fn unexpected(reply: Reply) -> Stopped {
    match reply {
        Reply::Refused(reason) => Stopped::Refused(reason),
        Reply::Absent(reason) => Stopped::NotRun(reason),
        other => Stopped::Garbled(format!("answered {other:?}")),
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::NotRun(reason) => write!(f, "not run: {reason}"),
            Stopped::Refused(reason) => write!(f, "does not run: {reason}"),
            Stopped::Died(how) => write!(f, "not run to its end: the peer worker ended ({how})"),
            Stopped::Late(after) => write!(f, "not run to its end: no answer in {} s", after.as_secs_f64()),
            Stopped::Garbled(reason) => {
                write!(f, "not run to its end: the peer worker said nonsense ({reason})")
            }
        }
    }
}

/// Inputs of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Extents of all axes.
    pub axes: &'a [i64],
    /// Values of all scalars.
    pub scalars: &'a [ScalarValue],
    /// What each tensor holds before a launch, by position, for each slot that was drawn; none for outputs.
    pub slots: &'a [&'a [Option<Vec<u8>>]],
}

/// Slots of a rotation that covers a cache of so many bytes three times, as the runner's own does; `None` where a tensor
/// has no size.
#[must_use]
pub fn slots(spec: &KernelSpec, axes: &[i64], cache_bytes: u64) -> Option<u32> {
    let bytes = spec.tensors.iter().map(|t| u64::try_from(t.bytes(axes)?).ok());
    let bytes: u64 = bytes.sum::<Option<u64>>()?;
    u32::try_from((3 * cache_bytes).div_ceil(bytes.max(1)).clamp(3, 4096)).ok()
}

/// Inputs of a comparison in files, for all blocks that are prepared on them.
#[derive(Clone, Debug)]
pub struct Written {
    tensors: Vec<Tensor>,
    scalars: Vec<Scalar>,
}

/// Writes the inputs into `folder`, which must live until the last block on them is prepared.
pub fn write(spec: &KernelSpec, inputs: &Inputs<'_>, folder: &Path) -> Result<Written, Error> {
    let scalars = spec.scalars.iter().zip(inputs.scalars);
    let scalar = |(scalar, value): (&cutegen_spec::tensor::Scalar, &ScalarValue)| Scalar {
        name: scalar.name.clone(),
        dtype: if scalar.dtype == DType::F64 { "f64" } else { "f32" },
        bits: value.parameter(),
    };
    let read = spec.tensors.iter().enumerate().filter(|(_, t)| t.role != Role::Output);
    let tensors: Result<Vec<Tensor>, Error> = std::thread::scope(|scope| {
        let writing: Vec<_> =
            read.map(|(t, _)| scope.spawn(move || tensor(spec, t, inputs, folder))).collect();
        let panicked = |_| Err(Error::Worker("writing inputs panicked".to_owned()));
        writing.into_iter().map(|tensor| tensor.join().unwrap_or_else(panicked)).collect()
    });
    Ok(Written { tensors: tensors?, scalars: scalars.map(scalar).collect() })
}

/// Describes a block of `launches` over `slots` slots on these inputs, whose outputs go into `folder`.
#[must_use]
pub fn describe(
    spec: &KernelSpec,
    inputs: &Written,
    what: What,
    (slots, launches): (u32, u32),
    folder: &Path,
) -> Prepare {
    Prepare {
        what,
        tensors: inputs.tensors.clone(),
        scalars: inputs.scalars.clone(),
        tf32: spec.precision.multiply == Multiply::Tf32,
        slots,
        launches,
        folder: folder.to_owned(),
    }
}

fn tensor(spec: &KernelSpec, t: usize, inputs: &Inputs<'_>, folder: &Path) -> Result<Tensor, Error> {
    let tensor = &spec.tensors[t];
    let shape = tensor.dims.iter().map(|dim| dim.eval_axes(inputs.axes)).collect::<Option<Vec<_>>>();
    let (Some(shape), Some(strides)) = (shape, tensor.strides(inputs.axes)) else {
        return Err(Error::Shape(format!("`{}` has no size at {:?}", tensor.name, inputs.axes)));
    };
    let mut files = Vec::with_capacity(inputs.slots.len());
    for (slot, contents) in inputs.slots.iter().enumerate() {
        let bytes = contents.get(t).and_then(Option::as_ref);
        let bytes = bytes.ok_or_else(|| Error::Shape(format!("`{}` was not drawn", tensor.name)))?;
        let path = folder.join(format!("slot{slot}_{t}"));
        std::fs::write(&path, bytes)
            .map_err(|e| Error::File { path: path.clone(), reason: e.to_string() })?;
        files.push(path);
    }
    Ok(Tensor { name: tensor.name.clone(), dtype: tensor.dtype.name().to_owned(), shape, strides, files })
}

#[cfg(test)]
mod tests {
    use super::{Stopped, slots};
    use cutegen_spec::edition::spec_file;

    #[test]
    fn rotations_cover_the_cache() {
        let text = "edition = 1\n[kernels.k]\naxes = { m = '1..=9999' }\ninputs = { x = 'f32[m]' }\n\
                    outputs = { y = 'f16[m]' }\nmath = 'y[m] = x[m]'";
        let spec = spec_file(text, &Default::default()).kernels.remove(0);
        assert_eq!(slots(&spec, &[1000], 60_000), Some(30));
        assert_eq!(slots(&spec, &[1000], 0), Some(3));
        assert_eq!(slots(&spec, &[1], 60 << 20), Some(4096));
    }

    #[test]
    fn what_is_lacking_reads_as_a_record_has_it() {
        assert_eq!(Stopped::NotRun("no torch".to_owned()).to_string(), "not run: no torch");
    }
}
