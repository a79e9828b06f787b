//! [`Laid`]: a problem over vectors of one width: which slots share windows, how wide their accesses are, and what that
//! asks of extents and addresses.

use std::collections::BTreeMap;

use cutegen_spec::eligibility::Condition;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::math::Place;

use super::super::lanes::{Lanes, Vectors, gcd};
use super::super::nest::{Output, stride_axes};
use super::{Problem, Slot, span};

/// Bytes of the widest access.
const ACCESS_BYTES: i64 = 16;

/// Consecutive elements that the lanes of a vector read or write: from `low` to `high` beyond the sum of the terms.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) tensor: usize,
    pub(super) lanes: Lanes,
    pub(super) low: i64,
    high: i64,
}

/// How the lanes of a vector reach a slot: a window, or an element each.
#[derive(Clone, Debug)]
pub(super) enum Reach {
    Window { window: usize, picks: Vec<i64> },
    Scattered,
}

/// A problem at one width of vectors.
pub(in super::super) struct Laid<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) width: i64,
    assumed: Vec<usize>,
    pub(super) windows: Vec<Window>,
    pub(super) reaches: Vec<Reach>,
    pub(super) stores: Vec<Option<Window>>,
}

impl<'a> Laid<'a> {
    /// Lays out windows of `width` lanes. Extents count as multiples of the width where that makes accesses wider.
    pub(in super::super) fn new(problem: &'a Problem<'a>, width: i64) -> Self {
        let mut laid = Self::assuming(problem, width, Vec::new());
        let mut wanted: Vec<usize> =
            laid.narrow().into_iter().flat_map(|t| stride_axes(&problem.nest.spec, t)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        if width > 1 && !wanted.is_empty() {
            let other = Self::assuming(problem, width, wanted);
            if other.narrow().len() < laid.narrow().len() {
                laid = other;
            }
        }
        laid
    }

    /// The same without the assumptions that make no access wider: of a stride that is a product, one factor is enough.
    pub(in super::super) fn sparing(mut self) -> Self {
        for axis in self.assumed.clone() {
            let fewer = self.assumed.iter().copied().filter(|other| *other != axis).collect();
            let other = Self::assuming(self.problem, self.width, fewer);
            if other.narrow().len() <= self.narrow().len() {
                self = other;
            }
        }
        self
    }

    fn assuming(problem: &'a Problem<'a>, width: i64, assumed: Vec<usize>) -> Self {
        let mut laid =
            Laid { problem, width, assumed, windows: Vec::new(), reaches: Vec::new(), stores: Vec::new() };
        for slot in &problem.slots {
            let reach = laid.reach(slot);
            laid.reaches.push(reach);
        }
        laid.drop_sparse();
        laid.stores = problem.nest.outputs.iter().map(|output| laid.store(output)).collect();
        laid
    }

    fn vectors(&self) -> Vectors<'a> {
        self.problem.nest.vectors(self.width, &self.assumed)
    }

    fn reach(&mut self, slot: &Slot) -> Reach {
        let lanes = self.vectors().address(Place::Tensor(slot.tensor), &slot.index);
        let Some(lanes) = lanes.filter(|lanes| !slot.padded && span(lanes) <= 2 * self.width) else {
            return Reach::Scattered;
        };
        let (low, high) = ends(&lanes);
        let beside = |window: &Window| {
            window.tensor == slot.tensor
                && window.lanes.same_terms(&lanes)
                && window.high.max(high) - window.low.min(low) < 2 * self.width
        };
        let picks = lanes.offsets().to_vec();
        if let Some(at) = self.windows.iter().position(beside) {
            let window = &mut self.windows[at];
            (window.low, window.high) = (window.low.min(low), window.high.max(high));
            return Reach::Window { window: at, picks };
        }
        self.windows.push(Window { tensor: slot.tensor, lanes, low, high });
        Reach::Window { window: self.windows.len() - 1, picks }
    }

    /// Slots whose window holds more single accesses than the slot has lanes are read by lane.
    fn drop_sparse(&mut self) {
        let sparse: Vec<bool> =
            self.windows.iter().map(|w| self.access(w) == 1 && w.size() > self.width).collect();
        for reach in &mut self.reaches {
            if matches!(reach, Reach::Window { window, .. } if sparse[*window]) {
                *reach = Reach::Scattered;
            }
        }
    }

    fn store(&self, output: &Output) -> Option<Window> {
        let lanes = self.vectors().address(Place::Tensor(output.tensor), &output.index)?;
        let (low, high) = ends(&lanes);
        let in_order = lanes.offsets().iter().enumerate().all(|(j, offset)| *offset == low + j as i64);
        in_order.then_some(Window { tensor: output.tensor, lanes, low, high })
    }

    /// Elements of an access: a power of two that divides the window, its place, and fits 16 bytes.
    pub(super) fn access(&self, window: &Window) -> i64 {
        let by = gcd(window.lanes.divisor_at(window.low), window.size());
        let most = ACCESS_BYTES / self.problem.dtype(window.tensor).bytes() as i64;
        // vectors of one column are for any address
        if self.width == 1 { 1 } else { gcd(by, 1 << 8).min(most) }
    }

    pub(super) fn used(&self) -> impl Iterator<Item = (usize, &Window)> {
        let read = |at: &usize| {
            self.reaches.iter().any(|reach| matches!(reach, Reach::Window { window, .. } if window == at))
        };
        self.windows.iter().enumerate().filter(move |(at, _)| read(at))
    }

    /// Every window, read or written.
    fn all(&self) -> impl Iterator<Item = &Window> {
        self.used().map(|(_, window)| window).chain(self.stores.iter().flatten())
    }

    /// Tensors whose accesses are narrower than their windows allow.
    fn narrow(&self) -> Vec<usize> {
        let most = |window: &Window| {
            let all = ACCESS_BYTES / self.problem.dtype(window.tensor).bytes() as i64;
            gcd(window.size(), 1 << 8).min(all)
        };
        self.all().filter(|window| self.access(window) < most(window)).map(|window| window.tensor).collect()
    }

    /// Lanes of a vector.
    pub(in super::super) fn width(&self) -> i64 {
        self.width
    }

    /// Whether any access takes more than one element.
    pub(in super::super) fn is_vectorised(&self) -> bool {
        self.all().any(|window| self.access(window) > 1)
    }

    /// Whether a lane of its own stores each element of an output.
    pub(in super::super) fn scatters_stores(&self) -> bool {
        self.stores.iter().any(Option::is_none)
    }

    /// What must hold of a launch.
    pub(in super::super) fn conditions(&self) -> Vec<Condition> {
        let mut aligned: BTreeMap<usize, u64> = BTreeMap::new();
        for window in self.all() {
            let element = self.problem.dtype(window.tensor).bytes() as i64;
            let bytes = (self.access(window) * element).cast_unsigned();
            if self.access(window) > 1 {
                let known = aligned.entry(window.tensor).or_insert(bytes);
                *known = bytes.max(*known);
            }
        }
        let multiple = |axis: &usize| Condition::Divides { expr: IntExpr::Axis(*axis), by: self.width };
        let addresses = aligned.into_iter().map(|(tensor, bytes)| Condition::Aligned { tensor, bytes });
        addresses.chain(self.assumed.iter().map(multiple)).collect()
    }
}

impl Window {
    pub(super) fn size(&self) -> i64 {
        self.high - self.low + 1
    }
}

fn ends(lanes: &Lanes) -> (i64, i64) {
    let all = || lanes.offsets().iter().copied();
    (all().min().unwrap_or(0), all().max().unwrap_or(0))
}
