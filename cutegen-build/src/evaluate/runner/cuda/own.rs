//! [`Own`]: the gate's kernels that a runner launches before a candidate's. They fill the shared memory of every
//! multiprocessor with NaN, and the local memory of all threads that fit there, so that a candidate which reads what it
//! never wrote does not find zeros, or its own earlier results. The last is [`Late`].

use std::ffi::c_void;
use std::path::Path;
use std::rc::Rc;

use cutegen_runtime::cuda::{CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::Contract;

use super::late::Late;
use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::launch::Loaded;
use crate::evaluate::device::memory::DeviceMemory;
use crate::evaluate::device::session::{Session, candidate, machine};
use crate::evaluate::wire::protocol::Region;

const SCRAMBLE: &str = "cutegen_scramble";
const LATE: &str = "cutegen_late";
/// Kernels that fill frames of local memory, and the bytes of each frame, ascending.
const FRAMES: [(&str, u32); 2] = [("cutegen_scramble_16384", 16384), ("cutegen_scramble_32768", 32768)];
/// The counter of blocks that have begun.
const BEGUN: Region = Region { offset: 0, bytes: 4 };
/// Threads of a block of theirs.
const FRAME_THREADS: u32 = 256;

/// The loaded kernels.
pub(super) struct Own {
    session: Rc<Session>,
    scramble: CUfunction,
    frames: [CUfunction; FRAMES.len()],
    /// How many of its blocks have begun.
    begun: DeviceMemory,
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
        let mut frames = [scramble; FRAMES.len()];
        for (frame, (entry, _)) in frames.iter_mut().zip(FRAMES) {
            *frame = loaded.find(entry)?;
        }
        let begun = DeviceMemory::new(session, BEGUN.bytes)?;
        Ok(Self { session: Rc::clone(session), scramble, frames, begun, late, _loaded: loaded })
    }

    /// Puts both into the session's stream, before a candidate whose threads have a frame of so many bytes. One without
    /// local memory has none to read.
    pub(super) fn before(&self, frame: u32) -> Result<(), DeviceError> {
        self.scramble()?;
        if frame == 0 { Ok(()) } else { self.scramble_frames(frame) }
    }

    /// Fills at least so many bytes of every thread's local memory.
    fn scramble_frames(&self, bytes: u32) -> Result<(), DeviceError> {
        let fits = FRAMES.iter().position(|(_, frame)| *frame >= bytes);
        let Some(frame) = fits.map(|at| self.frames[at]) else {
            let most = FRAMES[FRAMES.len() - 1].1;
            let told =
                format!("its frame of {bytes} bytes of local memory a thread; at most {most} are taken");
            return Err(DeviceError::Refused(told));
        };
        let one = LaunchConfig { block: [FRAME_THREADS, 1, 1], cooperative: true, ..LaunchConfig::default() };
        // SAFETY: the function's module is loaded in the current context.
        let a_multiprocessor = unsafe { launch::max_blocks_per_sm(frame, &one) }
            .map_err(machine("occupancy of the scramble"))?;
        let config = LaunchConfig { grid: [a_multiprocessor * self.session.device.sm_count, 1, 1], ..one };
        self.begun.fill(BEGUN, 0)?;
        let mut begun = self.begun.at(BEGUN)?;
        let mut params: [*mut c_void; 1] = [(&raw mut begun).cast()];
        // SAFETY: the kernel takes one address of 4 bytes, which outlives the call, and which nothing else writes.
        unsafe { launch::launch(frame, self.session.stream, &config, &mut params) }
            .map_err(candidate("local memory for its frame"))
    }

    fn scramble(&self) -> Result<(), DeviceError> {
        let device = &self.session.device;
        let (grid, block, mut bytes) = ([2 * device.sm_count, 1, 1], [1024, 1, 1], device.smem_max);
        let config = LaunchConfig { grid, block, dynamic_smem: bytes, ..LaunchConfig::default() };
        let mut params: [*mut c_void; 1] = [(&raw mut bytes).cast()];
        // SAFETY: the kernel takes one 32-bit number, which outlives the call.
        unsafe { launch::launch(self.scramble, self.session.stream, &config, &mut params) }
            .map_err(machine("launching the scramble"))
    }
}
