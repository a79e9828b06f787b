//! [`DeviceMemory`]: memory of one process, or memory that two processes map, which the judge makes and a runner adopts
//! by what it was [`Lent`] as: a descriptor of the driver's, or a handle of CUDA IPC where there are no descriptors.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::rc::Rc;

use cutegen_runtime::cuda::CUdeviceptr;
use cutegen_runtime::cuda::cudarc::driver::{result, sys};

use super::error::DeviceError;
use super::session::{Session, machine};
use crate::evaluate::wire::protocol::{IpcHandle, Memory, Region};

const BY_DESCRIPTOR: sys::CUmemAllocationHandleType =
    sys::CUmemAllocationHandleType_enum::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// What a handle of CUDA IPC shares: smaller allocations lie in one of this size, and another process would get all of
/// it.
const BY_HANDLE: u64 = 2 << 20;

/// How a device's memory is lent to runners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// By a file descriptor; by a handle of CUDA IPC where the driver exports none.
    #[default]
    Descriptor,
    /// By such a handle alone: for the gate's own tests.
    Handle,
}

/// By what another process maps memory. It works as long as the memory is there.
#[derive(Debug)]
pub(crate) enum Lent {
    /// A descriptor, which the process inherits.
    Descriptor(OwnedFd),
    /// A handle, which it is told.
    Handle(IpcHandle),
}

impl Lent {
    /// As a runner is told of it.
    pub(crate) fn named(&self, bytes: u64) -> Memory {
        match self {
            Lent::Descriptor(fd) => Memory::Device { fd: fd.as_raw_fd(), bytes },
            Lent::Handle(handle) => Memory::DeviceByHandle { handle: *handle, bytes },
        }
    }
}

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
    /// Another process's `cuMemAlloc`.
    Opened,
}

impl DeviceMemory {
    /// Memory of this process alone.
    pub(crate) fn new(session: &Rc<Session>, bytes: u64) -> Result<Self, DeviceError> {
        let size =
            usize::try_from(bytes.max(1)).map_err(|_| DeviceError::Failed(format!("{bytes} bytes")))?;
        // SAFETY: a fresh allocation in the current context.
        let base = unsafe { result::malloc_sync(size) }.map_err(machine("cuMemAlloc"))?;
        Ok(Self { session: Rc::clone(session), base, bytes, origin: Origin::Allocated })
    }

    /// At least `bytes` of cleared memory that another process may map, and by what it does.
    pub(crate) fn share(
        session: &Rc<Session>,
        bytes: u64,
        sharing: Sharing,
    ) -> Result<(Self, Lent), DeviceError> {
        let (memory, lent) = match sharing {
            Sharing::Descriptor => match Self::export(session, bytes) {
                Err(DeviceError::Failed(reason)) => {
                    Self::lend(session, bytes).map_err(|stop| after(&reason, stop))
                }
                exported => exported,
            },
            Sharing::Handle => Self::lend(session, bytes),
        }?;
        // it may have been this process's own before, and have held a reference
        memory.fill(Region { offset: 0, bytes: memory.bytes }, 0)?;
        session.wait()?;
        Ok((memory, lent))
    }

    /// Physical memory, by descriptor.
    fn export(session: &Rc<Session>, bytes: u64) -> Result<(Self, Lent), DeviceError> {
        let property = property();
        let bytes = bytes.max(1).next_multiple_of(granularity(&property)?);
        let mut handle = 0;
        // SAFETY: the out pointer and the property are valid.
        unsafe { sys::cuMemCreate(&raw mut handle, bytes as usize, &raw const property, 0) }
            .result()
            .map_err(machine("cuMemCreate"))?;
        let memory = Self::map(session, handle, bytes).inspect_err(|_| {
            // SAFETY: created above, and of no use to anybody.
            let _ = unsafe { sys::cuMemRelease(handle) };
        })?;
        let mut fd = -1_i32;
        // SAFETY: for this kind of handle the driver writes one descriptor.
        unsafe { sys::cuMemExportToShareableHandle((&raw mut fd).cast(), handle, BY_DESCRIPTOR, 0) }
            .result()
            .map_err(machine("cuMemExportToShareableHandle"))?;
        // SAFETY: the driver made this descriptor for us.
        Ok((memory, Lent::Descriptor(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// An allocation that holds nothing else, by handle. Must outlive the process that opens it.
    fn lend(session: &Rc<Session>, bytes: u64) -> Result<(Self, Lent), DeviceError> {
        let memory = Self::new(session, bytes.max(1).next_multiple_of(BY_HANDLE))?;
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: the out pointer is valid, and the memory an allocation's start.
        unsafe { sys::cuIpcGetMemHandle(&raw mut handle, memory.base) }
            .result()
            .map_err(machine("cuIpcGetMemHandle"))?;
        Ok((memory, Lent::Handle(of_driver(&handle))))
    }

    /// Memory that another process made with [`Self::share`].
    pub(crate) fn adopt(session: &Rc<Session>, lent: &Lent, bytes: u64) -> Result<Self, DeviceError> {
        match lent {
            Lent::Descriptor(fd) => Self::import(session, fd, bytes),
            Lent::Handle(handle) => Self::open(session, *handle, bytes),
        }
    }

    fn open(session: &Rc<Session>, handle: IpcHandle, bytes: u64) -> Result<Self, DeviceError> {
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let mut base = 0;
        // SAFETY: the out pointer is valid; a handle that names nothing is refused by the driver.
        unsafe { sys::cuIpcOpenMemHandle_v2(&raw mut base, to_driver(handle), flags) }
            .result()
            .map_err(machine("cuIpcOpenMemHandle"))?;
        Ok(Self { session: Rc::clone(session), base, bytes, origin: Origin::Opened })
    }

    fn import(session: &Rc<Session>, fd: &OwnedFd, bytes: u64) -> Result<Self, DeviceError> {
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
    ) -> Result<Self, DeviceError> {
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
    pub(crate) fn at(&self, region: Region) -> Result<CUdeviceptr, DeviceError> {
        match region.end() {
            Some(end) if end <= self.bytes => Ok(self.base + region.offset),
            _ => Err(DeviceError::Failed(format!(
                "{region:?} lies outside {} bytes of the device",
                self.bytes
            ))),
        }
    }

    /// Copies in the session's stream, and waits. A copy in the null stream may return with its last piece still
    /// under way, and nothing would order it before a launch in the session's stream.
    pub(crate) fn write(&self, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
        let to = self.at(Region { offset, bytes: from.len() as u64 })?;
        // SAFETY: the range lies in this memory, and `from` outlives the wait below.
        unsafe { result::memcpy_htod_async(to, from, self.session.stream) }
            .map_err(machine("copying to the device"))?;
        self.session.wait()
    }

    /// All of it on the host, after all work of the stream.
    pub(crate) fn to_vec(&self) -> Result<Vec<u8>, DeviceError> {
        let mut bytes = vec![0; self.bytes() as usize];
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies to the host, after all work of the stream.
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.at(Region { offset, bytes: to.len() as u64 })?;
        // SAFETY: the range lies in this memory, and `to` outlives the wait below.
        unsafe { result::memcpy_dtoh_async(to, from, self.session.stream) }
            .map_err(machine("copying from the device"))?;
        self.session.wait()
    }

    /// Copies on the device, in the stream's order; does not wait.
    pub(crate) fn copy(&self, to: Region, from: &DeviceMemory, offset: u64) -> Result<(), DeviceError> {
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
    pub(crate) fn fill(&self, region: Region, byte: u8) -> Result<(), DeviceError> {
        let at = self.at(region)?;
        if region.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the range lies in this memory.
        unsafe { result::memset_d8_async(at, byte, region.bytes as usize, self.session.stream) }
            .map_err(machine("filling memory of the device"))
    }
}

/// Copies a module's own memory to the host; all streams must be idle.
pub(crate) fn read_at(at: CUdeviceptr, bytes: usize) -> Result<Vec<u8>, DeviceError> {
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
                Origin::Opened => {
                    let _ = sys::cuIpcCloseMemHandle(self.base);
                }
            }
        }
    }
}

/// A second failure, with the one before it.
fn after(first: &str, stop: DeviceError) -> DeviceError {
    match stop {
        DeviceError::Failed(second) => DeviceError::Failed(format!("{first}; {second}")),
        stop => stop,
    }
}

fn of_driver(handle: &sys::CUipcMemHandle) -> IpcHandle {
    let mut halves = [[0; 32]; 2];
    for (to, from) in halves.as_flattened_mut().iter_mut().zip(handle.reserved) {
        [*to] = from.to_ne_bytes();
    }
    IpcHandle(halves)
}

fn to_driver(handle: IpcHandle) -> sys::CUipcMemHandle {
    let mut reserved = [0; 64];
    for (to, from) in reserved.iter_mut().zip(handle.0.as_flattened()) {
        *to = std::ffi::c_char::from_ne_bytes([*from]);
    }
    sys::CUipcMemHandle { reserved }
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

fn granularity(property: &sys::CUmemAllocationProp) -> Result<u64, DeviceError> {
    let mut bytes = 0;
    let option = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: the out pointer and the property are valid.
    unsafe { sys::cuMemGetAllocationGranularity(&raw mut bytes, property, option) }
        .result()
        .map_err(machine("cuMemGetAllocationGranularity"))?;
    Ok((bytes as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::{DeviceError, after, of_driver, sys, to_driver};

    #[test]
    fn handles_keep_every_bit() {
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        for (at, byte) in handle.reserved.iter_mut().enumerate() {
            *byte = std::ffi::c_char::from_ne_bytes([(at as u8).wrapping_mul(5).wrapping_sub(100)]);
        }
        let told = of_driver(&handle);
        assert_eq!((told.0[0][0], told.0[1][31]), (156, 215));
        assert_eq!(to_driver(told), handle);
    }

    #[test]
    fn both_reasons_are_told() {
        let second = DeviceError::Failed("cuMemAlloc".to_owned());
        assert_eq!(after("cuMemCreate", second), DeviceError::Failed("cuMemCreate; cuMemAlloc".to_owned()));
    }
}
