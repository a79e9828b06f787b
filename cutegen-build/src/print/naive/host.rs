//! The naive kernel for `host`: plain loops in one C++ function.

use cutegen_spec::contract::{Contract, Step as LaunchStep, ones};
use cutegen_spec::int_expr::IntExpr;

use super::{HOST_PRELUDE, Naive, Printed};
use crate::plan::schedule::Step;
use crate::print::all_args;
use crate::print::c::{element, unpack_params};

pub(super) fn print(naive: &Naive<'_>) -> Printed {
    let plan = naive.plan;
    let parts = naive.part_types();
    let body: String = plan.schedule.steps.iter().map(|step| loops(naive, step)).collect();
    let source = format!(
        "{}#include <cmath>\n#include <cstdint>\n#include <cstring>\n\nusing acc = {};\n\n{HOST_PRELUDE}\n\
         extern \"C\" __attribute__((visibility(\"default\"), externally_visible)) void @ENTRY@(void** params) {{\n\
         {}\n{body}}}\n",
        naive.header(),
        element(naive.acc()),
        unpack_params(&plan.spec, &parts),
    );
    let step = LaunchStep {
        entry: "@ENTRY@".to_owned(),
        grid: ones(),
        block: ones(),
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: all_args(&plan.spec, parts.len()),
        pdl: false,
        co_resident: false,
    };
    Printed { source, contract: Contract { workspace: naive.workspace(), steps: vec![step] } }
}

fn loops(naive: &Naive<'_>, step: &Step) -> String {
    if naive.is_packed(step) {
        return format!(
            "  {{\n    const int64_t total = {};\n{}    for (int64_t i = 0; i < (total + 1) / 2; ++i) {{\n{}    }}\n  }}\n",
            naive.places().total(&step.loops),
            naive.packed_value(step, "    "),
            naive.packed_store(step, "      ")
        );
    }
    let mut text = String::new();
    let mut indent = "  ".to_owned();
    for l in &step.loops {
        text.push_str(&format!("{indent}{} {{\n", naive.places().for_loop(l)));
        indent.push_str("  ");
    }
    text.push_str(&format!(
        "{indent}{{\n{}{indent}}}\n",
        naive.element_statement(step, &format!("{indent}  "))
    ));
    for _ in &step.loops {
        indent.truncate(indent.len() - 2);
        text.push_str(&format!("{indent}}}\n"));
    }
    text
}
