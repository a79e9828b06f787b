//! Questions as text, and answers by trying everything.

mod cases;
mod random;

use super::{Domain, Proof, VarBound, inside};
use crate::axis::{self, Axis, Extent};
use crate::int_expr::{IntExpr, IntOp};
use crate::math::index::Index;
use crate::tensor::ValueRange;

/// A whole question, owned.
#[derive(Clone, Debug)]
struct Question {
    axes: Vec<Axis>,
    vars: Vec<Option<VarBound>>,
    reads: Vec<ValueRange>,
    index: Index,
    dim: IntExpr,
}

/// Where the positions of variables and reads start in a parsed expression.
const VAR: usize = 1_000;
const READ: usize = 2_000;

impl Question {
    /// `domain`: `m 1..64; k 8..512/8; p = (h - 3) / 2 + 1; s ~ t; s <= t; ids @ 0, k`. In `index` an axis stands for
    /// a loop over it and `len_m` for its extent; `s` is a second loop over `t`.
    fn parse(domain: &str, index: &str, dim: &str) -> Question {
        let mut parsed = Names::default();
        let mut bounds = Vec::new();
        for part in domain.split(';').map(str::trim) {
            match part.split(' ').nth(1) {
                Some("<=" | "<" | ">" | ">=") => bounds.push(part),
                _ => parsed.declare(part),
            }
        }
        let index = parsed.index(index);
        let mut vars = vec![None; parsed.vars.len()];
        let mut used = Vec::new();
        variables(&index, &mut used);
        for bound in bounds {
            parsed.bound(bound, &mut vars, &mut used);
        }
        for var in used {
            vars[var].get_or_insert(VarBound::whole(parsed.vars[var].1));
        }
        let dim = parsed.expr(dim);
        Question {
            axes: parsed.axes,
            vars,
            reads: parsed.reads.into_iter().map(|r| r.1).collect(),
            index,
            dim,
        }
    }

    fn prove(&self) -> Proof {
        inside(&self.domain(&|tensor| self.reads.get(tensor)), &self.index, &self.dim)
    }

    fn domain<'a>(&'a self, reads: &'a dyn Fn(usize) -> Option<&'a ValueRange>) -> Domain<'a> {
        Domain { axes: &self.axes, vars: &self.vars, reads }
    }

    /// The index plus something.
    fn moved(&self, by: i64) -> Question {
        let index = Index::Op(IntOp::Add, Box::new(self.index.clone()), Box::new(Index::Const(by)));
        Question { index, ..self.clone() }
    }

    /// Every index that occurs at a shape, by trying all values; `None` where one can't be computed.
    fn indices(&self, shape: &[i64]) -> Vec<Option<i64>> {
        let mut all = Vec::new();
        self.run(shape, &mut vec![None; self.vars.len()], &mut all);
        all
    }

    fn run(&self, shape: &[i64], values: &mut Vec<Option<i64>>, all: &mut Vec<Option<i64>>) {
        let ready = |(_, _, ends): &(usize, &VarBound, Option<(i64, i64)>)| ends.is_some();
        let ends = |bound: &VarBound| {
            let from = bound.from.as_ref().map_or(Some(0), |from| self.value(from, shape, values, 0))?;
            let to = bound.to.as_ref().map_or(Some(i64::MAX), |to| self.value(to, shape, values, 0))?;
            Some((from.max(0), to.min(shape[bound.axis])))
        };
        let open = (0..values.len()).filter(|var| values[*var].is_none());
        let mut open =
            open.filter_map(|var| self.vars[var].as_ref().map(|bound| (var, bound, ends(bound)))).peekable();
        if open.peek().is_none() {
            all.extend((0..1 << self.reads.len()).filter_map(|high| {
                let empty = self.read().into_iter().any(|r| r.from.eval_axes(shape) >= r.to.eval_axes(shape));
                (!empty).then(|| self.value(&self.index, shape, values, high))
            }));
            return;
        }
        if let Some((var, _, Some((from, to)))) = open.find(ready) {
            for value in from..to {
                values[var] = Some(value);
                self.run(shape, values, all);
            }
            values[var] = None;
        }
    }

    /// The ranges of the inputs that the index reads.
    fn read(&self) -> Vec<&ValueRange> {
        let text = format!("{:?}", self.index);
        let read = self.reads.iter().enumerate().filter(|(read, _)| text.contains(&format!("Read({read},")));
        read.map(|(_, range)| range).collect()
    }

    fn value(&self, index: &Index, shape: &[i64], values: &[Option<i64>], high: usize) -> Option<i64> {
        match index {
            Index::Const(value) => Some(*value),
            Index::Extent(axis) => shape.get(*axis).copied(),
            Index::Var(var) => values[*var],
            Index::Read(tensor, _) if high >> tensor & 1 == 1 => {
                Some(self.reads[*tensor].to.eval_axes(shape)? - 1)
            }
            Index::Read(tensor, _) => self.reads[*tensor].from.eval_axes(shape),
            Index::Op(op, a, b) => {
                let (a, b) = (self.value(a, shape, values, high)?, self.value(b, shape, values, high)?);
                IntExpr::op(*op, IntExpr::Const(a), IntExpr::Const(b)).eval_axes(&[])
            }
        }
    }

    /// Whether a shape is of the domain, and the index occurs there, outside.
    fn confirms(&self, shape: &[i64], index: i64, extent: i64) -> bool {
        let of_domain = self.axes.iter().zip(shape).all(|(axis, value)| match axis.extent {
            Extent::Range { lo, hi, multiple_of, .. } => {
                (lo..=hi).contains(value) && value % multiple_of == 0
            }
            _ => true,
        });
        of_domain
            && axis::resolve(&self.axes, &|position| shape[position]).as_deref() == Some(shape)
            && self.dim.eval_axes(shape) == Some(extent)
            && !(0..extent).contains(&index)
            && self.indices(shape).contains(&Some(index))
    }
}

#[derive(Default)]
struct Names {
    axes: Vec<Axis>,
    vars: Vec<(String, usize)>,
    reads: Vec<(String, ValueRange)>,
}

impl Names {
    fn declare(&mut self, part: &str) {
        let (name, rest) = part.split_once(' ').unwrap();
        let extent = match rest.split_once(' ') {
            Some(("=", value)) => match self.expr(value) {
                IntExpr::Const(value) => Extent::Const(value),
                expr => Extent::Derived(expr),
            },
            Some(("~", axis)) => return self.vars.push((name.into(), self.vars[self.position(axis)].1)),
            Some(("@", ends)) => {
                let (from, to) = ends.split_once(',').unwrap();
                let range = ValueRange { from: self.expr(from), to: self.expr(to) };
                return self.reads.push((name.into(), range));
            }
            _ => range(rest),
        };
        self.vars.push((name.into(), self.axes.len()));
        self.axes.push(Axis { name: name.into(), extent });
    }

    fn bound(&self, text: &str, vars: &mut [Option<VarBound>], used: &mut Vec<usize>) {
        let [name, sign, end] = text.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        let var = self.position(name);
        let by = i64::from(matches!(sign, "<=" | ">"));
        let end = Index::Op(IntOp::Add, Box::new(self.index(end)), Box::new(Index::Const(by)));
        variables(&end, used);
        let bound = vars[var].get_or_insert(VarBound::whole(self.vars[var].1));
        let side = if sign.starts_with('<') { &mut bound.to } else { &mut bound.from };
        *side = Some(end);
    }

    fn position(&self, name: &str) -> usize {
        self.vars.iter().position(|var| var.0 == name).unwrap()
    }

    fn expr(&self, text: &str) -> IntExpr {
        IntExpr::parse(text, &|name| Some(self.vars[self.position(name)].1)).unwrap()
    }

    fn index(&self, text: &str) -> Index {
        let resolve = |name: &str| match name.strip_prefix("len_") {
            Some(axis) => Some(self.vars[self.position(axis)].1),
            None => match self.reads.iter().position(|read| read.0 == name) {
                Some(read) => Some(READ + read),
                None => Some(VAR + self.position(name)),
            },
        };
        to_index(&IntExpr::parse(text, &resolve).unwrap())
    }
}

fn range(text: &str) -> Extent {
    let (lo, rest) = text.split_once("..").unwrap();
    let (hi, multiple_of) = rest.split_once('/').unwrap_or((rest, "1"));
    let [lo, hi, multiple_of] = [lo, hi, multiple_of].map(|number| number.parse().unwrap());
    Extent::Range { lo, hi, multiple_of, buckets: Vec::new() }
}

fn to_index(expr: &IntExpr) -> Index {
    match expr {
        IntExpr::Const(value) => Index::Const(*value),
        IntExpr::Axis(read) if *read >= READ => Index::Read(read - READ, vec![Index::Const(0)]),
        IntExpr::Axis(var) if *var >= VAR => Index::Var(var - VAR),
        IntExpr::Axis(axis) => Index::Extent(*axis),
        IntExpr::Op(op, a, b) => Index::Op(*op, Box::new(to_index(a)), Box::new(to_index(b))),
        IntExpr::Device(_) => unreachable!("no device in an index"),
    }
}

fn variables(index: &Index, out: &mut Vec<usize>) {
    match index {
        Index::Var(var) => out.push(*var),
        Index::Op(_, a, b) => [a, b].into_iter().for_each(|child| variables(child, out)),
        Index::Const(_) | Index::Extent(_) | Index::Read(..) => {}
    }
}
