//! [`Late`]: a kernel that lets the one behind it start early and writes what that one reads late, so that a candidate which
//! is launched programmatically and does not wait finds NaN instead, or has what it wrote overwritten.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::rc::Rc;

use cutegen_runtime::cuda::cudarc::driver::result;
use cutegen_runtime::cuda::{CUfunction, LaunchConfig, launch};

use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::memory::DeviceMemory;
use crate::evaluate::device::session::{Session, machine};
use crate::evaluate::wire::protocol::Region;

/// How long memory stays poisoned once the candidate was launched.
const LATE_NS: u64 = 100_000;
/// How long the kernel waits to be told that it was: less than what a stream may take.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Its blocks and their threads: a quarter of an H200, the rest is the candidate's.
const BLOCKS: u32 = 32;
const THREADS: u32 = 256;
/// No more bytes are written late.
const MOST: u64 = 64 << 20;
/// What it copies at a time.
const WORD: u64 = 16;
/// What poisoned memory holds: NaN as any float, and -1.
const POISONED: u8 = 0xff;

/// The loaded kernel.
pub(super) struct Late {
    session: Rc<Session>,
    kernel: CUfunction,
    /// What poisoned memory held; made longer when it has to be.
    saved: RefCell<DeviceMemory>,
    turns: Turns,
}

impl Late {
    /// This kernel of a loaded module.
    pub(super) fn new(session: &Rc<Session>, kernel: CUfunction) -> Result<Self, DeviceError> {
        let saved = RefCell::new(DeviceMemory::new(session, WORD)?);
        Ok(Self { session: Rc::clone(session), kernel, saved, turns: Turns::new(session)? })
    }

    /// Saves what is held in these places and spoils it; puts the kernel that restores it into the stream and, by `candidate`,
    /// what it lets start early; and tells it that this was launched. Of long tensors the beginning.
    pub(super) fn before(
        &self,
        arena: &DeviceMemory,
        held: impl Iterator<Item = Region> + Clone,
        candidate: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let Some(span) = span(held) else { return candidate() };
        if self.saved.borrow().bytes() < span.bytes {
            self.session.wait()?; // the last one may still be restoring
            *self.saved.borrow_mut() = DeviceMemory::new(&self.session, span.bytes.next_power_of_two())?;
        }
        let saved = Region { offset: 0, bytes: span.bytes };
        self.saved.borrow().copy(saved, arena, span.offset)?;
        arena.fill(span, POISONED)?;
        self.launch(arena.at(span)?, self.saved.borrow().at(saved)?, span.bytes / WORD)?;
        let launched = candidate();
        self.turns.tell(); // also where it was not: the kernel waits
        launched
    }

    fn launch(&self, to: u64, from: u64, words: u64) -> Result<(), DeviceError> {
        let words = [to, from, words, LATE_NS, PATIENCE_NS, self.turns.at(), self.turns.next()];
        let mut params = words.each_ref().map(|word| (&raw const *word).cast_mut().cast::<c_void>());
        let config = LaunchConfig { grid: [BLOCKS, 1, 1], block: [THREADS, 1, 1], ..LaunchConfig::default() };
        // SAFETY: the kernel takes seven 64-bit numbers, which outlive the call; all that they point to is live.
        unsafe { launch::launch(self.kernel, self.session.stream, &config, &mut params) }
            .map_err(machine("launching the late kernel"))
    }

    /// Whether each kernel was told in time that its candidate was launched; the stream has been waited for.
    pub(super) fn was_in_time(&self) -> Result<(), DeviceError> {
        if self.turns.given_up() == 0 {
            return Ok(());
        }
        let seconds = PATIENCE_NS / 1_000_000_000;
        Err(DeviceError::Failed(format!("a kernel was not launched behind the late one within {seconds} s")))
    }
}

/// Two words of the host's memory that the device sees: up to which turn candidates have been launched, which the host
/// writes, and a turn that a kernel did not wait for any longer, which that kernel does.
struct Turns {
    session: Rc<Session>,
    words: NonNull<u64>,
    told: Cell<u64>,
}

impl Turns {
    fn new(session: &Rc<Session>) -> Result<Self, DeviceError> {
        // SAFETY: fresh memory in the current context, long enough and aligned for two words.
        let words =
            unsafe { result::malloc_host(2 * size_of::<u64>(), 0) }.map_err(machine("cuMemHostAlloc"))?;
        let words = NonNull::new(words.cast::<u64>());
        let words = words.ok_or_else(|| DeviceError::Failed("cuMemHostAlloc gave nothing".to_owned()))?;
        // SAFETY: as long as two words, and nothing else has it yet.
        unsafe { words.as_ptr().write_bytes(0, 2) };
        Ok(Self { session: Rc::clone(session), words, told: Cell::new(0) })
    }

    /// Where the device finds them: where the host does.
    fn at(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    /// The turn that is told next.
    fn next(&self) -> u64 {
        self.told.get() + 1
    }

    fn tell(&self) {
        self.told.set(self.next());
        // SAFETY: the host's word, which a kernel may be reading.
        unsafe { self.words.as_ptr().write_volatile(self.told.get()) };
    }

    fn given_up(&self) -> u64 {
        // SAFETY: the device's word; no kernel is running.
        unsafe { self.words.as_ptr().add(1).read_volatile() }
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        if !self.session.is_lost() {
            // SAFETY: made by `new`, freed once; no kernel is running.
            let _ = unsafe { result::free_host(self.words.as_ptr().cast()) };
        }
    }
}

/// From where these regions begin to where they end, in whole words, or as much of it as is written late; guards around
/// them have room for that.
fn span(held: impl Iterator<Item = Region> + Clone) -> Option<Region> {
    let held = || held.clone().filter(|region| region.bytes > 0);
    let offset = held().map(|region| region.offset).min()? / WORD * WORD;
    let end = held().map(|region| region.offset + region.bytes).max()?.next_multiple_of(WORD);
    Some(Region { offset, bytes: (end - offset).min(MOST) })
}

#[cfg(test)]
mod tests {
    use super::{MOST, Region, span};

    #[test]
    fn a_span_is_whole_words() {
        let of = |offset: u64, bytes: u64| Region { offset, bytes };
        let span = |held: &[Region]| span(held.iter().copied());
        assert_eq!(span(&[of(4098, 6), of(0, 0), of(8192, 33)]), Some(of(4096, 4144)));
        assert_eq!(span(&[of(16, 16)]), Some(of(16, 16)));
        assert_eq!(span(&[of(7, 0)]), None);
        assert_eq!(span(&[of(0, 8), of(MOST, 8)]), Some(of(0, MOST)));
    }
}
