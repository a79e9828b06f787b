//! [`Late`]: a kernel that lets the one behind it start early and writes what that one reads late, so that a candidate which
//! is launched programmatically and does not wait finds NaN instead, or has what it wrote overwritten. Tensors that are
//! constant are none of that: a candidate may read them before it waits.

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

/// How long the kernel waits to be told that it was: less than what a stream may take.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Its blocks and their threads: a quarter of an H200, the rest is the candidate's.
const BLOCKS: u32 = 32;
const THREADS: u32 = 256;
/// No more bytes are written late, of all pieces together.
const MOST: u64 = 64 << 20;
/// Pieces, at most: as `kernels.cu` has it.
const PIECES: usize = 16;
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

    /// Saves what is held in these [`pieces`] and spoils it; puts the kernel that restores it into the stream and, by `candidate`,
    /// what it lets start early; and tells it that this was launched, so many nanoseconds before it restores.
    pub(super) fn before(
        &self,
        arena: &DeviceMemory,
        (pieces, late_ns): (&[Region], u64),
        candidate: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        if pieces.is_empty() {
            return candidate();
        }
        let bytes: u64 = pieces.iter().map(|piece| piece.bytes).sum();
        if self.saved.borrow().bytes() < bytes {
            self.session.wait()?; // the last one may still be restoring
            *self.saved.borrow_mut() = DeviceMemory::new(&self.session, bytes.next_power_of_two())?;
        }
        let moves = self.spoil(arena, pieces)?;
        self.launch(&moves, late_ns)?;
        let launched = candidate();
        self.turns.tell(); // also where it was not: the kernel waits
        launched
    }

    /// Saves these pieces one behind another, and poisons them; what restores them.
    fn spoil(&self, arena: &DeviceMemory, pieces: &[Region]) -> Result<Moves, DeviceError> {
        let saved = self.saved.borrow();
        let mut moves = Moves { count: pieces.len() as u64, each: [Move::default(); PIECES] };
        let mut offset = 0;
        for (piece, restored) in pieces.iter().zip(&mut moves.each) {
            let place = Region { offset, bytes: piece.bytes };
            saved.copy(place, arena, piece.offset)?;
            arena.fill(*piece, POISONED)?;
            *restored = Move { to: arena.at(*piece)?, from: saved.at(place)?, words: piece.bytes / WORD };
            offset += piece.bytes;
        }
        Ok(moves)
    }

    fn launch(&self, moves: &Moves, late_ns: u64) -> Result<(), DeviceError> {
        let words = [late_ns, PATIENCE_NS, self.turns.at(), self.turns.next()];
        let [late, patience, turns, turn] =
            words.each_ref().map(|word| (&raw const *word).cast_mut().cast::<c_void>());
        let mut params = [(&raw const *moves).cast_mut().cast(), late, patience, turns, turn];
        let config = LaunchConfig { grid: [BLOCKS, 1, 1], block: [THREADS, 1, 1], ..LaunchConfig::default() };
        // SAFETY: the kernel takes `Moves` and four 64-bit numbers, which outlive the call; all that they point to is live.
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

/// What the kernel restores, as it takes it.
#[repr(C)]
struct Moves {
    count: u64,
    each: [Move; PIECES],
}

/// So many words from where they were saved.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Move {
    to: u64,
    from: u64,
    words: u64,
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

/// What is written late of these regions, in whole words, guards around them having room for that: neighbours between which
/// nothing spared lies are one piece with what is between them. Of each piece the beginning, where all are too long.
pub(super) fn pieces(held: &[Region], spared: &[Region]) -> Vec<Region> {
    let mut held: Vec<Region> = held.iter().copied().filter(|region| region.bytes > 0).collect();
    held.sort_by_key(|region| region.offset);
    let parts = |from: u64, to: u64| spared.iter().any(|other| (from..to).contains(&other.offset));
    let mut found: Vec<[u64; 2]> = Vec::new();
    for Region { offset, bytes } in held {
        let end = offset + bytes;
        match found.last_mut().filter(|last| !parts(last[0], end)) {
            Some(last) => last[1] = last[1].max(end),
            None => found.push([offset, end]),
        }
    }
    found.truncate(PIECES);
    let most = MOST / (found.len() as u64).max(1) / WORD * WORD;
    let whole = |[from, to]: [u64; 2]| {
        let offset = from / WORD * WORD;
        Region { offset, bytes: (to.next_multiple_of(WORD) - offset).min(most) }
    };
    found.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST, PIECES, Region, pieces};

    fn at(offset: u64, bytes: u64) -> Region {
        Region { offset, bytes }
    }

    #[test]
    fn a_piece_is_whole_words() {
        assert_eq!(pieces(&[at(4098, 6), at(0, 0), at(8192, 33)], &[]), [at(4096, 4144)]);
        assert_eq!(pieces(&[at(16, 16)], &[]), [at(16, 16)]);
        assert_eq!(pieces(&[at(7, 0)], &[]), []);
        assert_eq!(pieces(&[at(0, 8), at(MOST, 8)], &[]), [at(0, MOST)]);
    }

    #[test]
    fn what_is_spared_lies_in_no_piece() {
        let spared = [at(256, 512)];
        assert_eq!(pieces(&[at(0, 8), at(1024, 8)], &spared), [at(0, 16), at(1024, 16)]);
        assert_eq!(pieces(&[at(2048, 8), at(1024, 8), at(0, 8)], &spared), [at(0, 16), at(1024, 1040)]);
        assert_eq!(pieces(&[at(1024, MOST), at(0, MOST)], &spared), [at(0, MOST / 2), at(1024, MOST / 2)]);
        assert_eq!(pieces(&[], &spared), []);
    }

    #[test]
    fn there_are_no_more_pieces_than_the_kernel_takes() {
        let [held, spared] = [0, 512].map(|by| (0..40).map(|n| at(1024 * n + by, 8)).collect::<Vec<_>>());
        assert_eq!(pieces(&held, &spared).len(), PIECES);
    }
}
