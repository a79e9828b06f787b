//! The canonical text of [`Math`]: what the cache key hashes. Names don't occur; loop variables are numbered in
//! order of appearance, so that equal math has equal text however it was written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Expr, Math, Place};

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
            let left = numbers.list(&assign.vars);
            let _ = writeln!(text, "{}[{left}] = {}", place(assign.dst), numbers.expr(&assign.value));
        }
        text
    }
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

    fn list(&mut self, vars: &[usize]) -> String {
        let texts: Vec<String> = vars.iter().map(|v| self.var(*v)).collect();
        texts.join(", ")
    }

    fn expr(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => format!("{value:?}"),
            Expr::Extent(axis) => format!("len(a{axis})"),
            Expr::Index(var) => self.var(*var),
            Expr::Scalar(i) => format!("s{i}"),
            Expr::Load(from, vars) => format!("{}[{}]", place(*from), self.list(vars)),
            Expr::Unary(op, a) => format!("{}({})", op.name(), self.expr(a)),
            Expr::Binary(op, a, b) => {
                let a = self.expr(a);
                format!("{}({a}, {})", op.name(), self.expr(b))
            }
            Expr::Reduce(op, var, body) => {
                // a bound variable is numbered afresh each time: two sums over one axis are the same sum
                let outer = self.seen.remove(var);
                let name = self.var(*var);
                let text = format!("{}({name}, {})", op.name(), self.expr(body));
                self.seen.remove(var);
                self.seen.extend(outer.map(|number| (*var, number)));
                text
            }
        }
    }
}
