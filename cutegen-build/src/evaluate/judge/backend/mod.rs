//! [`MemoryBackend`]: where the judge looks at memory. It decides nothing: it draws what it is told to, holds a case's inputs and
//! what they must give, fills the arena that a runner launches on, and says what a launch left there. One backend works on
//! bytes of the host, the other on memory of the device, with kernels of ours.

pub(in crate::evaluate) mod cuda;
pub(in crate::evaluate) mod host;
mod kernels;
pub(in crate::evaluate) mod read;

use std::rc::Rc;

use cutegen_spec::contract::{Contract, Initial, WorkspacePart};
use cutegen_spec::dtype::DType;
use cutegen_spec::spec::KernelSpec;

use super::compare::Compared;
use super::content::{Bytes, Contents};
use super::image::Image;
use super::reference::Sampled;
use super::rms::{Moments, Rule};
use crate::evaluate::device::clocks::CardId;
use crate::evaluate::error::Error;
use crate::evaluate::wire::protocol::{Memory, Region, ScalarValue};
use crate::outcome::{Check, Checks};

pub use cuda::{Drawing, drawing};
pub use kernels::{KERNELS, OPTIONS};

/// Inputs of a case, drawn or to be drawn.
#[derive(Debug)]
pub(in crate::evaluate) struct Inputs<'a> {
    pub(in crate::evaluate) spec: &'a KernelSpec,
    pub(in crate::evaluate) axes: &'a [i64],
    pub(in crate::evaluate) scalars: &'a [ScalarValue],
    pub(in crate::evaluate) contents: Contents,
    /// Whether every sum over these inputs is exact.
    pub(in crate::evaluate) is_exact: bool,
    /// Whether they were drawn, so that the many terms of a large sum are independent: a user's need not be.
    pub(in crate::evaluate) is_drawn: bool,
    /// Which elements of the outputs the reference computes.
    pub(in crate::evaluate) sampled: Option<Sampled>,
}

/// A case where the backend looks at it.
pub(in crate::evaluate) struct Holding<H> {
    /// The backend's own form.
    pub(in crate::evaluate) held: H,
    /// Positions of outputs for which the bound is too loose to tell anything.
    pub(in crate::evaluate) loose_bounds: Vec<usize>,
    /// Whether no more than half of what is written is NaN or infinite.
    pub(in crate::evaluate) is_finite: bool,
    /// Bytes that it takes.
    pub(in crate::evaluate) bytes: usize,
}

/// One inout or output of a case.
pub(in crate::evaluate) struct Output<'a, D: MemoryBackend> {
    pub(in crate::evaluate) held: &'a D::Held,
    pub(in crate::evaluate) tensor: usize,
    pub(in crate::evaluate) dtype: DType,
}

/// What a launch finds: inputs, patterned guards, and something in outputs and undefined workspace.
pub(in crate::evaluate) struct Filling<'a, H> {
    pub(in crate::evaluate) image: &'a Image,
    pub(in crate::evaluate) held: &'a H,
    pub(in crate::evaluate) contract: &'a Contract,
    pub(in crate::evaluate) poison: u8,
    pub(in crate::evaluate) found: &'a Found,
    pub(in crate::evaluate) checks: &'a Checks,
}

/// The byte that fills a part of the workspace before a launch. What is kept zero is so once a launch was judged; memory of
/// another launch's arena is not.
pub(in crate::evaluate) fn filled_with(part: &WorkspacePart, poison: u8, checks: &Checks) -> u8 {
    match part.initial {
        Initial::KeptZero => 0,
        Initial::Undefined if !checks.has(Check::WorkspacePoison) => 0,
        Initial::Undefined | Initial::Zeroed => poison,
    }
}

/// What a launch finds where nothing has to be initialised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::evaluate) enum Found {
    /// Poison.
    Poison,
    /// What the launch before left, as a caller's memory has it: in undefined workspace, and in the outputs at these positions.
    Left(Vec<usize>),
}

impl Found {
    /// Whether the output at this position is filled before a launch.
    pub(in crate::evaluate) fn fills_output(&self, tensor: usize) -> bool {
        !matches!(self, Self::Left(outputs) if outputs.contains(&tensor))
    }

    /// Whether a part of the workspace is filled before a launch.
    pub(in crate::evaluate) fn fills(&self, part: &WorkspacePart) -> bool {
        // what is kept zero is zero once a launch was judged
        *self == Self::Poison || part.initial == Initial::Zeroed
    }
}

/// Where the tensors of a timed program lie, slot by slot, and the workspace that they share.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct Slots<'a> {
    pub(in crate::evaluate) slots: &'a [Vec<Region>],
    pub(in crate::evaluate) scratch: Region,
    pub(in crate::evaluate) kept_zero: Region,
}

/// What was written that must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluate) enum OutOfBounds {
    /// This byte of the arena, in a guard.
    Guard(u64),
    /// Of the input at this position, this byte.
    Input(usize, usize),
}

/// The first written element that two launches left different.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::evaluate) struct Differing {
    pub(in crate::evaluate) element: usize,
    pub(in crate::evaluate) first: f64,
    pub(in crate::evaluate) again: f64,
}

/// A place to look at memory from.
pub(in crate::evaluate) trait MemoryBackend: Sized {
    /// Memory that a runner launches on.
    type Arena;
    /// A case's inputs, and what they must give.
    type Held;
    /// Copies of regions of an arena.
    type Left;
    /// Inputs of a rotation.
    type Drawn;

    /// Floats of so many elements and more it draws for itself; none where it draws nothing.
    const DRAWS: Option<usize>;

    /// The card that it works on.
    fn card(&self) -> Option<CardId>;

    /// Cost of the dearest reference that takes no more than seconds.
    fn reach(&self) -> u64;

    /// These bytes as if a launch had left them, by tensor.
    fn given(&self, tensors: &[Vec<u8>]) -> Result<Self::Left, Error>;

    /// Arenas are shorter than this; one may take the place of `present`.
    fn most(&self, present: Option<&Self::Arena>) -> Result<u64, Error>;

    /// New memory for a new runner.
    fn arena(&self, bytes: u64) -> Result<Self::Arena, Error>;

    /// Makes the arena at least `bytes` long; false when that takes another one, and with it another runner.
    fn grow(&self, arena: &mut Self::Arena, bytes: u64) -> Result<bool, Error>;

    /// How a runner maps it.
    fn memory(&self, arena: &Self::Arena) -> Memory;

    /// Computes what the inputs must give, and holds both.
    fn hold(&self, inputs: Inputs<'_>) -> Result<Holding<Self::Held>, Error>;

    /// The inputs' bytes.
    fn contents(&self, held: &Self::Held) -> Result<Bytes, Error>;

    /// Brings the arena to the state that a launch finds, once [`Self::settle`] has been called.
    fn fill(&self, arena: &mut Self::Arena, filling: &Filling<'_, Self::Held>) -> Result<(), Error>;

    /// Whether an output has elements that no assignment addresses.
    fn has_gaps(&self, output: &Output<'_, Self>) -> bool;

    /// Fills an output with what an earlier launch left there, an element further on; then [`Self::settle`].
    fn stale(
        &self,
        arena: &mut Self::Arena,
        output: &Output<'_, Self>,
        region: Region,
        left: &Self::Left,
    ) -> Result<(), Error>;

    /// Until all that was asked for has been done: a runner sees it.
    fn settle(&self) -> Result<(), Error>;

    /// The first thing written that must not be.
    fn out_of_bounds(
        &self,
        arena: &Self::Arena,
        image: &Image,
        held: &Self::Held,
        checks: &Checks,
    ) -> Result<Option<OutOfBounds>, Error>;

    /// The first byte of these regions that is not zero, by its place in the arena.
    fn not_zero(&self, arena: &Self::Arena, regions: &[Region]) -> Result<Option<u64>, Error>;

    /// Copies of these regions.
    fn left(&self, arena: &Self::Arena, regions: &[Region]) -> Result<Self::Left, Error>;

    /// Whether two copies of equal regions are equal in every bit.
    fn same(&self, a: &Self::Left, b: &Self::Left) -> Result<bool, Error>;

    /// The first element that no assignment addresses and that does not hold what it held, which in outputs is
    /// `poison`.
    fn touched(
        &self,
        output: &Output<'_, Self>,
        left: &Self::Left,
        poison: u8,
    ) -> Result<Option<usize>, Error>;

    /// Elements that hold the poison of one of two launches and changed between them: the first, and how many. Where
    /// `both`, those that hold the poison of both.
    fn unwritten(
        &self,
        output: &Output<'_, Self>,
        left: [(&Self::Left, u8); 2],
        both: bool,
    ) -> Result<Option<(usize, u64)>, Error>;

    /// Every element against its reference.
    fn compare(&self, output: &Output<'_, Self>, left: &Self::Left) -> Result<Compared, Error>;

    /// The first written element that two launches left different.
    fn differing(
        &self,
        output: &Output<'_, Self>,
        left: [&Self::Left; 2],
    ) -> Result<Option<Differing>, Error>;

    /// What the errors of an output of floats add up to.
    fn moments(&self, output: &Output<'_, Self>, left: &Self::Left, rule: Rule) -> Result<Moments, Error>;

    /// Holds the inputs of a rotation's slots; slots beyond them start again at the first.
    fn drawn(&self, slots: Vec<Rc<Contents>>) -> Result<Self::Drawn, Error>;

    /// Fills a rotation: inputs, poison in outputs and workspace, guards.
    fn fill_rotation(
        &self,
        arena: &mut Self::Arena,
        drawn: &Self::Drawn,
        programs: &[Slots<'_>],
        guards: &[Region],
        poison: u8,
    ) -> Result<(), Error>;
}
