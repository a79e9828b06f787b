//! How an integer of the math varies over the lanes of a vector: [`Lanes`], a sum of terms that are the same in every
//! lane and a constant per lane. From it follow which accesses are contiguous, how they are aligned, and their text.
//!
//! Knows indices, extents and strides; knows neither loads nor templates. A vector is `width` columns that start at a
//! multiple of `width`: column `q * width + lane`.

use std::collections::BTreeMap;

use cutegen_spec::axis::{Axis, Extent};
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Index, Place};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Tensor;

use crate::print::c::is_packed;

/// Names of the position of a vector in its row, and of loop variables.
const POSITION: &str = "at.q";

/// An integer in every lane.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lanes {
    terms: BTreeMap<String, Term>,
    offsets: Vec<i64>,
}

/// A value that is the same in every lane, times a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Term {
    factor: i64,
    /// The value is a multiple of this.
    divisor: i64,
    /// The value is never negative.
    natural: bool,
}

/// The vectors of a loop nest.
#[derive(Clone, Debug)]
pub(super) struct Vectors<'a> {
    pub(super) spec: &'a KernelSpec,
    /// The variable that runs along the lanes.
    pub(super) inner: usize,
    /// Columns of a vector.
    pub(super) width: i64,
    /// Axes whose extents count as multiples of `width`.
    pub(super) assumed: Vec<usize>,
}

impl Vectors<'_> {
    /// `index` in every lane; `None` where lanes differ by more than constants.
    pub(super) fn of(&self, index: &Index) -> Option<Lanes> {
        let same = |text: String, divisor, natural| Some(self.same(text, divisor, natural));
        match index {
            Index::Const(value) => Some(self.constant(*value)),
            Index::Extent(axis) => Some(self.extent(&IntExpr::Axis(*axis))),
            Index::Var(var) if *var == self.inner => {
                let term = Term { factor: self.width, divisor: 1, natural: true };
                let terms = BTreeMap::from([(POSITION.to_owned(), term)]);
                Some(Lanes { terms, offsets: (0..self.width).collect() })
            }
            Index::Var(var) => same(format!("at.v{var}"), 1, true),
            Index::Read(tensor, inner) => {
                let declared = &self.spec.tensors[*tensor];
                let at = self.address(Place::Tensor(*tensor), inner)?;
                let text = format!("Integer(t{tensor}[{}])", at.invariant()?.text());
                let lanes = self.same(text, 1, is_natural(declared));
                (!is_packed(declared.dtype)).then_some(lanes)
            }
            Index::Op(op, a, b) => self.operation(*op, self.of(a)?, self.of(b)?),
        }
    }

    /// An extent or stride.
    fn extent(&self, expr: &IntExpr) -> Lanes {
        if let Some(value) = constant(&self.spec.axes, expr) {
            return self.constant(value);
        }
        match expr {
            IntExpr::Axis(axis) => {
                let known = match self.spec.axes[*axis].extent {
                    Extent::Range { multiple_of, .. } => multiple_of.max(1),
                    Extent::Const(_) | Extent::Derived(_) => 1,
                };
                let assumed = if self.assumed.contains(axis) { self.width } else { 1 };
                self.same(format!("a{axis}"), known / gcd(known, assumed) * assumed, true)
            }
            IntExpr::Op(op, a, b) => {
                let known = self.operation(*op, self.extent(a), self.extent(b));
                known.unwrap_or_else(|| self.same(crate::print::int(expr), 1, false))
            }
            IntExpr::Const(_) | IntExpr::Device(_) => self.same(crate::print::int(expr), 1, false),
        }
    }

    /// Where an element of a tensor lies, in elements.
    pub(super) fn address(&self, place: Place, index: &[Index]) -> Option<Lanes> {
        let Place::Tensor(tensor) = place else { return None };
        let strides = self.spec.tensors[tensor].stride_exprs();
        index.iter().zip(&strides).try_fold(self.constant(0), |sum, (index, stride)| {
            let term = self.operation(IntOp::Mul, self.of(index)?, self.extent(stride))?;
            Some(sum.plus(&term, 1))
        })
    }

    /// The condition that an index is inside a dimension; for vectors of one column.
    pub(super) fn inside(&self, index: &Index, dim: &IntExpr) -> Option<String> {
        let (index, dim) = (self.of(index)?, self.extent(dim));
        Some(format!("{0} >= 0 && {0} < {1}", index.text(), dim.text()))
    }

    fn constant(&self, value: i64) -> Lanes {
        Lanes { terms: BTreeMap::new(), offsets: vec![value; self.width as usize] }
    }

    fn same(&self, text: String, divisor: i64, natural: bool) -> Lanes {
        let term = Term { factor: 1, divisor, natural };
        Lanes { terms: BTreeMap::from([(text, term)]), offsets: vec![0; self.width as usize] }
    }

    fn operation(&self, op: IntOp, a: Lanes, b: Lanes) -> Option<Lanes> {
        match op {
            IntOp::Add => Some(a.plus(&b, 1)),
            IntOp::Sub => Some(a.plus(&b, -1)),
            IntOp::Mul => match (a.literal(), b.literal()) {
                (_, Some(factor)) => Some(a.times(factor)),
                (Some(factor), _) => Some(b.times(factor)),
                _ => self.product(&a, &b),
            },
            IntOp::CeilDiv => {
                let one_less = b.plus(&self.constant(-1), 1);
                self.quotient(&a.plus(&one_less, 1), &b)
            }
            IntOp::Div => self.quotient(&a, &b),
            IntOp::Rem => self.remainder(&a, &b),
            IntOp::Min => self.call("least", &a, &b, a.is_natural() && b.is_natural()),
            IntOp::Max => self.call("most", &a, &b, a.is_natural() || b.is_natural()),
        }
    }

    fn product(&self, a: &Lanes, b: &Lanes) -> Option<Lanes> {
        let text = format!("({} * {})", a.invariant()?.text(), b.invariant()?.text());
        Some(self.same(text, a.divisor().max(1) * b.divisor().max(1), a.is_natural() && b.is_natural()))
    }

    fn call(&self, name: &str, a: &Lanes, b: &Lanes, natural: bool) -> Option<Lanes> {
        let text = format!("{name}({}, {})", a.invariant()?.text(), b.invariant()?.text());
        Some(self.same(text, gcd(a.divisor(), b.divisor()).max(1), natural))
    }

    fn quotient(&self, a: &Lanes, b: &Lanes) -> Option<Lanes> {
        let Some(by) = b.literal().filter(|by| *by > 0) else {
            return self.call(
                if a.is_natural() { "quotient" } else { "floor_quotient" },
                a,
                b,
                a.is_natural(),
            );
        };
        if let Some(exact) = a.over(by) {
            return Some(exact);
        }
        let (block, _) = a.block(by)?;
        let name = if block.is_natural() { "quotient" } else { "floor_quotient" };
        Some(self.same(format!("{name}({}, Integer({by}))", block.text()), 1, block.is_natural()))
    }

    fn remainder(&self, a: &Lanes, b: &Lanes) -> Option<Lanes> {
        let Some(by) = b.literal().filter(|by| *by > 0) else {
            return self.call(if a.is_natural() { "remainder" } else { "floor_remainder" }, a, b, true);
        };
        if a.terms.values().all(|term| term.factor % by == 0) {
            let offsets = a.offsets.iter().map(|offset| offset.rem_euclid(by)).collect();
            return Some(Lanes { terms: BTreeMap::new(), offsets });
        }
        let (block, rest) = a.block(by)?;
        let name = if block.is_natural() { "remainder" } else { "floor_remainder" };
        let text = format!("{name}({}, Integer({by}))", block.text());
        let mut lanes = self.same(text, gcd(block.divisor(), by), true);
        lanes.offsets = rest;
        Some(lanes)
    }
}

impl Lanes {
    /// The constants of the lanes.
    pub(super) fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// The same sum with other constants: whether two differ in no term.
    pub(super) fn same_terms(&self, other: &Lanes) -> bool {
        self.terms == other.terms
    }

    /// What divides the value in the first lane; 0 when that is 0.
    pub(super) fn divisor(&self) -> i64 {
        self.divisor_at(self.offsets[0])
    }

    /// What divides the sum of the terms and `offset`.
    pub(super) fn divisor_at(&self, offset: i64) -> i64 {
        let one = |term: &Term| (term.factor * term.divisor).abs();
        gcd(self.terms.values().map(one).fold(0, gcd), offset)
    }

    /// The sum in the first lane, as an expression of `Integer`.
    pub(super) fn text(&self) -> String {
        self.text_at(self.offsets[0])
    }

    /// The sum of the terms and `offset`.
    pub(super) fn text_at(&self, offset: i64) -> String {
        let term = |(text, term): (&String, &Term)| match term.factor {
            1 => text.clone(),
            factor => format!("{text} * {factor}"),
        };
        let mut parts: Vec<String> = self.terms.iter().map(term).collect();
        if offset != 0 || parts.is_empty() {
            parts.push(offset.to_string());
        }
        match parts.as_slice() {
            [one] if self.terms.values().all(|term| term.factor == 1) && offset >= 0 => one.clone(),
            many => format!("({})", many.join(" + ")),
        }
    }

    fn invariant(&self) -> Option<&Lanes> {
        self.offsets.iter().all(|offset| *offset == self.offsets[0]).then_some(self)
    }

    fn literal(&self) -> Option<i64> {
        self.invariant().filter(|lanes| lanes.terms.is_empty()).map(|lanes| lanes.offsets[0])
    }

    fn is_natural(&self) -> bool {
        let natural = |term: &Term| term.natural && term.factor >= 0;
        self.terms.values().all(natural) && self.offsets.iter().all(|offset| *offset >= 0)
    }

    fn plus(&self, other: &Lanes, sign: i64) -> Lanes {
        let mut terms = self.terms.clone();
        for (text, term) in &other.terms {
            let entry = terms.entry(text.clone()).or_insert(Term { factor: 0, ..*term });
            entry.factor += sign * term.factor;
        }
        terms.retain(|_, term| term.factor != 0);
        let offsets = self.offsets.iter().zip(&other.offsets).map(|(a, b)| a + sign * b).collect();
        Lanes { terms, offsets }
    }

    fn times(&self, by: i64) -> Lanes {
        let mut lanes = self.clone();
        lanes.terms.values_mut().for_each(|term| term.factor *= by);
        lanes.terms.retain(|_, term| term.factor != 0);
        lanes.offsets.iter_mut().for_each(|offset| *offset *= by);
        lanes
    }

    /// The floor of the quotient, where every term divides.
    fn over(&self, by: i64) -> Option<Lanes> {
        let mut lanes = self.clone();
        for term in lanes.terms.values_mut() {
            if term.factor % by != 0 {
                return None;
            }
            term.factor /= by;
        }
        lanes.offsets.iter_mut().for_each(|offset| *offset = offset.div_euclid(by));
        Some(lanes)
    }

    /// The terms with the start of the block of `gcd(divisor, by)` in which all constants lie, and what is left of them.
    fn block(&self, by: i64) -> Option<(Lanes, Vec<i64>)> {
        let size = gcd(self.divisor_at(0), by);
        let first = self.offsets[0].div_euclid(size);
        if self.offsets.iter().any(|offset| offset.div_euclid(size) != first) {
            return None;
        }
        let rest = self.offsets.iter().map(|offset| offset.rem_euclid(size)).collect();
        let start = Lanes { terms: self.terms.clone(), offsets: vec![first * size; self.offsets.len()] };
        Some((start, rest))
    }
}

/// The value of an expression that no run-time axis enters.
pub(super) fn constant(axes: &[Axis], expr: &IntExpr) -> Option<i64> {
    match expr {
        IntExpr::Const(value) => Some(*value),
        IntExpr::Device(_) => None,
        IntExpr::Op(op, a, b) => op.apply(constant(axes, a)?, constant(axes, b)?),
        IntExpr::Axis(axis) => match &axes[*axis].extent {
            Extent::Const(value) => Some(*value),
            Extent::Derived(expr) => constant(axes, expr),
            Extent::Range { .. } => None,
        },
    }
}

fn is_natural(tensor: &Tensor) -> bool {
    let from = tensor.range.as_ref().map(|range| &range.from);
    tensor.dtype == DType::U8 || matches!(from, Some(IntExpr::Const(value)) if *value >= 0)
}

/// The greatest common divisor; that of 0 and `b` is `b`.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
