//! The library's C interface: the functions that are used, with the layouts of the public header `cublasLt.h` of CUDA
//! 13, which are those of CUDA 12. Nothing here knows what a product is.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cutegen_runtime::cuda::{CUdeviceptr, CUstream};
use libloading::Library;

/// Names under which the loader may know it, newest first.
const NAMES: [&str; 2] = ["libcublasLt.so.13", "libcublasLt.so.12"];

pub(super) type Status = c_int;
pub(super) type Opaque = *mut c_void;
type Set = unsafe extern "C" fn(Opaque, c_int, *const c_void, usize) -> Status;
type Destroy = unsafe extern "C" fn(Opaque) -> Status;

const SUCCESS: Status = 0;

/// `cublasLtMatmulAlgo_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct AlgorithmBits {
    data: [u64; 8],
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Algorithm {
    pub(super) bits: AlgorithmBits,
    pub(super) workspace: usize,
    state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

const _: () = assert!(size_of::<AlgorithmBits>() == 64 && size_of::<Algorithm>() == 96);

impl Algorithm {
    /// To be written by the library.
    pub(super) fn blank() -> Self {
        let bits = AlgorithmBits { data: [0; 8] };
        Self { bits, workspace: 0, state: -1, waves: 0.0, reserved: [0; 4] }
    }

    /// Whether the library filled it.
    pub(super) fn is_valid(&self) -> bool {
        self.state == SUCCESS
    }
}

/// The functions that are used.
pub(super) struct Functions {
    create: unsafe extern "C" fn(*mut Opaque) -> Status,
    destroy: Destroy,
    version: unsafe extern "C" fn() -> usize,
    status: unsafe extern "C" fn(Status) -> *const c_char,
    pub(super) operation: unsafe extern "C" fn(*mut Opaque, c_int, c_int) -> Status,
    pub(super) set_operation: Set,
    pub(super) destroy_operation: Destroy,
    pub(super) layout: unsafe extern "C" fn(*mut Opaque, c_int, u64, u64, i64) -> Status,
    pub(super) set_layout: Set,
    pub(super) destroy_layout: Destroy,
    pub(super) preference: unsafe extern "C" fn(*mut Opaque) -> Status,
    pub(super) set_preference: Set,
    pub(super) destroy_preference: Destroy,
    pub(super) heuristics: Heuristics,
    pub(super) matmul: Matmul,
}

/// Handle, operation, layouts of A, B, C and D, preference, how many, where to, how many there are.
type Heuristics = unsafe extern "C" fn(
    Opaque,
    Opaque,
    Opaque,
    Opaque,
    Opaque,
    Opaque,
    Opaque,
    c_int,
    *mut Algorithm,
    *mut c_int,
) -> Status;

/// Handle, operation, alpha, A, B, beta, C, D (each with its layout), algorithm, workspace, its bytes, stream.
type Matmul = unsafe extern "C" fn(
    Opaque,
    Opaque,
    *const c_void,
    CUdeviceptr,
    Opaque,
    CUdeviceptr,
    Opaque,
    *const c_void,
    CUdeviceptr,
    Opaque,
    CUdeviceptr,
    Opaque,
    *const AlgorithmBits,
    CUdeviceptr,
    usize,
    CUstream,
) -> Status;

/// The library with a handle.
pub struct CublasLt {
    pub(super) functions: Functions,
    pub(super) handle: Opaque,
    name: PathBuf,
    /// Keeps `functions` mapped.
    _library: Library,
}

impl CublasLt {
    /// Opens the library, as the loader finds it, else in one of `folders`. A context must be current. The words say
    /// what is missing.
    pub fn open(folders: &[PathBuf]) -> Result<Rc<Self>, String> {
        let inside = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
        let mut names = NAMES.map(PathBuf::from).into_iter().chain(inside);
        let found = names.find_map(|name| load(&name).map(|library| (name, library)));
        let (name, library) = found.ok_or_else(|| format!("no {}", NAMES.join(" and no ")))?;
        let functions = Functions::of(&library).map_err(|error| format!("{}: {error}", name.display()))?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: a place for the handle.
        let status = unsafe { (functions.create)(&raw mut handle) };
        let opened = Self { functions, handle, name, _library: library };
        opened.check("cublasLtCreate", status).map(|()| Rc::new(opened))
    }

    /// Its version, as the library numbers itself.
    #[must_use]
    pub fn version(&self) -> usize {
        // SAFETY: takes nothing, changes nothing.
        unsafe { (self.functions.version)() }
    }

    /// Its file and version, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("cuBLASLt {} ({})", self.version(), self.name.display())
    }

    /// The library's own name for a failure.
    pub(super) fn check(&self, doing: &str, status: Status) -> Result<(), String> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: any code has a constant text.
        let name = unsafe { CStr::from_ptr((self.functions.status)(status)) };
        Err(format!("{doing}: {}", name.to_string_lossy()))
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: made by `open`, destroyed once.
            let _ = unsafe { (self.functions.destroy)(self.handle) };
        }
    }
}

impl fmt::Debug for CublasLt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CublasLt({})", self.name.display())
    }
}

fn load(name: &Path) -> Option<Library> {
    // SAFETY: the vendor's library, whose constructors are the system's business.
    unsafe { Library::new(name) }.ok()
}

impl Functions {
    fn of(library: &Library) -> Result<Self, String> {
        Ok(Self {
            create: find(library, c"cublasLtCreate")?,
            destroy: find(library, c"cublasLtDestroy")?,
            version: find(library, c"cublasLtGetVersion")?,
            status: find(library, c"cublasLtGetStatusName")?,
            operation: find(library, c"cublasLtMatmulDescCreate")?,
            set_operation: find(library, c"cublasLtMatmulDescSetAttribute")?,
            destroy_operation: find(library, c"cublasLtMatmulDescDestroy")?,
            layout: find(library, c"cublasLtMatrixLayoutCreate")?,
            set_layout: find(library, c"cublasLtMatrixLayoutSetAttribute")?,
            destroy_layout: find(library, c"cublasLtMatrixLayoutDestroy")?,
            preference: find(library, c"cublasLtMatmulPreferenceCreate")?,
            set_preference: find(library, c"cublasLtMatmulPreferenceSetAttribute")?,
            destroy_preference: find(library, c"cublasLtMatmulPreferenceDestroy")?,
            heuristics: find(library, c"cublasLtMatmulAlgoGetHeuristic")?,
            matmul: find(library, c"cublasLtMatmul")?,
        })
    }
}

fn find<T: Copy>(library: &Library, name: &CStr) -> Result<T, String> {
    // SAFETY: every field of `Functions` has the type that the header gives the function of its name.
    let symbol = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    symbol.map(|symbol| *symbol).map_err(|_| format!("no {}", name.to_string_lossy()))
}
