//! [`Layout`]: how rows lie in memory, and what must hold of extents and addresses for vectors of a width.

use std::collections::BTreeSet;

use cutegen_spec::arch::Feature;
use cutegen_spec::axis::largest;
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::Condition;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::Index;

use super::{SMEM_ASIDE, op};
use crate::plan::Plan;
use crate::plan::device_model::DeviceModel;
use crate::plan::family::{Access, MemoryOrder, Rows, constant};

/// The rows of a plan, as a template's space needs them.
pub(super) struct Layout<'a> {
    plan: &'a Plan,
    rows: &'a Rows,
    /// Number of rows.
    pub(super) count: IntExpr,
    /// Elements of a row.
    pub(super) columns: IntExpr,
    /// The shortest and the longest row of the domain.
    pub(super) range: (i64, i64),
}

impl<'a> Layout<'a> {
    pub(super) fn of(plan: &'a Plan, rows: &'a Rows) -> Self {
        let product = |vars: &[usize]| {
            let axes = vars.iter().map(|v| IntExpr::Axis(plan.schedule.vars[*v]));
            axes.reduce(|a, b| IntExpr::op(IntOp::Mul, a, b)).unwrap_or(IntExpr::Const(1))
        };
        let (count, columns) = (product(&rows.rows), product(&rows.cols));
        let most = largest(&plan.spec.axes).and_then(|axes| columns.eval_axes(&axes)).unwrap_or(i64::MAX);
        let least = constant(&plan.spec, &columns).unwrap_or(1);
        Layout { plan, rows, count, columns, range: (least, most) }
    }

    /// The length of every row, if there is but one.
    pub(super) fn length(&self) -> Option<i64> {
        constant(&self.plan.spec, &self.columns)
    }

    /// Whether every row is nothing but whole chunks of so many elements for each of `blocks`.
    pub(super) fn is_chunks(&self, chunk: i64, blocks: i64) -> bool {
        self.length().is_some_and(|length| length % (chunk * blocks) == 0)
    }

    /// Whether kernels of the plan may use this.
    pub(super) fn has(&self, feature: Feature) -> bool {
        self.plan.target.has(feature)
    }

    /// Multiprocessors that a row's blocks may be resident on at once.
    pub(super) fn multiprocessors(&self) -> i64 {
        DeviceModel::ranking(&self.plan.target).limits.multiprocessors
    }

    /// Whether a producer may fill a ring and hand over its registers.
    pub(super) fn has_rings(&self) -> bool {
        self.has(Feature::Bulk) && self.has(Feature::Setmaxnreg)
    }

    /// Bytes of shared memory that a block may ask for.
    pub(super) fn smem(&self) -> i64 {
        i64::from(self.plan.target.shared_memory_max())
    }

    /// Bytes of them that rows may take.
    pub(super) fn smem_for_rows(&self) -> i64 {
        self.smem() - SMEM_ASIDE
    }

    fn dtype(&self, access: &Access) -> DType {
        self.plan.spec.tensors[access.tensor].dtype
    }

    fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.rows.streams.iter().chain(self.rows.sinks.iter().map(|(access, _)| access))
    }

    /// Bytes of the widest element along a row.
    pub(super) fn widest(&self) -> i64 {
        self.accesses().map(|a| self.dtype(a).bytes() as i64).max().unwrap_or(4)
    }

    /// Bytes of each stream that belongs to the row, an element.
    pub(super) fn kept(&self) -> Vec<i64> {
        let own = self.rows.streams.iter().filter(|s| self.rows.is_of_the_row(s));
        own.map(|s| self.dtype(s).bytes() as i64).collect()
    }

    /// Bytes that are written along the row, an element.
    pub(super) fn written(&self) -> i64 {
        self.rows.sinks.iter().map(|(access, _)| self.dtype(access).bytes() as i64).sum()
    }

    /// Bytes of an element of each stream that is the same for all rows, whatever uses it: sinks, reductions, or both.
    pub(super) fn weights(&self) -> Vec<i64> {
        self.shared(|_| true)
    }

    /// The same of those that sinks use.
    pub(super) fn weights_of_sinks(&self) -> Vec<i64> {
        self.shared(|stream| self.rows.uses(self.rows.levels(), stream))
    }

    /// The same of those that reductions use.
    pub(super) fn weights_of_reductions(&self) -> Vec<i64> {
        self.shared(|stream| (0..self.rows.levels()).any(|level| self.rows.uses(level, stream)))
    }

    fn shared(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<i64> {
        let shared = self.rows.streams.iter().enumerate().filter(|(_, s)| !self.rows.is_of_the_row(s));
        shared.filter(|(s, _)| is_wanted(*s)).map(|(_, access)| self.dtype(access).bytes() as i64).collect()
    }

    /// Whether some stream is the same for all rows.
    pub(super) fn has_weights(&self) -> bool {
        !self.weights().is_empty()
    }

    /// Whether anything is written along a row.
    pub(super) fn has_sinks(&self) -> bool {
        !self.rows.sinks.is_empty()
    }

    /// Levels of reductions.
    pub(super) fn levels(&self) -> usize {
        self.rows.levels()
    }

    /// Whether parts of a row do the second level by themselves.
    pub(super) fn merges(&self) -> bool {
        self.rows.merges().is_some()
    }

    /// How often the parts of a row meet.
    pub(super) fn passes(&self) -> usize {
        if self.merges() { 1 } else { self.levels() }
    }

    /// Extents around which shapes are chosen, by axis: of `columns` a block has at a time, and `side` rows.
    pub(super) fn tiles(&self, columns: i64, side: Option<i64>) -> Vec<(usize, i64)> {
        let axis = |var: &usize| self.plan.schedule.vars[*var];
        let along = match self.rows.cols.as_slice() {
            [col] => Some((axis(col), columns)),
            _ => None,
        };
        let across = side.and_then(|side| Some((axis(self.rows.rows.last()?), side)));
        along.into_iter().chain(across).collect()
    }

    /// Reductions over all rows.
    pub(super) fn folds(&self) -> i64 {
        self.rows.folds.len() as i64
    }

    /// Reductions of a row.
    pub(super) fn statistics(&self) -> i64 {
        self.rows.reductions.len() as i64
    }

    /// What must hold for vectors of `vec` elements, and for copies of whole 16 bytes where `bulk`; `None` when it never
    /// does.
    pub(super) fn vectors(&self, vec: i64, bulk: bool) -> Option<Vec<Condition>> {
        if vec == 1 && !bulk {
            return Some(Vec::new());
        }
        let mut divided: BTreeSet<(i64, IntExpr)> = BTreeSet::new();
        for access in self.accesses() {
            let whole = 16 / self.dtype(access).bytes() as i64;
            let by = if bulk { vec.max(whole) } else { vec };
            divided.insert((by, self.line(access)));
            divided.extend(self.steps(access)?.into_iter().map(|step| (by, step)));
        }
        let mut conditions = Vec::new();
        for (by, expr) in divided {
            match constant(&self.plan.spec, &expr) {
                Some(value) if value % by == 0 => {}
                Some(_) => return None,
                None => conditions.push(Condition::Divides { expr, by }),
            }
        }
        let tensors: BTreeSet<usize> = self.accesses().map(|a| a.tensor).collect();
        conditions.extend(tensors.into_iter().map(|tensor| Condition::Aligned { tensor, bytes: 16 }));
        Some(conditions)
    }

    /// Elements that an access follows without gaps.
    fn line(&self, access: &Access) -> IntExpr {
        let inner = self.inner();
        let axes =
            inner[inner.len() - access.run..].iter().map(|v| IntExpr::Axis(self.plan.schedule.vars[*v]));
        axes.reduce(|a, b| IntExpr::op(IntOp::Mul, a, b)).unwrap_or(IntExpr::Const(1))
    }

    /// The variables that follow memory.
    fn inner(&self) -> &[usize] {
        match self.rows.memory_order {
            MemoryOrder::Along => &self.rows.cols,
            MemoryOrder::Across => &self.rows.rows,
            MemoryOrder::Apart => &[],
        }
    }

    /// Whether every row is one stretch of memory, as bulk copies want it.
    pub(super) fn is_whole(&self) -> bool {
        self.rows.memory_order == MemoryOrder::Along
            && self.accesses().all(|access| access.run == self.rows.cols.len())
    }

    /// Which loop variables follow memory.
    pub(super) fn memory_order(&self) -> MemoryOrder {
        self.rows.memory_order
    }

    /// Element counts whose multiples are all the places at which lines of `access` start.
    fn steps(&self, access: &Access) -> Option<Vec<IntExpr>> {
        let tensor = &self.plan.spec.tensors[access.tensor];
        let first = access.index.len() - access.run;
        let stride = |d: usize| match &tensor.strides {
            Some(strides) => strides[d].clone(),
            None => product(&tensor.dims[d + 1..]),
        };
        let mut steps = Vec::new();
        for (d, index) in access.index.iter().enumerate().take(first) {
            if *index != Index::Const(0) {
                steps.push(stride(d));
            }
        }
        if let Some(Index::Op(IntOp::Add, a, b)) = access.index.get(first) {
            let offset = if self.inner().contains(&a.as_var().unwrap_or(usize::MAX)) { b } else { a };
            let mut terms = Vec::new();
            self.terms(offset, &mut terms)?;
            steps.extend(terms.into_iter().map(|term| IntExpr::op(IntOp::Mul, term, stride(first))));
        }
        Some(steps)
    }

    /// Element counts whose multiples sum up to `index`.
    fn terms(&self, index: &Index, out: &mut Vec<IntExpr>) -> Option<()> {
        match index {
            Index::Const(value) => out.push(IntExpr::Const(*value)),
            Index::Extent(axis) => out.push(IntExpr::Axis(*axis)),
            Index::Op(IntOp::Add, a, b) => {
                self.terms(a, out)?;
                self.terms(b, out)?;
            }
            Index::Op(IntOp::Mul, a, b) => match (a.as_ref(), b.as_ref()) {
                (_, Index::Const(by)) | (Index::Const(by), _) => out.push(IntExpr::Const(*by)),
                (_, Index::Extent(by)) | (Index::Extent(by), _) => out.push(IntExpr::Axis(*by)),
                _ => return None,
            },
            Index::Var(_) | Index::Read(..) => out.push(IntExpr::Const(1)),
            Index::Op(..) => return None,
        }
        Some(())
    }

    /// Columns of a block where `cluster` share a row, at most.
    pub(super) fn slice(&self, cluster: i64, unit: i64) -> IntExpr {
        op(IntOp::Mul, op(IntOp::CeilDiv, self.columns.clone(), cluster * unit), unit)
    }

    /// `expr <= bound`, unless that is known; `None` when it never holds.
    pub(super) fn at_most(&self, expr: IntExpr, bound: i64) -> Option<Vec<Condition>> {
        match constant(&self.plan.spec, &expr) {
            Some(value) if value <= bound => Some(Vec::new()),
            Some(_) => None,
            None => {
                let largest = largest(&self.plan.spec.axes).and_then(|axes| expr.eval_axes(&axes));
                let always = largest.is_some_and(|value| value <= bound);
                Some(if always { Vec::new() } else { vec![Condition::AtMost { expr, bound }] })
            }
        }
    }
}

fn product(dims: &[IntExpr]) -> IntExpr {
    dims.iter().cloned().reduce(|a, b| IntExpr::op(IntOp::Mul, a, b)).unwrap_or(IntExpr::Const(1))
}
