//! The reference for the host: one function over all steps, which the judge loads.

use std::fmt::Write as _;

use cutegen_spec::math::{Expr, Loop, Place};
use cutegen_spec::tensor::Role;

use super::running::{Running, Side, held, indexing};
use super::sampled::Sampled;
use super::{ENTRY, PRELUDE, definitions};
use crate::plan::Plan;
use crate::plan::sample::Sample;
use crate::plan::schedule::{Step, Value};
use crate::print::c::{Places, element};

/// How the judge is told of further right values.
const ALSO: &str = "using Also = void (*)(void*, int64_t, double);";

/// How the elements of a step are computed side by side.
const THREADS: &str = include_str!("threads.hpp");

/// The source of the reference.
#[must_use]
pub fn print(plan: &Plan) -> String {
    let mut source = format!(
        "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <vector>\n\n{}{PRELUDE}\n\
         {ALSO}\n{THREADS}\nextern \"C\" void {ENTRY}(void** params) {{\n{}",
        definitions(plan),
        unpack(plan)
    );
    let running = Running { plan, side: Side::Host };
    source.push_str(&widened(plan, running.places()));
    for (i, temp) in plan.schedule.temps.iter().enumerate() {
        let size = temp.axes.iter().fold("size_t(1)".to_owned(), |text, a| format!("{text} * size_t(a{a})"));
        let ty = held(temp.kind);
        let _ =
            writeln!(source, "  std::vector<{ty}> temp{i}({size});\n  {ty}* const w{i} = temp{i}.data();");
        if indexing(plan, i).is_some() {
            let _ = writeln!(source, "  std::vector<std::vector<int64_t>> also{i}({size});");
        }
    }
    let sample = Sample::of(&plan.spec, &plan.schedule);
    for step in plan.schedule.steps.iter().enumerate() {
        source.push_str(&step_loops(&running, step.1, Sampled::of(running, sample.as_ref(), step).as_ref()));
    }
    source.push_str("}\n");
    source
}

/// Copies of the tensors whose elements reductions read many times, converted once: `x0` for `t0`.
fn widened(plan: &Plan, places: Places<'_>) -> String {
    let read_often = (0..plan.spec.tensors.len()).filter(|t| is_widened(plan, *t));
    let copy = |t| {
        format!(
            "  std::vector<Exact> wide{t}(size_t({}));\n  \
             for (size_t i = 0; i < wide{t}.size(); ++i) wide{t}[i] = cg_load(t{t}[i]);\n  \
             const Exact* const x{t} = wide{t}.data();\n",
            places.span(t)
        )
    };
    read_often.map(copy).collect()
}

/// Whether a reduction reads a short float of this tensor once for each value of a variable that it doesn't name.
pub(super) fn is_widened(plan: &Plan, tensor: usize) -> bool {
    let declared = &plan.spec.tensors[tensor];
    if !declared.dtype.is_float() || declared.dtype.bits() > 16 || declared.role != Role::Input {
        return false;
    }
    plan.schedule.steps.iter().any(|step| {
        let Value::Reduce { over, body, .. } = &step.value else { return false };
        let loops = step.loops.len() + over.len();
        let mut found = false;
        body.visit(&mut |e| {
            if let Expr::Load(Place::Tensor(t), index) = e {
                let mut vars = Vec::new();
                index.iter().for_each(|i| i.vars(&mut vars));
                found |= *t == tensor && vars.len() < loops;
            }
        });
        found
    })
}

fn unpack(plan: &Plan) -> String {
    let spec = &plan.spec;
    let mut text = String::new();
    let mut next = 0;
    let mut line = |ty: &str, name: &str| {
        let _ = writeln!(text, "  {ty} const {name} = *reinterpret_cast<{ty} const*>(params[{next}]);");
        next += 1;
    };
    for (i, tensor) in spec.tensors.iter().enumerate().filter(|(_, t)| t.role != Role::Output) {
        line(&format!("const {}*", element(tensor.dtype)), &format!("t{i}"));
    }
    for i in 0..spec.axes.len() {
        line("int64_t", &format!("a{i}"));
    }
    for (i, scalar) in spec.scalars.iter().enumerate() {
        line(element(scalar.dtype), &format!("s{i}"));
    }
    for (i, _) in spec.tensors.iter().enumerate().filter(|(_, t)| t.role != Role::Input) {
        line("double*", &format!("value{i}"));
        line("double*", &format!("bound{i}"));
        line("Also", &format!("others{i}"));
        line("void*", &format!("context{i}"));
    }
    line("double", "sum_scale");
    line("double", "sampled");
    text.push_str("  const Sample sample(sampled);\n");
    text
}

/// A step's loops. Its elements don't depend on each other, so the leading whole loops are one range that is shared
/// among threads, but where alternatives are handed to the judge.
fn step_loops(running: &Running<'_>, step: &Step, sampled: Option<&Sampled<'_>>) -> String {
    let plan = running.plan;
    let places = running.places();
    let shared = step.loops.iter().take_while(|l| l.is_whole()).count();
    let shared = if running.hands_over(step) { 0 } else { shared };
    let (flat, rest) = step.loops.split_at(shared);
    let heads: String = rest.iter().map(|l| format!("  {} {{\n", places.for_loop(l))).collect();
    let body = format!("{heads}    {{\n{}    }}\n{}", running.statement(step), "  }\n".repeat(rest.len()));
    if flat.is_empty() {
        return body;
    }
    let extent = |l: &Loop| format!("a{}", plan.schedule.vars[l.var]);
    let inner =
        rest.iter().map(extent).chain(over(step).into_iter().map(|v| format!("a{}", plan.schedule.vars[v])));
    let inner = inner.fold("1.0".to_owned(), |text, a| format!("{text} * double({a})"));
    let (total, unravel) = (places.total(flat), places.unravel(flat, "    "));
    let shared = |total: &str, i: &str, head: &str| {
        format!("  shared_among_threads({total}, {inner}, [&](int64_t {i}) {{\n{head}{body}  }});\n")
    };
    match sampled {
        None => shared(&total, "rest", &unravel),
        Some(sampled) if sampled.is_marked() => shared(&total, "rest", &(unravel + &sampled.mark("return"))),
        Some(sampled) => shared(&sampled.points(&total), "i", &(sampled.point(&total, "return") + &unravel)),
    }
}

/// The variables that a step's value runs over.
fn over(step: &Step) -> Vec<usize> {
    match &step.value {
        Value::Map(_) => Vec::new(),
        Value::Reduce { over, .. } => over.iter().map(|l| l.var).collect(),
        Value::Scan { over, .. } => vec![*over],
    }
}
