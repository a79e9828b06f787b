//! The naive kernel of a schedule: plain loops, temporaries in the workspace, no idea beyond the math. It is
//! the first incumbent, the last variant of every entry, and needs no GPU to be made.

mod cuda;
mod host;

use std::collections::BTreeSet;

use cutegen_spec::contract::{Contract, Initial, WorkspacePart};
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Expr, Index, Kind, Place, ReduceOp};
use cutegen_spec::target::Target;

use super::c::{self, Dialect, Places, element, is_packed, literal};
use crate::plan::Plan;
use crate::plan::family::constant;
use crate::plan::schedule::{Step, Temp, Value};

/// What naive kernels for `host` start with, after the headers and `acc`.
pub const HOST_PRELUDE: &str = concat!(include_str!("naive/host.hpp"), include_str!("naive/elements.hpp"));

/// What naive kernels for CUDA start with, after the headers and `acc`.
pub const CUDA_PRELUDE: &str = concat!(include_str!("naive/cuda.cuh"), include_str!("naive/elements.hpp"));

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
    let naive = Naive { plan, held: BTreeSet::new() };
    match plan.target {
        Target::Host { .. } => host::print(&naive),
        Target::Cuda { .. } => cuda::print(&naive),
    }
}

/// What is printed.
struct Naive<'a> {
    plan: &'a Plan,
    /// Temporaries that are variables of a kernel, `r` and their number, and not in the workspace.
    held: BTreeSet<usize>,
}

impl Dialect for Naive<'_> {
    fn load(&self, place: Place, index: &[Index]) -> String {
        if let Place::Temp(temp) = place
            && self.held.contains(&temp)
        {
            return format!("r{temp}");
        }
        let text = self.places().load(place, index);
        let held = matches!(place, Place::Temp(_)) && self.kind(place) == Kind::Cond;
        if held { format!("({text} != 0)") } else { text }
    }

    fn kind(&self, place: Place) -> Kind {
        self.plan.schedule.kind(&self.plan.spec, place)
    }

    fn constant(&self, value: f64) -> String {
        format!("acc({})", literal(value))
    }

    fn integer(&self, text: &str) -> String {
        format!("cg_int({text})")
    }

    fn scalar(&self, position: usize) -> String {
        format!("acc(s{position})")
    }

    fn index(&self, index: &Index) -> String {
        self.places().index(index)
    }

    fn inside(&self, place: Place, index: &[Index]) -> String {
        let dims = self.places().dims(place);
        let leaving = index.iter().zip(&dims).enumerate();
        let leaving = leaving.filter(|(dim, (index, _))| !self.stays(place, *dim, index));
        let one = |(_, (index, dim)): (usize, (&Index, &String))| {
            let at = self.places().index(index);
            format!("{at} >= 0 && {at} < {dim}")
        };
        let all: Vec<String> = leaving.map(one).collect();
        if all.is_empty() { "true".to_owned() } else { all.join(" && ") }
    }
}

impl Naive<'_> {
    fn places(&self) -> Places<'_> {
        Places { spec: &self.plan.spec, schedule: &self.plan.schedule }
    }

    /// Type of real values.
    fn acc(&self) -> DType {
        self.plan.spec.precision.accumulate
    }

    /// Whether an index is a loop variable that runs over the dimension it stands at.
    fn stays(&self, place: Place, dim: usize, index: &Index) -> bool {
        let (Place::Tensor(tensor), Some(var)) = (place, index.as_var()) else { return false };
        let (spec, axis) = (&self.plan.spec, IntExpr::Axis(self.plan.schedule.vars[var]));
        let extent = &spec.tensors[tensor].dims[dim];
        *extent == axis || constant(spec, &axis).is_some_and(|axis| constant(spec, extent) == Some(axis))
    }

    fn element(&self, tensor: usize) -> &'static str {
        element(self.plan.spec.tensors[tensor].dtype)
    }

    fn part_type(&self, temp: &Temp) -> &'static str {
        match temp.kind {
            Kind::Real => "acc",
            Kind::Int => "int64_t",
            Kind::Cond => "unsigned char",
        }
    }

    fn part_types(&self) -> Vec<&'static str> {
        self.plan.schedule.temps.iter().map(|temp| self.part_type(temp)).collect()
    }

    fn workspace(&self) -> Vec<WorkspacePart> {
        let bytes = |temp: &Temp| match temp.kind {
            Kind::Real => self.acc().bytes() as i64,
            Kind::Int => 8,
            Kind::Cond => 1,
        };
        let part = |temp: &Temp| WorkspacePart {
            bytes: temp
                .axes
                .iter()
                .fold(IntExpr::Const(bytes(temp)), |n, a| IntExpr::op(IntOp::Mul, n, IntExpr::Axis(*a))),
            initial: Initial::Undefined,
        };
        self.plan.schedule.temps.iter().map(part).collect()
    }

    fn header(&self) -> String {
        let math = self.plan.spec.math.canonical().trim_end().replace('\n', "\n// ");
        format!(
            "// Naive kernel, printed from the math: plain loops, no idea beyond it. It exists to be right.\n\
             //\n// {math}\n"
        )
    }

    /// Whether a step writes elements of which two share a byte.
    fn is_packed(&self, step: &Step) -> bool {
        matches!(step.dst, Place::Tensor(t) if is_packed(self.plan.spec.tensors[t].dtype))
    }

    /// The statement that stores a value at the step's element.
    fn store(&self, step: &Step, value: &str, indent: &str) -> String {
        let element = self.places().element(step.dst, &step.index);
        match step.dst {
            Place::Tensor(_) => format!("{indent}cg_store({element}, {value});\n"),
            Place::Temp(_) => format!("{indent}{element} = {value};\n"),
        }
    }

    /// The kind that the step's place takes: a real tensor takes integers as reals.
    fn stored(&self, step: &Step, value: &Expr) -> String {
        c::of_kind(value, self.kind(step.dst), self)
    }

    /// The statements of one element of a step, its loop variables being in scope.
    fn element_statement(&self, step: &Step, indent: &str) -> String {
        match &step.value {
            Value::Map(value) => self.store(step, &self.stored(step, value), indent),
            Value::Reduce { op, over, body } => {
                let fold = Fold::new(*op, body, self);
                let mut text = fold.start(indent);
                let mut deep = indent.to_owned();
                for l in over {
                    text.push_str(&format!("{deep}{} {{\n", self.places().for_loop(l)));
                    deep.push_str("  ");
                }
                let at = over.first().map_or(0, |l| l.var);
                text.push_str(&fold.next(&deep, at));
                for _ in over {
                    deep.truncate(deep.len() - 2);
                    text.push_str(&format!("{deep}}}\n"));
                }
                text + &self.store(step, fold.result(), indent)
            }
            Value::Scan { op, over, along, direction, body } => {
                let fold = Fold::new(*op, body, self);
                let head = self.places().scan_loop(*over, *direction);
                let inner = format!("{indent}  ");
                let store = self.store(step, fold.result(), &inner);
                let next = fold.next(&inner, *over);
                let body = if direction.exclusive { store + &next } else { next + &store };
                let along = format!("{inner}const int64_t v{along} = v{over};\n");
                format!("{}{indent}{head} {{\n{along}{body}{indent}}}\n", fold.start(indent))
            }
        }
    }

    /// Statements that store two packed elements; `at` is a lambda from a flat index to an element's value.
    fn packed_store(&self, step: &Step, indent: &str) -> String {
        let Place::Tensor(t) = step.dst else { return String::new() };
        let dtype = self.plan.spec.tensors[t].dtype;
        format!("{indent}t{t}[i] = cg_pack_{dtype}(at(2 * i), 2 * i + 1 < total ? at(2 * i + 1) : 0);\n")
    }

    /// The lambda `at` of a packed step.
    fn packed_value(&self, step: &Step, indent: &str) -> String {
        format!(
            "{indent}const auto at = [&](int64_t rest) -> int64_t {{\n{}{indent}  return {};\n{indent}}};\n",
            self.places().unravel(&step.loops, &format!("{indent}  ")),
            self.stored(step, step.value.expr())
        )
    }
}

/// The running value of a reduction: `r`, and for an index `best` beside it.
struct Fold {
    op: ReduceOp,
    kind: Kind,
    body: String,
}

impl Fold {
    fn new(op: ReduceOp, body: &Expr, naive: &Naive<'_>) -> Fold {
        let (body, kind) = c::value(body, naive);
        Fold { op, kind, body }
    }

    /// The type of the result: an index is an integer.
    fn kept(&self) -> &'static str {
        if self.op.gives_index() { "int64_t" } else { self.ty() }
    }

    fn ty(&self) -> &'static str {
        if self.kind == Kind::Int { "int64_t" } else { "acc" }
    }

    /// Reals are summed in blocks.
    fn is_blocked(&self) -> bool {
        self.op == ReduceOp::Sum && self.kind != Kind::Int
    }

    fn start(&self, indent: &str) -> String {
        let ty = self.ty();
        if self.is_blocked() {
            return format!("{indent}cg_sum r;\n");
        }
        if self.op.gives_index() {
            return format!("{indent}int64_t r = 0;\n{indent}{ty} best = 0;\n{indent}bool any = false;\n");
        }
        format!("{indent}{ty} r = {};\n", self.neutral())
    }

    /// The value of no terms; 0 for an index.
    fn neutral(&self) -> String {
        match (self.op, self.kind) {
            (ReduceOp::Prod, _) => format!("{}(1)", self.ty()),
            (ReduceOp::Max, Kind::Int) => "(-9223372036854775807ll - 1)".to_owned(),
            (ReduceOp::Min, Kind::Int) => "9223372036854775807ll".to_owned(),
            (ReduceOp::Max, _) => "-acc(cg_inf())".to_owned(),
            (ReduceOp::Min, _) => "acc(cg_inf())".to_owned(),
            (ReduceOp::Sum | ReduceOp::ArgMax | ReduceOp::ArgMin, _) => format!("{}(0)", self.ty()),
        }
    }

    fn next(&self, indent: &str, at: usize) -> String {
        let element = format!("{indent}const {} e = {};\n", self.ty(), self.body);
        if self.is_blocked() {
            return format!("{element}{indent}r.add(e);\n");
        }
        let next = self.join("e").unwrap_or_else(|| {
            let better = if self.op == ReduceOp::ArgMax { "e > best" } else { "e < best" };
            let nan = if self.kind == Kind::Int { "" } else { " || (e != e && best == best)" };
            format!("if (!any || {better}{nan}) {{ best = e; r = v{at}; any = true; }}")
        });
        format!("{element}{indent}{next}\n")
    }

    /// The statement that joins another value to `r`; none where more is kept, as for an index.
    fn join(&self, other: &str) -> Option<String> {
        self.joined("r", other).map(|joined| format!("r = {joined};"))
    }

    /// Two values joined.
    fn joined(&self, a: &str, b: &str) -> Option<String> {
        match self.op {
            ReduceOp::Sum => Some(format!("{a} + {b}")),
            ReduceOp::Prod => Some(format!("{a} * {b}")),
            ReduceOp::Max => Some(format!("cg_max({a}, {b})")),
            ReduceOp::Min => Some(format!("cg_min({a}, {b})")),
            ReduceOp::ArgMax | ReduceOp::ArgMin => None,
        }
    }

    fn result(&self) -> &'static str {
        if self.is_blocked() { "r.value()" } else { "r" }
    }
}
