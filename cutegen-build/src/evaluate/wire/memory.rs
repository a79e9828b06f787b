//! [`SharedMemory`]: the arena's bytes, an anonymous file mapped by judge and runner. It can grow, never shrink: a
//! runner that truncated it would kill the judge at its next read.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::ptr::NonNull;

use super::arena::pages;
use super::protocol::Region;
use crate::evaluate::error::Error;

/// A shared mapping. Not `Send`: a runner dies with the thread that started it, and so must what it is judged by.
#[derive(Debug)]
pub struct SharedMemory {
    file: OwnedFd,
    map: Map,
}

/// What a launch may do with pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    None,
    Read,
    Write,
}

/// One view of the file; unmapped when dropped.
#[derive(Debug)]
struct Map {
    base: NonNull<u8>,
    bytes: usize,
}

impl SharedMemory {
    /// A new, empty, shrink-proof mapping.
    pub fn create() -> Result<Self, Error> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a NUL-terminated literal; the result is checked before it is owned.
        let fd = unsafe { libc::memfd_create(c"cutegen-arena".as_ptr(), flags) };
        if fd < 0 {
            return Err(Error::last_os("memfd_create"));
        }
        // SAFETY: `fd` was just created and has no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: fcntl on a descriptor we own.
        if unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) } != 0 {
            return Err(Error::last_os("seal the arena"));
        }
        Ok(Self { file, map: Map { base: NonNull::dangling(), bytes: 0 } })
    }

    /// The runner's side of a mapping that another process created.
    pub(crate) fn adopt(file: OwnedFd) -> Self {
        Self { file, map: Map { base: NonNull::dangling(), bytes: 0 } }
    }

    /// The descriptor that a runner inherits.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Mapped bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.map.bytes as u64
    }

    /// Whether nothing is mapped yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.bytes == 0
    }

    /// Makes the file at least `bytes` long and maps all of it; the judge's side.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Error> {
        if bytes <= self.len() {
            return Ok(());
        }
        let length = libc::off_t::try_from(bytes)
            .map_err(|_| Error::Shape(format!("an arena of {bytes} bytes is too large")))?;
        // SAFETY: ftruncate on a descriptor we own.
        if unsafe { libc::ftruncate(self.file.as_raw_fd(), length) } != 0 {
            return Err(Error::last_os("grow the arena"));
        }
        self.remap(bytes)
    }

    /// Maps `bytes` of the file; the runner's side, after the judge has grown it.
    pub(crate) fn remap(&mut self, bytes: u64) -> Result<(), Error> {
        if bytes <= self.len() {
            return Ok(());
        }
        let length = usize::try_from(bytes).map_err(|_| Error::Shape(format!("{bytes} bytes do not fit")))?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = self.file.as_raw_fd();
        // SAFETY: a new mapping at an address of the system's choice; the file is at least `bytes` long.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, 0) };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => {
                self.map = Map { base, bytes: length };
                Ok(())
            }
            _ => Err(Error::last_os("map the arena")),
        }
    }

    /// The bytes of `region`. Between a job's request and its reply the runner may be writing: the judge reads only
    /// before and after.
    pub fn slice(&self, region: Region) -> Result<&[u8], Error> {
        let range = self.range(region)?;
        // SAFETY: the mapping is `bytes` long and lives as long as `self`; no runner is working (see above).
        Ok(&unsafe { std::slice::from_raw_parts(self.map.base.as_ptr(), self.map.bytes) }[range])
    }

    /// The bytes of `region`, to fill.
    pub fn slice_mut(&mut self, region: Region) -> Result<&mut [u8], Error> {
        let range = self.range(region)?;
        // SAFETY: as in `slice`, and `self` is borrowed exclusively.
        Ok(&mut unsafe { std::slice::from_raw_parts_mut(self.map.base.as_ptr(), self.map.bytes) }[range])
    }

    /// Address of an offset, for a kernel's pointer parameter.
    pub(crate) fn address(&self, region: Region) -> Result<*mut u8, Error> {
        let range = self.range(region)?;
        Ok(self.map.base.as_ptr().wrapping_add(range.start))
    }

    /// Leaves of this process's mapping only these pages, `Write` or not; the runner's side. With none, all of it again.
    pub(crate) fn fence(&self, open: &[(Region, Access)]) -> Result<(), Error> {
        let whole = Region { offset: 0, bytes: self.len() };
        self.protect(whole, if open.is_empty() { Access::Write } else { Access::None })?;
        open.iter().try_for_each(|(region, access)| self.protect(pages(*region), *access))
    }

    fn protect(&self, region: Region, access: Access) -> Result<(), Error> {
        let range = self.range(region)?;
        let start = self.map.base.as_ptr().wrapping_add(range.start).cast();
        let protection = match access {
            Access::None => libc::PROT_NONE,
            Access::Read => libc::PROT_READ,
            Access::Write => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: pages of our own mapping, at which nothing in this process looks until they are open again.
        match unsafe { libc::mprotect(start, range.len(), protection) } {
            0 => Ok(()),
            _ => Err(Error::last_os("protect pages of the arena")),
        }
    }

    fn range(&self, region: Region) -> Result<std::ops::Range<usize>, Error> {
        let outside = || Error::Shape(format!("{region:?} lies outside an arena of {} bytes", self.len()));
        let end = region.end().filter(|end| *end <= self.len()).ok_or_else(outside)?;
        Ok(region.offset as usize..end as usize)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: exactly the mapping that `remap` made, dropped once.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SharedMemory;
    use crate::evaluate::wire::protocol::Region;

    #[test]
    fn grows_keeps_contents_and_never_shrinks() {
        let mut memory = SharedMemory::create().expect("creates");
        memory.grow(4096).expect("grows");
        let region = Region { offset: 100, bytes: 3 };
        memory.slice_mut(region).expect("inside").copy_from_slice(b"abc");
        memory.grow(1 << 20).expect("grows");
        assert_eq!(memory.slice(region).expect("inside"), b"abc");
        assert!(memory.slice(Region { offset: 1 << 20, bytes: 1 }).is_err());
        assert!(memory.slice(Region { offset: u64::MAX, bytes: 2 }).is_err());
        // SAFETY: ftruncate on a descriptor that the test owns.
        assert_ne!(unsafe { libc::ftruncate(memory.fd(), 0) }, 0, "the seal holds");
    }
}
