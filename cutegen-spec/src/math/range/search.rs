//! Counterexamples: shapes and loop variables at the ends of their domains, and around the numbers that the
//! expressions mention, small shapes first. A found one is real: everything is computed, nothing assumed.

use super::{Domain, Proof, VarBound, steps};
use crate::axis::{self, Extent};
use crate::int_expr::{IntExpr, IntOp};
use crate::math::index::Index;
use std::collections::BTreeSet;

const MAX_SHAPES: usize = 512;
const MAX_POINTS: usize = 10_000;
const MAX_DEPTH: usize = 128;
const MAX_READS: u32 = 4;

/// A shape and an index outside, if one of those tried is.
pub(super) fn outside(domain: &Domain<'_>, index: &Index, dim: &IntExpr) -> Option<Proof> {
    let mut found = Mentioned::default();
    found.index(domain, index, 0);
    found.expr(domain, dim, 0);
    for (var, bound) in domain.vars.iter().enumerate() {
        if let Some(bound) = bound {
            found.loops(domain, var, bound);
        }
    }
    let vars = found.loop_order(domain)?;
    let mut points = MAX_POINTS;
    shapes(domain, &found).iter().find_map(|shape| {
        let extent = dim.eval_axes(shape)?;
        (0..1_u32 << found.reads.min(MAX_READS)).find_map(|high| {
            let point =
                Point { domain: *domain, shape, high, vars: vec![None; domain.vars.len()], read: Vec::new() };
            let index = point.search(&vars, index, extent, &mut points)?;
            Some(Proof::Outside { shape: shape.clone(), index, extent })
        })
    })
}

/// What the expressions of a question mention.
#[derive(Default)]
struct Mentioned {
    axes: BTreeSet<usize>,
    vars: BTreeSet<usize>,
    numbers: BTreeSet<i64>,
    reads: u32,
}

impl Mentioned {
    fn index(&mut self, domain: &Domain<'_>, index: &Index, depth: usize) {
        match index {
            _ if depth > MAX_DEPTH => {}
            Index::Const(value) => drop(self.numbers.insert(*value)),
            Index::Extent(axis) => self.axis(domain, *axis, depth),
            Index::Var(var) => drop(self.vars.insert(*var)),
            Index::Read(tensor, at) => {
                self.reads += 1;
                if let Some(range) = (domain.reads)(*tensor) {
                    self.expr(domain, &range.from, depth + 1);
                    self.expr(domain, &range.to, depth + 1);
                }
                at.iter().for_each(|index| self.index(domain, index, depth + 1));
            }
            Index::Op(_, a, b) => [a, b].into_iter().for_each(|child| self.index(domain, child, depth + 1)),
        }
    }

    fn expr(&mut self, domain: &Domain<'_>, expr: &IntExpr, depth: usize) {
        match expr {
            _ if depth > MAX_DEPTH => {}
            IntExpr::Const(value) => drop(self.numbers.insert(*value)),
            IntExpr::Axis(axis) => self.axis(domain, *axis, depth),
            IntExpr::Device(_) => {}
            IntExpr::Op(_, a, b) => [a, b].into_iter().for_each(|child| self.expr(domain, child, depth + 1)),
        }
    }

    fn axis(&mut self, domain: &Domain<'_>, axis: usize, depth: usize) {
        let Some(declared) = domain.axes.get(axis).filter(|_| self.axes.insert(axis)) else { return };
        match &declared.extent {
            Extent::Const(value) => drop(self.numbers.insert(*value)),
            Extent::Derived(expr) => self.expr(domain, expr, depth + 1),
            Extent::Range { .. } => {}
        }
    }

    fn loops(&mut self, domain: &Domain<'_>, var: usize, bound: &VarBound) {
        self.axis(domain, bound.axis, 0);
        if bound.from.is_some() || bound.to.is_some() {
            self.vars.insert(var);
        }
        [&bound.from, &bound.to].into_iter().flatten().for_each(|end| self.index(domain, end, 0));
    }

    /// All loop variables, each after those that its bounds mention; `None` when they go round in a circle.
    fn loop_order(&self, domain: &Domain<'_>) -> Option<Vec<(usize, bool)>> {
        let mut open: Vec<usize> = (0..domain.vars.len()).filter(|var| domain.vars[*var].is_some()).collect();
        let mut order = Vec::with_capacity(open.len());
        while !open.is_empty() {
            let ready = open.iter().position(|var| !self.waits(domain, *var, &open))?;
            let var = open.remove(ready);
            order.push((var, self.vars.contains(&var)));
        }
        Some(order)
    }

    fn waits(&self, domain: &Domain<'_>, var: usize, open: &[usize]) -> bool {
        let mut inner = Mentioned::default();
        if let Some(bound) = &domain.vars[var] {
            [&bound.from, &bound.to].into_iter().flatten().for_each(|end| inner.index(domain, end, 0));
        }
        open.iter().any(|other| inner.vars.contains(other))
    }
}

/// Shapes to try, small ones first.
fn shapes(domain: &Domain<'_>, found: &Mentioned) -> Vec<Vec<i64>> {
    let run_time = found.axes.iter().filter(|axis| domain.axes[**axis].is_run_time()).count();
    let each = match run_time {
        0 | 1 => 48,
        2 => 22,
        3 => 8,
        4 => 4,
        5 | 6 => 3,
        _ => 2,
    };
    let mut combinations = vec![Vec::new()];
    for (position, axis) in domain.axes.iter().enumerate() {
        let Extent::Range { lo, hi, multiple_of, .. } = axis.extent else {
            combinations.iter_mut().for_each(|shape: &mut Vec<i64>| shape.push(0));
            continue;
        };
        let keep =
            if found.axes.contains(&position) && combinations.len() * each <= MAX_SHAPES { each } else { 1 };
        let extents = extents(lo, hi, multiple_of, &found.numbers, keep);
        let with =
            |shape: &Vec<i64>| extents.iter().map(|e| [shape.as_slice(), &[*e]].concat()).collect::<Vec<_>>();
        combinations = combinations.iter().flat_map(with).collect();
    }
    let resolved =
        combinations.iter().filter_map(|shape| axis::resolve(domain.axes, &|position| shape[position]));
    let mut shapes: Vec<Vec<i64>> = resolved.collect();
    shapes.sort_by_cached_key(|shape| shape.iter().map(|extent| i128::from(*extent)).sum::<i128>());
    shapes
}

/// Extents of a run-time axis: its ends, small ones, the middle, and those around the numbers.
fn extents(lo: i64, hi: i64, multiple_of: i64, numbers: &BTreeSet<i64>, keep: usize) -> Vec<i64> {
    let Some((step, range)) = steps(lo, hi, multiple_of) else { return Vec::new() };
    let (first, last) = (*range.start(), *range.end());
    let fixed =
        [first, last, first.saturating_add(1), first.saturating_add(2), last.saturating_sub(1), 1, 2, 3];
    let middle = first.midpoint(last);
    let around =
        numbers.iter().flat_map(|number| [0, 1, -1].map(|by| number.div_euclid(step).saturating_add(by)));
    let mut extents = Vec::new();
    for value in fixed.into_iter().chain([middle]).chain(around).filter(|value| range.contains(value)) {
        if extents.len() < keep && !extents.contains(&(value * step)) {
            extents.push(value * step);
        }
    }
    extents
}

/// One shape, the loop variables that have a value yet, and the elements that were read.
#[derive(Clone)]
struct Point<'a, 's> {
    domain: Domain<'a>,
    shape: &'s [i64],
    /// Bit by bit, whether the next element that is read is the largest of its range.
    high: u32,
    vars: Vec<Option<i128>>,
    read: Vec<(usize, Vec<i128>, i128)>,
}

impl Point<'_, '_> {
    /// An index outside `0..extent` at some values of the variables that have none yet.
    fn search(&self, vars: &[(usize, bool)], index: &Index, extent: i64, points: &mut usize) -> Option<i64> {
        *points = points.checked_sub(1)?;
        let Some(((var, counts), inner)) = vars.split_first() else {
            let value = self.clone().eval(index, 0)?;
            return i64::try_from(value).ok().filter(|value| !(0..extent).contains(value));
        };
        let mut point = self.clone();
        let (first, last) = point.ends(*var)?;
        let values = if *counts { values(first, last) } else { vec![first] };
        values.into_iter().find_map(|value| {
            point.vars[*var] = Some(value);
            point.search(inner, index, extent, points)
        })
    }

    fn ends(&mut self, var: usize) -> Option<(i128, i128)> {
        let bound = self.domain.vars.get(var)?.as_ref()?;
        let (mut first, mut end) = (0, i128::from(*self.shape.get(bound.axis)?));
        if let Some(from) = &bound.from {
            first = first.max(self.eval(from, 0)?);
        }
        if let Some(to) = &bound.to {
            end = end.min(self.eval(to, 0)?);
        }
        (first < end).then_some((first, end - 1))
    }

    fn eval(&mut self, index: &Index, depth: usize) -> Option<i128> {
        match index {
            _ if depth > MAX_DEPTH => None,
            Index::Const(value) => Some(i128::from(*value)),
            Index::Extent(axis) => self.shape.get(*axis).map(|extent| i128::from(*extent)),
            Index::Var(var) => self.vars.get(*var).copied().flatten(),
            Index::Read(tensor, at) => {
                let at: Option<Vec<i128>> = at.iter().map(|index| self.eval(index, depth + 1)).collect();
                self.element(*tensor, at?)
            }
            Index::Op(op, a, b) => {
                let a = self.eval(a, depth + 1)?;
                apply(*op, a, self.eval(b, depth + 1)?)
            }
        }
    }

    fn element(&mut self, tensor: usize, at: Vec<i128>) -> Option<i128> {
        if let Some(known) = self.read.iter().find(|read| read.0 == tensor && read.1 == at) {
            return Some(known.2);
        }
        let range = (self.domain.reads)(tensor)?;
        let from = i128::from(range.from.eval_axes(self.shape)?);
        let to = i128::from(range.to.eval_axes(self.shape)?);
        let value = if self.high & 1 == 1 { to - 1 } else { from };
        self.high >>= 1;
        self.read.push((tensor, at, value));
        (from < to).then_some(value)
    }
}

/// Values of a variable: all of a few, else those at and beside the ends and in the middle.
fn values(first: i128, last: i128) -> Vec<i128> {
    if last - first < 6 {
        return (first..=last).collect();
    }
    vec![first, last, first + 1, last - 1, first.midpoint(last), first + 2, last - 2]
}

fn apply(op: IntOp, a: i128, b: i128) -> Option<i128> {
    match op {
        IntOp::Add => a.checked_add(b),
        IntOp::Sub => a.checked_sub(b),
        IntOp::Mul => a.checked_mul(b),
        IntOp::Div => (b > 0).then(|| a.div_euclid(b)),
        IntOp::Rem => (b > 0).then(|| a.rem_euclid(b)),
        IntOp::CeilDiv => (b > 0).then(|| a.checked_add(b - 1).map(|sum| sum.div_euclid(b))).flatten(),
        IntOp::Min => Some(a.min(b)),
        IntOp::Max => Some(a.max(b)),
    }
}
