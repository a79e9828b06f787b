//! What judge and runner say to each other: one JSON value per line on the runner's stdin and stdout, bulk data in
//! one shared arena, whose file descriptor the runner inherits, or whose handle it is told.
//!
//! Order: one [`Request::Start`], answered by [`Reply::Ready`]; then any number of [`Request::Job`]s, each answered
//! by one reply; end of input ends the runner. No message carries a seed, a distribution, a reference or a bound, and
//! none carries a float (JSON would round it).
//!
//! **The arena is the initial state.** All regions of a job lie inside `arena_bytes` of it, as the judge filled it:
//! inputs drawn, outputs and undefined workspace poisoned, what is kept zero so, guards patterned. Where the backend is a device, so is the
//! arena: memory that the judge made there. Under compute-sanitizer alone it is host memory still, whose regions the
//! runner copies to allocations of their own and back.

use std::path::PathBuf;

use cutegen_spec::contract::Contract;
use serde::{Deserialize, Serialize};

use super::gemm::Gemm;

/// Workspace of a launch of cuBLASLt: what the vendor recommends on Hopper.
pub const WORKSPACE_BYTES: u64 = 32 << 20;

/// Judge to runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Request {
    /// Sent once, before everything else.
    Start(Start),
    /// Launch something.
    Job(Job),
}

/// What a runner must know before it takes jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Start {
    /// What it will run candidates on.
    pub backend: Backend,
    /// The arena, by an inherited file descriptor or a handle.
    pub memory: Memory,
    /// Limits that it puts on itself before the first candidate is loaded.
    pub limits: Limits,
    /// The folder of candidates: all that a runner may read besides the libraries of the system and the driver.
    pub candidates: PathBuf,
    /// The gate's own kernels, of which a CUDA runner launches two: one scrambles shared memory, one writes late.
    pub kernels: Option<PathBuf>,
    /// Folders in which cuBLASLt may lie, where a job will ask for it: it is opened before the sandbox layers are raised.
    pub cublaslt: Option<Vec<PathBuf>>,
}

/// What an arena is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Memory {
    /// A file in memory, which both processes map and which can grow.
    Host {
        /// Its descriptor.
        fd: i32,
    },
    /// Memory of the device, which both processes map; a larger one needs another runner.
    Device {
        /// Its descriptor, as the driver exports it.
        fd: i32,
        /// Its length.
        bytes: u64,
    },
    /// The same, where the driver exports no descriptor.
    DeviceByHandle {
        /// Its handle of CUDA IPC.
        handle: IpcHandle,
        /// Its length.
        bytes: u64,
    },
}

/// The 64 bytes by which a process opens device memory of another one, in halves: serde has no longer arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IpcHandle(pub [[u8; 32]; 2]);

impl Memory {
    /// Its descriptor, where it has one.
    #[must_use]
    pub fn fd(self) -> Option<i32> {
        match self {
            Memory::Host { fd } | Memory::Device { fd, .. } => Some(fd),
            Memory::DeviceByHandle { .. } => None,
        }
    }
}

/// What candidates run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The CPU: shared objects, called in the runner's process.
    Host,
    /// An NVIDIA device: cubins, launched through the driver.
    Cuda,
}

/// Limits of a runner process. The wall clock is the judge's to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Bytes of address space, arena included. Not applied on `Cuda`: the driver reserves terabytes.
    pub address_space: u64,
    /// Seconds of processor time over the process's life.
    pub cpu_seconds: u64,
    /// Open files.
    pub files: u64,
    /// Whether a runner closes files, processes and the network to its candidates, as far as the system can; off only in
    /// the gate's own tests, or where a driver does not work behind them.
    pub sandboxed: bool,
}

impl Limits {
    /// What a host candidate may use unless its session says otherwise.
    #[must_use]
    pub fn host() -> Self {
        Limits { address_space: 8 << 30, cpu_seconds: 3600, files: 64, sandboxed: true }
    }
}

/// One piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Job {
    /// Length of the arena that this job uses. One of the host only grows; the runner maps anew when it has.
    pub arena_bytes: u64,
    /// Extents of all axes of the spec, by position.
    pub axes: Vec<i64>,
    /// Scalars of the spec, by position.
    pub scalars: Vec<ScalarValue>,
    /// What is launched: one program to run, or those that are timed against each other.
    pub programs: Vec<Program>,
    /// What is done with them.
    pub action: Action,
}

/// Something to launch and its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Program {
    /// What is launched.
    pub code: Code,
    /// Regions of all tensors, by position, for each slot of the rotation. Programs of one job share the regions of
    /// inputs and have their own for outputs.
    pub slots: Vec<Vec<Region>>,
    /// The workspace of each slot; those beyond the last share it. A variant's parts lie at
    /// [`Contract::workspace_layout`]'s offsets, what is kept zero behind all else. 256-byte aligned; may be empty.
    pub workspaces: Vec<Region>,
    /// What it writes and never reads. While it is timed these regions wander from slot to slot, and some of their bytes
    /// are poisoned, so that nothing that an earlier launch left there is right.
    pub written: Vec<Written>,
    /// Positions of the tensors that it may only read: in a fenced launch they cannot be written.
    pub only_read: Vec<usize>,
    /// Positions of the tensors that are the same at every launch, so that it may read them early: none is written late.
    pub constant: Vec<usize>,
}

/// A tensor that a program only writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Written {
    /// Its position.
    pub tensor: usize,
    /// Bytes of some of its elements, from a region's start; none where elements share bytes.
    pub bytes: Vec<u64>,
}

/// What a program launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// A compiled variant.
    Variant(Variant),
    /// The algorithm of cuBLASLt that is fastest for this product, over the program's own slots. One runner stays with
    /// the algorithm that it chose first.
    CublasLt(Gemm),
}

/// A compiled variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variant {
    /// The compiled file.
    pub artifact: PathBuf,
    /// What kind of file it is.
    pub format: Format,
    /// How it is launched.
    pub contract: Contract,
}

/// What an artifact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// ELF shared object linked from a judged `.o`; entries are `extern "C" void ENTRY(void** params)`, `params[i]`
    /// pointing at the value of the step's i-th argument, as `cuLaunchKernel` has it.
    SharedObject,
    /// A cubin.
    Cubin,
}

/// A part of the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Region {
    /// From the arena's start.
    pub offset: u64,
    /// Length; 0 when a tensor is empty.
    pub bytes: u64,
}

impl Program {
    /// The same, where each slot has what is written of the slot `by` further on.
    #[must_use]
    pub fn turned(&self, by: usize) -> Program {
        let mut turned = self.clone();
        for (slot, regions) in turned.slots.iter_mut().enumerate() {
            for Written { tensor, .. } in &self.written {
                regions[*tensor] = self.slots[(slot + by) % self.slots.len()][*tensor];
            }
        }
        turned
    }

    /// The workspace of this slot.
    #[must_use]
    pub fn workspace(&self, slot: usize) -> Region {
        self.workspaces.get(slot).or(self.workspaces.last()).copied().unwrap_or_default()
    }

    /// The regions of the workspace that its slots share: scratch, and what is kept zero.
    #[must_use]
    pub fn regions(&self, axes: &[i64]) -> (Region, Region) {
        let whole = self.workspace(0);
        let layout = self.variant().and_then(|variant| variant.contract.workspace_layout(axes).ok());
        whole.split(layout.map_or(whole.bytes, |layout| layout.bytes.unsigned_abs()))
    }

    /// The variant that it launches, if it is one.
    #[must_use]
    pub fn variant(&self) -> Option<&Variant> {
        match &self.code {
            Code::Variant(variant) => Some(variant),
            Code::CublasLt(_) => None,
        }
    }
}

impl Region {
    /// Its first bytes, and the others.
    #[must_use]
    pub fn split(self, bytes: u64) -> (Region, Region) {
        let first = bytes.min(self.bytes);
        (Region { bytes: first, ..self }, Region { offset: self.offset + first, bytes: self.bytes - first })
    }

    /// The first offset behind it; `None` on overflow.
    #[must_use]
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.bytes)
    }
}

/// A scalar's value, as bits so that the text form is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScalarValue {
    /// Bits of an `f32`.
    F32(u32),
    /// Bits of an `f64`.
    F64(u64),
}

/// What is done with a job's programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Launch the first program once on each of its slots, in their order; answered by [`Reply::Done`].
    Run(Run),
    /// Time all programs in interleaved blocks; answered by [`Reply::Timed`].
    Time(TimePlan),
    /// Time these blocks of the programs of the last `Time`, the same number of launches each; answered by
    /// [`Reply::Timed`].
    Blocks(Vec<usize>),
    /// Begin a block of each program of the last `Time` as any other, with bytes of all its slots poisoned, and end it behind
    /// one of its rounds, which no candidate can foretell; answered by [`Reply::Settled`].
    Settle,
}

/// A judged launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Run {
    /// Load the artifact afresh before the first launch, so that its globals start anew.
    pub reload: bool,
    /// Fill the shared memory of every multiprocessor with NaN before each launch.
    pub scramble: bool,
    /// Compare the module's global memory before the first launch and after the last.
    pub watch_globals: bool,
    /// On the host, fill the stack with a drawn byte before each launch.
    pub poison_stack: bool,
    /// On the host, leave of the arena only the pages that the first slot's tensors and workspace lie on.
    pub fenced: bool,
    /// Have each kernel that may start while the one before it runs do so, and write tensors and workspace only so many
    /// nanoseconds later.
    pub late_ns: Option<u64>,
}

impl Run {
    /// One launch of what is loaded afresh, and nothing around it but a filled stack.
    pub const AFRESH: Run = Run {
        reload: true,
        scramble: false,
        watch_globals: false,
        poison_stack: true,
        fenced: false,
        late_ns: None,
    };
}

/// A comparison: which program each block times. Every block is the same number of launches; the runner doubles that
/// number until the fastest program's block lasts `min_block_ns`. Launches go over the rotation's slots in turn; in each
/// further round a slot has what is written of the next. Before the first block every program has run on every slot, and
/// before each, untimed, the program's undefined workspace and some of what it wrote are poisoned: a launch
/// that leaves out what an earlier one did leaves what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TimePlan {
    /// Index of the program of each block, in order; more may be asked for with [`Action::Blocks`].
    pub order: Vec<usize>,
    /// The shortest time a block may last.
    pub min_block_ns: u64,
    /// How long all programs together are run before the first block.
    pub warm_up_ns: u64,
    /// How hard the device is driven.
    pub regime: Regime,
    /// Of two programs: where a block of the second takes this many times one of the first, while calibrating and then in the
    /// first pair of blocks, no more are timed.
    pub enough: Option<u32>,
}

impl TimePlan {
    /// Whether blocks of these lengths, by program, are far enough apart for a single pair.
    #[must_use]
    pub fn is_enough(&self, by_program: &[u64]) -> bool {
        match (self.enough, by_program) {
            (Some(enough), &[first, second]) => first > 0 && second / u64::from(enough) >= first,
            _ => false,
        }
    }

    /// Whether these blocks, the first of the order, are a pair behind which none is timed.
    #[must_use]
    pub fn ends_behind(&self, block_ns: &[u64]) -> bool {
        match (self.order.get(..2), block_ns) {
            (Some([0, 1]), &[first, second]) | (Some([1, 0]), &[second, first]) => {
                self.is_enough(&[first, second])
            }
            _ => false,
        }
    }
}

/// How hard a device is driven while it is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regime {
    /// In bursts of at most 50 ms with pauses, so that the power limit is not what is measured.
    Burst,
    /// Without pause.
    Sustained,
}

/// Runner to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Reply {
    /// The runner takes jobs.
    Ready(Ready),
    /// The launch of a `Run` finished; results lie in the arena.
    Done(Done),
    /// All blocks of a `Time` or `Blocks` finished.
    Timed(Timed),
    /// A `Settle` finished behind this round of each program, for [`Program::turned`]; what that round wrote lies in the
    /// arena.
    Settled(Vec<usize>),
    /// The artifact or its contract cannot be launched: an outcome of the candidate. The runner goes on.
    Refused(String),
    /// The candidate faulted on the device and took the context with it: an outcome; the runner must be replaced.
    Faulted(String),
    /// The vendor's library has nothing for this: it says nothing of a candidate. The runner goes on.
    Lacking(String),
    /// The machine or the runner is at fault.
    Failed(String),
}

/// What a runner found when it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ready {
    /// The device, in words, with its driver where it has one.
    pub device: String,
    /// Bytes of its last-level cache; rotations exceed it when that is cheap.
    pub cache_bytes: u64,
    /// Isolation that the system did not give this runner.
    pub not_enforced: Vec<String>,
    /// Why cuBLASLt cannot be launched, in words, where it was asked for.
    pub no_cublaslt: Option<String>,
}

/// The answer to a `Run`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Done {
    /// A part of the module's global memory that the launch changed, when that was watched.
    pub changed_global: Option<String>,
    /// A register that a launch left otherwise than its caller needs it, in words.
    pub changed_register: Option<String>,
    /// What of a library was launched, in words.
    pub library: Option<String>,
}

/// The answer to a `Time`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Timed {
    /// Launches in each block.
    pub launches: u32,
    /// Time of each block in nanoseconds, in the plan's order.
    pub block_ns: Vec<u64>,
}

impl ScalarValue {
    /// The value.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            ScalarValue::F32(bits) => f64::from(f32::from_bits(bits)),
            ScalarValue::F64(bits) => f64::from_bits(bits),
        }
    }

    /// The value as a kernel parameter in a little-endian word: its first 4 (f32) or all 8 (f64) bytes count.
    #[must_use]
    pub fn parameter(self) -> u64 {
        match self {
            ScalarValue::F32(bits) => u64::from(bits),
            ScalarValue::F64(bits) => bits,
        }
    }
}

#[cfg(test)]
mod tests;
