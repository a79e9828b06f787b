//! The naive kernel for CUDA: a launch per step, a thread per element, grid-stride. Where all is reduced to one element,
//! one block does it: each thread its share, then a tree over them.

use cutegen_spec::contract::Contract;
use cutegen_spec::tensor::Role;

use super::{CUDA_PRELUDE, Fold, Naive, Printed};
use crate::plan::schedule::{Step, Value};
use crate::print::c::element;
use crate::print::{all_args, grid};

/// Threads of the block that reduces all to one element.
const THREADS_OF_A_TOTAL: i64 = 1024;

pub(super) fn print(naive: &Naive<'_>) -> Printed {
    let mut source = format!(
        "{}#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n\nusing acc = {};\n\n{CUDA_PRELUDE}\n",
        naive.header(),
        element(naive.acc())
    );
    let parameters = parameters(naive);
    let mut steps = Vec::new();
    for (number, step) in naive.plan.schedule.steps.iter().enumerate() {
        let entry = format!("@ENTRY@_{number}");
        let (threads, body) = match total(naive, step) {
            Some(body) => (THREADS_OF_A_TOTAL, body),
            None => (grid::THREADS, body(naive, step)),
        };
        source.push_str(&grid::kernel((&entry, threads), &parameters, &body));
        let args = all_args(&naive.plan.spec, naive.plan.schedule.temps.len());
        steps.push(grid::launch((entry, threads), grid::points(&naive.plan.schedule, step), args));
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
    let head = format!("  const int64_t total = {};\n", naive.places().total(&step.loops));
    if naive.is_packed(step) {
        let at = naive.packed_value(step, "  ");
        return head + &at + &grid::stride_loop("(total + 1) / 2", &naive.packed_store(step, "    "));
    }
    head + &grid::each_point(naive.places(), &step.loops, &naive.element_statement(step, "    "))
}

/// All threads of the one block share what is reduced to a single element. None for other steps, and for an index, of
/// which the first is wanted.
fn total(naive: &Naive<'_>, step: &Step) -> Option<String> {
    let Value::Reduce { op, over, body } = &step.value else { return None };
    let fold = Fold::new(*op, body, naive);
    let join = fold.join("parts[threadIdx.x + left]").filter(|_| step.loops.is_empty())?;
    let (places, ty) = (naive.places(), fold.ty());
    let at = over.first().map_or(0, |l| l.var);
    Some(format!(
        "  const int64_t total = {};\n  const auto share = [&] {{\n{}{}    return {};\n  }};\n  {ty} r = share();\n\
         \x20 __shared__ {ty} parts[{THREADS_OF_A_TOTAL}];\n  parts[threadIdx.x] = r;\n\
         \x20 for (unsigned left = {THREADS_OF_A_TOTAL} / 2; left > 0; left /= 2) {{\n    __syncthreads();\n\
         \x20   if (threadIdx.x >= left) continue;\n    {join}\n    parts[threadIdx.x] = r;\n  }}\n\
         \x20 if (threadIdx.x > 0) return;\n{}",
        places.total(over),
        fold.start("    "),
        grid::each_point(places, over, &fold.next("    ", at)),
        fold.result(),
        naive.store(step, "r", "  ")
    ))
}
