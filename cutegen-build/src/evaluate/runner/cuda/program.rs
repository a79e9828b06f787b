//! A loaded cubin, and launches of it with every address and number resolved.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::rc::Rc;

use cutegen_runtime::cuda::cudarc::driver::{result, sys};
use cutegen_runtime::cuda::{CUdeviceptr, CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::{Contract, Initial};

use super::memory::{Placed, workspace_parts};
use super::session::{Session, candidate};
use crate::compile::cubin_check;
use crate::evaluate::protocol::{Format, Job, Program, Region, ScalarValue};
use crate::evaluate::runner::Stop;
use crate::evaluate::runner::resolve::{Bindings, DeviceFacts, check_layout, resolve};

/// The ELF ABI that only drivers of this branch and later load.
const ABI_8_DRIVER_MIN: u32 = 580;
/// Blocks of a cluster that every device of the arch takes.
const CLUSTER_PORTABLE: u32 = 8;

/// A cubin in the context, with its contract's kernels.
pub(super) struct Loaded {
    session: Rc<Session>,
    module: sys::CUmodule,
    functions: BTreeMap<String, CUfunction>,
}

impl Loaded {
    /// Loads the program's artifact and finds its entries, whose parameters are the contract's arguments.
    pub(super) fn load(session: &Rc<Session>, job: &Job, program: &Program) -> Result<Self, Stop> {
        let image = image(session, program)?;
        compare_parameters(&image, job, &program.contract).map_err(Stop::Refused)?;
        // SAFETY: the bytes are a whole file and outlive the call; a bad one is refused by the driver.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) };
        let module = module.map_err(candidate("loading it")).map_err(|stop| session.lose(stop))?;
        let mut loaded = Self { session: Rc::clone(session), module, functions: BTreeMap::new() };
        for step in &program.contract.steps {
            let name = CString::new(step.entry.as_str())
                .map_err(|_| Stop::Refused("an entry's name has a zero byte".to_owned()))?;
            // SAFETY: the module is loaded in the current context.
            let function = unsafe { result::module::get_function(module, name) };
            let function = function.map_err(candidate(&format!("its entry `{}`", step.entry)))?;
            loaded.functions.insert(step.entry.clone(), function);
        }
        Ok(loaded)
    }

    /// Whether it has looked up all that this contract launches.
    pub(super) fn serves(&self, contract: &Contract) -> bool {
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

/// The file's bytes, when this driver can load such files at all.
fn image(session: &Session, program: &Program) -> Result<Vec<u8>, Stop> {
    match program.format {
        Format::Cubin => {}
        Format::SharedObject => return Err(Stop::Failed("a shared object for the CUDA backend".to_owned())),
    }
    let path = &program.artifact;
    let bytes = std::fs::read(path).map_err(|error| Stop::Failed(format!("{}: {error}", path.display())))?;
    if !bytes.starts_with(b"\x7fELF") || bytes.len() < 64 {
        return Err(Stop::Refused("is no cubin".to_owned()));
    }
    let branch = session.device.driver.branch();
    if bytes[8] >= 8 && branch < ABI_8_DRIVER_MIN {
        return Err(Stop::Failed(format!(
            "cubins of ABI {} need driver {ABI_8_DRIVER_MIN}, found {branch}",
            bytes[8]
        )));
    }
    Ok(bytes)
}

/// Holds the parameters that were compiled against the contract's arguments.
fn compare_parameters(image: &[u8], job: &Job, contract: &Contract) -> Result<(), String> {
    let scalar_bytes: Vec<u32> = job
        .scalars
        .iter()
        .map(|scalar| match scalar {
            ScalarValue::F32(_) => 4,
            ScalarValue::F64(_) => 8,
        })
        .collect();
    let kernels = cubin_check::read(image)?.kernels.into_iter();
    let kernels = kernels.map(|kernel| {
        let params = kernel.params.iter().map(|param| (param.offset, param.size)).collect();
        (kernel.name, params)
    });
    check_layout(contract, &scalar_bytes, &kernels.collect::<Vec<_>>())
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

/// One launch of a program on one slot. Must not outlive what it was resolved from.
pub(super) struct Launch {
    zeroed: Vec<(CUdeviceptr, usize)>,
    calls: Vec<Call>,
}

struct Call {
    entry: String,
    function: CUfunction,
    config: LaunchConfig,
    params: Vec<u64>,
}

impl Launch {
    /// Resolves the contract and prepares its kernels.
    pub(super) fn of(
        loaded: &Loaded,
        job: &Job,
        program: &Program,
        slot: &[Region],
        placed: &dyn Placed,
    ) -> Result<Self, Stop> {
        let parts = workspace_parts(&program.contract, &job.axes, program.workspace)?;
        let tensors = slot.iter().map(|r| placed.tensor(*r)).collect::<Result<Vec<_>, _>>()?;
        let workspace = parts.iter().map(|(r, _)| placed.workspace(*r)).collect::<Result<Vec<_>, _>>()?;
        let bindings =
            Bindings { axes: &job.axes, scalars: &job.scalars, tensors: &tensors, workspace: &workspace };
        let steps = resolve(&program.contract, &bindings, loaded).map_err(Stop::Refused)?;
        let zeroed = parts.iter().zip(&workspace).filter(|((region, initial), _)| match initial {
            Initial::Zeroed => region.bytes > 0,
            Initial::Undefined => false,
        });
        let zeroed = zeroed.map(|((region, _), at)| (*at, region.bytes as usize)).collect();
        let mut calls = Vec::with_capacity(steps.len());
        for step in steps {
            let function = loaded.function(&step.entry).map_err(Stop::Refused)?;
            // SAFETY: the function's module is loaded in the current context.
            unsafe { prepare(function, &step.config) }
                .map_err(candidate(&format!("preparing `{}`", step.entry)))?;
            calls.push(Call { entry: step.entry, function, config: step.config, params: step.params });
        }
        Ok(Self { zeroed, calls })
    }

    /// Puts the launch into the session's stream, which may be capturing.
    pub(super) fn go(&self, session: &Session) -> Result<(), Stop> {
        for (at, bytes) in &self.zeroed {
            // SAFETY: a workspace part inside a live allocation, used by this stream alone.
            unsafe { launch::memset_d8_async(*at, 0, *bytes, session.stream) }
                .map_err(candidate("clearing its workspace"))
                .map_err(|stop| session.lose(stop))?;
        }
        for call in &self.calls {
            call.go(session)?;
        }
        Ok(())
    }
}

impl Call {
    fn go(&self, session: &Session) -> Result<(), Stop> {
        let mut params: Vec<*mut c_void> =
            self.params.iter().map(|word| (&raw const *word).cast_mut().cast()).collect();
        // SAFETY: function and stream are live. `load` has compared the compiled parameters with the contract's arguments,
        // each of which lies in a word of 8 bytes; what the kernel does with them is on trial.
        unsafe { launch::launch(self.function, session.stream, &self.config, &mut params) }
            .map_err(candidate(&format!("launching `{}`", self.entry)))
            .map_err(|stop| session.lose(stop))
    }
}
