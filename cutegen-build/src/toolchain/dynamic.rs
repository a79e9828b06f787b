//! [`Dynamic`]: a library of NVIDIA's, opened by explicit path, and the calls that NVRTC and nvJitLink have alike. Knows no
//! function but by the name and the C signature that it is given.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::{Library, Symbol};

use super::error::Error;

/// What functions return.
pub(super) type Status = c_int;
/// What they return when all is well.
pub(super) const SUCCESS: Status = 0;
/// A program or a link.
pub(super) type Handle = *mut c_void;

/// An open library.
#[derive(Debug)]
pub(super) struct Dynamic {
    library: Library,
    path: PathBuf,
}

impl Dynamic {
    pub(super) fn open(path: &Path) -> Result<Dynamic, Error> {
        // SAFETY: the initialisers that run are those of a library whose digest the fingerprint names
        let library = unsafe { Library::new(path) }
            .map_err(|error| Error::Library { path: path.to_owned(), reason: error.to_string() })?;
        Ok(Dynamic { library, path: path.to_owned() })
    }

    /// The function of that name. `T` must be its C signature.
    pub(super) fn function<T>(&self, name: &CStr) -> Result<Symbol<'_, T>, Error> {
        // SAFETY: every T named in this folder is the C signature of that function in the library's header
        unsafe { self.library.get(name) }
            .map_err(|error| Error::Library { path: self.path.clone(), reason: error.to_string() })
    }

    /// What a status means that is the library's fault alone.
    pub(super) fn broken(&self, function: &CStr, status: Status) -> Error {
        let reason = format!("{} returned {status}", function.to_string_lossy());
        Error::Library { path: self.path.clone(), reason }
    }

    pub(super) fn succeeded(&self, function: &CStr, status: Status) -> Result<(), Error> {
        if status == SUCCESS { Ok(()) } else { Err(self.broken(function, status)) }
    }

    /// What a handle holds: one function tells its length, another copies it.
    ///
    /// # Safety
    /// `handle` is live and of this library.
    pub(super) unsafe fn bytes(&self, handle: Handle, size: &CStr, get: &CStr) -> Result<Vec<u8>, Error> {
        type Size = unsafe extern "C" fn(Handle, *mut usize) -> Status;
        type Get = unsafe extern "C" fn(Handle, *mut c_char) -> Status;
        let mut length = 0;
        // SAFETY: the handle is live, as the caller promises, and the out pointer valid
        self.succeeded(size, unsafe { self.function::<Size>(size)?(handle, &mut length) })?;
        let mut bytes = vec![0_u8; length];
        if length > 0 {
            // SAFETY: the buffer has the length that the library asked for
            let status = unsafe { self.function::<Get>(get)?(handle, bytes.as_mut_ptr().cast()) };
            self.succeeded(get, status)?;
        }
        Ok(bytes)
    }

    /// The same of a log.
    ///
    /// # Safety
    /// As of [`Dynamic::bytes`].
    pub(super) unsafe fn text(&self, handle: Handle, size: &CStr, get: &CStr) -> Result<String, Error> {
        // SAFETY: as the caller promises
        let bytes = unsafe { self.bytes(handle, size, get) }?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }
}
