//! [`Problem`]: what a nest loads, computes and stores, as the C++ `struct Problem` that the elementwise and the scan
//! template are written against.
//!
//! Each distinct load of the math is a slot. Over the lanes of a vector a slot is a window, shared by slots that lie
//! beside each other, or scattered: an element a lane. Knows no launch and no configuration but the width of a vector.

use cutegen_spec::math::{Expr, Index, Kind, Place};
use cutegen_spec::tensor::Role;

use super::lanes::Lanes;
use super::nest::{Nest, Output};
use crate::print::c::{self, Dialect, element, literal};

mod laid;
mod text;

pub(super) use laid::Laid;
pub(super) use text::value_type;

/// A distinct load.
#[derive(Clone, Debug, PartialEq)]
struct Slot {
    tensor: usize,
    index: Vec<Index>,
    /// Read only where the index is inside.
    padded: bool,
}

/// A temporary that results are given: the prefix of a scan, the sum of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// The temporary.
    pub(super) temp: usize,
    /// What it is.
    pub(super) kind: Kind,
    /// What it is called.
    pub(super) name: String,
}

/// The loads and values of a nest.
pub(super) struct Problem<'a> {
    nest: &'a Nest,
    /// The body of a scan.
    body: Option<(Kind, &'a Expr)>,
    given: Vec<Given>,
    slots: Vec<Slot>,
    integers: Vec<Index>,
}

impl<'a> Problem<'a> {
    /// The problem of a nest, with the body of a scan, and what its results are given; `None` where a lane cannot read
    /// what the math does.
    pub(super) fn new(nest: &'a Nest, body: Option<(Kind, &'a Expr)>, given: Vec<Given>) -> Option<Self> {
        let mut problem = Problem { nest, body, given, slots: Vec::new(), integers: Vec::new() };
        if let Some((_, body)) = body {
            problem.collect(body);
        }
        nest.outputs.iter().for_each(|output| problem.collect(&output.value));
        let mut known = true;
        let mut see = |value: &Expr, given: &[Given]| {
            value.visit(&mut |e| match e {
                Expr::Load(Place::Temp(temp), _) => known &= given.iter().any(|own| own.temp == *temp),
                Expr::Pad(Place::Temp(_), ..) => known = false,
                _ => {}
            });
        };
        body.iter().for_each(|(_, body)| see(body, &[]));
        nest.outputs.iter().for_each(|output| see(&output.value, &problem.given));
        (known && problem.is_readable()).then_some(problem)
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
        let stored = |output: &Output| one.address(Place::Tensor(output.tensor), &output.index).is_some();
        self.slots.iter().all(|slot| {
            !c::is_packed(self.dtype(slot.tensor))
                && one.address(Place::Tensor(slot.tensor), &slot.index).is_some()
        }) && self.integers.iter().all(|index| one.of(index).is_some())
            && self.nest.outputs.iter().all(stored)
    }

    fn of_temp(&self, temp: usize) -> Option<&Given> {
        self.given.iter().find(|own| own.temp == temp)
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

/// Elements from the first that a lane takes to the last.
fn span(lanes: &Lanes) -> i64 {
    let all = || lanes.offsets().iter();
    all().max().zip(all().min()).map_or(1, |(high, low)| high - low + 1)
}

impl Dialect for Problem<'_> {
    fn load(&self, place: Place, index: &[Index]) -> String {
        let tensor = match place {
            Place::Tensor(tensor) => tensor,
            Place::Temp(temp) => return self.of_temp(temp).map_or_else(String::new, |own| own.name.clone()),
        };
        let is = |slot: &Slot| slot.tensor == tensor && slot.index == index;
        self.slots.iter().position(is).map_or_else(String::new, |at| format!("x.x{at}"))
    }

    fn kind(&self, place: Place) -> Kind {
        match place {
            Place::Tensor(tensor) => Kind::of(self.dtype(tensor)),
            Place::Temp(temp) => self.of_temp(temp).map_or(Kind::Real, |own| own.kind),
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
