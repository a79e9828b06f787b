//! [`Scramble`]: a kernel of ours that fills the shared memory of every multiprocessor with NaN, so that a candidate
//! which reads what it never wrote there does not find zeros, or its own earlier results.

use std::ffi::c_void;
use std::path::Path;
use std::rc::Rc;

use cutegen_runtime::cuda::{CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::Contract;

use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::cuda::session::{Session, machine};
use crate::evaluate::runner::Stop;

const ENTRY: &str = "cutegen_scramble";

/// The loaded kernel.
pub(super) struct Scramble {
    function: CUfunction,
    config: LaunchConfig,
    _loaded: Loaded,
}

impl Scramble {
    /// Loads it from the gate's own cubin.
    pub(super) fn load(session: &Rc<Session>, kernels: &Path) -> Result<Self, Stop> {
        let image = std::fs::read(kernels)
            .map_err(|error| Stop::Failed(format!("{}: {error}", kernels.display())))?;
        let mut loaded = Loaded::load(session, &image, &Contract::default(), &[])?;
        let function = loaded.find(ENTRY)?;
        let dynamic_smem = session.device.smem_max;
        let config = LaunchConfig {
            grid: [2 * session.device.sm_count, 1, 1],
            block: [1024, 1, 1],
            cluster: [1, 1, 1],
            dynamic_smem,
            pdl: false,
            cooperative: false,
        };
        // SAFETY: the function's module is loaded in the current context.
        unsafe { launch::prepare(function, dynamic_smem, false) }
            .map_err(machine("preparing the scramble"))?;
        Ok(Self { function, config, _loaded: loaded })
    }

    /// Puts it into the session's stream.
    pub(super) fn go(&self, session: &Session) -> Result<(), Stop> {
        let mut bytes = self.config.dynamic_smem;
        let mut params: [*mut c_void; 1] = [(&raw mut bytes).cast()];
        // SAFETY: the kernel takes one 32-bit number, which outlives the call.
        unsafe { launch::launch(self.function, session.stream, &self.config, &mut params) }
            .map_err(machine("launching the scramble"))
    }
}
