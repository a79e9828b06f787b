//! [`Left`]: copies of an arena's regions, and [`Spare`]: memory of earlier copies, for a launch is copied thousands of
//! times and an allocation takes longer than the copy.

use std::cell::RefCell;
use std::rc::Rc;

use cutegen_runtime::cuda::CUdeviceptr;

use super::super::kernels::Kernels;
use super::pieces::Pieces;
use crate::evaluate::device::memory::DeviceMemory;
use crate::evaluate::device::session::Session;
use crate::evaluate::error::Error;
use crate::evaluate::wire::protocol::Region;

/// Offsets of copied regions are multiples of this.
const ALIGNMENT: u64 = 256;
/// Copies that are kept to be used again.
const KEPT: usize = 4;
/// Regions that are copied by a call each: a launch for all has to send the list first.
const FEW: usize = 8;

/// Memory of copies that are no longer needed.
#[derive(Clone, Default)]
pub(super) struct Spare {
    memory: Rc<RefCell<Vec<DeviceMemory>>>,
}

/// Copies of regions, in one memory.
pub(in crate::evaluate) struct Left {
    regions: Vec<Region>,
    memory: Option<DeviceMemory>,
    spare: Spare,
}

impl Spare {
    /// Copies `regions` of `from`, in the stream's order.
    pub(super) fn copy(
        &self,
        (session, kernels): (&Rc<Session>, &Kernels),
        from: &DeviceMemory,
        regions: &[Region],
    ) -> Result<Left, Error> {
        let mut packed = Vec::with_capacity(regions.len());
        let mut end = 0_u64;
        for region in regions {
            packed.push(Region { offset: end, bytes: region.bytes });
            end += region.bytes.next_multiple_of(ALIGNMENT);
        }
        let memory = self.take(session, end)?;
        if regions.len() <= FEW {
            for (region, copy) in regions.iter().zip(&packed) {
                memory.copy(*copy, from, region.offset)?;
            }
        } else {
            let mut pieces = Pieces::default();
            for (region, copy) in regions.iter().zip(&packed) {
                pieces.copy(&memory, *copy, from, region.offset)?;
            }
            pieces.go(kernels)?;
        }
        Ok(Left { regions: packed, memory: Some(memory), spare: self.clone() })
    }

    /// Gives all of it back: a reference of 2^31 elements needs half a card.
    pub(super) fn free(&self) {
        self.memory.borrow_mut().clear();
    }

    fn take(&self, session: &Rc<Session>, bytes: u64) -> Result<DeviceMemory, Error> {
        let mut kept = self.memory.borrow_mut();
        match kept.iter().position(|memory| memory.bytes() >= bytes) {
            Some(at) => Ok(kept.swap_remove(at)),
            None => Ok(DeviceMemory::new(session, bytes)?),
        }
    }
}

impl Left {
    /// Where each region lies in [`Self::memory`].
    pub(super) fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// What holds them.
    pub(super) fn memory(&self) -> &DeviceMemory {
        self.memory.as_ref().expect("taken only when dropped")
    }

    /// A region's bytes.
    pub(super) fn bytes(&self, region: usize) -> Result<Vec<u8>, Error> {
        let Region { offset, bytes } = self.regions[region];
        let mut read = vec![0; bytes as usize];
        self.memory().read(offset, &mut read)?;
        Ok(read)
    }

    /// The address of a region's copy.
    pub(super) fn at(&self, region: usize) -> Result<CUdeviceptr, Error> {
        Ok(self.memory().at(self.regions[region])?)
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        let mut kept = self.spare.memory.borrow_mut();
        if kept.len() < KEPT {
            kept.extend(self.memory.take());
        }
    }
}
