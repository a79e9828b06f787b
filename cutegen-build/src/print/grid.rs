//! The grid of printed CUDA kernels: a launch per step, a thread per point of loops, grid-stride. Knows loops and
//! launches; what a point's thread does is the caller's text.

use cutegen_spec::contract::{Arg, Step as LaunchStep, ones};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::Loop;

use super::c::Places;
use crate::plan::schedule::{Schedule, Step};

/// Threads of a block whose threads have an element each.
pub(super) const THREADS: i64 = 256;
/// Most blocks that are launched; threads stride over the rest.
const BLOCKS_MAX: i64 = 1 << 20;

/// A kernel's text, for blocks of so many threads.
pub(super) fn kernel((entry, threads): (&str, i64), parameters: &str, body: &str) -> String {
    format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) {entry}(\n    {parameters}) {{\n{body}}}\n\n"
    )
}

/// A loop of `i` to `end`, shared among all threads.
pub(super) fn stride_loop(end: &str, inside: &str) -> String {
    format!(
        "  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < {end};\n\
         \x20      i += int64_t(gridDim.x) * blockDim.x) {{\n{inside}  }}\n"
    )
}

/// `statement` for each of the `total` points of the loops, shared among all threads.
pub(super) fn each_point(places: Places<'_>, loops: &[Loop], statement: &str) -> String {
    let bounded = loops.iter().filter(|l| !l.is_whole());
    let guards: String = bounded
        .map(|l| {
            let (first, end) = places.bounds(l);
            format!("    if (v{0} < {first} || v{0} >= {end}) continue;\n", l.var)
        })
        .collect();
    let unravel = format!("    int64_t rest = i;\n{}", places.unravel(loops, "    "));
    stride_loop("total", &format!("{unravel}{guards}{statement}"))
}

/// The points of the step's loops.
pub(super) fn points(schedule: &Schedule, step: &Step) -> IntExpr {
    let axes = step.loops.iter().map(|l| IntExpr::Axis(schedule.vars[l.var]));
    axes.reduce(|a, b| IntExpr::op(IntOp::Mul, a, b)).unwrap_or(IntExpr::Const(1))
}

/// A launch with a thread for each of `points`, in blocks of so many.
pub(super) fn launch((entry, threads): (String, i64), points: IntExpr, args: Vec<Arg>) -> LaunchStep {
    let blocks = IntExpr::op(IntOp::CeilDiv, points, IntExpr::Const(threads));
    let one = || IntExpr::Const(1);
    LaunchStep {
        entry,
        grid: [IntExpr::op(IntOp::Min, blocks, IntExpr::Const(BLOCKS_MAX)), one(), one()],
        block: [IntExpr::Const(threads), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args,
        pdl: false,
        co_resident: false,
    }
}
