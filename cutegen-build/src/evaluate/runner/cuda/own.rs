//! [`Own`]: the gate's kernels that a runner launches before a candidate's. One fills the shared memory of every
//! multiprocessor with NaN, so that a candidate which reads what it never wrote there does not find zeros, or its own
//! earlier results. One lets the candidate start early and writes its tensors late, so that a candidate which is launched
//! programmatically and does not wait finds NaN instead.

use std::cell::RefCell;
use std::ffi::c_void;
use std::path::Path;
use std::rc::Rc;

use cutegen_runtime::cuda::{CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::Contract;

use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::cuda::memory::DeviceMemory;
use crate::evaluate::cuda::session::{Session, machine};
use crate::evaluate::protocol::Region;
use crate::evaluate::runner::Stop;

const SCRAMBLE: &str = "cutegen_scramble";
const LATE: &str = "cutegen_late";

/// How long the late kernel leaves the tensors spoilt: the host has launched the candidate by then.
const LATE_NS: u64 = 100_000;
/// Its blocks and their threads: a quarter of an H200, the rest is the candidate's.
const LATE_BLOCKS: u32 = 32;
const LATE_THREADS: u32 = 256;
/// Tensors of more bytes are not written late.
const LATE_MAX: u64 = 64 << 20;
/// What it copies at a time.
const WORD: u64 = 16;
/// What spoilt tensors hold: NaN as any float, and -1.
const SPOILT: u8 = 0xff;

/// The loaded kernels.
pub(super) struct Own {
    session: Rc<Session>,
    scramble: CUfunction,
    late: CUfunction,
    /// What spoilt tensors held; made longer when it has to be.
    saved: RefCell<DeviceMemory>,
    _loaded: Loaded,
}

/// Tensors that were spoilt, with what is between them, and are still to be restored.
pub(super) struct Spoilt(Region);

impl Own {
    /// Loads them from the gate's own cubin.
    pub(super) fn load(session: &Rc<Session>, kernels: &Path) -> Result<Self, Stop> {
        let image = std::fs::read(kernels)
            .map_err(|error| Stop::Failed(format!("{}: {error}", kernels.display())))?;
        let mut loaded = Loaded::load(session, &image, &Contract::default(), &[])?;
        let (scramble, late) = (loaded.find(SCRAMBLE)?, loaded.find(LATE)?);
        let saved = RefCell::new(DeviceMemory::new(session, WORD)?);
        // SAFETY: the function's module is loaded in the current context.
        unsafe { launch::prepare(scramble, session.device.smem_max, false) }
            .map_err(machine("preparing the scramble"))?;
        Ok(Self { session: Rc::clone(session), scramble, late, saved, _loaded: loaded })
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

    /// Saves these tensors and spoils them, in the stream's order; none where they are too large for it.
    pub(super) fn spoil(&self, arena: &DeviceMemory, tensors: &[Region]) -> Result<Option<Spoilt>, Stop> {
        let Some(span) = span(tensors).filter(|span| span.bytes <= LATE_MAX) else { return Ok(None) };
        if self.saved.borrow().bytes() < span.bytes {
            self.session.wait()?; // the last one may still be restoring
            *self.saved.borrow_mut() = DeviceMemory::new(&self.session, span.bytes.next_power_of_two())?;
        }
        self.saved.borrow().copy(Region { offset: 0, bytes: span.bytes }, arena, span.offset)?;
        arena.fill(span, SPOILT)?;
        Ok(Some(Spoilt(span)))
    }

    /// Puts the kernel into the stream that lets the next one start, and restores them later.
    pub(super) fn restore_late(&self, arena: &DeviceMemory, Spoilt(span): &Spoilt) -> Result<(), Stop> {
        let from = self.saved.borrow().at(Region { offset: 0, bytes: span.bytes })?;
        let words = [arena.at(*span)?, from, span.bytes / WORD, LATE_NS];
        let mut params = words.each_ref().map(|word| (&raw const *word).cast_mut().cast::<c_void>());
        let (grid, block) = ([LATE_BLOCKS, 1, 1], [LATE_THREADS, 1, 1]);
        let config = LaunchConfig { grid, block, ..LaunchConfig::default() };
        // SAFETY: the kernel takes two addresses and two 64-bit numbers, which outlive the call; both ranges are live.
        unsafe { launch::launch(self.late, self.session.stream, &config, &mut params) }
            .map_err(machine("launching the late kernel"))
    }
}

/// Where these regions begin and end, in whole words; guards around them have room for that.
fn span(tensors: &[Region]) -> Option<Region> {
    let held = || tensors.iter().filter(|region| region.bytes > 0);
    let offset = held().map(|region| region.offset).min()? / WORD * WORD;
    let end = held().map(|region| region.offset + region.bytes).max()?.next_multiple_of(WORD);
    Some(Region { offset, bytes: end - offset })
}

#[cfg(test)]
mod tests {
    use super::{Region, span};

    #[test]
    fn a_span_is_whole_words() {
        let of = |offset: u64, bytes: u64| Region { offset, bytes };
        assert_eq!(span(&[of(4098, 6), of(0, 0), of(8192, 33)]), Some(of(4096, 4144)));
        assert_eq!(span(&[of(16, 16)]), Some(of(16, 16)));
        assert_eq!(span(&[of(7, 0)]), None);
    }
}
