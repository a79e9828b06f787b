//! The f64 reference of a schedule as C++, with the running error bound of every element.
//!
//! Every node carries a value and the error that an honest kernel at the spec's precision may have there (Higham,
//! *Accuracy and Stability of Numerical Algorithms*, section 3.3, running error analysis). The rules per operation
//! are in `reference.hpp`; this module only prints the schedule over them.
//!
//! The entry is `cutegen_reference(void** params)`; its parameters are described where the judge calls it.

use std::fmt::Write as _;

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Index, Kind, Loop, Place, ReduceOp};
use cutegen_spec::spec::Multiply;
use cutegen_spec::tensor::Role;

use super::c::{self, Dialect, Places, element, literal};
use crate::plan::Plan;
use crate::plan::schedule::{Step, Value};
use crate::print;

/// What every reference starts with, after the definitions of the spec's precision.
pub const PRELUDE: &str = concat!(
    include_str!("reference.hpp"),
    include_str!("reference/elements.hpp"),
    include_str!("reference/integers.hpp"),
    include_str!("reference/functions.hpp"),
    include_str!("reference/steps.hpp"),
    include_str!("reference/reductions.hpp"),
);

/// What the entry needs beside the prelude.
const ENTRY_PRELUDE: &str = "using Also = void (*)(void*, int64_t, double);\n\
    static inline double error_of(VE x) { return x.e + apart(real(double(x.v)), x.v); }\n\
    static inline double error_of(IV x) { return double(x.e); }\n\
    static inline double error_of(Cond x) { return x.sure ? 0.0 : 1.0; }\n";

/// How the elements of a step are computed side by side.
const THREADS: &str = include_str!("reference/threads.hpp");

/// The reference's symbol.
pub const ENTRY: &str = "cutegen_reference";

/// The source of the reference.
#[must_use]
pub fn print(plan: &Plan) -> String {
    let acc = plan.spec.precision.accumulate;
    let real = if acc == DType::F64 { "long double" } else { "double" };
    let mut source = format!(
        "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <vector>\n\n\
         using real = {real};\nusing scalar_t = {};\n\
         static const double U_ACC = {:?}, ETA_ACC = {:?}, ACC_MAX = {:?};\n\
         static const bool FAST_MATH = {};\n\n{PRELUDE}\n",
        element(acc),
        acc.unit_roundoff(),
        acc.underflow(),
        acc.max_finite(),
        plan.spec.precision.fast_math,
    );
    let _ = write!(
        source,
        "{ENTRY_PRELUDE}\n{THREADS}\nextern \"C\" void {ENTRY}(void** params) {{\n{}",
        unpack(plan)
    );
    source.push_str(&widened(plan));
    for (i, temp) in plan.schedule.temps.iter().enumerate() {
        let size = temp.axes.iter().fold("size_t(1)".to_owned(), |text, a| format!("{text} * size_t(a{a})"));
        let ty = held(temp.kind);
        let _ =
            writeln!(source, "  std::vector<{ty}> temp{i}({size});\n  {ty}* const w{i} = temp{i}.data();");
        if gives_index(plan, i) {
            let _ = writeln!(source, "  std::vector<std::vector<int64_t>> also{i}({size});");
        }
    }
    for step in &plan.schedule.steps {
        source.push_str(&step_loops(plan, step));
    }
    source.push_str("}\n");
    source
}

/// Copies of the tensors whose elements reductions read many times, converted once: `x0` for `t0`.
fn widened(plan: &Plan) -> String {
    let mut text = String::new();
    for (t, tensor) in plan.spec.tensors.iter().enumerate().filter(|(t, _)| is_widened(plan, *t)) {
        let reach = match &tensor.strides {
            Some(strides) => tensor.dims.iter().zip(strides).fold("1".to_owned(), |text, (dim, stride)| {
                format!("{text} + ({} - 1) * {}", print::int(dim), print::int(stride))
            }),
            None => {
                tensor.dims.iter().fold("1".to_owned(), |text, dim| format!("{text} * {}", print::int(dim)))
            }
        };
        let empty: Vec<String> = tensor.dims.iter().map(|dim| format!("{} == 0", print::int(dim))).collect();
        let empty = if empty.is_empty() { "false".to_owned() } else { empty.join(" || ") };
        let _ = writeln!(
            text,
            "  std::vector<Exact> wide{t}({empty} ? 0 : size_t({reach}));\n  \
             for (size_t i = 0; i < wide{t}.size(); ++i) wide{t}[i] = cg_load(t{t}[i]);\n  \
             const Exact* const x{t} = wide{t}.data();"
        );
    }
    text
}

/// Whether a reduction reads a short float of this tensor once for each value of a variable that it doesn't name.
fn is_widened(plan: &Plan, tensor: usize) -> bool {
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

/// The type that holds values of a kind with their error.
fn held(kind: Kind) -> &'static str {
    match kind {
        Kind::Real => "VE",
        Kind::Int => "IV",
        Kind::Cond => "Cond",
    }
}

/// Whether a temporary holds indices of extremes, of which several may be right.
fn gives_index(plan: &Plan, temp: usize) -> bool {
    plan.schedule.steps.iter().any(|step| {
        let op = match &step.value {
            Value::Reduce { op, .. } | Value::Scan { op, .. } => *op,
            Value::Map(_) => return false,
        };
        step.dst == Place::Temp(temp) && op.gives_index()
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
    text
}

/// A step's loops. Its elements don't depend on each other, so the leading whole loops are one range that is shared
/// among threads, but where alternatives are handed to the judge.
fn step_loops(plan: &Plan, step: &Step) -> String {
    let places = Places { spec: &plan.spec, schedule: &plan.schedule };
    let running = Running(plan);
    let shared = step.loops.iter().take_while(|l| l.is_whole()).count();
    let shared = if running.hands_over(step) { 0 } else { shared };
    let (flat, rest) = step.loops.split_at(shared);
    let heads: String = rest.iter().map(|l| format!("  {} {{\n", places.for_loop(l))).collect();
    let body = format!("{heads}    {{\n{}    }}\n{}", running.statement(step), "  }\n".repeat(rest.len()));
    if flat.is_empty() {
        return body;
    }
    let extent = |l: &Loop| format!("a{}", plan.schedule.vars[l.var]);
    let total = flat.iter().map(extent).collect::<Vec<_>>().join(" * ");
    let unravel = flat.iter().rev().map(|l| {
        let (v, a) = (l.var, extent(l));
        format!("    const int64_t v{v} = flat % {a};\n    flat /= {a};\n")
    });
    let inner =
        rest.iter().map(extent).chain(over(step).into_iter().map(|v| format!("a{}", plan.schedule.vars[v])));
    let inner = inner.fold("1.0".to_owned(), |text, a| format!("{text} * double({a})"));
    format!(
        "  shared_among_threads({total}, {inner}, [&](int64_t flat) {{\n{}{body}  }});\n",
        unravel.collect::<String>()
    )
}

/// The variables that a step's value runs over.
fn over(step: &Step) -> Vec<usize> {
    match &step.value {
        Value::Map(_) => Vec::new(),
        Value::Reduce { over, .. } => over.iter().map(|l| l.var).collect(),
        Value::Scan { over, .. } => vec![*over],
    }
}

struct Running<'a>(&'a Plan);

impl Running<'_> {
    fn places(&self) -> Places<'_> {
        Places { spec: &self.0.spec, schedule: &self.0.schedule }
    }

    fn statement(&self, step: &Step) -> String {
        match &step.value {
            Value::Map(value) => {
                let kind = self.kind(step.dst);
                let mut text = self.store(step, &c::of_kind(value, kind, self));
                text.push_str(&self.alternatives(step, value));
                text
            }
            Value::Reduce { op, over, body } => {
                let heads: String =
                    over.iter().map(|l| format!("    {} {{\n", self.places().for_loop(l))).collect();
                let at = over.first().map_or(0, |l| l.var);
                format!(
                    "    {};\n{heads}      {}\n{}{}{}",
                    self.accumulator(*op, body),
                    self.add(*op, body, at),
                    "    }\n".repeat(over.len()),
                    self.store(step, "s.result(sum_scale)"),
                    self.keep_also(step, *op)
                )
            }
            Value::Scan { op, over, along, direction, body } => {
                let extent = self.0.schedule.vars[*over];
                let head = if direction.reverse {
                    format!("for (int64_t v{over} = a{extent} - 1; v{over} >= 0; --v{over})")
                } else {
                    format!("for (int64_t v{over} = 0; v{over} < a{extent}; ++v{over})")
                };
                let add = format!("      {}\n", self.add(*op, body, *over));
                let store = self.store(step, "s.result(sum_scale)") + &self.keep_also(step, *op);
                let inner = if direction.exclusive { store + &add } else { add + &store };
                format!(
                    "    {};\n    {head} {{\n      const int64_t v{along} = v{over};\n{inner}    }}\n",
                    self.accumulator(*op, body)
                )
            }
        }
    }

    fn accumulator(&self, op: ReduceOp, body: &Expr) -> String {
        let int = c::value(body, self).1 == Kind::Int;
        let limit = self.int_limit();
        match (op, int) {
            (ReduceOp::Sum, false) => "Sum s".to_owned(),
            (ReduceOp::Sum, true) => format!("ISum s({limit})"),
            (ReduceOp::Prod, false) => "Prod s".to_owned(),
            (ReduceOp::Prod, true) => format!("IProd s({limit})"),
            (ReduceOp::Max, false) => "Extreme s(-1)".to_owned(),
            (ReduceOp::Max, true) => "IExtreme s(-1)".to_owned(),
            (ReduceOp::Min, false) => "Extreme s(1)".to_owned(),
            (ReduceOp::Min, true) => "IExtreme s(1)".to_owned(),
            (ReduceOp::ArgMax, _) => "ArgExtreme s(-1)".to_owned(),
            (ReduceOp::ArgMin, _) => "ArgExtreme s(1)".to_owned(),
        }
    }

    /// What a kernel may accumulate integers up to: those of `i32`, unless the kernel has a tensor of `i64`.
    fn int_limit(&self) -> i64 {
        let wide = self.0.spec.tensors.iter().any(|tensor| tensor.dtype == DType::I64);
        if wide { 1 << 53 } else { i64::from(i32::MAX) }
    }

    /// A product of exact factors under a sum is exact: the sum's own term covers its rounding, fused or not.
    fn add(&self, op: ReduceOp, body: &Expr, at: usize) -> String {
        let term = if self.0.spec.precision.multiply == Multiply::Tf32 { "term_tf32" } else { "term" };
        match (op, body) {
            (ReduceOp::Sum, Expr::Binary(Binary::Mul, a, b)) if c::value(body, self).1 == Kind::Real => {
                format!("s.add({term}({}, {}));", c::real(a, self), c::real(b, self))
            }
            (ReduceOp::ArgMax | ReduceOp::ArgMin, _) => format!("s.add(v{at}, {});", c::value(body, self).0),
            _ => format!("s.add({});", c::value(body, self).0),
        }
    }

    fn keep_also(&self, step: &Step, op: ReduceOp) -> String {
        match step.dst {
            Place::Temp(w) if op.gives_index() => {
                format!("    also{w}[{}] = s.also();\n", self.places().offset(step.dst, &step.index))
            }
            Place::Temp(_) | Place::Tensor(_) => String::new(),
        }
    }

    fn store(&self, step: &Step, value: &str) -> String {
        match step.dst {
            Place::Temp(temp) => {
                let dst = self.places().element(step.dst, &step.index);
                match self.0.schedule.temps[temp].may_round {
                    None => format!("    {dst} = {value};\n"),
                    Some(dtype) => format!("    {dst} = {};\n", rounded(&saturated(value, dtype), dtype)),
                }
            }
            Place::Tensor(t) => {
                let at = self.places().offset(step.dst, &step.index);
                let out = self.stored(self.0.spec.tensors[t].dtype, value);
                format!(
                    "    const auto out = {out};\n    value{t}[{at}] = double(out.v);\n    bound{t}[{at}] = error_of(out);\n"
                )
            }
        }
    }

    /// A value as its tensor holds it.
    fn stored(&self, dtype: DType, value: &str) -> String {
        match Kind::of(dtype) {
            Kind::Cond => format!("Cond({value})"),
            Kind::Int => format!("cg_cast_{dtype}(IV({value}))"),
            Kind::Real => {
                let narrower = dtype.unit_roundoff() > self.0.spec.precision.accumulate.unit_roundoff();
                let real = saturated(&format!("VE({value})"), dtype);
                let out = if narrower { rounded(&real, dtype) } else { real };
                match &self.0.spec.tolerance {
                    Some(t) => format!("tolerated({out}, {:?}, {:?})", t.relative, t.absolute),
                    None => out,
                }
            }
        }
    }

    /// Whether the step tells the judge of alternatives, which is for one thread.
    fn hands_over(&self, step: &Step) -> bool {
        matches!(&step.value, Value::Map(value) if !self.alternatives(step, value).is_empty())
    }

    /// Where an output is an index of an extreme as it is, every index that may be right.
    fn alternatives(&self, step: &Step, value: &Expr) -> String {
        let inner = match value {
            Expr::Cast(dtype, inner) if Kind::of(*dtype) == Kind::Int => inner,
            other => other,
        };
        match (step.dst, inner) {
            (Place::Tensor(t), Expr::Load(Place::Temp(w), index)) if gives_index(self.0, *w) => {
                let from = self.places().offset(Place::Temp(*w), index);
                let at = self.places().offset(step.dst, &step.index);
                format!(
                    "    for (const int64_t other : also{w}[{from}]) others{t}(context{t}, {at}, double(other));\n"
                )
            }
            _ => String::new(),
        }
    }
}

fn rounded(value: &str, dtype: DType) -> String {
    format!("rounded({value}, {:?}, {:?})", dtype.unit_roundoff(), dtype.underflow())
}

/// 8-bit floats saturate.
fn saturated(value: &str, dtype: DType) -> String {
    match dtype {
        DType::F8e4m3 | DType::F8e5m2 => format!("saturated({value}, {:?})", dtype.max_finite()),
        _ => value.to_owned(),
    }
}

impl Dialect for Running<'_> {
    fn load(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Tensor(t) if is_widened(self.0, t) => {
                format!("x{t}[{}]", self.places().offset(place, index))
            }
            _ => self.places().load(place, index),
        }
    }

    fn kind(&self, place: Place) -> Kind {
        self.0.schedule.kind(&self.0.spec, place)
    }

    fn constant(&self, value: f64) -> String {
        format!("constant({})", literal(value))
    }

    fn integer(&self, text: &str) -> String {
        format!("cg_int({text})")
    }

    fn scalar(&self, position: usize) -> String {
        format!("constant(real(s{position}))")
    }

    fn index(&self, index: &Index) -> String {
        self.places().index(index)
    }

    fn inside(&self, place: Place, index: &[Index]) -> String {
        self.places().inside(place, index)
    }

    fn choose(&self, condition: &str, a: &str, b: &str) -> String {
        format!("cg_where({condition}, {a}, {b})")
    }
}
