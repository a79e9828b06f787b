//! The f64 reference of a schedule as C++, with the running error bound of every element.
//!
//! Every node carries a value and the error that an honest kernel at the spec's precision may have there (Higham,
//! *Accuracy and Stability of Numerical Algorithms*, section 3.3, running error analysis). The rules per operation
//! are in `reference.hpp`; this module only prints the schedule over them.
//!
//! The entry is `cutegen_reference(void** params)`: inputs, axes and scalars as a kernel takes them, then for each
//! output `double* value, double* bound`, then `const double* sum_scale`: 1, or 0 for inputs whose sums are exact.

use std::fmt::Write as _;

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Place, ReduceOp};
use cutegen_spec::tensor::Role;

use super::c::{self, Dialect, element, element_at, literal};
use crate::plan::Plan;
use crate::plan::schedule::{Step, Value};

/// What every reference starts with, after the definitions of the spec's precision.
pub const PRELUDE: &str = concat!(
    // until the printer defines them
    "static const double ACC_MAX = sizeof(scalar_t) == 4 ? __FLT_MAX__ : __DBL_MAX__;\n",
    "static const bool FAST_MATH = false;\n",
    include_str!("reference.hpp"),
    include_str!("reference/elements.hpp"),
    include_str!("reference/integers.hpp"),
    include_str!("reference/functions.hpp"),
    include_str!("reference/steps.hpp"),
    include_str!("reference/reductions.hpp"),
);

/// The reference's symbol.
pub const ENTRY: &str = "cutegen_reference";

/// The source of the reference.
#[must_use]
pub fn print(plan: &Plan) -> String {
    let acc = plan.spec.precision.accumulate;
    let real = if acc == DType::F64 { "long double" } else { "double" };
    let mut source = format!(
        "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <vector>\n\n\
         using real = {real};\nusing scalar_t = {};\nstatic const double U_ACC = {:?}, ETA_ACC = {:?};\n\n{PRELUDE}\n",
        element(acc),
        acc.unit_roundoff(),
        acc.underflow(),
    );
    let _ = write!(source, "extern \"C\" void {ENTRY}(void** params) {{\n{}", unpack(plan));
    for (i, temp) in plan.schedule.temps.iter().enumerate() {
        let size = temp.axes.iter().fold("size_t(1)".to_owned(), |text, a| format!("{text} * size_t(a{a})"));
        let _ = writeln!(source, "  std::vector<VE> temp{i}({size});\n  VE* const w{i} = temp{i}.data();");
    }
    for step in &plan.schedule.steps {
        source.push_str(&step_loops(plan, step));
    }
    source.push_str("}\n");
    source
}

fn unpack(plan: &Plan) -> String {
    let spec = &plan.spec;
    let mut text = String::new();
    let mut next = 0;
    let mut line = |ty: &str, name: &str| {
        let _ = writeln!(text, "  {ty} const {name} = *reinterpret_cast<{ty} const*>(params[{next}]);");
        next += 1;
    };
    for i in spec.tensors_with(Role::Input) {
        line(&format!("const {}*", element(spec.tensors[i].dtype)), &format!("t{i}"));
    }
    for i in 0..spec.axes.len() {
        line("int64_t", &format!("a{i}"));
    }
    for (i, scalar) in spec.scalars.iter().enumerate() {
        line(element(scalar.dtype), &format!("s{i}"));
    }
    for i in spec.tensors_with(Role::Output) {
        line("double*", &format!("t{i}"));
        line("double*", &format!("bound{i}"));
    }
    line("double", "sum_scale");
    text
}

fn step_loops(plan: &Plan, step: &Step) -> String {
    let mut text = String::new();
    for var in &step.vars {
        let axis = plan.schedule.vars[*var];
        let _ = writeln!(text, "  for (int64_t v{var} = 0; v{var} < a{axis}; ++v{var}) {{");
    }
    let _ = write!(text, "    {{\n{}    }}\n", statement(plan, step));
    text.push_str(&"  }\n".repeat(step.vars.len()));
    text
}

fn statement(plan: &Plan, step: &Step) -> String {
    let dialect = Running(plan);
    let dst = element_at(&plan.spec, &plan.schedule, step.dst, &step.vars);
    let value = match &step.value {
        Value::Map(value) => format!("    const VE r = VE({});\n", c::expr(value, &dialect)),
        Value::Reduce { op, over, body } => reduction(plan, *op, *over, body),
    };
    let store = match step.dst {
        Place::Temp(temp) => match plan.schedule.temps[temp].may_round {
            None => format!("    {dst} = r;\n"),
            Some(dtype) => {
                format!("    {dst} = rounded(r, {:?}, {:?});\n", dtype.unit_roundoff(), dtype.underflow())
            }
        },
        Place::Tensor(t) => {
            let dtype = plan.spec.tensors[t].dtype;
            let narrower = dtype.unit_roundoff() > plan.spec.precision.accumulate.unit_roundoff();
            let (u, eta) = if narrower { (dtype.unit_roundoff(), dtype.underflow()) } else { (0.0, 0.0) };
            let bound = dst.replacen(&format!("t{t}["), &format!("bound{t}["), 1);
            format!(
                "    const VE out = rounded(r, {u:?}, {eta:?});\n    {dst} = double(out.v);\n    {bound} = out.e;\n"
            )
        }
    };
    format!("{value}{store}")
}

/// A product of exact factors under a sum is exact: the sum's own term covers its rounding, fused or not.
fn reduction(plan: &Plan, op: ReduceOp, over: usize, body: &Expr) -> String {
    let dialect = Running(plan);
    let term = match (op, body) {
        (ReduceOp::Sum, Expr::Binary(Binary::Mul, a, b)) => {
            format!("term({}, {})", c::expr(a, &dialect), c::expr(b, &dialect))
        }
        _ => c::expr(body, &dialect),
    };
    let start = match op {
        ReduceOp::Sum => "Sum s",
        ReduceOp::Max => "Extreme s(-1)",
        ReduceOp::Min => "Extreme s(1)",
    };
    let extent = plan.schedule.vars[over];
    format!(
        "    {start};\n    for (int64_t v{over} = 0; v{over} < a{extent}; ++v{over}) s.add({term});\n    \
         const VE r = s.result(sum_scale);\n"
    )
}

struct Running<'a>(&'a Plan);

impl Dialect for Running<'_> {
    fn load(&self, place: Place, vars: &[usize]) -> String {
        let element = element_at(&self.0.spec, &self.0.schedule, place, vars);
        match place {
            Place::Tensor(_) => format!("cg_load({element})"),
            Place::Temp(_) => element,
        }
    }

    fn constant(&self, value: f64) -> String {
        format!("constant({})", literal(value))
    }

    fn integer(&self, text: &str) -> String {
        format!("constant(real({text}))")
    }

    fn scalar(&self, position: usize) -> String {
        format!("constant(real(s{position}))")
    }
}
