//! A device as compute-sanitizer wants it: every tensor and every part of the workspace in an allocation of its own,
//! so that a read or write one element past it is seen, and undefined workspace left uninitialised. The arena is host
//! memory here. One launch a job, and nothing is timed.

use std::rc::Rc;
use std::time::Duration;

use cutegen_runtime::cuda::CUdeviceptr;
use cutegen_spec::contract::Initial;

use super::cuda::{image, workspace_parts};
use super::{Device, variant};
use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::launch::{Launch, Loaded, Placed};
use crate::evaluate::device::memory::DeviceMemory;
use crate::evaluate::device::session::Session;
use crate::evaluate::wire::memory::SharedMemory;
use crate::evaluate::wire::protocol::{Done, Job, Ready, Region, Run, TimePlan, Timed};

/// The longest a stream may take: the sanitizer slows kernels a hundredfold.
const WALL: Duration = Duration::from_secs(300);
/// Addresses that a region keeps modulo this.
const ALIGNMENT: u64 = 256;

/// One device, and the judge's arena.
pub(super) struct Apart {
    session: Rc<Session>,
    arena: SharedMemory,
}

/// A region alone, at the misalignment that it has in the arena.
struct Alone {
    region: Region,
    memory: DeviceMemory,
}

impl Apart {
    pub(super) fn open(arena: SharedMemory) -> Result<Self, DeviceError> {
        Ok(Self { session: Rc::new(Session::open(WALL)?), arena })
    }

    fn alone(&self, region: Region) -> Result<Alone, DeviceError> {
        let bytes = region.offset % ALIGNMENT + region.bytes;
        Ok(Alone { region, memory: DeviceMemory::new(&self.session, bytes)? })
    }
}

impl Alone {
    fn at(&self) -> Result<CUdeviceptr, DeviceError> {
        self.memory.at(Region { offset: self.region.offset % ALIGNMENT, bytes: self.region.bytes })
    }
}

impl Device for Apart {
    fn ready(&mut self) -> Result<Ready, DeviceError> {
        let (device, cache_bytes) = (self.session.describe(), self.session.cache_bytes()?);
        Ok(Ready { device, cache_bytes, ..Ready::default() })
    }

    fn run(&mut self, job: &Job, _: Run) -> Result<Done, DeviceError> {
        self.arena.remap(job.arena_bytes).map_err(failed)?;
        let program = &job.programs[0];
        let variant = variant(program)?;
        let loaded = Loaded::load(&self.session, &image(variant)?, &variant.contract, &job.scalars)?;
        let parts = workspace_parts(&variant.contract, &job.axes, program.workspace(0))?;
        let tensors = program.slots[0].iter().map(|r| self.alone(*r)).collect::<Result<Vec<_>, _>>()?;
        let parts = parts.into_iter().map(|r| self.alone(r)).collect::<Result<Vec<_>, _>>()?;
        for (_, kept) in variant
            .contract
            .workspace
            .iter()
            .zip(&parts)
            .filter(|(part, _)| part.initial == Initial::KeptZero)
        {
            kept.memory.write(kept.region.offset % ALIGNMENT, &vec![0; kept.region.bytes as usize])?;
        }
        for tensor in &tensors {
            let contents = self.arena.slice(tensor.region).map_err(failed)?;
            tensor.memory.write(tensor.region.offset % ALIGNMENT, contents)?;
        }
        let at = tensors.iter().map(Alone::at).collect::<Result<Vec<_>, _>>()?;
        let workspace = parts.iter().map(|p| Ok((p.at()?, p.region.bytes)));
        let workspace: Vec<(CUdeviceptr, u64)> = workspace.collect::<Result<_, DeviceError>>()?;
        let placed = Placed { axes: &job.axes, scalars: &job.scalars, tensors: &at, workspace: &workspace };
        Launch::of(&loaded, &variant.contract, &placed)?.go(&self.session)?;
        self.session.wait()?;
        for tensor in &tensors {
            let contents = self.arena.slice_mut(tensor.region).map_err(failed)?;
            tensor.memory.read(tensor.region.offset % ALIGNMENT, contents)?;
        }
        Ok(Done::default())
    }

    fn time(&mut self, _: &Job, _: &TimePlan) -> Result<Timed, DeviceError> {
        Err(DeviceError::Failed("nothing is timed under the sanitizer".to_owned()))
    }

    fn settle(&mut self) -> Result<Vec<usize>, DeviceError> {
        Err(DeviceError::Failed("nothing is timed under the sanitizer".to_owned()))
    }

    fn blocks(&mut self, _: &[usize]) -> Result<Timed, DeviceError> {
        Err(DeviceError::Failed("nothing is timed under the sanitizer".to_owned()))
    }
}

fn failed(error: crate::evaluate::Error) -> DeviceError {
    DeviceError::Failed(error.to_string())
}
