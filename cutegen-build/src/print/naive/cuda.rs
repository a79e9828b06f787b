//! The naive kernel for CUDA: a launch per step, a thread per element, grid-stride.

use cutegen_spec::contract::Contract;
use cutegen_spec::tensor::Role;

use super::{CUDA_PRELUDE, Naive, Printed};
use crate::plan::schedule::Step;
use crate::print::c::element;
use crate::print::{all_args, grid};

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
        source.push_str(&grid::kernel(&entry, &parameters, &body(naive, step)));
        let args = all_args(&naive.plan.spec, naive.plan.schedule.temps.len());
        steps.push(grid::launch(entry, grid::points(&naive.plan.schedule, step), args));
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
    head + &grid::each_element(naive.places(), step, &naive.element_statement(step, "    "))
}
