//! Reductions over all rows: each row publishes a value in the workspace, and one more launch folds them.

use cutegen_spec::arch::Feature;
use cutegen_spec::contract::{Arg, Initial, Step, WorkspacePart, ones};
use cutegen_spec::int_expr::{IntExpr, IntOp};

use super::layout::Layout;
use super::{Point, op};
use crate::generate::ENTRY;
use crate::generate::template::fill::fill;

const TEMPLATE: &str = include_str!("../rowwise_fold.cu.in");

/// Threads of the one block that folds.
const THREADS: i64 = 1024;

/// What a point's text gets for its folds: a parameter of every launch, and the last launch. Nothing where there are none.
pub(super) struct Text {
    pub(super) parameter: &'static str,
    pub(super) launch: String,
}

/// The text of `point`, which has its other launches and parts of the workspace already.
pub(super) fn text(layout: &Layout<'_>, point: &Point) -> Text {
    if layout.folds() == 0 {
        return Text { parameter: "", launch: String::new() };
    }
    // in front of the folds' own part
    let wait = if layout.has(Feature::Pdl) { "  after_the_last_kernel();\n" } else { "" };
    let parts = ", void*".repeat(point.contract.workspace.len());
    Text { parameter: ", float* fold", launch: fill(TEMPLATE, &[("PARTS", &parts), ("WAIT", wait)]) }
}

/// The point with the launch that folds.
pub(super) fn folded(layout: &Layout<'_>, mut point: Point) -> Point {
    if layout.folds() == 0 {
        return point;
    }
    let part = point.contract.workspace.len();
    point.contract.steps.iter_mut().for_each(|step| step.args.push(Arg::Workspace(part)));
    let one = || IntExpr::Const(1);
    let args = point.contract.steps.first().map(|step| step.args.clone()).unwrap_or_default();
    point.contract.steps.push(Step {
        entry: format!("{ENTRY}_fold"),
        grid: ones(),
        block: [IntExpr::Const(THREADS), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args,
        pdl: layout.has(Feature::Pdl),
        co_resident: false,
    });
    let bytes = op(IntOp::Mul, layout.count.clone(), 4 * layout.folds());
    point.contract.workspace.push(WorkspacePart { bytes, initial: Initial::Undefined });
    point.cost_features.tail_steps += 1;
    point
}
