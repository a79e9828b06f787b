//! [`Problem`]: what a nest loads, computes and stores, as the C++ `struct Problem` that the elementwise and the scan
//! template are written against; and what must hold of addresses and extents for it to be right.
//!
//! Each distinct load of the math is a slot. Over the lanes of a vector a slot is a window, shared by slots that lie
//! beside each other, or scattered: an element a lane. Knows no launch and no configuration but the width of a vector.

use std::collections::BTreeMap;

use cutegen_spec::eligibility::Condition;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::math::{Expr, Index, Kind, Place};
use cutegen_spec::tensor::Role;

use super::lanes::{Lanes, Vectors, gcd};
use super::nest::{Nest, stride_axes};
use crate::print::c::{self, Dialect, element, literal};

mod text;

pub(super) use text::value_type;

/// Bytes of the widest access.
const ACCESS_BYTES: i64 = 16;

/// A distinct load.
#[derive(Clone, Debug, PartialEq)]
struct Slot {
    tensor: usize,
    index: Vec<Index>,
    /// Read only where the index is inside.
    padded: bool,
}

/// Consecutive elements that the lanes of a vector read or write: from `low` to `high` beyond the sum of the terms.
#[derive(Clone, Debug)]
struct Window {
    tensor: usize,
    lanes: Lanes,
    low: i64,
    high: i64,
}

/// How the lanes of a vector reach a slot: a window, or an element each.
#[derive(Clone, Debug)]
enum Reach {
    Window { window: usize, picks: Vec<i64> },
    Scattered,
}

/// The loads and values of a nest.
pub(super) struct Problem<'a> {
    nest: &'a Nest,
    /// Values beyond those of the outputs: bodies of scans, with what they are called.
    bodies: Vec<(&'static str, Kind, &'a Expr)>,
    /// The kind of the prefix that outputs may use, in a scan.
    prefix: Option<Kind>,
    slots: Vec<Slot>,
    integers: Vec<Index>,
}

impl<'a> Problem<'a> {
    /// The problem of a nest, with the body of a scan and the kind of its result; `None` where a lane cannot read what
    /// the math does.
    pub(super) fn new(nest: &'a Nest, scan: Option<(&'a Expr, Kind)>) -> Option<Self> {
        let bodies: Vec<_> = scan.iter().map(|(body, kind)| ("term", *kind, *body)).collect();
        let mut problem =
            Problem { nest, bodies, prefix: scan.map(|s| s.1), slots: Vec::new(), integers: Vec::new() };
        let values: Vec<&Expr> = nest.outputs.iter().map(|output| &output.value).collect();
        let bodies: Vec<&Expr> = problem.bodies.iter().map(|(.., body)| *body).collect();
        bodies.into_iter().for_each(|body| problem.collect(body));
        values.into_iter().for_each(|value| problem.collect(value));
        let temps = |expr: &Expr| {
            let mut found = false;
            expr.visit(&mut |e| {
                found |= matches!(e, Expr::Load(Place::Temp(_), _) | Expr::Pad(Place::Temp(_), ..))
            });
            found
        };
        let unknown = match scan {
            None => nest.outputs.iter().any(|output| temps(&output.value)),
            Some((body, _)) => temps(body),
        };
        (!unknown && problem.is_readable()).then_some(problem)
    }

    fn collect(&mut self, value: &Expr) {
        let mut integers = Vec::new();
        value.visit(&mut |expr| match expr {
            Expr::Load(Place::Tensor(tensor), index) => self.add(*tensor, index, false),
            Expr::Pad(Place::Tensor(tensor), index, _) => self.add(*tensor, index, true),
            Expr::Int(index) => integers.push(index.clone()),
            _ => {}
        });
        for index in integers {
            if !self.integers.contains(&index) {
                self.integers.push(index);
            }
        }
    }

    fn add(&mut self, tensor: usize, index: &[Index], padded: bool) {
        let slot = Slot { tensor, index: index.to_vec(), padded };
        if !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
    }

    /// Whether every address and integer has a text for one column.
    fn is_readable(&self) -> bool {
        let one = self.nest.vectors(1, &[]);
        let stored =
            |output: &super::nest::Output| one.address(Place::Tensor(output.tensor), &output.index).is_some();
        self.slots.iter().all(|slot| {
            !c::is_packed(self.dtype(slot.tensor))
                && one.address(Place::Tensor(slot.tensor), &slot.index).is_some()
        }) && self.integers.iter().all(|index| one.of(index).is_some())
            && self.nest.outputs.iter().all(stored)
    }

    fn dtype(&self, tensor: usize) -> cutegen_spec::dtype::DType {
        self.nest.spec.tensors[tensor].dtype
    }

    /// Bytes that a lane takes of the tensor from which it takes most: 1 where only single elements are shared.
    pub(super) fn lane_bytes(&self) -> i64 {
        const LANES: i64 = 16;
        let vectors = self.nest.vectors(LANES, &[]);
        let one = |tensor: usize, index: &[Index]| {
            let lanes = vectors.address(Place::Tensor(tensor), index);
            let own = lanes.map_or(LANES, |lanes| span(&lanes).min(LANES));
            (own * self.dtype(tensor).bytes() as i64 + LANES - 1) / LANES
        };
        let loads = self.slots.iter().map(|slot| one(slot.tensor, &slot.index));
        let stores = self.nest.outputs.iter().map(|output| one(output.tensor, &output.index));
        let most = loads.chain(stores).max().unwrap_or(1);
        u64::try_from(most).unwrap_or(1).next_power_of_two().cast_signed()
    }

    /// Slots that are read anew by every vector; the others' data is used again by other rows.
    fn is_used_once(&self, slot: &Slot) -> bool {
        let mut seen = Vec::new();
        slot.index.iter().for_each(|index| index.vars(&mut seen));
        !slot.padded && self.nest.vars.iter().all(|var| seen.contains(var))
    }

    /// Tensors read per lane whose data comes from memory every time.
    pub(super) fn streams(&self) -> i64 {
        let mut tensors: Vec<usize> =
            self.slots.iter().filter(|slot| self.is_used_once(slot)).map(|slot| slot.tensor).collect();
        tensors.sort_unstable();
        tensors.dedup();
        tensors.len() as i64
    }
}

/// A problem at one width of vectors.
pub(super) struct Laid<'a> {
    problem: &'a Problem<'a>,
    width: i64,
    assumed: Vec<usize>,
    windows: Vec<Window>,
    reaches: Vec<Reach>,
    stores: Vec<Option<Window>>,
}

impl<'a> Laid<'a> {
    /// Lays out windows of `width` lanes. Extents count as multiples of the width where that makes accesses wider.
    pub(super) fn new(problem: &'a Problem<'a>, width: i64) -> Self {
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

    fn store(&self, output: &super::nest::Output) -> Option<Window> {
        let lanes = self.vectors().address(Place::Tensor(output.tensor), &output.index)?;
        let (low, high) = ends(&lanes);
        let in_order = lanes.offsets().iter().enumerate().all(|(j, offset)| *offset == low + j as i64);
        in_order.then_some(Window { tensor: output.tensor, lanes, low, high })
    }

    /// Elements of an access: a power of two that divides the window, its place, and fits 16 bytes.
    fn access(&self, window: &Window) -> i64 {
        let by = gcd(window.lanes.divisor_at(window.low), window.size());
        let most = ACCESS_BYTES / self.problem.dtype(window.tensor).bytes() as i64;
        // vectors of one column are for any address
        if self.width == 1 { 1 } else { gcd(by, 1 << 8).min(most) }
    }

    fn used(&self) -> impl Iterator<Item = (usize, &Window)> {
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

    /// Whether any access takes more than one element.
    pub(super) fn is_vectorised(&self) -> bool {
        self.all().any(|window| self.access(window) > 1)
    }

    /// Whether a lane of its own stores each element of an output.
    pub(super) fn scatters_stores(&self) -> bool {
        self.stores.iter().any(Option::is_none)
    }

    /// What must hold of a launch.
    pub(super) fn conditions(&self) -> Vec<Condition> {
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
    fn size(&self) -> i64 {
        self.high - self.low + 1
    }
}

fn ends(lanes: &Lanes) -> (i64, i64) {
    let all = || lanes.offsets().iter().copied();
    (all().min().unwrap_or(0), all().max().unwrap_or(0))
}

fn span(lanes: &Lanes) -> i64 {
    let (low, high) = ends(lanes);
    high - low + 1
}

impl Dialect for Problem<'_> {
    fn load(&self, place: Place, index: &[Index]) -> String {
        let Place::Tensor(tensor) = place else { return "prefix".to_owned() };
        let is = |slot: &Slot| slot.tensor == tensor && slot.index == index;
        self.slots.iter().position(is).map_or_else(String::new, |at| format!("x.x{at}"))
    }

    fn kind(&self, place: Place) -> Kind {
        match place {
            Place::Tensor(tensor) => Kind::of(self.dtype(tensor)),
            Place::Temp(_) => self.prefix.unwrap_or(Kind::Real),
        }
    }

    fn constant(&self, value: f64) -> String {
        format!("float({})", literal(value))
    }

    fn integer(&self, text: &str) -> String {
        text.to_owned()
    }

    fn real(&self, text: &str) -> String {
        format!("float({text})")
    }

    fn scalar(&self, position: usize) -> String {
        format!("float(s{position})")
    }

    fn index(&self, index: &Index) -> String {
        self.integers.iter().position(|i| i == index).map_or_else(String::new, |at| format!("x.i{at}"))
    }

    fn inside(&self, place: Place, index: &[Index]) -> String {
        let Place::Tensor(tensor) = place else { return String::new() };
        let is = |slot: &Slot| slot.padded && slot.tensor == tensor && slot.index == index;
        self.slots.iter().position(is).map_or_else(String::new, |at| format!("x.p{at}"))
    }
}

/// A pointer to a tensor's elements as the kernel takes it.
pub(super) fn pointer(nest: &Nest, tensor: usize) -> String {
    let declared = &nest.spec.tensors[tensor];
    let constness = if declared.role == Role::Input { " const" } else { "" };
    format!("{}{constness}*", element(declared.dtype))
}
