//! A loaded cubin, and launches of it with every address and number resolved.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::rc::Rc;

use cutegen_runtime::cuda::cudarc::driver::{DriverError, result, sys};
use cutegen_runtime::cuda::{CUdeviceptr, CUfunction, LaunchConfig, TensorMap, launch};
use cutegen_spec::contract::{Contract, Initial};

use super::error::DeviceError;
use super::resolve::{Bindings, DeviceFacts, Param, check_layout, resolve};
use super::session::{Session, candidate, machine};
use super::tensor_map;
use super::waits::check_waits;
use crate::evaluate::wire::arena::POISON;
use crate::evaluate::wire::protocol::ScalarValue;
use crate::inspect::cubin::{self, KernelInfo};

/// The ELF ABI that only drivers of this branch and later load.
const ABI_8_DRIVER_MIN: u32 = 580;
/// Blocks of a cluster that every device of the arch takes.
const CLUSTER_PORTABLE: u32 = 8;

/// A cubin in the context, with its contract's kernels.
pub(crate) struct Loaded {
    session: Rc<Session>,
    module: sys::CUmodule,
    functions: BTreeMap<String, CUfunction>,
}

impl Loaded {
    /// Loads a cubin and finds the contract's entries, whose parameters are the contract's arguments.
    pub(crate) fn load(
        session: &Rc<Session>,
        image: &[u8],
        contract: &Contract,
        scalars: &[ScalarValue],
    ) -> Result<Self, DeviceError> {
        check_image(session, image)?;
        compare(image, scalars, contract).map_err(DeviceError::Refused)?;
        // SAFETY: the bytes are a whole file and outlive the call; a bad one is refused by the driver.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) };
        let module = module.map_err(candidate("loading it")).map_err(|stop| session.lose(stop))?;
        let mut loaded = Self { session: Rc::clone(session), module, functions: BTreeMap::new() };
        for step in &contract.steps {
            loaded.find(&step.entry)?;
        }
        Ok(loaded)
    }

    /// Looks an entry up, and remembers it.
    pub(crate) fn find(&mut self, entry: &str) -> Result<CUfunction, DeviceError> {
        let name = CString::new(entry)
            .map_err(|_| DeviceError::Refused("an entry's name has a zero byte".to_owned()))?;
        // SAFETY: the module is loaded in the current context.
        let function = unsafe { result::module::get_function(self.module, name) };
        let function = function.map_err(candidate(&format!("its entry `{entry}`")))?;
        self.functions.insert(entry.to_owned(), function);
        Ok(function)
    }

    /// Address and length of a global variable; none of one that the driver left out, as nothing refers to it.
    pub(crate) fn global(&self, symbol: &str) -> Result<Option<(CUdeviceptr, u64)>, DeviceError> {
        let name = CString::new(symbol)
            .map_err(|_| DeviceError::Refused("a variable's name has a zero byte".to_owned()))?;
        let (mut at, mut bytes) = (0, 0);
        // SAFETY: the module is loaded, the name NUL-terminated, and both out pointers are valid.
        let found =
            unsafe { sys::cuModuleGetGlobal_v2(&raw mut at, &raw mut bytes, self.module, name.as_ptr()) };
        match found.result() {
            Ok(()) => Ok(Some((at, bytes as u64))),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND)) => Ok(None),
            Err(error) => Err(candidate(&format!("its variable `{symbol}`"))(error)),
        }
    }

    /// Bytes of local memory that a thread of its kernels has, at most.
    pub(crate) fn frame(&self) -> Result<u32, DeviceError> {
        let local = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
        let mut most = 0;
        for function in self.functions.values() {
            // SAFETY: the function's module is loaded in the current context.
            let bytes = unsafe { result::function::get_function_attribute(*function, local) };
            most = most.max(u32::try_from(bytes.map_err(machine("cuFuncGetAttribute"))?).unwrap_or(u32::MAX));
        }
        Ok(most)
    }

    /// Whether it has looked up all that this contract launches.
    pub(crate) fn serves(&self, contract: &Contract) -> bool {
        contract.steps.iter().all(|step| self.functions.contains_key(&step.entry))
    }

    fn function(&self, entry: &str) -> Result<CUfunction, String> {
        self.functions.get(entry).copied().ok_or_else(|| format!("no entry `{entry}`"))
    }

    /// Asks the driver about a launch that it has been prepared for.
    fn occupancy(
        &self,
        entry: &str,
        config: &LaunchConfig,
        ask: unsafe fn(
            CUfunction,
            &LaunchConfig,
        ) -> Result<u32, cutegen_runtime::cuda::cudarc::driver::DriverError>,
    ) -> Result<u32, String> {
        let function = self.function(entry)?;
        let told = |error| format!("occupancy: {error}");
        // SAFETY: the function's module is loaded, and the context is current on the runner's only thread.
        unsafe {
            prepare(function, config).map_err(told)?;
            ask(function, config).map_err(told)
        }
    }
}

/// # Safety
/// `function` is live and of the current context.
unsafe fn prepare(
    function: CUfunction,
    config: &LaunchConfig,
) -> Result<(), cutegen_runtime::cuda::cudarc::driver::DriverError> {
    let nonportable = config.cluster.iter().product::<u32>() > CLUSTER_PORTABLE;
    // SAFETY: as the caller promises.
    unsafe { launch::prepare(function, config.dynamic_smem, nonportable) }
}

/// Whether this driver can load such files at all.
fn check_image(session: &Session, bytes: &[u8]) -> Result<(), DeviceError> {
    if !bytes.starts_with(b"\x7fELF") || bytes.len() < 64 {
        return Err(DeviceError::Refused("is no cubin".to_owned()));
    }
    let branch = session.device.driver.branch();
    if bytes[8] >= 8 && branch < ABI_8_DRIVER_MIN {
        return Err(DeviceError::Failed(format!(
            "cubins of ABI {} need driver {ABI_8_DRIVER_MIN}, found {branch}",
            bytes[8]
        )));
    }
    Ok(())
}

/// Holds what was compiled against the contract: parameters against arguments, and who may overlap the kernel before it
/// against what they do then. Whether they may read constants by then, the judge has looked at, which knows the spec.
fn compare(image: &[u8], scalars: &[ScalarValue], contract: &Contract) -> Result<(), String> {
    let bytes = |scalar: &ScalarValue| match scalar {
        ScalarValue::F32(_) => 4,
        ScalarValue::F64(_) => 8,
    };
    let scalar_bytes: Vec<u32> = scalars.iter().map(bytes).collect();
    let kernels = cubin::read(image)?.kernels;
    let layout = |kernel: &KernelInfo| {
        let params = kernel.params.iter().map(|param| (param.offset, param.size)).collect();
        (kernel.name.clone(), params)
    };
    check_layout(contract, &scalar_bytes, &kernels.iter().map(layout).collect::<Vec<_>>())?;
    check_waits(contract, &kernels, &|_| true)
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if !self.session.is_lost() {
            // SAFETY: loaded by `load`, unloaded once; its launches have been waited for.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

impl DeviceFacts for Loaded {
    fn sm_count(&self) -> u32 {
        self.session.device.sm_count
    }

    fn smem_max(&self) -> u32 {
        self.session.device.smem_max
    }

    fn blocks_per_sm(&self, entry: &str, config: &LaunchConfig) -> Result<u32, String> {
        self.occupancy(entry, config, launch::max_blocks_per_sm)
    }

    fn active_clusters(&self, entry: &str, config: &LaunchConfig) -> Result<u32, String> {
        self.occupancy(entry, config, launch::max_active_clusters)
    }
}

/// Where a launch finds everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    /// Extents of the axes.
    pub(crate) axes: &'a [i64],
    /// Values of the scalars.
    pub(crate) scalars: &'a [ScalarValue],
    /// Addresses of the tensors.
    pub(crate) tensors: &'a [CUdeviceptr],
    /// Addresses and lengths of the workspace's parts.
    pub(crate) workspace: &'a [(CUdeviceptr, u64)],
}

/// Fills memory with one byte, in the order of the session's stream.
///
/// # Safety
/// So many bytes at the address are live memory of the session's context, and no other stream uses them.
pub(crate) unsafe fn fill(
    session: &Session,
    (at, bytes): (CUdeviceptr, usize),
    byte: u8,
) -> Result<(), DeviceError> {
    // SAFETY: as the caller promises.
    unsafe { launch::memset_d8_async(at, byte, bytes, session.stream) }
        .map_err(machine("filling memory of the device"))
        .map_err(|stop| session.lose(stop))
}

/// One launch of a contract. Must not outlive what it was resolved from.
pub(crate) struct Launch {
    zeroed: Vec<(CUdeviceptr, usize)>,
    undefined: Vec<(CUdeviceptr, usize)>,
    calls: Vec<Call>,
}

struct Call {
    entry: String,
    function: CUfunction,
    config: LaunchConfig,
    params: Vec<Value>,
}

/// A parameter as the driver reads it.
enum Value {
    Word(u64),
    Map(Box<TensorMap>),
}

impl Value {
    fn of(param: &Param) -> Result<Self, DeviceError> {
        match param {
            Param::Word(word) => Ok(Self::Word(*word)),
            Param::Map(mapped) => Ok(Self::Map(Box::new(tensor_map::encode(mapped)?))),
        }
    }

    fn address(&self) -> *mut c_void {
        match self {
            Self::Word(word) => (&raw const *word).cast_mut().cast(),
            Self::Map(map) => (&raw const **map).cast_mut().cast(),
        }
    }
}

impl Launch {
    /// Resolves the contract and prepares its kernels.
    pub(crate) fn of(loaded: &Loaded, contract: &Contract, placed: &Placed<'_>) -> Result<Self, DeviceError> {
        let workspace: Vec<CUdeviceptr> = placed.workspace.iter().map(|(at, _)| *at).collect();
        let Placed { axes, scalars, tensors, .. } = *placed;
        let bindings = Bindings { axes, scalars, tensors, workspace: &workspace };
        let steps = resolve(contract, &bindings, loaded).map_err(DeviceError::Refused)?;
        let parts = |initial| {
            let parts = contract.workspace.iter().zip(placed.workspace);
            let parts = parts.filter(|(part, (_, bytes))| part.initial == initial && *bytes > 0);
            parts.map(|(_, (at, bytes))| (*at, *bytes as usize)).collect()
        };
        let (zeroed, undefined) = (parts(Initial::Zeroed), parts(Initial::Undefined));
        let mut calls = Vec::with_capacity(steps.len());
        for step in steps {
            let function = loaded.function(&step.entry).map_err(DeviceError::Refused)?;
            // SAFETY: the function's module is loaded in the current context.
            unsafe { prepare(function, &step.config) }
                .map_err(candidate(&format!("preparing `{}`", step.entry)))?;
            let params = step.params.iter().map(Value::of).collect::<Result<_, _>>()?;
            calls.push(Call { entry: step.entry, function, config: step.config, params });
        }
        Ok(Self { zeroed, undefined, calls })
    }

    /// Puts into the session's stream what fills undefined parts of the workspace.
    pub(crate) fn poison(&self, session: &Session) -> Result<(), DeviceError> {
        self.fill(session, &self.undefined, POISON)
    }

    fn fill(&self, session: &Session, parts: &[(CUdeviceptr, usize)], byte: u8) -> Result<(), DeviceError> {
        // SAFETY: workspace parts inside a live allocation, used by this stream alone.
        parts.iter().try_for_each(|part| unsafe { fill(session, *part, byte) })
    }

    /// Puts the launch into the session's stream, which may be capturing.
    pub(crate) fn go(&self, session: &Session) -> Result<(), DeviceError> {
        self.go_behind(session, |launch| launch())
    }

    /// The same, where `behind` launches each kernel that may start while what is before it runs.
    pub(crate) fn go_behind(
        &self,
        session: &Session,
        behind: impl Fn(&dyn Fn() -> Result<(), DeviceError>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.fill(session, &self.zeroed, 0)?;
        for (number, call) in self.calls.iter().enumerate() {
            // what clears is no kernel: all of it ends first
            let follows_a_kernel = number > 0 || self.zeroed.is_empty();
            if call.config.pdl && follows_a_kernel {
                behind(&|| call.go(session))?
            } else {
                call.go(session)?
            }
        }
        Ok(())
    }
}

impl Call {
    fn go(&self, session: &Session) -> Result<(), DeviceError> {
        let mut params: Vec<*mut c_void> = self.params.iter().map(Value::address).collect();
        // SAFETY: function and stream are live. `load` has compared the compiled parameters with the contract's arguments,
        // each of which lies in a word of 8 bytes or is a descriptor; what the kernel does with them is on trial.
        unsafe { launch::launch(self.function, session.stream, &self.config, &mut params) }
            .map_err(candidate(&format!("launching `{}`", self.entry)))
            .map_err(|stop| session.lose(stop))
    }
}
