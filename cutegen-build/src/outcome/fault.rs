//! [`Fault`]: the one check that a wrong candidate fell to, and where. [`Check`]s can be switched off one at a time
//! by the gate's own tests, which show that each of them catches something that all others let pass.

use std::fmt;

use cutegen_spec::figures::pair;

use super::Crash;
use super::distribution::Distribution;

/// What the gate looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// An artifact holds its contract's entries, and nothing that runs by itself or calls out.
    Content,
    /// Every element lies within its bound of the reference.
    Values,
    /// Outputs are poisoned before launches, and must not keep it.
    Poison,
    /// Gaps of outputs and elements of inouts that no assignment addresses keep their contents.
    Untouched,
    /// Guards and pads keep their pattern.
    Guards,
    /// Inputs keep their contents.
    Inputs,
    /// Undefined workspace is poisoned before launches (else it is zero).
    WorkspacePoison,
    /// Repeats are bit-equal.
    Repeats,
    /// Bases are also aligned to no more than an element.
    Misalignment,
    /// One distribution of inputs.
    Distribution(Distribution),
    /// A module's global memory is the same after every launch as when it was loaded.
    Globals,
    /// The host's stack is filled with a drawn byte before every launch.
    Stack,
    /// What the contract keeps zero is zero after every launch.
    KeptZero,
    /// Control words, and registers that a function must restore, are what they were.
    Registers,
    /// Tensors lie between pages that cannot be touched, inputs on pages that cannot be written.
    Pages,
    /// A few elements of the inputs change between two launches at the same addresses.
    Changed,
    /// Shared memory is filled with NaN by a kernel of ours before launches.
    Scramble,
    /// Outputs hold plausible values of an earlier launch before some launches.
    Stale,
    /// What may start while the kernel before it runs is launched behind one that writes tensors and workspace late.
    Late,
    /// Errors are on the average no larger than a trusted baseline's are, or than they may be.
    Rms,
    /// Outputs of timed launches equal those of untimed ones.
    Timed,
    /// No time is shorter than the roofline allows.
    Floor,
    /// A launch ends in time.
    Deadline,
    /// What the contract asks of the device fits it, co-residency among it.
    Occupancy,
    /// Finalists are clean under compute-sanitizer.
    Sanitizer,
}

/// The checks that are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    off: Vec<Check>,
}

/// What the evidence calls each check, but for the distributions, which it lists.
const NAMES: [(Check, &str); 24] = [
    (Check::Content, "content"),
    (Check::Guards, "guards"),
    (Check::Inputs, "inputs"),
    (Check::Globals, "globals"),
    (Check::Stack, "stack"),
    (Check::Registers, "registers"),
    (Check::KeptZero, "kept-zero"),
    (Check::Untouched, "untouched"),
    (Check::Poison, "poison"),
    (Check::Values, "values"),
    (Check::Repeats, "repeats"),
    (Check::Changed, "changed"),
    (Check::Pages, "pages"),
    (Check::Stale, "stale"),
    (Check::Rms, "rms"),
    (Check::WorkspacePoison, "workspace-poison"),
    (Check::Scramble, "scramble"),
    (Check::Late, "late"),
    (Check::Misalignment, "misalignment"),
    (Check::Timed, "timed"),
    (Check::Floor, "floor"),
    (Check::Deadline, "deadline"),
    (Check::Occupancy, "occupancy"),
    (Check::Sanitizer, "sanitizer"),
];

impl Checks {
    /// Those that are on, with their names, in the order in which a launch meets them; the distributions are left out.
    pub fn named(&self) -> impl Iterator<Item = (Check, &'static str)> + '_ {
        NAMES.into_iter().filter(|(check, _)| self.has(*check))
    }

    /// All but one; for the gate's own tests only.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, check: Check) -> Self {
        self.off.push(check);
        self
    }

    /// Whether `check` is on.
    #[must_use]
    pub fn has(&self, check: Check) -> bool {
        !self.off.contains(&check)
    }
}

/// Where a fault was seen.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// Extents of all axes.
    pub axes: Vec<i64>,
    /// How inputs were drawn.
    pub distribution: Distribution,
    /// Name of the tensor.
    pub tensor: String,
    /// Index in the tensor, one number per dimension.
    pub index: Vec<i64>,
}

/// How many elements of an output are wrong, from the one whose place is told on.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Spread {
    /// How many; of elements with several right values the first alone counts.
    pub elements: u64,
    /// The index of the last one.
    pub last: Vec<i64>,
}

/// Two root mean squares that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Apart {
    /// Of the candidate.
    pub found: f64,
    /// Of the baseline.
    pub baseline: f64,
    /// The most that the candidate's may be.
    pub limit: f64,
}

/// Why a candidate is incorrect.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Fault {
    /// A finite element is further from the reference than its bound.
    Value {
        /// Where.
        place: Place,
        /// What the candidate wrote.
        found: f64,
        /// The reference.
        expected: f64,
        /// The largest error allowed.
        bound: f64,
        /// What else is wrong there.
        spread: Spread,
    },
    /// NaN or infinity where the reference has a number, or the reverse, or the wrong infinity.
    NonFinite {
        /// Where.
        place: Place,
        /// What the candidate wrote.
        found: f64,
        /// The reference.
        expected: f64,
        /// What else is wrong there.
        spread: Spread,
    },
    /// The errors of an output are larger than a trusted baseline's on the same case.
    Rms {
        /// Which output, without an index.
        place: Place,
        /// Root mean squares.
        apart: Apart,
    },
    /// An element still holds the poison of two launches.
    Unwritten {
        /// The first of them.
        place: Place,
        /// How many.
        elements: u64,
    },
    /// An element changed that no assignment addresses: in a gap, or of an inout.
    Touched {
        /// The first of them; in a gap the element before it.
        place: Place,
        /// Its number in the tensor's memory.
        element: u64,
    },
    /// A byte outside of every tensor was written.
    OutOfBounds {
        /// The nearest tensor, and the element that the byte would belong to.
        place: Place,
    },
    /// An input was written.
    InputWritten {
        /// Where.
        place: Place,
    },
    /// Global memory of the module changed: the kernel keeps something from launch to launch.
    StateKept {
        /// The case.
        place: Place,
        /// The section of the module.
        section: String,
    },
    /// A launch between pages that cannot be touched ended its runner.
    Pages {
        /// The case.
        place: Place,
        /// On which side of tensors they lie closest: the other one's are as close where tensors fill pages.
        pages: String,
        /// How the runner ended.
        crash: Crash,
    },
    /// A control word, or a register that a function must restore, is not what it was.
    RegisterChanged {
        /// The case.
        place: Place,
        /// Which, in words.
        register: String,
    },
    /// A byte of what the contract keeps zero is not zero.
    NotZero {
        /// The case.
        place: Place,
        /// The workspace part.
        part: usize,
        /// The byte in it.
        byte: u64,
    },
    /// Timed launches left other outputs than untimed ones did.
    TimedOtherwise {
        /// The shape.
        place: Place,
    },
    /// A launch took less time than its bytes and operations allow.
    TooFast {
        /// The shape.
        place: Place,
        /// What was measured.
        micros: f64,
        /// What the device needs at least.
        floor: f64,
    },
    /// The same inputs gave other bits.
    NotRepeatable {
        /// The first difference.
        place: Place,
        /// In which repeat.
        repeat: u32,
        /// The element of the first launch.
        first: f64,
        /// The element of this one.
        found: f64,
    },
}

impl Fault {
    /// The check that it fell to.
    #[must_use]
    pub fn check(&self) -> Check {
        match self {
            Fault::Value { .. } | Fault::NonFinite { .. } => Check::Values,
            Fault::Rms { .. } => Check::Rms,
            Fault::Unwritten { .. } => Check::Poison,
            Fault::Touched { .. } => Check::Untouched,
            Fault::OutOfBounds { .. } => Check::Guards,
            Fault::InputWritten { .. } => Check::Inputs,
            Fault::StateKept { .. } => Check::Globals,
            Fault::RegisterChanged { .. } => Check::Registers,
            Fault::NotZero { .. } => Check::KeptZero,
            Fault::Pages { .. } => Check::Pages,
            Fault::TimedOtherwise { .. } => Check::Timed,
            Fault::TooFast { .. } => Check::Floor,
            Fault::NotRepeatable { .. } => Check::Repeats,
        }
    }

    /// Where it was seen.
    #[must_use]
    pub fn place(&self) -> &Place {
        match self {
            Fault::Value { place, .. }
            | Fault::NonFinite { place, .. }
            | Fault::Rms { place, .. }
            | Fault::Unwritten { place, .. }
            | Fault::Touched { place, .. }
            | Fault::OutOfBounds { place }
            | Fault::InputWritten { place }
            | Fault::StateKept { place, .. }
            | Fault::RegisterChanged { place, .. }
            | Fault::NotZero { place, .. }
            | Fault::Pages { place, .. }
            | Fault::TimedOtherwise { place }
            | Fault::TooFast { place, .. }
            | Fault::NotRepeatable { place, .. } => place,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { axes, distribution, tensor, index } = self;
        write!(f, "{tensor}{index:?} at extents {axes:?}, {distribution} inputs")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Value { place, found, expected, bound, .. } => {
                let [found, expected] = pair(*found, *expected);
                write!(f, "wrong value: {place}: found {found}, expected {expected} +- {bound:.2e}")
            }
            Fault::NonFinite { place, found, expected, .. } => {
                let [found, expected] = pair(*found, *expected);
                write!(f, "wrong special value: {place}: found {found}, expected {expected}")
            }
            Fault::Rms { place, apart } => {
                let Apart { found, baseline, limit } = apart;
                write!(
                    f,
                    "errs more than the baseline: {place}: rms {found:.2e}, the baseline's {baseline:.2e}, at most {limit:.2e}"
                )
            }
            Fault::Unwritten { place, elements } => {
                write!(f, "not written: {place}, {elements} elements in all")
            }
            Fault::Touched { place, element } => {
                write!(f, "written though not addressed: {place}, element {element} of its memory")
            }
            Fault::OutOfBounds { place } => write!(f, "written out of bounds: {place}"),
            Fault::InputWritten { place } => write!(f, "input written: {place}"),
            Fault::StateKept { place, section } => {
                write!(f, "keeps state: {place}: a launch changed its module's `{section}`")
            }
            Fault::Pages { place, pages, crash } => write!(
                f,
                "reads outside its tensors, or writes an input: {place}: {crash} with closed pages {pages} each tensor"
            ),
            Fault::RegisterChanged { place, register } => write!(f, "changes {register}: {place}"),
            Fault::NotZero { place, part, byte } => {
                write!(
                    f,
                    "left not zero what its contract keeps zero: {place}: byte {byte} of workspace w{part}"
                )
            }
            Fault::TimedOtherwise { place } => {
                write!(f, "left other outputs when timed than when not: {place}")
            }
            Fault::TooFast { place, micros, floor } => {
                write!(f, "too fast to be true: {place}: {micros:.2} us, at least {floor:.2} us are needed")
            }
            Fault::NotRepeatable { place, repeat, first, found } => {
                let [first, found] = pair(*first, *found);
                write!(f, "not repeatable: {place}: {first} became {found} in repeat {repeat}")
            }
        }
    }
}
