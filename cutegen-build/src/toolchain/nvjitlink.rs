//! nvJitLink, opened by explicit path: turns NVRTC's intermediate code into a cubin, and leaves out what no kernel refers
//! to. Only the compile worker calls [`NvJitLink::link`]: the code is a hostile text's.
//!
//! Headers define a thousand variables, which NVRTC by itself must keep, for a host might look them up: a cubin over CuTe
//! then has 160 KB and takes a driver 3 ms to load, of which 6 KB and nothing remain. The instructions are the same.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};

use libloading::{Library, Symbol};

use super::error::Error;
use super::nvrtc::{VIRTUAL_NAME, load};

type Handle = *mut c_void;
type Status = c_int;
const SUCCESS: Status = 0;
/// Of its inputs' making: what ptxas or the code generator refuses.
const OF_INPUTS: [Status; 3] = [PTX_COMPILE, NVVM_COMPILE, FINALIZE];
const PTX_COMPILE: Status = 4;
const NVVM_COMPILE: Status = 5;
const FINALIZE: Status = 9;
/// `NVJITLINK_INPUT_LTOIR`.
const LTO_IR: c_int = 3;

/// A loaded nvJitLink.
#[derive(Debug)]
pub struct NvJitLink {
    library: Library,
    path: PathBuf,
}

/// What a link gave.
#[derive(Debug)]
pub struct Linked {
    /// The ELF image.
    pub cubin: Vec<u8>,
    /// Remarks of the code generator and of ptxas.
    pub log: String,
}

/// Why there is no cubin.
#[derive(Debug)]
pub enum LinkFailure {
    /// ptxas or the code generator refuses the code.
    Rejected {
        /// Its log.
        log: String,
    },
    /// nvJitLink itself failed, or refused our options.
    Broken(Error),
}

impl NvJitLink {
    /// Loads the library.
    pub fn open(library: &Path) -> Result<NvJitLink, Error> {
        Ok(NvJitLink { library: load(library)?, path: library.to_owned() })
    }

    /// Major and minor; there is no way to ask for the patch number.
    pub fn version(&self) -> Result<(i32, i32), Error> {
        type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> Status;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the signature is nvJitLink.h's, and both pointers are valid for the call
        let status = unsafe { self.function::<Version>(c"nvJitLinkVersion")?(&mut major, &mut minor) };
        self.succeeded("nvJitLinkVersion", status)?;
        Ok((major.cast_signed(), minor.cast_signed()))
    }

    /// Makes a cubin for `arch` of what [`Nvrtc::compile`](super::Nvrtc::compile) made to be linked.
    pub fn link(&self, code: &[u8], arch: &str) -> Result<Linked, LinkFailure> {
        let link = OpenLink::create(self, arch)?;
        let status = match link.add(code)? {
            SUCCESS => link.complete()?,
            refused => refused,
        };
        match status {
            SUCCESS => Ok(Linked {
                cubin: link.bytes(c"nvJitLinkGetLinkedCubinSize", c"nvJitLinkGetLinkedCubin")?,
                log: link.log(c"nvJitLinkGetInfoLogSize", c"nvJitLinkGetInfoLog")?,
            }),
            status if OF_INPUTS.contains(&status) => Err(LinkFailure::Rejected {
                log: link.log(c"nvJitLinkGetErrorLogSize", c"nvJitLinkGetErrorLog")?,
            }),
            other => Err(self.broken("nvJitLinkComplete", other).into()),
        }
    }

    fn function<T>(&self, name: &CStr) -> Result<Symbol<'_, T>, Error> {
        // SAFETY: every T named in this file is the C signature of that function in nvJitLink.h
        unsafe { self.library.get(name) }
            .map_err(|error| Error::Library { path: self.path.clone(), reason: error.to_string() })
    }

    fn succeeded(&self, function: &str, status: Status) -> Result<(), Error> {
        if status == SUCCESS { Ok(()) } else { Err(self.broken(function, status)) }
    }

    fn broken(&self, function: &str, status: Status) -> Error {
        Error::Library { path: self.path.clone(), reason: format!("{function} returned {status}") }
    }
}

impl From<Error> for LinkFailure {
    fn from(error: Error) -> LinkFailure {
        LinkFailure::Broken(error)
    }
}

/// A link's handle, which is destroyed with the value.
struct OpenLink<'a> {
    library: &'a NvJitLink,
    handle: Handle,
}

impl<'a> OpenLink<'a> {
    fn create(library: &'a NvJitLink, arch: &str) -> Result<OpenLink<'a>, Error> {
        type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> Status;
        let options = [&format!("-arch={arch}"), "-lto", "-optimize-unused-variables", "-no-cache"];
        let owned: Vec<CString> = options.iter().filter_map(|option| CString::new(*option).ok()).collect();
        let pointers: Vec<*const c_char> = owned.iter().map(|option| option.as_ptr()).collect();
        let mut handle = std::ptr::null_mut();
        let create = library.function::<Create>(c"nvJitLinkCreate")?;
        // SAFETY: the option strings outlive the call, and the out pointer is valid
        let status = unsafe { create(&mut handle, pointers.len() as u32, pointers.as_ptr()) };
        library.succeeded("nvJitLinkCreate", status)?;
        Ok(OpenLink { library, handle })
    }

    fn add(&self, code: &[u8]) -> Result<Status, Error> {
        type Add = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> Status;
        let name = CString::new(VIRTUAL_NAME).unwrap_or_default();
        let add = self.library.function::<Add>(c"nvJitLinkAddData")?;
        // SAFETY: the handle is live; the library copies the code, whose length is given, and the name
        Ok(unsafe { add(self.handle, LTO_IR, code.as_ptr().cast(), code.len(), name.as_ptr()) })
    }

    fn complete(&self) -> Result<Status, Error> {
        type Complete = unsafe extern "C" fn(Handle) -> Status;
        // SAFETY: the handle is live
        Ok(unsafe { self.library.function::<Complete>(c"nvJitLinkComplete")?(self.handle) })
    }

    fn log(&self, size_name: &CStr, get_name: &CStr) -> Result<String, Error> {
        let bytes = self.bytes(size_name, get_name)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }

    fn bytes(&self, size_name: &CStr, get_name: &CStr) -> Result<Vec<u8>, Error> {
        type Size = unsafe extern "C" fn(Handle, *mut usize) -> Status;
        type Get = unsafe extern "C" fn(Handle, *mut c_char) -> Status;
        let (size, get) =
            (self.library.function::<Size>(size_name)?, self.library.function::<Get>(get_name)?);
        let mut length = 0;
        // SAFETY: the handle is live and the out pointer valid
        let status = unsafe { size(self.handle, &mut length) };
        self.library.succeeded(&size_name.to_string_lossy(), status)?;
        let mut bytes = vec![0_u8; length];
        if length > 0 {
            // SAFETY: the buffer has the length that the library asked for
            let status = unsafe { get(self.handle, bytes.as_mut_ptr().cast()) };
            self.library.succeeded(&get_name.to_string_lossy(), status)?;
        }
        Ok(bytes)
    }
}

impl Drop for OpenLink<'_> {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(*mut Handle) -> Status;
        if let Ok(destroy) = self.library.function::<Destroy>(c"nvJitLinkDestroy") {
            // SAFETY: the handle is live and not used again
            unsafe { destroy(&mut self.handle) };
        }
    }
}
