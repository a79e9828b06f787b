//! Sums of products that a device makes on its f64 tensor cores where a contraction is large: which steps those are, and
//! their kernels. Each is followed by one that makes some of its elements again, one term after another.

use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Binary, Expr, Kind, Loop, Place, ReduceOp};
use cutegen_spec::spec::Multiply;

use super::running::Running;
use crate::plan::schedule::{Step, Value};
use crate::plan::sums::is_product;
use crate::print::c;
use crate::print::grid;

/// What kernels of [`Products`] start with.
const PRODUCTS: &str = include_str!("products.cuh");

/// A block's threads and elements; `products.cuh` divides the one among the other.
pub(super) const THREADS: i64 = 128;
const ROWS: i64 = 64;
const COLUMNS: i64 = 32;

/// Elements of a step that are made again: each place of a tile twice, see `products.cuh`.
pub(super) const AGAIN: i64 = 2 * ROWS * COLUMNS;

/// What stands once before all kernels of [`Products`].
pub(super) fn prelude() -> String {
    format!("static constexpr int ROWS = {ROWS}, COLUMNS = {COLUMNS}, AGAIN = {AGAIN};\n{PRODUCTS}")
}

/// A step whose every element is a sum of products `left * right`, of which `left` knows no column and `right` no row.
pub(super) struct Products<'a> {
    step: &'a Step,
    temp: usize,
    left: &'a Expr,
    right: &'a Expr,
    batches: Vec<Loop>,
    rows: Vec<Loop>,
    columns: Vec<Loop>,
    depth: &'a [Loop],
}

impl<'a> Products<'a> {
    /// What `step` is, if it is one; `None` also for what the bound treats term by term: factors brought to TF32, and
    /// products that tensor cores form of 8-bit floats. Factors that are computed may repeat where no input does, and
    /// vanish where none is 0: only products of elements are taken.
    pub(super) fn of(running: &Running<'_>, step: &'a Step) -> Option<Self> {
        let (Place::Temp(temp), Value::Reduce { op: ReduceOp::Sum, over, body }) = (step.dst, &step.value)
        else {
            return None;
        };
        let Expr::Binary(Binary::Mul, left, right) = body else { return None };
        let by_term = running.plan.spec.precision.multiply == Multiply::Tf32
            || running.is_for_tensor_cores_of_8_bits(body)
            || c::value(body, running).1 != Kind::Real;
        let is_computed = !is_product(left) || !is_product(right);
        if by_term || is_computed || !step.loops.iter().chain(over).all(Loop::is_whole) {
            return None;
        }
        let (of_left, of_right) = (left.free_vars(), right.free_vars());
        let loops = |chosen: &dyn Fn(bool, bool) -> bool| -> Vec<Loop> {
            let is = |l: &&Loop| chosen(of_left.contains(&l.var), of_right.contains(&l.var));
            step.loops.iter().filter(is).cloned().collect()
        };
        let found = Products {
            step,
            temp,
            left,
            right,
            batches: loops(&|left, right| left == right),
            rows: loops(&|left, right| left && !right),
            columns: loops(&|left, right| right && !left),
            depth: over,
        };
        (!found.rows.is_empty() && !found.columns.is_empty()).then_some(found)
    }

    /// Threads of a launch with a block for each tile of elements.
    pub(super) fn threads(&self, vars: &[usize]) -> IntExpr {
        let extent = |loops: &[Loop]| {
            let axes = loops.iter().map(|l| IntExpr::Axis(vars[l.var]));
            axes.fold(IntExpr::Const(1), |a, b| IntExpr::op(IntOp::Mul, a, b))
        };
        let tiles = |loops, each| IntExpr::op(IntOp::CeilDiv, extent(loops), IntExpr::Const(each));
        let all = [tiles(&self.rows, ROWS), tiles(&self.columns, COLUMNS), IntExpr::Const(THREADS)];
        all.into_iter().fold(extent(&self.batches), |a, b| IntExpr::op(IntOp::Mul, a, b))
    }

    /// The products that are summed.
    pub(super) fn terms(&self, vars: &[usize]) -> IntExpr {
        let axes = self.step.loops.iter().chain(self.depth).map(|l| IntExpr::Axis(vars[l.var]));
        axes.fold(IntExpr::Const(1), |a, b| IntExpr::op(IntOp::Mul, a, b))
    }

    /// What the kernel that makes them does.
    pub(super) fn body(&self, running: &Running<'_>) -> String {
        let factor = |line: &str, of: &[Loop], value: &Expr| {
            format!(
                "  const auto {line}_factor = [&](int64_t batch, int64_t {line}, int64_t k) {{\n{}{}{}    return {};\n  }};\n",
                variables(running, "batch", &self.batches),
                variables(running, line, of),
                variables(running, "k", self.depth),
                c::real(value, running),
            )
        };
        format!(
            "  const double sum_scale = *scale;\n{}{}  sums_of_products({}, row_factor, column_factor,\n    \
             [&](int64_t batch, int64_t row, int64_t column, const LongSum& s) {{\n{}{}{}{}  }});\n",
            factor("row", &self.rows, self.left),
            factor("column", &self.columns, self.right),
            self.extents(running),
            variables(running, "batch", &self.batches),
            variables(running, "row", &self.rows),
            variables(running, "column", &self.columns),
            running.store(self.step, "s.usual(sum_scale)"),
        )
    }

    /// What the kernel after it does: `crossed` is no longer 0 where an element differs.
    pub(super) fn again(&self, running: &Running<'_>) -> String {
        let held = running.places().element(self.step.dst, &self.step.index);
        let again = running.held_as(self.temp, "s.usual(sum_scale)");
        let each = format!(
            "    const Place at = crossing(i, size);\n    int64_t batch = at.batch, row = at.row, column = at.column;\n\
             {}{}{}{}    if (differ({held}, {again}, s)) *crossed = 1;\n",
            variables(running, "batch", &self.batches),
            variables(running, "row", &self.rows),
            variables(running, "column", &self.columns),
            running.summed(&self.step.value),
        );
        format!(
            "  const double sum_scale = *scale;\n  const Extents size = {};\n{}",
            self.extents(running),
            grid::stride_loop("(size.is_empty() ? 0 : AGAIN)", &each)
        )
    }

    fn extents(&self, running: &Running<'_>) -> String {
        let total = |loops: &[Loop]| running.places().total(loops);
        let [batches, rows, columns] = [&self.batches, &self.rows, &self.columns].map(|loops| total(loops));
        format!("Extents{{{batches}, {rows}, {columns}, {}}}", total(self.depth))
    }
}

/// The loops' variables from their place `from`.
fn variables(running: &Running<'_>, from: &str, loops: &[Loop]) -> String {
    match loops {
        [] => String::new(),
        [one] => format!("    const int64_t v{} = {from};\n", one.var),
        several => running.places().unravel_of(from, several, "    "),
    }
}
