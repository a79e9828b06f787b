//! nvJitLink, opened by explicit path: turns NVRTC's intermediate code into a cubin, and leaves out what no kernel refers
//! to. Only the compile worker calls [`NvJitLink::link`]: the code is a hostile text's.
//!
//! Headers define a thousand variables, which NVRTC by itself must keep, for a host might look them up: a cubin over CuTe
//! then has 160 KB, and an H200's driver takes 3 ms to load it and 3 to unload it. Linked it has 6 KB; of the kernel that was
//! compared, a softmax, every instruction was the same.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;

use super::dynamic::{Dynamic, Handle, SUCCESS, Status};
use super::error::Error;
use super::nvrtc::VIRTUAL_NAME;

/// Of its inputs' making: what ptxas or the code generator refuses.
const OF_INPUTS: [Status; 3] = [PTX_COMPILE, NVVM_COMPILE, FINALIZE];
const PTX_COMPILE: Status = 4;
const NVVM_COMPILE: Status = 5;
const FINALIZE: Status = 9;
/// `NVJITLINK_INPUT_LTOIR`.
const LTO_IR: c_int = 3;

/// A loaded nvJitLink.
#[derive(Debug)]
pub struct NvJitLink(Dynamic);

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
        Dynamic::open(library).map(NvJitLink)
    }

    /// Major and minor; there is no way to ask for the patch number.
    pub fn version(&self) -> Result<(i32, i32), Error> {
        type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> Status;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the signature is nvJitLink.h's, and both pointers are valid for the call
        let status = unsafe { self.0.function::<Version>(c"nvJitLinkVersion")?(&mut major, &mut minor) };
        self.0.succeeded(c"nvJitLinkVersion", status)?;
        Ok((major.cast_signed(), minor.cast_signed()))
    }

    /// Makes a cubin for `arch` of what [`Nvrtc::compile`](super::Nvrtc::compile) made to be linked.
    pub fn link(&self, code: &[u8], arch: &str) -> Result<Linked, LinkFailure> {
        let link = OpenLink::create(&self.0, arch)?;
        let status = match link.add(code)? {
            SUCCESS => link.complete()?,
            refused => refused,
        };
        match status {
            SUCCESS => link.linked().map_err(LinkFailure::Broken),
            status if OF_INPUTS.contains(&status) => Err(LinkFailure::Rejected { log: link.errors()? }),
            other => Err(self.0.broken(c"nvJitLinkComplete", other).into()),
        }
    }
}

impl From<Error> for LinkFailure {
    fn from(error: Error) -> LinkFailure {
        LinkFailure::Broken(error)
    }
}

/// A link's handle, which is destroyed with the value.
struct OpenLink<'a> {
    library: &'a Dynamic,
    handle: Handle,
}

impl<'a> OpenLink<'a> {
    fn create(library: &'a Dynamic, arch: &str) -> Result<OpenLink<'a>, Error> {
        type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> Status;
        let options = [&format!("-arch={arch}"), "-lto", "-optimize-unused-variables", "-no-cache"];
        let owned: Vec<CString> = options.iter().filter_map(|option| CString::new(*option).ok()).collect();
        let pointers: Vec<*const c_char> = owned.iter().map(|option| option.as_ptr()).collect();
        let mut handle = std::ptr::null_mut();
        let create = library.function::<Create>(c"nvJitLinkCreate")?;
        // SAFETY: the option strings outlive the call, and the out pointer is valid
        let status = unsafe { create(&mut handle, pointers.len() as u32, pointers.as_ptr()) };
        library.succeeded(c"nvJitLinkCreate", status)?;
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

    fn linked(&self) -> Result<Linked, Error> {
        let Self { library, handle } = *self;
        // SAFETY: the handle is live
        unsafe {
            Ok(Linked {
                cubin: library.bytes(handle, c"nvJitLinkGetLinkedCubinSize", c"nvJitLinkGetLinkedCubin")?,
                log: library.text(handle, c"nvJitLinkGetInfoLogSize", c"nvJitLinkGetInfoLog")?,
            })
        }
    }

    fn errors(&self) -> Result<String, Error> {
        // SAFETY: the handle is live
        unsafe { self.library.text(self.handle, c"nvJitLinkGetErrorLogSize", c"nvJitLinkGetErrorLog") }
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
