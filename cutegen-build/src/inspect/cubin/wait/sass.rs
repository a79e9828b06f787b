//! What one instruction does, as far as waiting for the kernel before needs it: whether it touches global memory, and what
//! runs next.
//!
//! NVIDIA documents no encodings. These are as `nvdisasm` 13 names what NVRTC 13.0 makes of each PTX instruction, alike for
//! sm_90, sm_100, sm_103, sm_120 and sm_121: 16 bytes an instruction, the operation in the lowest 9 bits, a guard in bits
//! 12 to 15. What is not known here is [`Effect::Unknown`], never harmless.

/// Bytes of an instruction.
pub(super) const BYTES: usize = 16;
/// The bits that tell operations apart; those above say where operands come from.
const OPERATION: u16 = 0x1ff;
/// `ACQBULK`, which is `griddepcontrol.wait`.
pub(super) const WAIT: u16 = 0x02e;
/// Operations below compute: on registers, predicates and barriers, without an address.
const COMPUTES: u16 = 0x140;
/// A guard, and the predicate of a branch, that always hold.
const ALWAYS: u64 = 7;
/// Where a branch has that predicate among the bits of its variant.
const PLAIN: u64 = ALWAYS << 5;
/// The variant of calls and returns that NVRTC makes: `.NOINC` and `.NODEC`.
const NO_COUNT: u64 = PLAIN | 1 << 4;

/// A word of 128 bits, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) at: usize,
    low: u64,
    high: u64,
}

/// What it does, and what runs next: the instruction behind it, where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing in global memory.
    Passes,
    /// `griddepcontrol.wait`, in each thread that comes here.
    Waits,
    /// Reads global memory, or fetches it into a cache.
    Reads(&'static str),
    /// Writes it, or does both at once.
    Writes(&'static str),
    /// Nothing runs next.
    Ends,
    /// To there.
    Jumps(Option<usize>),
    /// To there, or on.
    MayJump(Option<usize>),
    /// Into a function there, which comes back behind it.
    Calls(Option<usize>),
    /// Back from a function.
    Returns,
    /// Threads that a [`Instruction::gathers`] of this number sent apart go on together.
    Converges(u8),
    /// It may do anything.
    Unknown,
}

/// The instructions of a kernel and of its functions.
pub(super) fn instructions(text: &[u8]) -> Vec<Instruction> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    let whole = text.chunks_exact(BYTES).enumerate();
    whole.map(|(n, b)| Instruction { at: n * BYTES, low: word(&b[..8]), high: word(&b[8..]) }).collect()
}

impl Instruction {
    /// The lowest 9 bits.
    pub(super) fn operation(&self) -> u16 {
        self.low as u16 & OPERATION
    }

    /// What it does.
    pub(super) fn effect(&self) -> Effect {
        match self.operation() {
            // under a predicate it is skipped by some threads
            WAIT if self.is_always() => Effect::Waits,
            // BSYNC
            0x141 => Effect::Converges(self.barrier()),
            // CALL by distance, by all threads; calls and jumps to an address in a register are unknown
            0x144 if self.is_plain(0x9, NO_COUNT) => Effect::Calls(self.far()),
            // BRA
            0x147 if self.goes_on() => Effect::MayJump(self.far()),
            0x147 => Effect::Jumps(self.far()),
            // WARPSYNC.COLLECTIVE has a target, WARPSYNC.ALL none
            0x148 if self.form() == 0x3 => Effect::MayJump(self.far()),
            // EXIT
            0x14d if !self.goes_on() => Effect::Ends,
            // RET to an address in a register, from the beginning of the kernel
            0x150 if self.is_plain(0x9, NO_COUNT) && self.far() == Some(0) => Effect::Returns,
            // BREAK BSSY YIELD WARPSYNC EXIT LEPC BPT NANOSLEEP
            0x142 | 0x145 | 0x146 | 0x148 | 0x14d | 0x14e | 0x15c | 0x15d => Effect::Passes,
            operation if operation < COMPUTES => Effect::Passes,
            operation => self.memory(operation),
        }
    }

    /// Of BSSY: its number, and where the threads that part there meet again.
    pub(super) fn gathers(&self) -> Option<(u8, usize)> {
        (self.operation() == 0x145).then_some((self.barrier(), self.near()?))
    }

    /// Of a MOV of a constant: that constant. So a return address gets into its register.
    pub(super) fn constant(&self) -> Option<usize> {
        (self.low & 0xfff == 0x802).then_some((self.low >> 32) as usize)
    }

    fn memory(&self, operation: u16) -> Effect {
        use Effect::{Passes, Reads, Unknown, Writes};
        match operation {
            0x160..=0x17f => Reads("a texture load"),
            0x180 => Reads("a load (`LD`)"),
            0x181 => Reads("a load (`LDG`)"),
            0x185 => Writes("a store (`ST`)"),
            0x186 => Writes("a store (`STG`)"),
            0x18a | 0x18b | 0x1a2 => Writes("an atomic (`ATOM`)"),
            0x18e | 0x1a6 => Writes("a reduction (`REDG`)"),
            0x18f => self.cache_control(),
            0x199 => Reads("a surface load"),
            0x19d | 0x19f => Writes("a surface store"),
            0x1a3 | 0x1a8 | 0x1a9 => Writes("an atomic (`ATOMG`)"),
            0x1a4 => Reads("a multicast load (`LDGMC`)"),
            0x1ae => Reads("a cp.async (`LDGSTS`)"),
            0x1b4 => Reads("a tensor copy (`UTMALDG`)"),
            0x1b5 => Writes("a tensor copy to global memory (`UTMASTG`)"),
            0x1b6 => Writes("a tensor reduction (`UTMAREDG`)"),
            0x1b8 => Reads("a prefetch (`UTMAPF`)"),
            0x1ba | 0x1bb => self.bulk(operation),
            0x1bc => Reads("a prefetch (`UBLKPF`)"),
            // LDC LDL LDS STL STS SHFL ATOMS MEMBAR MATCH SYNCS QSPC ERRBAR LDCU LDGDEPBAR SYNCS UTMACMDFLUSH UTMACCTL (of
            // descriptors) STAS REDAS S2UR REDUX FENCE UCGABAR USETMAXREG UMEMSETS: shared, local and constant memory, barriers
            0x182..=0x184 | 0x187..=0x189 | 0x18c | 0x18d | 0x192 | 0x1a1 | 0x1a7 | 0x1aa..=0x1ac => Passes,
            0x1af | 0x1b2 | 0x1b7 | 0x1b9 | 0x1bd | 0x1be | 0x1c3 | 0x1c4 | 0x1c6..=0x1c8 | 0x1cb => Passes,
            _ => Unknown,
        }
    }

    /// CCTL: invalidates the first cache, as a fence does; fetches; or discards, which is a store of anything.
    fn cache_control(&self) -> Effect {
        match self.high >> 23 & 0x1f {
            4 => Effect::Passes,
            0 | 1 | 9 | 10 => Effect::Reads("a prefetch (`CCTL`)"),
            _ => Effect::Writes("a discard (`CCTL`)"),
        }
    }

    /// Bulk copies and reductions, by their direction: from global memory, to it, or within a cluster.
    fn bulk(&self, operation: u16) -> Effect {
        match (operation, self.high >> 9 & 3) {
            (_, 3) => Effect::Passes,
            (0x1ba, 1) => Effect::Reads("a bulk copy (`UBLKCP`)"),
            (0x1ba, _) => Effect::Writes("a bulk copy to global memory (`UBLKCP`)"),
            _ => Effect::Writes("a bulk reduction (`UBLKRED`)"),
        }
    }

    fn form(&self) -> u64 {
        self.low >> 8 & 0xf
    }

    fn is_always(&self) -> bool {
        self.low >> 12 & 0xf == ALWAYS
    }

    /// Whether some threads may not branch or exit: by a guard, by a predicate operand, or where a variant says what is
    /// asked for.
    fn goes_on(&self) -> bool {
        !self.is_always() || self.variant() != PLAIN || self.low >> 24 & 0x3ff != 0
    }

    fn is_plain(&self, form: u64, variant: u64) -> bool {
        self.is_always() && self.form() == form && self.variant() == variant
    }

    fn variant(&self) -> u64 {
        self.high >> 18 & 0x7f_ffff
    }

    fn barrier(&self) -> u8 {
        (self.low >> 16) as u8
    }

    /// Where a branch goes: bits 16 to 23 are the distance's lowest 8, in fours of bytes from the instruction behind.
    fn far(&self) -> Option<usize> {
        self.target(self.distance() << 8 | (self.low >> 16 & 0xff).cast_signed())
    }

    /// Where a BSSY points: bytes from the instruction behind, in the upper half of the first word.
    fn near(&self) -> Option<usize> {
        let bytes = i64::from(((self.low >> 32) as u32).cast_signed());
        self.target(bytes / 4)
    }

    /// 48 bits from bit 34 on.
    fn distance(&self) -> i64 {
        let bits = self.low >> 34 | (self.high & 0x3_ffff) << 30;
        (bits << 16).cast_signed() >> 16
    }

    fn target(&self, fours: i64) -> Option<usize> {
        let behind = i64::try_from(self.at + BYTES).ok()?;
        usize::try_from(behind.checked_add(fours.checked_mul(4)?)?).ok()
    }
}
