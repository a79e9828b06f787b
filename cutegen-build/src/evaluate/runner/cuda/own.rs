//! [`Own`]: the gate's kernel that a runner launches beside a candidate's. It fills the shared memory of every
//! multiprocessor with NaN, so that a candidate which reads what it never wrote there does not find zeros, or its own
//! earlier results.

use std::ffi::c_void;
use std::path::Path;
use std::rc::Rc;

use cutegen_runtime::cuda::{CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::Contract;

use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::cuda::session::{Session, machine};
use crate::evaluate::runner::Stop;

const SCRAMBLE: &str = "cutegen_scramble";

/// The loaded kernels.
pub(super) struct Own {
    session: Rc<Session>,
    scramble: CUfunction,
    _loaded: Loaded,
}

impl Own {
    /// Loads them from the gate's own cubin.
    pub(super) fn load(session: &Rc<Session>, kernels: &Path) -> Result<Self, Stop> {
        let image = std::fs::read(kernels)
            .map_err(|error| Stop::Failed(format!("{}: {error}", kernels.display())))?;
        let mut loaded = Loaded::load(session, &image, &Contract::default(), &[])?;
        let scramble = loaded.find(SCRAMBLE)?;
        // SAFETY: the function's module is loaded in the current context.
        unsafe { launch::prepare(scramble, session.device.smem_max, false) }
            .map_err(machine("preparing the scramble"))?;
        Ok(Self { session: Rc::clone(session), scramble, _loaded: loaded })
    }

    /// Puts the scramble into the session's stream.
    pub(super) fn scramble(&self) -> Result<(), Stop> {
        let device = &self.session.device;
        let (grid, block, mut bytes) = ([2 * device.sm_count, 1, 1], [1024, 1, 1], device.smem_max);
        let config = LaunchConfig { grid, block, dynamic_smem: bytes, ..LaunchConfig::default() };
        let mut params: [*mut c_void; 1] = [(&raw mut bytes).cast()];
        // SAFETY: the kernel takes one 32-bit number, which outlives the call.
        unsafe { launch::launch(self.scramble, self.session.stream, &config, &mut params) }
            .map_err(machine("launching the scramble"))
    }
}
