//! [`Stacks`]: where host candidates run: small stacks of the runner's own, each between pages that cannot be touched.
//! What a launch leaves in dead frames is gone before the next judged one, and no launch sees the runner's frames.
//!
//! It also tells what a launch did to the registers that a function must leave as it finds them. It must not know what
//! is launched.

use std::ffi::c_void;
use std::ptr::NonNull;

/// Bytes of one stack: less than a thread of a user's program has.
const STACK: usize = 256 << 10;
/// Bytes between two of them, none of which can be touched.
const GUARD: usize = 1 << 20;
/// The same below the lowest, on which judged launches run: a frame without probes may reach far.
const BELOW: usize = 16 << 20;
/// Stacks that timed launches take in turn.
const TIMED: usize = 8;

/// A kernel's entry.
pub(super) type Entry = unsafe extern "C" fn(*mut *mut c_void);

/// Which stack a launch runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn(usize);

impl Turn {
    /// Of judged launches.
    pub(super) const JUDGED: Turn = Turn(0);

    /// Of the launch on this slot in this round: as outputs do, stacks move on by one in each round, so that what a launch
    /// left is met by others' inputs first.
    pub(super) fn timed(slot: usize, round: usize) -> Turn {
        Turn(1 + (slot + round) % TIMED)
    }
}

/// How many launches over so many slots never bring the same inputs to the same stack twice.
pub(super) fn unmet(slots: usize) -> usize {
    slots * TIMED
}

/// All stacks of a runner, the one of judged launches lowest.
pub(super) struct Stacks {
    base: NonNull<u8>,
}

const COUNT: usize = 1 + TIMED;
const BYTES: usize = BELOW + COUNT * (STACK + GUARD);

impl Stacks {
    /// Maps them.
    pub(super) fn map() -> std::io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the system's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_NONE, flags, -1, 0) };
        let Some(base) = NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED) else {
            return Err(std::io::Error::last_os_error());
        };
        let stacks = Self { base };
        for turn in 0..COUNT {
            let bottom = stacks.bottom(Turn(turn)).cast();
            // SAFETY: whole pages of the mapping that was just made.
            if unsafe { libc::mprotect(bottom, STACK, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(stacks)
    }

    fn bottom(&self, Turn(turn): Turn) -> *mut u8 {
        self.base.as_ptr().wrapping_add(BELOW + turn * (STACK + GUARD))
    }

    /// Fills the stack of judged launches.
    pub(super) fn poison(&mut self, byte: u8) {
        self.fill(Turn::JUDGED, byte);
    }

    /// Fills the stacks of timed launches.
    pub(super) fn poison_timed(&mut self, byte: u8) {
        (1..COUNT).for_each(|turn| self.fill(Turn(turn), byte));
    }

    fn fill(&mut self, turn: Turn, byte: u8) {
        // SAFETY: the stack's own bytes, on which nothing runs now.
        unsafe { std::ptr::write_bytes(self.bottom(turn), byte, STACK) };
    }

    /// Calls an entry on this stack. Its frame begins at the stack's last byte: what lies above it cannot be read.
    ///
    /// # Safety
    /// The entry has the host ABI and `params` are its parameters.
    pub(super) unsafe fn call(&mut self, turn: Turn, entry: Entry, params: *mut *mut c_void) -> Left {
        let top = self.bottom(turn).wrapping_add(STACK);
        // SAFETY: the caller's; the stack is mapped, and nothing else runs on it.
        unsafe { call_on(entry, params, top) }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` made, dropped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), BYTES) };
    }
}

/// What a launch left in registers that its caller relies on.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// All registers that a function must restore, one over the other: they were zero.
    kept: u64,
    flags: u64,
    mxcsr: u32,
    x87: u16,
}

/// What a process begins with, and what ours has: all exceptions masked, round to nearest, subnormals kept.
const MXCSR: u32 = 0x1f80;
/// The control bits of it; the others say what exceptions there were.
const MXCSR_CONTROL: u32 = !0x3f & 0xffff;
const X87: u16 = 0x37f;
/// Bits of the flags that no function leaves set: direction, alignment checks.
const FLAGS: u64 = 1 << 10 | 1 << 18;

impl Left {
    const UNCHANGED: Left = Left { kept: 0, flags: 0, mxcsr: MXCSR, x87: X87 };

    /// The register that is not as it was, in words.
    pub(super) fn changed(&self) -> Option<&'static str> {
        if self.kept != 0 {
            return Some("a register that a function must restore");
        }
        if self.flags & FLAGS != 0 {
            return Some("the direction flag or the alignment check");
        }
        if (self.mxcsr ^ MXCSR) & MXCSR_CONTROL != 0 {
            return Some("MXCSR, the control register of SSE and AVX");
        }
        (self.x87 != X87).then_some("the control word of the x87 unit")
    }
}

/// Whether the x87 unit holds values, which makes the next user of it compute NaN. Empties it.
pub(super) fn x87_is_used() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let mut environment = [0_u32; 7];
        // SAFETY: 28 bytes are stored to as many; the unit is left as a process begins with it.
        unsafe {
            std::arch::asm!("fnstenv [{0}]", "fninit", in(reg) environment.as_mut_ptr(), options(nostack));
        }
        environment[2] & 0xffff != 0xffff
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Where host candidates run on the runner's own stack.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn call_on(entry: Entry, params: *mut *mut c_void, _: *mut u8) -> Left {
    // SAFETY: the caller's.
    unsafe { entry(params) };
    Left::UNCHANGED
}

#[cfg(target_arch = "x86_64")]
unsafe fn call_on(entry: Entry, params: *mut *mut c_void, top: *mut u8) -> Left {
    let mut left = Left::UNCHANGED;
    // SAFETY: the caller's; see the routine below.
    unsafe { cutegen_call_on(entry, params, top, &raw mut left) };
    left
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn cutegen_call_on(entry: Entry, params: *mut *mut c_void, top: *mut u8, left: *mut Left);
}

// Saves what a function must restore on the runner's stack and that stack's pointer where the candidate has no pointer
// to; clears all other registers, so that none points into the runner; calls; stores what came back in `Left`, and goes
// on with what a process begins with.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .bss.cutegen_call_on, \"aw\", @nobits",
    ".p2align 3",
    "cutegen_call_on_saved: .zero 8",
    ".popsection",
    ".pushsection .text.cutegen_call_on, \"ax\", @progbits",
    ".globl cutegen_call_on",
    ".hidden cutegen_call_on",
    ".type cutegen_call_on, @function",
    ".p2align 4",
    "cutegen_call_on:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "push rcx",
    "mov [rip + cutegen_call_on_saved], rsp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsp, rdx",
    "xor ebx, ebx",
    "xor ecx, ecx",
    "xor edx, edx",
    "xor esi, esi",
    "xor ebp, ebp",
    "xor r8d, r8d",
    "xor r9d, r9d",
    "xor r10d, r10d",
    "xor r11d, r11d",
    "xor r12d, r12d",
    "xor r13d, r13d",
    "xor r14d, r14d",
    "xor r15d, r15d",
    "call rax",
    "mov rsp, [rip + cutegen_call_on_saved]",
    "pop rcx",
    "pushfq",
    "pop rax",
    "mov [rcx + 8], rax",
    "or rbx, rbp",
    "or rbx, r12",
    "or rbx, r13",
    "or rbx, r14",
    "or rbx, r15",
    "mov [rcx], rbx",
    "stmxcsr [rcx + 16]",
    "fnstcw [rcx + 20]",
    "cld",
    "push 0x1f80",
    "ldmxcsr [rsp]",
    "mov dword ptr [rsp], 0x37f",
    "fldcw [rsp]",
    "pop rax",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".size cutegen_call_on, . - cutegen_call_on",
    ".popsection",
);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::c_void;

    use super::{STACK, Stacks, Turn, unmet, x87_is_used};

    unsafe extern "C" fn writes_its_frame(params: *mut *mut c_void) {
        let mut frame = [0_u8; 64];
        std::hint::black_box(&mut frame);
        // SAFETY: the tests below pass one pointer to a word.
        unsafe { *params.cast::<*mut u64>().read() = frame.as_ptr() as u64 };
    }

    fn frame(stacks: &mut Stacks, turn: Turn) -> u64 {
        let mut word = 0_u64;
        let mut params = [(&raw mut word).cast::<c_void>()];
        // SAFETY: an entry with one parameter.
        let left = unsafe { stacks.call(turn, writes_its_frame, params.as_mut_ptr()) };
        assert_eq!(left.changed(), None);
        word
    }

    #[test]
    fn a_launch_runs_at_the_top_of_its_own_stack_and_its_frame_is_poisoned_again() {
        let mut stacks = Stacks::map().expect("mapped");
        stacks.poison(7);
        let at = frame(&mut stacks, Turn::JUDGED);
        let bottom = stacks.bottom(Turn::JUDGED) as u64;
        assert!((bottom + STACK as u64 - 4096..bottom + STACK as u64).contains(&at), "{at:x}");
        // SAFETY: inside the stack.
        let byte = || unsafe { (at as *const u8).read_volatile() };
        assert_eq!(byte(), 0);
        stacks.poison(9);
        assert_eq!(byte(), 9);
    }

    #[test]
    fn no_stack_meets_the_same_inputs_twice_before_it_is_poisoned() {
        for slots in [1, 3, 7, 8, 64] {
            let launches = (0..unmet(slots)).map(|n| (n % slots, Turn::timed(n % slots, n / slots)));
            let met: BTreeSet<(usize, usize)> = launches.map(|(slot, Turn(turn))| (slot, turn)).collect();
            assert_eq!(met.len(), unmet(slots), "{slots} slots");
        }
    }

    unsafe extern "C" fn flushes(_: *mut *mut c_void) {
        let word = 0x9fc0_u32;
        // SAFETY: the register's own bits.
        unsafe { std::arch::asm!("ldmxcsr [{0}]", in(reg) &raw const word) };
    }

    unsafe extern "C" fn narrows(_: *mut *mut c_void) {
        let word = 0x27f_u16;
        // SAFETY: the register's own bits.
        unsafe { std::arch::asm!("fldcw [{0}]", in(reg) &raw const word) };
    }

    unsafe extern "C" fn counts_down(_: *mut *mut c_void) {
        // SAFETY: the routine that called it clears the flag.
        unsafe { std::arch::asm!("std", options(preserves_flags)) };
    }

    #[test]
    fn registers_are_told_and_restored() {
        let mut stacks = Stacks::map().expect("mapped");
        for (entry, told) in
            [(flushes as super::Entry, "MXCSR"), (narrows, "x87"), (counts_down, "direction")]
        {
            // SAFETY: entries without parameters.
            let left = unsafe { stacks.call(Turn::JUDGED, entry, std::ptr::null_mut()) };
            assert!(left.changed().is_some_and(|what| what.contains(told)), "{told}: {left:?}");
            frame(&mut stacks, Turn::JUDGED);
        }
    }

    #[test]
    fn a_value_left_in_the_x87_unit_is_told_once() {
        assert!(!x87_is_used());
        // SAFETY: taken out again by what is tested.
        unsafe { std::arch::asm!("fld1", out("st(0)") _, options(nostack)) };
        // SAFETY: as above.
        unsafe { std::arch::asm!("fldpi") };
        assert!(x87_is_used());
        assert!(!x87_is_used());
    }
}
