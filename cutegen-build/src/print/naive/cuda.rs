//! The naive kernel for CUDA: a launch per step, a thread per element, grid-stride.

use cutegen_spec::contract::{Contract, Step as LaunchStep, ones};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::Loop;
use cutegen_spec::tensor::Role;

use super::{Naive, Printed};
use crate::plan::schedule::Step;
use crate::print::all_args;
use crate::print::c::element;

const PRELUDE: &str = include_str!("../naive_cuda.cuh");

/// Threads per block.
const THREADS: i64 = 256;
/// Most blocks that are launched; threads stride over the rest.
const BLOCKS_MAX: i64 = 1 << 20;

pub(super) fn print(naive: &Naive<'_>) -> Printed {
    let mut source = format!(
        "{}#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n\nusing acc = {};\n\n{PRELUDE}\n",
        naive.header(),
        element(naive.acc)
    );
    let parameters = parameters(naive);
    let mut steps = Vec::new();
    for (number, step) in naive.plan.schedule.steps.iter().enumerate() {
        let entry = format!("@ENTRY@_{number}");
        source.push_str(&format!(
            "extern \"C\" __global__ void __launch_bounds__({THREADS}) {entry}(\n    {parameters}) {{\n{}}}\n\n",
            body(naive, step)
        ));
        steps.push(launch(naive, step, entry));
    }
    Printed { source, contract: Contract { workspace: naive.workspace(), steps } }
}

fn parameters(naive: &Naive<'_>) -> String {
    let spec = &naive.plan.spec;
    let tensors = spec.tensors.iter().enumerate().map(|(i, tensor)| {
        let constness = if tensor.role == Role::Input { "const " } else { "" };
        format!("{constness}{}* t{i}", naive.element(i))
    });
    let axes = (0..spec.axes.len()).map(|i| format!("int64_t a{i}"));
    let scalars = spec.scalars.iter().enumerate().map(|(i, s)| format!("{} s{i}", element(s.dtype)));
    let parts = naive.part_types().into_iter().enumerate().map(|(i, ty)| format!("{ty}* w{i}"));
    let all: Vec<String> = tensors.chain(axes).chain(scalars).chain(parts).collect();
    all.join(", ")
}

/// A grid-stride loop over the flattened index space of the step; packed elements go two to a thread.
fn body(naive: &Naive<'_>, step: &Step) -> String {
    let total = naive.total(step);
    let stride = |end: &str, inside: &str| {
        format!(
            "  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < {end};\n\
             \x20      i += int64_t(gridDim.x) * blockDim.x) {{\n{inside}  }}\n"
        )
    };
    let head = format!("  const int64_t total = {total};\n");
    if naive.is_packed(step) {
        let at = naive.packed_value(step, "  ");
        return head + &at + &stride("(total + 1) / 2", &naive.packed_store(step, "    "));
    }
    let guards: String = step.loops.iter().filter(|l| !l.is_whole()).map(|l| guard(naive, l)).collect();
    let unravel = format!("    int64_t rest = i;\n{}", naive.unravel(step, "    "));
    head + &stride("total", &format!("{unravel}{guards}{}", naive.element_statement(step, "    ")))
}

fn guard(naive: &Naive<'_>, l: &Loop) -> String {
    let (first, end) = naive.places().bounds(l);
    format!("    if (v{0} < {first} || v{0} >= {end}) continue;\n", l.var)
}

fn launch(naive: &Naive<'_>, step: &Step, entry: String) -> LaunchStep {
    let axes = step.loops.iter().map(|l| IntExpr::Axis(naive.plan.schedule.vars[l.var]));
    let total = axes.reduce(|a, b| IntExpr::op(IntOp::Mul, a, b)).unwrap_or(IntExpr::Const(1));
    let blocks = IntExpr::op(IntOp::CeilDiv, total, IntExpr::Const(THREADS));
    let one = || IntExpr::Const(1);
    LaunchStep {
        entry,
        grid: [IntExpr::op(IntOp::Min, blocks, IntExpr::Const(BLOCKS_MAX)), one(), one()],
        block: [IntExpr::Const(THREADS), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: all_args(&naive.plan.spec, naive.plan.schedule.temps.len()),
        pdl: false,
        co_resident: false,
    }
}
