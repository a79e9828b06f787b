//! [`DeviceMemory`]: memory of one process, or physical memory that two processes map, which the judge makes and a
//! runner adopts by its descriptor.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::rc::Rc;

use cutegen_runtime::cuda::CUdeviceptr;
use cutegen_runtime::cuda::cudarc::driver::{result, sys};

use super::session::{Session, machine};
use crate::evaluate::protocol::Region;
use crate::evaluate::runner::Stop;

const BY_DESCRIPTOR: sys::CUmemAllocationHandleType =
    sys::CUmemAllocationHandleType_enum::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Device memory, at least 256-byte aligned; freed when dropped unless the context is lost.
pub(crate) struct DeviceMemory {
    session: Rc<Session>,
    base: CUdeviceptr,
    bytes: u64,
    origin: Origin,
}

/// Where memory comes from, and so how it is freed.
enum Origin {
    /// `cuMemAlloc`.
    Allocated,
    /// Physical memory mapped at a reserved address.
    Mapped(sys::CUmemGenericAllocationHandle),
}

impl DeviceMemory {
    /// Memory of this process alone.
    pub(crate) fn new(session: &Rc<Session>, bytes: u64) -> Result<Self, Stop> {
        let size = usize::try_from(bytes.max(1)).map_err(|_| Stop::Failed(format!("{bytes} bytes")))?;
        // SAFETY: a fresh allocation in the current context.
        let base = unsafe { result::malloc_sync(size) }.map_err(machine("cuMemAlloc"))?;
        Ok(Self { session: Rc::clone(session), base, bytes, origin: Origin::Allocated })
    }

    /// At least `bytes` of memory that another process may map, and the descriptor by which it does.
    pub(crate) fn share(session: &Rc<Session>, bytes: u64) -> Result<(Self, OwnedFd), Stop> {
        let property = property();
        let bytes = bytes.max(1).next_multiple_of(granularity(&property)?);
        let mut handle = 0;
        // SAFETY: the out pointer and the property are valid.
        unsafe { sys::cuMemCreate(&raw mut handle, bytes as usize, &raw const property, 0) }
            .result()
            .map_err(machine("cuMemCreate"))?;
        let memory = Self::map(session, handle, bytes)?;
        let mut fd = -1_i32;
        // SAFETY: for this kind of handle the driver writes one descriptor.
        unsafe { sys::cuMemExportToShareableHandle((&raw mut fd).cast(), handle, BY_DESCRIPTOR, 0) }
            .result()
            .map_err(machine("cuMemExportToShareableHandle"))?;
        // SAFETY: the driver made this descriptor for us.
        Ok((memory, unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Memory that another process made with [`Self::share`].
    pub(crate) fn adopt(session: &Rc<Session>, fd: &OwnedFd, bytes: u64) -> Result<Self, Stop> {
        let mut handle = 0;
        let named = std::ptr::without_provenance_mut(fd.as_raw_fd() as usize);
        // SAFETY: for this kind of handle the second argument is the descriptor itself.
        unsafe { sys::cuMemImportFromShareableHandle(&raw mut handle, named, BY_DESCRIPTOR) }
            .result()
            .map_err(machine("cuMemImportFromShareableHandle"))?;
        Self::map(session, handle, bytes)
    }

    fn map(
        session: &Rc<Session>,
        handle: sys::CUmemGenericAllocationHandle,
        bytes: u64,
    ) -> Result<Self, Stop> {
        let size = bytes as usize;
        let mut base = 0;
        // SAFETY: a fresh address range, mapped whole to a live handle of that size, for the current device.
        unsafe {
            sys::cuMemAddressReserve(&raw mut base, size, 0, 0, 0)
                .result()
                .map_err(machine("cuMemAddressReserve"))?;
            sys::cuMemMap(base, size, 0, handle, 0).result().map_err(machine("cuMemMap"))?;
            let access = sys::CUmemAccessDesc {
                location: property().location,
                flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
            };
            sys::cuMemSetAccess(base, size, &raw const access, 1)
                .result()
                .map_err(machine("cuMemSetAccess"))?;
        }
        Ok(Self { session: Rc::clone(session), base, bytes, origin: Origin::Mapped(handle) })
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where a region of it lies.
    pub(crate) fn at(&self, region: Region) -> Result<CUdeviceptr, Stop> {
        match region.end() {
            Some(end) if end <= self.bytes => Ok(self.base + region.offset),
            _ => Err(Stop::Failed(format!("{region:?} lies outside {} bytes of the device", self.bytes))),
        }
    }

    /// Copies in the session's stream, and waits. A copy in the null stream may return with its last piece still
    /// under way, and nothing would order it before a launch in the session's stream.
    pub(crate) fn write(&self, offset: u64, from: &[u8]) -> Result<(), Stop> {
        let to = self.at(Region { offset, bytes: from.len() as u64 })?;
        // SAFETY: the range lies in this memory, and `from` outlives the wait below.
        unsafe { result::memcpy_htod_async(to, from, self.session.stream) }
            .map_err(machine("copying to the device"))?;
        self.session.wait()
    }

    /// Copies to the host, after all work of the stream.
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), Stop> {
        let from = self.at(Region { offset, bytes: to.len() as u64 })?;
        // SAFETY: the range lies in this memory, and `to` outlives the wait below.
        unsafe { result::memcpy_dtoh_async(to, from, self.session.stream) }
            .map_err(machine("copying from the device"))?;
        self.session.wait()
    }

    /// Copies on the device, in the stream's order; does not wait.
    pub(crate) fn copy(&self, to: Region, from: &DeviceMemory, offset: u64) -> Result<(), Stop> {
        let source = from.at(Region { offset, bytes: to.bytes })?;
        let target = self.at(to)?;
        if to.bytes == 0 {
            return Ok(());
        }
        // SAFETY: both ranges lie in live memory and do not overlap.
        unsafe { result::memcpy_dtod_async(target, source, to.bytes as usize, self.session.stream) }
            .map_err(machine("copying on the device"))
    }

    /// Fills a region with one byte, in the stream's order; does not wait.
    pub(crate) fn fill(&self, region: Region, byte: u8) -> Result<(), Stop> {
        let at = self.at(region)?;
        if region.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the range lies in this memory.
        unsafe { result::memset_d8_async(at, byte, region.bytes as usize, self.session.stream) }
            .map_err(machine("filling memory of the device"))
    }
}

/// Copies memory that belongs to nobody here, a module's own, to the host; all streams must be idle.
pub(crate) fn read_at(at: CUdeviceptr, bytes: usize) -> Result<Vec<u8>, Stop> {
    let mut to = vec![0_u8; bytes];
    if bytes > 0 {
        // SAFETY: the driver checks the range; `to` outlives the synchronous copy.
        unsafe { result::memcpy_dtoh_sync(&mut to, at) }.map_err(machine("reading a module's memory"))?;
    }
    Ok(to)
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.session.is_lost() {
            return;
        }
        // SAFETY: made by this type, freed once; nothing that uses it is running.
        unsafe {
            match self.origin {
                Origin::Allocated => drop(result::free_sync(self.base)),
                Origin::Mapped(handle) => {
                    let _ = sys::cuMemUnmap(self.base, self.bytes as usize);
                    let _ = sys::cuMemAddressFree(self.base, self.bytes as usize);
                    let _ = sys::cuMemRelease(handle);
                }
            }
        }
    }
}

/// Memory of device 0 of those that are visible, as [`Session`] opens it.
fn property() -> sys::CUmemAllocationProp {
    // SAFETY: an all-zero property is valid, and names device 0; what else matters is set below.
    let mut property: sys::CUmemAllocationProp = unsafe { std::mem::zeroed() };
    property.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    property.requestedHandleTypes = BY_DESCRIPTOR;
    property.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    property
}

fn granularity(property: &sys::CUmemAllocationProp) -> Result<u64, Stop> {
    let mut bytes = 0;
    let option = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: the out pointer and the property are valid.
    unsafe { sys::cuMemGetAllocationGranularity(&raw mut bytes, property, option) }
        .result()
        .map_err(machine("cuMemGetAllocationGranularity"))?;
    Ok((bytes as u64).max(1))
}
