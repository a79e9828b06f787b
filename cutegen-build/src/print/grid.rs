//! The grid of printed CUDA kernels: a launch per step, a thread per element of its loops, grid-stride. Knows loops and
//! launches; what an element's thread does is the caller's text.

use cutegen_spec::contract::{Arg, Step as LaunchStep, ones};
use cutegen_spec::int_expr::{IntExpr, IntOp};

use super::c::Places;
use crate::plan::schedule::{Schedule, Step};

/// Threads per block.
pub(super) const THREADS: i64 = 256;
/// Most blocks that are launched; threads stride over the rest.
const BLOCKS_MAX: i64 = 1 << 20;

/// A kernel's text.
pub(super) fn kernel(entry: &str, parameters: &str, body: &str) -> String {
    format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) {entry}(\n    {parameters}) {{\n{body}}}\n\n"
    )
}

/// A loop of `i` to `end`, shared among all threads.
pub(super) fn stride_loop(end: &str, inside: &str) -> String {
    format!(
        "  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < {end};\n\
         \x20      i += int64_t(gridDim.x) * blockDim.x) {{\n{inside}  }}\n"
    )
}

/// `statement` for each element of the step's loops, in a thread of its own.
pub(super) fn each_element(places: Places<'_>, step: &Step, statement: &str) -> String {
    let bounded = step.loops.iter().filter(|l| !l.is_whole());
    let guards: String = bounded
        .map(|l| {
            let (first, end) = places.bounds(l);
            format!("    if (v{0} < {first} || v{0} >= {end}) continue;\n", l.var)
        })
        .collect();
    let unravel = format!("    int64_t rest = i;\n{}", places.unravel(&step.loops, "    "));
    stride_loop("total", &format!("{unravel}{guards}{statement}"))
}

/// The points of the step's loops.
pub(super) fn points(schedule: &Schedule, step: &Step) -> IntExpr {
    let axes = step.loops.iter().map(|l| IntExpr::Axis(schedule.vars[l.var]));
    axes.reduce(|a, b| IntExpr::op(IntOp::Mul, a, b)).unwrap_or(IntExpr::Const(1))
}

/// A launch with a thread for each of `points`.
pub(super) fn launch(entry: String, points: IntExpr, args: Vec<Arg>) -> LaunchStep {
    let blocks = IntExpr::op(IntOp::CeilDiv, points, IntExpr::Const(THREADS));
    let one = || IntExpr::Const(1);
    LaunchStep {
        entry,
        grid: [IntExpr::op(IntOp::Min, blocks, IntExpr::Const(BLOCKS_MAX)), one(), one()],
        block: [IntExpr::Const(THREADS), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args,
        pdl: false,
        co_resident: false,
    }
}
