//! [`Own`]: the gate's kernels that a runner launches before a candidate's. One fills the shared memory of every
//! multiprocessor with NaN, so that a candidate which reads what it never wrote there does not find zeros, or its own
//! earlier results. The other is [`Late`].

use std::ffi::c_void;
use std::path::Path;
use std::rc::Rc;

use cutegen_runtime::cuda::{CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::Contract;

use super::late::Late;
use crate::evaluate::cuda::error::DeviceError;
use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::cuda::session::{Session, machine};

const SCRAMBLE: &str = "cutegen_scramble";
const LATE: &str = "cutegen_late";

/// The loaded kernels.
pub(super) struct Own {
    session: Rc<Session>,
    scramble: CUfunction,
    /// Writes late what a candidate may read early.
    pub(super) late: Late,
    _loaded: Loaded,
}

impl Own {
    /// Loads them from the gate's own cubin.
    pub(super) fn load(session: &Rc<Session>, kernels: &Path) -> Result<Self, DeviceError> {
        let image = std::fs::read(kernels)
            .map_err(|error| DeviceError::Failed(format!("{}: {error}", kernels.display())))?;
        let mut loaded = Loaded::load(session, &image, &Contract::default(), &[])?;
        let (scramble, late) = (loaded.find(SCRAMBLE)?, loaded.find(LATE)?);
        // SAFETY: the function's module is loaded in the current context.
        unsafe { launch::prepare(scramble, session.device.smem_max, false) }
            .map_err(machine("preparing the scramble"))?;
        let late = Late::new(session, late)?;
        Ok(Self { session: Rc::clone(session), scramble, late, _loaded: loaded })
    }

    /// Puts the scramble into the session's stream.
    pub(super) fn scramble(&self) -> Result<(), DeviceError> {
        let device = &self.session.device;
        let (grid, block, mut bytes) = ([2 * device.sm_count, 1, 1], [1024, 1, 1], device.smem_max);
        let config = LaunchConfig { grid, block, dynamic_smem: bytes, ..LaunchConfig::default() };
        let mut params: [*mut c_void; 1] = [(&raw mut bytes).cast()];
        // SAFETY: the kernel takes one 32-bit number, which outlives the call.
        unsafe { launch::launch(self.scramble, self.session.stream, &config, &mut params) }
            .map_err(machine("launching the scramble"))
    }
}
