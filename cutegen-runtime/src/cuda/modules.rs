//! Modules of the driver. Each is loaded at the first use of a variant, once for each digest however many variants have
//! it, and its digest is checked then. Must not know which variant a call gets, nor what its stream does.

use cudarc::driver::{CudaContext, result, sys};
use std::ffi::CString;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::device::Device;
use super::launch::{self, CUfunction};
use super::module::{Step, VariantEntry};
use crate::error::Error;

/// Modules that are loaded into a device's context, by digest.
#[derive(Debug, Default)]
pub(super) struct Modules(Mutex<Vec<(&'static str, Weak<Module>)>>);

#[derive(Debug)]
struct Module {
    module: sys::CUmodule,
    context: Arc<CudaContext>,
}

// SAFETY: driver handles may be used from any thread on which their context is current, and every use here
// makes it current first.
unsafe impl Send for Module {}
// SAFETY: as above; the driver synchronises calls on shared handles.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        let earlier = self.context.check_err(); // taken, or binding would report it and not bind
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: the module was loaded by this value and is unloaded once.
        self.context.record_err(unsafe { result::module::unload(self.module) });
        self.context.record_err(earlier);
    }
}

/// A variant that is loaded when it is first used.
#[derive(Debug, Default)]
pub(super) struct OnFirstUse(OnceLock<Functions>);

/// A variant's functions, in the order of its steps.
#[derive(Debug)]
struct Functions {
    functions: Vec<CUfunction>,
    _module: Arc<Module>,
}

// SAFETY: as of the module, which lives as long.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

/// What is loaded, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) device: &'a Device,
    pub(super) kernel: &'static str,
    pub(super) variant: &'static VariantEntry,
}

impl OnFirstUse {
    /// Its functions, where it has been used. One look at an atomic.
    #[inline]
    pub(super) fn get(&self) -> Option<&[CUfunction]> {
        self.0.get().map(|loaded| loaded.functions.as_slice())
    }

    /// Loads it, whatever other threads or streams are captured meanwhile.
    pub(super) fn load(&self, wanted: Wanted<'_>) -> Result<&[CUfunction], Error> {
        let mut present = wanted.device.modules.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(functions) = self.get() {
            return Ok(functions); // by another thread, meanwhile
        }
        let Wanted { device, kernel, variant } = wanted;
        device.context.bind_to_thread().map_err(Error::cuda(kernel, "cuCtxSetCurrent"))?;
        let _relaxed = launch::relaxed().map_err(Error::cuda(kernel, "cuThreadExchangeStreamCaptureMode"))?;
        present.retain(|(_, module)| module.strong_count() > 0);
        let known = present.iter().find(|(digest, _)| *digest == variant.artifact.sha256);
        let module = match known.and_then(|(_, module)| module.upgrade()) {
            Some(module) => module,
            None => {
                let module = Arc::new(Module::load(wanted)?);
                present.push((variant.artifact.sha256, Arc::downgrade(&module)));
                module
            }
        };
        let functions = variant.steps.iter().map(|step| module.function(kernel, step));
        let functions = functions.collect::<Result<_, _>>()?;
        Ok(&self.0.get_or_init(|| Functions { functions, _module: module }).functions)
    }
}

impl Module {
    fn load(Wanted { device, kernel, variant }: Wanted<'_>) -> Result<Self, Error> {
        let image = variant.artifact.open(kernel, variant.about.name)?;
        // SAFETY: `image` is the cubin that was judged, by its digest, and outlives the call.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }
            .map_err(Error::cuda(kernel, "cuModuleLoadData"))?;
        Ok(Self { module, context: Arc::clone(&device.context) })
    }

    fn function(&self, kernel: &'static str, step: &Step) -> Result<CUfunction, Error> {
        let name = CString::new(step.entry).unwrap_or_default(); // a name with a zero byte isn't found
        // SAFETY: the module is loaded, and the context current.
        let function = unsafe { result::module::get_function(self.module, name) }
            .map_err(Error::cuda(kernel, "cuModuleGetFunction"))?;
        // SAFETY: as above.
        unsafe { launch::prepare(function, step.dynamic_smem_max, step.nonportable_cluster) }
            .map_err(Error::cuda(kernel, "cuFuncSetAttribute"))?;
        Ok(function)
    }
}
