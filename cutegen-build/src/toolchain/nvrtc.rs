//! NVRTC, opened by explicit path. Only the compile worker calls [`Nvrtc::compile`]: it runs on hostile text.
//!
//! Bytes depend on source, options and library alone: the file name is virtual, and folders never enter them.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};

use super::dynamic::{Dynamic, Handle as Program, SUCCESS, Status};
use super::error::Error;

/// The name the compiler believes the source to have.
pub(super) const VIRTUAL_NAME: &str = "kernel.cu";

const OUT_OF_MEMORY: Status = 1;
const COMPILATION: Status = 6;

/// Addresses for precompiled headers; all of CuTe takes 300 MB of them, and what is not used costs nothing.
const HEADER_HEAP_BYTES: usize = 512 << 20;

/// A loaded NVRTC.
#[derive(Debug)]
pub struct Nvrtc {
    library: Dynamic,
    _builtins: Dynamic,
}

/// What a compile is to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// An ELF image, with every variable of the source and its headers.
    Cubin,
    /// Intermediate code, for [`NvJitLink`](super::NvJitLink).
    Linkable,
}

/// What a compile gave.
#[derive(Debug)]
pub struct NvrtcOutput {
    /// What was asked for.
    pub bytes: Vec<u8>,
    /// Warnings and advisories.
    pub log: String,
}

impl NvrtcOutput {
    /// Whether the headers were not read again.
    #[must_use]
    pub fn used_headers(&self) -> bool {
        self.log.contains("using precompiled header file")
    }
}

/// Why there is no cubin.
#[derive(Debug)]
pub enum NvrtcFailure {
    /// The source is wrong.
    Rejected {
        /// NVRTC's log.
        log: String,
    },
    /// NVRTC ran out of memory.
    OutOfMemory,
    /// NVRTC itself failed, or refused our options.
    Broken(Error),
}

/// The options of every cubin we store, before it is linked. Configuration is source text, so there is no other.
pub fn cuda_options(arch: &str, header_roots: &[PathBuf], output: Output) -> Vec<String> {
    let fixed = ["-std=c++17", "-default-device", "-DNDEBUG"];
    let mut options = vec![format!("--gpu-architecture={arch}")];
    options.extend(fixed.map(str::to_owned));
    options.extend((output == Output::Linkable).then(|| "-dlto".to_owned()));
    options.extend(header_roots.iter().map(|root| format!("--include-path={}", root.display())));
    options
}

/// Takes what [`Nvrtc::precompile`] wrote. Where it does not fit a source, NVRTC says so and reads the headers.
#[must_use]
pub fn use_headers(precompiled: &Path) -> String {
    format!("--use-pch={}", precompiled.display())
}

impl Nvrtc {
    /// Loads the builtins first, so that the library finds the ones beside it and no others.
    pub fn open(library: &Path, builtins: &Path) -> Result<Nvrtc, Error> {
        Ok(Nvrtc { _builtins: Dynamic::open(builtins)?, library: Dynamic::open(library)? })
    }

    /// Major and minor; NVRTC has no way to ask for the patch number.
    pub fn version(&self) -> Result<(i32, i32), Error> {
        type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the signature is nvrtc.h's, and both pointers are valid for the call
        let status = unsafe { self.library.function::<Version>(c"nvrtcVersion")?(&mut major, &mut minor) };
        self.library.succeeded(c"nvrtcVersion", status)?;
        Ok((major, minor))
    }

    /// Compiles one source, with options for that output.
    pub fn compile(
        &self,
        source: &str,
        options: &[String],
        output: Output,
    ) -> Result<NvrtcOutput, NvrtcFailure> {
        let program = OpenProgram::create(self, source, VIRTUAL_NAME)?;
        let status = program.compile(options)?;
        let (size, get) = match output {
            Output::Cubin => (c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN"),
            Output::Linkable => (c"nvrtcGetLTOIRSize", c"nvrtcGetLTOIR"),
        };
        match status {
            SUCCESS => Ok(NvrtcOutput { bytes: program.bytes(size, get)?, log: program.log()? }),
            OUT_OF_MEMORY => Err(NvrtcFailure::OutOfMemory),
            COMPILATION => Err(NvrtcFailure::Rejected { log: program.log()? }),
            other => Err(self.library.broken(c"nvrtcCompileProgram", other).into()),
        }
    }

    /// Reads the headers that `source` includes, once, into `to`. [`Nvrtc::compile`] takes it with [`use_headers`] in this
    /// process and its forks only, with these options, from sources that begin with the same directives.
    pub fn precompile(&self, source: &str, options: &[String], to: &Path) -> Result<(), NvrtcFailure> {
        type SetHeap = unsafe extern "C" fn(usize) -> Status;
        type Created = unsafe extern "C" fn(Program) -> Status;
        // SAFETY: takes a number; no headers have been precompiled yet, so the heap may move
        let status = unsafe { self.library.function::<SetHeap>(c"nvrtcSetPCHHeapSize")?(HEADER_HEAP_BYTES) };
        if status != SUCCESS {
            return Err(self.library.broken(c"nvrtcSetPCHHeapSize", status).into());
        }
        let program = OpenProgram::create(self, source, VIRTUAL_NAME)?;
        let option = format!("--create-pch={}", to.display());
        match program.compile(&[&[option], options].concat())? {
            SUCCESS => {}
            COMPILATION => return Err(NvrtcFailure::Rejected { log: program.log()? }),
            other => return Err(self.library.broken(c"nvrtcCompileProgram", other).into()),
        }
        // SAFETY: the handle is live
        match unsafe { self.library.function::<Created>(c"nvrtcGetPCHCreateStatus")?(program.handle) } {
            SUCCESS => Ok(()),
            other => Err(self.library.broken(c"nvrtcGetPCHCreateStatus", other).into()),
        }
    }
}

impl From<Error> for NvrtcFailure {
    fn from(error: Error) -> NvrtcFailure {
        NvrtcFailure::Broken(error)
    }
}

/// A program handle that is destroyed with the value.
struct OpenProgram<'a> {
    nvrtc: &'a Nvrtc,
    handle: Program,
}

impl<'a> OpenProgram<'a> {
    fn create(nvrtc: &'a Nvrtc, source: &str, name: &str) -> Result<OpenProgram<'a>, NvrtcFailure> {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> Status;
        let nul = |_| NvrtcFailure::Rejected {
            log: format!("{VIRTUAL_NAME}(1): error: the source holds a NUL byte"),
        };
        let (source, name) = (CString::new(source).map_err(nul)?, CString::new(name).map_err(nul)?);
        let create = nvrtc.library.function::<Create>(c"nvrtcCreateProgram")?;
        let mut handle = std::ptr::null_mut();
        let none = std::ptr::null();
        // SAFETY: strings are NUL-terminated and outlive the call; NVRTC copies them
        let status = unsafe { create(&mut handle, source.as_ptr(), name.as_ptr(), 0, none, none) };
        match status {
            SUCCESS => Ok(OpenProgram { nvrtc, handle }),
            OUT_OF_MEMORY => Err(NvrtcFailure::OutOfMemory),
            other => Err(nvrtc.library.broken(c"nvrtcCreateProgram", other).into()),
        }
    }

    fn compile(&self, options: &[String]) -> Result<Status, Error> {
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
        let compile = self.nvrtc.library.function::<Compile>(c"nvrtcCompileProgram")?;
        let owned: Vec<CString> =
            options.iter().filter_map(|option| CString::new(option.as_str()).ok()).collect();
        let pointers: Vec<*const c_char> = owned.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the handle is live, and the option strings outlive the call
        Ok(unsafe { compile(self.handle, pointers.len() as c_int, pointers.as_ptr()) })
    }

    fn log(&self) -> Result<String, Error> {
        let (size, get) = (c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog");
        // SAFETY: the handle is live
        unsafe { self.nvrtc.library.text(self.handle, size, get) }
    }

    fn bytes(&self, size: &CStr, get: &CStr) -> Result<Vec<u8>, Error> {
        // SAFETY: the handle is live
        unsafe { self.nvrtc.library.bytes(self.handle, size, get) }
    }
}

impl Drop for OpenProgram<'_> {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(*mut Program) -> Status;
        if let Ok(destroy) = self.nvrtc.library.function::<Destroy>(c"nvrtcDestroyProgram") {
            // SAFETY: the handle is live and not used again
            unsafe { destroy(&mut self.handle) };
        }
    }
}
