//! [`Rows`]: rows that are reduced and mapped, as templates that stream them need it: every step over one set of loop
//! variables, each access that runs along a row, or across all of them, told apart; and reductions of a value of each
//! row over all rows. Knows schedules and memory order, no template.

mod memory_order;
mod merge;

use std::collections::{BTreeMap, BTreeSet};

use cutegen_spec::axis::Extent;
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Expr, Index, Kind, Loop, Place, ReduceOp};
use cutegen_spec::spec::{KernelSpec, Multiply};
use cutegen_spec::tensor::Role;

pub use memory_order::MemoryOrder;
pub use merge::Merge;

use super::alias::Identity;
use crate::plan::schedule::{Schedule, Step, Value};

/// Most nodes of an expression once temporaries are written out in it.
const NODES_MAX: usize = 2048;

/// A kernel over rows. Its expressions name the loop variables `rows` and `cols` and no other, and load no temporary
/// but a reduction's, at `rows`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Loop variables of the rows, outermost first; none when everything is one row.
    pub rows: Vec<usize>,
    /// Loop variables along a row, outermost first.
    pub cols: Vec<usize>,
    /// Which of them follow memory.
    pub memory_order: MemoryOrder,
    /// What is read in the order of memory.
    pub streams: Vec<Access>,
    /// The reductions, in order.
    pub reductions: Vec<Reduced>,
    /// Outputs along a row.
    pub sinks: Vec<(Access, Expr)>,
    /// Outputs with one element a row.
    pub scalars: Vec<(Access, Expr)>,
    /// Reductions over all rows; what they reduce is of a row.
    pub folds: Vec<Reduced>,
    /// Outputs with one element in all, of the folds.
    pub totals: Vec<(Access, Expr)>,
}

/// A tensor and where it is accessed.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The tensor.
    pub tensor: usize,
    /// Its index, in terms of [`Rows::rows`] and [`Rows::cols`].
    pub index: Vec<Index>,
    /// How many variables, from the innermost on, it follows without gaps: of the columns or, across, of the rows.
    pub run: usize,
}

/// A reduction of a row, or of all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// The temporary that stands for it in expressions.
    pub temp: usize,
    /// The operation.
    pub op: ReduceOp,
    /// What is reduced.
    pub body: Expr,
    /// 0 when it depends on no other reduction, else one more than the deepest it depends on.
    pub level: usize,
}

impl Rows {
    /// The number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.reductions.iter().map(|r| r.level + 1).max().unwrap_or(0)
    }

    /// Whether an access is another one in another row.
    #[must_use]
    pub fn is_of_the_row(&self, access: &Access) -> bool {
        let mut vars = Vec::new();
        access.index.iter().for_each(|index| index.vars(&mut vars));
        vars.iter().any(|var| self.rows.contains(var)) || self.rows.is_empty()
    }

    /// Whether `index` names a variable along a row.
    #[must_use]
    pub fn runs_along(&self, index: &[Index]) -> bool {
        let mut vars = Vec::new();
        index.iter().for_each(|index| index.vars(&mut vars));
        vars.iter().any(|var| self.cols.contains(var))
    }

    /// The stream that an element is of.
    #[must_use]
    pub fn stream(&self, tensor: usize, index: &[Index]) -> Option<usize> {
        self.streams.iter().position(|s| s.tensor == tensor && s.index == index)
    }

    /// Whether a level of reductions names a stream; behind them all, whether an output along the row does.
    #[must_use]
    pub fn uses(&self, level: usize, stream: usize) -> bool {
        let bodies = self.reductions.iter().filter(|r| r.level == level).map(|r| &r.body);
        let sinks = self.sinks.iter().filter(|_| level == self.levels()).map(|(_, value)| value);
        let mut found = false;
        for expr in bodies.chain(sinks) {
            expr.visit(&mut |e| {
                if let Expr::Load(Place::Tensor(t), index) = e {
                    found |= self.stream(*t, index) == Some(stream);
                }
            });
        }
        found
    }
}

/// The rows of a schedule, if it is nothing else.
pub(super) fn rows(spec: &KernelSpec, schedule: &Schedule, identity: &Identity) -> Option<Rows> {
    let plain = spec.tensors.iter().all(|t| t.role != Role::Inout && is_held(t.dtype));
    let precise = spec.precision.multiply == Multiply::Native && spec.precision.accumulate == DType::F32;
    if !plain || !precise {
        return None;
    }
    let mut finding = Finding::of(spec, schedule, identity)?;
    schedule.steps.iter().try_for_each(|step| finding.step(step))?;
    finding.found()
}

/// Whether template code has the type.
fn is_held(dtype: DType) -> bool {
    dtype != DType::F64 && dtype.bits() >= 8
}

struct Finding<'a> {
    spec: &'a KernelSpec,
    schedule: &'a Schedule,
    identity: &'a Identity,
    /// What stands for each temporary that is no reduction.
    maps: BTreeMap<usize, Expr>,
    rows: Rows,
}

impl<'a> Finding<'a> {
    /// Starts from the first reduction: its loops are the rows, what it runs over the columns.
    fn of(spec: &'a KernelSpec, schedule: &'a Schedule, identity: &'a Identity) -> Option<Self> {
        let first = schedule.steps.iter().find_map(|step| match &step.value {
            Value::Reduce { over, .. } => Some((step.vars(), over.iter().map(|l| l.var).collect::<Vec<_>>())),
            Value::Map(_) | Value::Scan { .. } => None,
        });
        let (rows, cols) = first?;
        let rows = Rows {
            rows,
            cols,
            memory_order: MemoryOrder::Along,
            streams: Vec::new(),
            reductions: Vec::new(),
            sinks: Vec::new(),
            scalars: Vec::new(),
            folds: Vec::new(),
            totals: Vec::new(),
        };
        Some(Finding { spec, schedule, identity, maps: BTreeMap::new(), rows })
    }

    fn step(&mut self, step: &Step) -> Option<()> {
        if !step.loops.iter().all(Loop::is_whole) {
            return None;
        }
        match &step.value {
            Value::Scan { .. } => None,
            Value::Reduce { op, over, body } => {
                self.reduction(step, *op, over, body).or_else(|| self.fold(step, *op, over, body))
            }
            Value::Map(value) => self.map(step, value),
        }
    }

    fn reduction(&mut self, step: &Step, op: ReduceOp, over: &[Loop], body: &Expr) -> Option<()> {
        let Place::Temp(temp) = step.dst else { return None };
        let to = self.renaming(&[step.vars(), over.iter().map(|l| l.var).collect()].concat())?;
        let rows: Vec<usize> =
            step.vars().iter().filter_map(|v| to.get(v)).filter_map(Index::as_var).collect();
        let body = self.canonical(body, &to)?;
        let one_index = !op.gives_index() || over.len() == 1;
        if rows != self.rows.rows || over.len() != self.rows.cols.len() || !one_index {
            return None;
        }
        if body.kind(&|place| self.schedule.kind(self.spec, place)) != Kind::Real {
            return None;
        }
        let level = self.deepest(&body).map_or(0, |level| level + 1);
        (!self.reads_fold(&body)).then(|| self.rows.reductions.push(Reduced { temp, op, body, level }))
    }

    /// A reduction over all rows of a real value that each has.
    fn fold(&mut self, step: &Step, op: ReduceOp, over: &[Loop], body: &Expr) -> Option<()> {
        let Place::Temp(temp) = step.dst else { return None };
        let to = self.renaming(&over.iter().map(|l| l.var).collect::<Vec<_>>())?;
        let body = self.canonical(body, &to)?;
        let of_rows: BTreeSet<usize> = to.values().filter_map(Index::as_var).collect();
        let all: BTreeSet<usize> = self.rows.rows.iter().copied().collect();
        let of_a_row = !body.free_vars().iter().any(|var| self.rows.cols.contains(var));
        let real = body.kind(&|place| self.schedule.kind(self.spec, place)) == Kind::Real;
        let fits = step.loops.is_empty() && of_rows == all && of_a_row && real && !op.gives_index();
        (fits && !self.reads_fold(&body)).then(|| {
            self.rows.folds.push(Reduced { temp, op, body, level: 0 });
        })
    }

    fn reads_fold(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.visit(&mut |e| {
            found |=
                matches!(e, Expr::Load(Place::Temp(t), _) if self.rows.folds.iter().any(|f| f.temp == *t));
        });
        found
    }

    /// The deepest level of the reductions that `expr` reads.
    fn deepest(&self, expr: &Expr) -> Option<usize> {
        let mut deepest = None;
        expr.visit(&mut |e| {
            if let Expr::Load(Place::Temp(t), _) = e {
                let level = self.rows.reductions.iter().find(|r| r.temp == *t).map(|r| r.level);
                deepest = deepest.max(level);
            }
        });
        deepest
    }

    fn map(&mut self, step: &Step, value: &Expr) -> Option<()> {
        let to = self.renaming(&step.vars())?;
        let value = self.canonical(value, &to)?;
        let index: Vec<Index> = step.index.iter().map(|i| i.subst(&|v| to.get(&v).cloned())).collect();
        let tensor = match step.dst {
            // read at its own variables only, so its value stands for it
            Place::Temp(temp) => {
                self.maps.insert(temp, value);
                return (step.index.iter().filter_map(Index::as_var).collect::<Vec<_>>() == step.vars())
                    .then_some(());
            }
            Place::Tensor(tensor) => tensor,
        };
        let (along, folded) = (self.rows.runs_along(&index), self.reads_fold(&value));
        let access = Access { tensor, index, run: 0 };
        if folded {
            let alone =
                step.loops.is_empty() && value.free_vars().is_empty() && self.deepest(&value).is_none();
            self.rows.totals.push((access, value));
            return alone.then_some(());
        }
        if !along {
            self.rows.scalars.push((access, value));
            return Some(());
        }
        self.rows.sinks.push((access, value));
        self.covers(&to).then_some(())
    }

    /// Whether the variables of a step, renamed, are all of a row's.
    fn covers(&self, to: &BTreeMap<usize, Index>) -> bool {
        let mut named = Vec::new();
        to.values().for_each(|index| index.vars(&mut named));
        let wanted: BTreeSet<usize> = self.rows.rows.iter().chain(&self.rows.cols).copied().collect();
        named.into_iter().collect::<BTreeSet<_>>() == wanted
    }

    /// What a step's variables are in terms of the rows': the one with the same axis, or, where a row is part of an
    /// axis, the sum of part and place in it.
    fn renaming(&self, vars: &[usize]) -> Option<BTreeMap<usize, Index>> {
        let axis = |var: &usize| self.identity.var(self.schedule, *var);
        let own: Vec<usize> = self.rows.rows.iter().chain(&self.rows.cols).copied().collect();
        let mut to = BTreeMap::new();
        for var in vars {
            let same = own.iter().find(|o| axis(o) == axis(var)).map(|o| Index::Var(*o));
            to.insert(*var, same.or_else(|| self.parts(axis(var)))?);
        }
        let distinct: BTreeSet<&Index> = to.values().collect();
        (distinct.len() == to.len()).then_some(to)
    }

    /// `high * len(low) + low` for an axis that a row variable and the first column variable divide.
    fn parts(&self, axis: usize) -> Option<Index> {
        let whole = self.constant(axis)?;
        let low = *self.rows.cols.first()?;
        let by = self.constant(self.schedule.vars[low])?;
        let mut found = self.rows.rows.iter().filter(|high| {
            let high = self.schedule.vars[**high];
            self.constant(high).is_some_and(|high| high.checked_mul(by) == Some(whole))
        });
        let (Some(high), None) = (found.next(), found.next()) else { return None };
        let scaled = Index::op(IntOp::Mul, Index::Var(*high), Index::Const(by));
        Some(Index::op(IntOp::Add, scaled, Index::Var(low)))
    }

    fn constant(&self, axis: usize) -> Option<i64> {
        constant(self.spec, &IntExpr::Axis(axis))
    }

    /// `expr` over the rows' variables, temporaries written out.
    fn canonical(&self, expr: &Expr, to: &BTreeMap<usize, Index>) -> Option<Expr> {
        let moved = self.written_out(&self.unsplit(&expr.subst(&|var| to.get(&var).cloned())))?;
        (moved.size() <= NODES_MAX).then_some(moved)
    }

    /// `(high * n + low) / n` is `high`, where `low` runs over `n`.
    fn unsplit(&self, expr: &Expr) -> Expr {
        match expr {
            Expr::Load(place, index) => Expr::Load(*place, index.iter().map(|i| self.high_part(i)).collect()),
            other => other.map_children(&mut |child| self.unsplit(child)),
        }
    }

    fn high_part(&self, index: &Index) -> Index {
        if let Index::Op(IntOp::Div, sum, by) = index
            && let (Index::Op(IntOp::Add, product, low), Index::Const(by)) = (sum.as_ref(), by.as_ref())
            && let (Index::Op(IntOp::Mul, high, factor), Some(low)) = (product.as_ref(), low.as_var())
            && **factor == Index::Const(*by)
            && self.constant(self.schedule.vars[low]) == Some(*by)
        {
            return high.as_ref().clone();
        }
        index.clone()
    }

    fn written_out(&self, expr: &Expr) -> Option<Expr> {
        let mut failed = false;
        let out = self.write_out(expr, &mut failed);
        (!failed).then_some(out)
    }

    fn write_out(&self, expr: &Expr, failed: &mut bool) -> Expr {
        let Expr::Load(Place::Temp(temp), index) = expr else {
            *failed |= matches!(expr, Expr::Pad(..) | Expr::Reduce(..)) || expr.size() > NODES_MAX;
            return if *failed {
                expr.clone()
            } else {
                expr.map_children(&mut |e| self.write_out(e, failed))
            };
        };
        let vars: Option<Vec<usize>> = index.iter().map(Index::as_var).collect();
        let rows = &self.rows.rows;
        let fits = |vars: &Vec<usize>| vars == rows || *vars == [rows.as_slice(), &self.rows.cols].concat();
        if self.rows.reductions.iter().any(|r| r.temp == *temp) {
            *failed |= vars.as_ref() != Some(rows);
            return self.maps.get(temp).unwrap_or(expr).clone();
        }
        if self.rows.folds.iter().any(|r| r.temp == *temp) {
            return expr.clone();
        }
        match self.maps.get(temp) {
            Some(value) if vars.as_ref().is_some_and(fits) => value.clone(),
            _ => {
                *failed = true;
                expr.clone()
            }
        }
    }

    fn found(self) -> Option<Rows> {
        let scalars = self.rows.scalars.iter();
        let settled = scalars
            .clone()
            .all(|(_, value)| !value.free_vars().iter().any(|var| self.rows.cols.contains(var)));
        let used = self.rows.folds.is_empty() == self.rows.totals.is_empty();
        if !settled || !used || self.rows.reductions.is_empty() {
            return None;
        }
        self.along().or_else(|| self.across()).or_else(|| self.apart())
    }
}

/// The value of an expression that has the same one at every shape, as far as declarations say so directly.
#[must_use]
pub fn constant(spec: &KernelSpec, expr: &IntExpr) -> Option<i64> {
    match expr {
        IntExpr::Const(value) => Some(*value),
        IntExpr::Device(_) => None,
        IntExpr::Axis(axis) => match &spec.axes[*axis].extent {
            Extent::Const(value) => Some(*value),
            Extent::Range { .. } => None,
            Extent::Derived(expr) => constant(spec, expr),
        },
        IntExpr::Op(op, a, b) => op.apply(constant(spec, a)?, constant(spec, b)?),
    }
}
