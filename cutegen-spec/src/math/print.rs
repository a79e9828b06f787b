//! The canonical text of [`Math`]: what the cache key hashes. Names don't occur; loop variables are numbered in
//! order of appearance, so that equal math has equal text however it was written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Expr, Index, Kind, Loop, Math, Place};

impl Math {
    /// The canonical text, one assignment a line.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        for temp in &self.temps {
            let rounding = temp.may_round.map_or("exact", |dtype| dtype.name());
            let _ = writeln!(text, "temp {:?} {rounding}", temp.axes);
        }
        for assign in &self.assigns {
            let mut numbers = Numbers { axes: &self.vars, seen: BTreeMap::new() };
            let left = numbers.list(&assign.index);
            let _ = writeln!(text, "{}[{left}] = {}", place(assign.dst), numbers.expr(&assign.value));
        }
        text
    }
}

/// The canonical text of one expression; `axes` are those of the loop variables.
#[must_use]
pub fn canonical_expr(expr: &Expr, axes: &[usize]) -> String {
    Numbers { axes, seen: BTreeMap::new() }.expr(expr)
}

fn place(place: Place) -> String {
    match place {
        Place::Tensor(i) => format!("t{i}"),
        Place::Temp(i) => format!("u{i}"),
    }
}

/// Numbers loop variables as they appear; the axis each runs over is written beside the number.
struct Numbers<'a> {
    axes: &'a [usize],
    seen: BTreeMap<usize, usize>,
}

impl Numbers<'_> {
    fn var(&mut self, var: usize) -> String {
        let next = self.seen.len();
        let number = *self.seen.entry(var).or_insert(next);
        format!("v{number}:a{}", self.axes[var])
    }

    fn list(&mut self, indices: &[Index]) -> String {
        let texts: Vec<String> = indices.iter().map(|index| self.index(index)).collect();
        texts.join(", ")
    }

    fn index(&mut self, index: &Index) -> String {
        match index {
            Index::Const(value) => value.to_string(),
            Index::Extent(axis) => format!("len(a{axis})"),
            Index::Var(var) => self.var(*var),
            Index::Read(tensor, indices) => format!("t{tensor}[{}]", self.list(indices)),
            Index::Op(op, a, b) => {
                let a = self.index(a);
                format!("i{op:?}({a}, {})", self.index(b))
            }
        }
    }

    fn expr(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => format!("{value:?}"),
            Expr::Int(index) => self.index(index),
            Expr::Scalar(i) => format!("s{i}"),
            Expr::Load(from, indices) => format!("{}[{}]", place(*from), self.list(indices)),
            Expr::Pad(from, indices, other) => {
                let element = self.list(indices);
                format!("pad({}[{element}], {})", place(*from), self.expr(other))
            }
            Expr::Unary(op, a) => format!("{}({})", op.name(), self.expr(a)),
            Expr::Binary(op, a, b) => {
                let a = self.expr(a);
                format!("{}({a}, {})", op.name(), self.expr(b))
            }
            Expr::Where(parts) => {
                let texts: Vec<String> = parts.iter().map(|part| self.expr(part)).collect();
                format!("where({})", texts.join(", "))
            }
            Expr::Cast(dtype, a) => format!("cast({dtype}, {})", self.expr(a)),
            Expr::Reduce(op, loops, body) => {
                // a bound variable is numbered afresh each time: two sums over one axis are the same sum
                let outer: Vec<_> = loops.iter().map(|l| (l.var, self.seen.remove(&l.var))).collect();
                let over: Vec<String> = loops.iter().map(|l| self.bound(l)).collect();
                let text = format!("{}({}, {})", op.name(), over.join(", "), self.expr(body));
                for (var, number) in outer {
                    self.seen.remove(&var);
                    self.seen.extend(number.map(|number| (var, number)));
                }
                text
            }
        }
    }

    fn bound(&mut self, l: &Loop) -> String {
        let mut text = self.var(l.var);
        if let Some(from) = &l.from {
            let _ = write!(text, " from {}", self.index(from));
        }
        if let Some(to) = &l.to {
            let _ = write!(text, " to {}", self.index(to));
        }
        text
    }
}

impl Kind {
    /// The letter that canonical forms use.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Kind::Real => 'r',
            Kind::Int => 'i',
            Kind::Cond => 'c',
        }
    }
}
