//! Device memory: the arena's image in one allocation, or each region in its own.

use std::rc::Rc;

use cutegen_runtime::cuda::CUdeviceptr;
use cutegen_runtime::cuda::cudarc::driver::result;
use cutegen_spec::contract::{Contract, Initial};

use super::session::{Session, machine};
use crate::evaluate::memory::SharedMemory;
use crate::evaluate::protocol::Region;
use crate::evaluate::runner::Stop;

/// Says where a region of the arena lies on the device.
pub(super) trait Placed {
    /// The address of a tensor's region.
    fn tensor(&self, region: Region) -> Result<CUdeviceptr, Stop>;

    /// The address of a workspace part's region.
    fn workspace(&self, region: Region) -> Result<CUdeviceptr, Stop> {
        self.tensor(region)
    }
}

/// Device memory, freed when dropped unless the context is lost. At least 256-byte aligned, as the driver promises.
pub(super) struct Allocation {
    session: Rc<Session>,
    base: CUdeviceptr,
    bytes: u64,
}

impl Allocation {
    pub(super) fn new(session: &Rc<Session>, bytes: u64) -> Result<Self, Stop> {
        let size = usize::try_from(bytes.max(1)).map_err(|_| Stop::Failed(format!("{bytes} bytes")))?;
        // SAFETY: a fresh allocation in the current context.
        let base = unsafe { result::malloc_sync(size) }.map_err(machine("cuMemAlloc"))?;
        Ok(Self { session: Rc::clone(session), base, bytes })
    }

    pub(super) fn base(&self) -> CUdeviceptr {
        self.base
    }

    fn within(&self, at: u64, bytes: u64) -> Result<CUdeviceptr, Stop> {
        match at.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.base + at),
            _ => Err(Stop::Failed(format!("{bytes} bytes at {at} of {} on the device", self.bytes))),
        }
    }

    /// Copies in the session's stream, and waits. A copy in the null stream may return with its last piece still
    /// under way, and nothing would order it before a launch in the session's stream.
    pub(super) fn write(&self, at: u64, from: &[u8]) -> Result<(), Stop> {
        let to = self.within(at, from.len() as u64)?;
        // SAFETY: `to` and the bytes behind it lie in this allocation, and `from` outlives the wait below.
        unsafe { result::memcpy_htod_async(to, from, self.session.stream) }
            .map_err(machine("copying to the device"))?;
        self.session.wait()
    }

    pub(super) fn read(&self, at: u64, to: &mut [u8]) -> Result<(), Stop> {
        let from = self.within(at, to.len() as u64)?;
        // SAFETY: as in `write`.
        unsafe { result::memcpy_dtoh_sync(to, from) }.map_err(machine("copying from the device"))
    }

    /// Copies the first `bytes` of `from`, and waits: the null stream does not order the session's.
    pub(super) fn copy_from(&self, at: u64, from: &Allocation, bytes: u64) -> Result<(), Stop> {
        let (to, from) = (self.within(at, bytes)?, from.within(0, bytes)?);
        // SAFETY: both ranges lie in live allocations, which are distinct.
        unsafe { result::memcpy_dtod_async(to, from, bytes as usize, self.session.stream) }
            .map_err(machine("copying on the device"))?;
        self.session.wait()
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if !self.session.is_lost() {
            // SAFETY: allocated by `new` and freed once; nothing that uses it is running.
            let _ = unsafe { result::free_sync(self.base) };
        }
    }
}

/// The arena's image.
pub(super) struct Together {
    memory: Allocation,
}

impl Together {
    pub(super) fn new(session: &Rc<Session>, bytes: u64) -> Result<Self, Stop> {
        Ok(Self { memory: Allocation::new(session, bytes)? })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.memory.bytes
    }

    pub(super) fn memory(&self) -> &Allocation {
        &self.memory
    }

    /// The whole image, guards and poison included.
    pub(super) fn upload(&self, arena: &SharedMemory) -> Result<(), Stop> {
        let whole = Region { offset: 0, bytes: arena.len().min(self.bytes()) };
        self.memory.write(0, arena.slice(whole).map_err(failed)?)
    }

    pub(super) fn download(&self, arena: &mut SharedMemory) -> Result<(), Stop> {
        let whole = Region { offset: 0, bytes: arena.len().min(self.bytes()) };
        self.memory.read(0, arena.slice_mut(whole).map_err(failed)?)
    }

    /// A copy on the device.
    pub(super) fn duplicate(&self) -> Result<Allocation, Stop> {
        let copy = Allocation::new(&self.memory.session, self.bytes())?;
        copy.copy_from(0, &self.memory, self.bytes())?;
        Ok(copy)
    }

    pub(super) fn restore(&self, from: &Allocation) -> Result<(), Stop> {
        self.memory.copy_from(0, from, self.bytes())
    }

    /// Whether any of `regions` differs from the arena.
    pub(super) fn differs(&self, at: u64, arena: &SharedMemory, regions: &[Region]) -> Result<bool, Stop> {
        for region in regions {
            if differs(&self.memory, at, arena, *region)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The region's bytes in the image that starts at `at`, if they are not those of the arena.
pub(super) fn differs(
    memory: &Allocation,
    at: u64,
    arena: &SharedMemory,
    region: Region,
) -> Result<Option<Vec<u8>>, Stop> {
    let expected = arena.slice(region).map_err(failed)?;
    let mut found = vec![0; expected.len()];
    memory.read(at + region.offset, &mut found)?;
    Ok((found != expected).then_some(found))
}

impl Placed for Together {
    fn tensor(&self, region: Region) -> Result<CUdeviceptr, Stop> {
        self.memory.within(region.offset, region.bytes)
    }
}

/// Each region alone, at the misalignment that it has in the arena.
pub(super) struct Apart {
    tensors: Vec<(Region, Allocation)>,
    workspace: Vec<(Region, Allocation)>,
}

/// Addresses that a region keeps modulo this.
const ALIGNMENT: u64 = 256;

impl Apart {
    pub(super) fn new(
        session: &Rc<Session>,
        tensors: &[Region],
        parts: &[(Region, Initial)],
    ) -> Result<Self, Stop> {
        let alone = |region: &Region| {
            let bytes = region.offset % ALIGNMENT + region.bytes;
            Ok((*region, Allocation::new(session, bytes)?))
        };
        let tensors = tensors.iter().map(alone).collect::<Result<_, Stop>>()?;
        let workspace = parts.iter().map(|(region, _)| alone(region)).collect::<Result<_, Stop>>()?;
        Ok(Self { tensors, workspace })
    }

    /// Tensors only: a kernel that reads undefined workspace is to be seen doing so.
    pub(super) fn upload(&self, arena: &SharedMemory) -> Result<(), Stop> {
        for (region, memory) in &self.tensors {
            memory.write(region.offset % ALIGNMENT, arena.slice(*region).map_err(failed)?)?;
        }
        Ok(())
    }

    pub(super) fn download(&self, arena: &mut SharedMemory) -> Result<(), Stop> {
        for (region, memory) in &self.tensors {
            memory.read(region.offset % ALIGNMENT, arena.slice_mut(*region).map_err(failed)?)?;
        }
        Ok(())
    }
}

impl Placed for Apart {
    fn tensor(&self, region: Region) -> Result<CUdeviceptr, Stop> {
        find(&self.tensors, region)
    }

    fn workspace(&self, region: Region) -> Result<CUdeviceptr, Stop> {
        find(&self.workspace, region)
    }
}

fn find(all: &[(Region, Allocation)], region: Region) -> Result<CUdeviceptr, Stop> {
    let found = all.iter().find(|(known, _)| *known == region);
    let (_, memory) = found.ok_or_else(|| Stop::Failed(format!("{region:?} was not placed")))?;
    Ok(memory.base + region.offset % ALIGNMENT)
}

/// Where the workspace's parts lie in the arena, and what they hold at first.
pub(super) fn workspace_parts(
    contract: &Contract,
    axes: &[i64],
    whole: Region,
) -> Result<Vec<(Region, Initial)>, Stop> {
    let refused = || Stop::Refused("its workspace cannot be sized".to_owned());
    let (offsets, total) = contract.workspace_layout(axes).ok_or_else(refused)?;
    if u64::try_from(total).map_err(|_| refused())? > whole.bytes {
        return Err(Stop::Failed("the judge gave too little workspace".to_owned()));
    }
    let parts = contract.workspace.iter().zip(offsets).map(|(part, offset)| {
        let bytes = part.bytes.eval_axes(axes).and_then(|b| u64::try_from(b).ok()).ok_or_else(refused)?;
        Ok((Region { offset: whole.offset + offset.unsigned_abs(), bytes }, part.initial))
    });
    parts.collect()
}

pub(super) fn failed(error: crate::evaluate::Error) -> Stop {
    Stop::Failed(error.to_string())
}
