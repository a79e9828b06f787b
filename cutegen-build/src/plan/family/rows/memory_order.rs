//! [`MemoryOrder`]: how rows lie in memory, along it or across it, and how far each access follows it without gaps.

use std::collections::BTreeSet;

use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Expr, Index, Place};
use cutegen_spec::tensor::Tensor;

use super::{Access, Finding, Rows};

/// Which loop variables follow memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOrder {
    /// The innermost columns: a row is one stretch of memory, or several of one length.
    Along,
    /// The innermost rows: what stands beside an element is the same column of the next row.
    Across,
    /// Neither of them everywhere: elements are read and written one by one, neighbouring rows side by side.
    Apart,
}

/// The shortest stretch of memory that is worth being one of several of a row.
const PIECE: i64 = 8;

impl Finding<'_> {
    /// The rows with columns that follow memory, if all that is written along a row and something of it does.
    pub(super) fn along(&self) -> Option<Rows> {
        self.laid(MemoryOrder::Along, self.rows.rows.clone())
    }

    /// Rows of which nothing is known.
    pub(super) fn apart(&self) -> Option<Rows> {
        self.laid(MemoryOrder::Apart, self.rows.rows.clone())
    }

    /// The same as `along` with rows that follow memory.
    pub(super) fn across(&self) -> Option<Rows> {
        let inner = self.values().find_map(|expr| {
            let mut found = None;
            expr.visit(&mut |e| {
                if let Expr::Load(Place::Tensor(_), index) = e {
                    found = found.take().or_else(|| self.trailing_rows(index));
                }
            });
            found
        })?;
        let outer = self.rows.rows.iter().copied().filter(|var| !inner.contains(var));
        let rows = outer.chain(inner.iter().copied()).collect();
        self.laid(MemoryOrder::Across, rows)
    }

    /// Row variables at the end of an index that also names a column.
    fn trailing_rows(&self, index: &[Index]) -> Option<Vec<usize>> {
        let plain = |index: &&Index| index.as_var().is_some_and(|var| self.rows.rows.contains(&var));
        let mut inner: Vec<usize> = index.iter().rev().take_while(plain).filter_map(Index::as_var).collect();
        inner.reverse();
        (!inner.is_empty() && self.rows.runs_along(index)).then_some(inner)
    }

    fn laid(&self, memory_order: MemoryOrder, rows: Vec<usize>) -> Option<Rows> {
        let mut laid = Rows { rows, memory_order, ..self.rows.clone() };
        let inner = match memory_order {
            MemoryOrder::Along => laid.cols.clone(),
            MemoryOrder::Across => laid.rows.clone(),
            MemoryOrder::Apart => Vec::new(),
        };
        let follows = |access: &Access| match memory_order {
            MemoryOrder::Along => self.is_worth(access, &inner),
            MemoryOrder::Across => access.run > 0,
            MemoryOrder::Apart => true,
        };
        let mut widest = 0;
        for expr in self.values() {
            expr.visit(&mut |e| {
                let Expr::Load(Place::Tensor(tensor), index) = e else { return };
                let mut access = Access { tensor: *tensor, index: index.clone(), run: 0 };
                access.run = self.run(&access, &inner);
                widest = widest.max(variables(index).len());
                if follows(&access) && laid.runs_along(index) && !laid.streams.contains(&access) {
                    laid.streams.push(access);
                }
            });
        }
        laid.sinks.iter_mut().for_each(|(access, _)| access.run = self.run(access, &inner));
        // what most is read of has to be among them
        let mut streams = laid.streams.iter();
        let told = streams.any(|s| laid.is_of_the_row(s) && variables(&s.index).len() == widest);
        (told && laid.sinks.iter().all(|(access, _)| follows(access))).then_some(laid)
    }

    /// Whether the stretches of memory along a row are whole rows, or long enough.
    fn is_worth(&self, access: &Access, cols: &[usize]) -> bool {
        let piece = cols[cols.len() - access.run..].iter().map(|var| self.constant(self.schedule.vars[*var]));
        let short = piece.product::<Option<i64>>().is_some_and(|piece| piece < PIECE);
        access.run == cols.len() || (access.run > 0 && !short)
    }

    /// What is evaluated at every column.
    fn values(&self) -> impl Iterator<Item = &Expr> {
        let reduced = self.rows.reductions.iter().map(|r| &r.body);
        reduced.chain(self.rows.sinks.iter().map(|(_, value)| value))
    }

    /// How many of `vars`, from the last on, an access follows without gaps.
    fn run(&self, access: &Access, vars: &[usize]) -> usize {
        let most = vars.len().min(access.index.len());
        (1..=most).rev().find(|run| self.is_contiguous(access, &vars[vars.len() - run..])).unwrap_or(0)
    }

    /// Whether elements that follow each other by `vars` do so in memory.
    fn is_contiguous(&self, access: &Access, vars: &[usize]) -> bool {
        let tensor = &self.spec.tensors[access.tensor];
        let Some(first) = access.index.len().checked_sub(vars.len()) else { return false };
        let (outer, along) = access.index.split_at(first);
        if outer.iter().any(|index| names(index, vars)) {
            return false;
        }
        let ends = along.iter().zip(vars).enumerate().all(|(position, (index, var))| {
            let whole = tensor.dims[first + position] == IntExpr::Axis(self.schedule.vars[*var])
                || self.extent_is(first + position, tensor, *var);
            match position {
                0 => starts(index, *var, vars),
                _ => index.as_var() == Some(*var) && whole,
            }
        });
        let unit = tensor
            .strides
            .as_ref()
            .is_none_or(|strides| along.len() == 1 && strides.last() == Some(&IntExpr::Const(1)));
        ends && unit
    }

    /// Whether a dimension has the constant extent of `var`.
    fn extent_is(&self, dim: usize, tensor: &Tensor, var: usize) -> bool {
        let extent = self.constant(self.schedule.vars[var]);
        extent.is_some() && super::constant(self.spec, &tensor.dims[dim]) == extent
    }
}

/// `var`, or `var` and a place that none of `vars` moves.
fn starts(index: &Index, var: usize, vars: &[usize]) -> bool {
    match index {
        Index::Op(IntOp::Add, a, b) => {
            [(a, b), (b, a)].into_iter().any(|(one, other)| one.as_var() == Some(var) && !names(other, vars))
        }
        _ => index.as_var() == Some(var),
    }
}

fn names(index: &Index, vars: &[usize]) -> bool {
    variables(std::slice::from_ref(index)).iter().any(|var| vars.contains(var))
}

fn variables(index: &[Index]) -> BTreeSet<usize> {
    let mut named = Vec::new();
    index.iter().for_each(|index| index.vars(&mut named));
    named.into_iter().collect()
}
