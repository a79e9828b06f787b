//! [`Own`]: the gate's kernels that a runner launches beside a candidate's. One fills the shared memory of every
//! multiprocessor with NaN, so that a candidate which reads what it never wrote there does not find zeros, or its own
//! earlier results; one copies many small ranges in one launch.

use std::ffi::c_void;
use std::path::Path;
use std::rc::Rc;

use cutegen_runtime::cuda::{CUdeviceptr, CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::Contract;

use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::cuda::piece;
use crate::evaluate::cuda::session::{Session, machine};
use crate::evaluate::runner::Stop;

const SCRAMBLE: &str = "cutegen_scramble";
/// Blocks that copy at most.
const BLOCKS: u64 = 1024;

/// The loaded kernels.
pub(super) struct Own {
    session: Rc<Session>,
    scramble: CUfunction,
    pieces: CUfunction,
    _loaded: Loaded,
}

impl Own {
    /// Loads them from the gate's own cubin.
    pub(super) fn load(session: &Rc<Session>, kernels: &Path) -> Result<Self, Stop> {
        let image = std::fs::read(kernels)
            .map_err(|error| Stop::Failed(format!("{}: {error}", kernels.display())))?;
        let mut loaded = Loaded::load(session, &image, &Contract::default(), &[])?;
        let (scramble, pieces) = (loaded.find(SCRAMBLE)?, loaded.find(piece::ENTRY)?);
        // SAFETY: the function's module is loaded in the current context.
        unsafe { launch::prepare(scramble, session.device.smem_max, false) }
            .map_err(machine("preparing the scramble"))?;
        Ok(Self { session: Rc::clone(session), scramble, pieces, _loaded: loaded })
    }

    /// Puts the scramble into the session's stream.
    pub(super) fn scramble(&self) -> Result<(), Stop> {
        let device = &self.session.device;
        let config = config(2 * device.sm_count, 1024, device.smem_max);
        let mut bytes = config.dynamic_smem;
        let mut params: [*mut c_void; 1] = [(&raw mut bytes).cast()];
        // SAFETY: the kernel takes one 32-bit number, which outlives the call.
        unsafe { launch::launch(self.scramble, self.session.stream, &config, &mut params) }
            .map_err(machine("launching the scramble"))
    }

    /// Puts so many pieces, which lie at `table` and are all copied, into the session's stream.
    pub(super) fn copy(&self, mut table: CUdeviceptr, mut count: u64) -> Result<(), Stop> {
        // nothing is compared, so no place is noted
        let (blocks, mut first) = (count.clamp(1, BLOCKS) as u32, 0_u64);
        let mut params: [*mut c_void; 3] =
            [(&raw mut table).cast(), (&raw mut count).cast(), (&raw mut first).cast()];
        // SAFETY: the kernel takes these three words, which outlive the call; the caller's table is of live memory.
        unsafe {
            launch::launch(self.pieces, self.session.stream, &config(blocks, piece::THREADS, 0), &mut params)
        }
        .map_err(machine("launching copies"))
    }
}

fn config(blocks: u32, threads: u32, dynamic_smem: u32) -> LaunchConfig {
    let (grid, block, cluster) = ([blocks, 1, 1], [threads, 1, 1], [1, 1, 1]);
    LaunchConfig { grid, block, cluster, dynamic_smem, pdl: false, cooperative: false }
}
