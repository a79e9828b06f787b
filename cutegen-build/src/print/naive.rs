//! The naive kernel of a schedule: one pass per step, temporaries in the workspace, no idea beyond the math. It is
//! the first incumbent, the last variant of every entry, and needs no GPU to be made.

use std::fmt::Write as _;

use cutegen_spec::contract::{Contract, Initial, Step as LaunchStep, WorkspacePart, ones};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Place, ReduceOp};
use cutegen_spec::target::Target;
use cutegen_spec::tensor::Role;

use super::all_args;
use super::c::{self, Dialect, element, element_at, literal, unpack_params};
use crate::plan::Plan;
use crate::plan::schedule::{Step, Value};

const HOST_PRELUDE: &str = include_str!("naive_host.hpp");
const CUDA_PRELUDE: &str = include_str!("naive_cuda.cuh");

/// Threads per block of the CUDA form.
const THREADS: i64 = 256;
/// Most blocks that are launched; threads stride over the rest.
const BLOCKS_MAX: i64 = 1 << 20;

/// A printed kernel: source with `@ENTRY@` for its symbol, and its contract with the same placeholder.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// The source.
    pub source: String,
    /// How it is launched.
    pub contract: Contract,
}

/// Prints the naive kernel for the plan's target.
#[must_use]
pub fn print(plan: &Plan) -> Printed {
    match plan.target {
        Target::Host { .. } => host(plan),
        Target::Cuda { .. } => cuda(plan),
    }
}

struct Naive<'a>(&'a Plan);

impl Dialect for Naive<'_> {
    fn load(&self, place: Place, vars: &[usize]) -> String {
        let element = element_at(&self.0.spec, &self.0.schedule, place, vars);
        match place {
            Place::Tensor(_) => format!("cg_load({element})"),
            Place::Temp(_) => element,
        }
    }

    fn constant(&self, value: f64) -> String {
        format!("acc({})", literal(value))
    }

    fn integer(&self, text: &str) -> String {
        format!("acc({text})")
    }

    fn scalar(&self, position: usize) -> String {
        format!("acc(s{position})")
    }
}

fn header(plan: &Plan) -> String {
    format!(
        "// Naive kernel, printed from the math: one pass per step, temporaries in the workspace.\n\
         // Bound by memory traffic of the temporaries and by scalar arithmetic; it exists to be right.\n\
         //\n// {}\n",
        plan.spec.math.canonical().trim_end().replace('\n', "\n// ")
    )
}

fn workspace(plan: &Plan) -> Vec<WorkspacePart> {
    let bytes = plan.spec.precision.accumulate.bytes() as i64;
    let part = |temp: &crate::plan::schedule::Temp| WorkspacePart {
        bytes: temp
            .axes
            .iter()
            .fold(IntExpr::Const(bytes), |n, a| IntExpr::op(IntOp::Mul, n, IntExpr::Axis(*a))),
        initial: Initial::Undefined,
    };
    plan.schedule.temps.iter().map(part).collect()
}

/// The statement that computes one element of a step, its loop variables being in scope.
fn element_statement(plan: &Plan, step: &Step, indent: &str) -> String {
    let dialect = Naive(plan);
    let dst = element_at(&plan.spec, &plan.schedule, step.dst, &step.vars);
    let store = |value: &str| match step.dst {
        Place::Tensor(_) => format!("{indent}cg_store({dst}, {value});\n"),
        Place::Temp(_) => format!("{indent}{dst} = {value};\n"),
    };
    match &step.value {
        Value::Map(value) => store(&c::expr(value, &dialect)),
        Value::Reduce { op, over, body } => {
            let (start, next) = match op {
                ReduceOp::Sum => ("acc(0)", "r + e"),
                ReduceOp::Max => ("-acc(cg_inf())", "cg_max(r, e)"),
                ReduceOp::Min => ("acc(cg_inf())", "cg_min(r, e)"),
            };
            let extent = plan.schedule.vars[*over];
            let body = c::expr(body, &dialect);
            format!(
                "{indent}acc r = {start};\n\
                 {indent}for (int64_t v{over} = 0; v{over} < a{extent}; ++v{over}) {{\n\
                 {indent}  const acc e = {body};\n\
                 {indent}  r = {next};\n{indent}}}\n{}",
                store("r")
            )
        }
    }
}

fn host(plan: &Plan) -> Printed {
    let mut source = header(plan);
    let acc = element(plan.spec.precision.accumulate);
    let _ = write!(
        source,
        "#include <cmath>\n#include <cstdint>\n#include <cstring>\n\nusing acc = {acc};\n\n{HOST_PRELUDE}\n"
    );
    let parts = plan.schedule.temps.len();
    let _ = write!(
        source,
        "extern \"C\" __attribute__((visibility(\"default\"), externally_visible)) void @ENTRY@(void** params) {{\n{}\n",
        unpack_params(&plan.spec, parts, "acc")
    );
    for step in &plan.schedule.steps {
        let mut indent = "  ".to_owned();
        for var in &step.vars {
            let axis = plan.schedule.vars[*var];
            let _ = writeln!(source, "{indent}for (int64_t v{var} = 0; v{var} < a{axis}; ++v{var}) {{");
            indent.push_str("  ");
        }
        let _ = write!(
            source,
            "{indent}{{\n{}{indent}}}\n",
            element_statement(plan, step, &format!("{indent}  "))
        );
        for _ in &step.vars {
            indent.truncate(indent.len() - 2);
            let _ = writeln!(source, "{indent}}}");
        }
    }
    source.push_str("}\n");
    let step = LaunchStep {
        entry: "@ENTRY@".to_owned(),
        grid: ones(),
        block: ones(),
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: all_args(&plan.spec, parts),
        pdl: false,
        co_resident: false,
    };
    Printed { source, contract: Contract { workspace: workspace(plan), steps: vec![step] } }
}

fn cuda(plan: &Plan) -> Printed {
    let mut source = header(plan);
    let acc = element(plan.spec.precision.accumulate);
    let _ = write!(
        source,
        "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n\nusing acc = {acc};\n\n{CUDA_PRELUDE}\n"
    );
    let parameters = cuda_parameters(plan);
    let mut steps = Vec::new();
    for (number, step) in plan.schedule.steps.iter().enumerate() {
        let entry = format!("@ENTRY@_{number}");
        let _ = write!(
            source,
            "extern \"C\" __global__ void __launch_bounds__({THREADS}) {entry}(\n    {parameters}) {{\n{}}}\n\n",
            cuda_body(plan, step)
        );
        steps.push(cuda_step(plan, step, entry));
    }
    Printed { source, contract: Contract { workspace: workspace(plan), steps } }
}

fn cuda_parameters(plan: &Plan) -> String {
    let spec = &plan.spec;
    let tensors = spec.tensors.iter().enumerate().map(|(i, tensor)| {
        let constness = if tensor.role == Role::Input { "const " } else { "" };
        format!("{constness}{}* t{i}", element(tensor.dtype))
    });
    let axes = (0..spec.axes.len()).map(|i| format!("int64_t a{i}"));
    let scalars = spec.scalars.iter().enumerate().map(|(i, s)| format!("{} s{i}", element(s.dtype)));
    let parts = (0..plan.schedule.temps.len()).map(|i| format!("acc* w{i}"));
    let all: Vec<String> = tensors.chain(axes).chain(scalars).chain(parts).collect();
    all.join(", ")
}

/// A grid-stride loop over the flattened index space of the step.
fn cuda_body(plan: &Plan, step: &Step) -> String {
    let axes: Vec<usize> = step.vars.iter().map(|v| plan.schedule.vars[*v]).collect();
    let total = axes.iter().fold("int64_t(1)".to_owned(), |text, a| format!("{text} * a{a}"));
    let mut body = format!(
        "  const int64_t total = {total};\n\
         \x20 for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;\n\
         \x20      i += int64_t(gridDim.x) * blockDim.x) {{\n    int64_t rest = i;\n"
    );
    for (var, axis) in step.vars.iter().zip(&axes).rev() {
        let _ = write!(body, "    const int64_t v{var} = rest % a{axis};\n    rest /= a{axis};\n");
    }
    let _ = writeln!(body, "{}  }}", element_statement(plan, step, "    "));
    body
}

fn cuda_step(plan: &Plan, step: &Step, entry: String) -> LaunchStep {
    let total = step
        .vars
        .iter()
        .map(|v| IntExpr::Axis(plan.schedule.vars[*v]))
        .reduce(|a, b| IntExpr::op(IntOp::Mul, a, b))
        .unwrap_or(IntExpr::Const(1));
    let blocks = IntExpr::op(IntOp::CeilDiv, total, IntExpr::Const(THREADS));
    let one = || IntExpr::Const(1);
    LaunchStep {
        entry,
        grid: [IntExpr::op(IntOp::Min, blocks, IntExpr::Const(BLOCKS_MAX)), one(), one()],
        block: [IntExpr::Const(THREADS), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: all_args(&plan.spec, plan.schedule.temps.len()),
        pdl: false,
        co_resident: false,
    }
}
