//! The CPU fallback of a schedule as Rust: what an emitted host wrapper runs when no compiled variant may. It
//! computes reals in f64 and integers in i64, so it stays inside the bound, and it touches tensors only through the
//! views' checked accessors.

mod expr;

use std::fmt::Write as _;

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Kind, Loop, Place, ReduceOp};

use super::c::is_packed;
use crate::plan::Plan;
use crate::plan::schedule::{Direction, Step, Value};
use expr::{Rust, convert};

/// The statements of the fallback. In scope: `t0..` the views by position (outputs mutable), `a0..` the extents as
/// `usize`, `s0..` the scalars, `check` the runtime's checks of the kernel, whose errors are returned; `math` is the
/// runtime's fallback module.
#[must_use]
pub fn print(plan: &Plan) -> String {
    let rust = Rust(plan);
    let mut text = String::new();
    for (i, temp) in plan.schedule.temps.iter().enumerate() {
        let extents = temp.axes.iter().map(|a| format!("a{a}")).collect::<Vec<_>>().join(", ");
        let element = match temp.kind {
            Kind::Real => "f64",
            Kind::Int => "i64",
            Kind::Cond => "bool",
        };
        let _ = writeln!(text, "let mut w{i} = check.zeros::<{element}>(&[{extents}])?;");
    }
    for step in &plan.schedule.steps {
        let heads: String = step.loops.iter().map(|l| rust.head(l)).collect();
        let _ = writeln!(text, "{heads}{}{}", rust.statement(step), "}".repeat(step.loops.len()));
    }
    text
}

impl Rust<'_> {
    /// `for v0 in 0..a0 {`
    fn head(&self, l: &Loop) -> String {
        let axis = self.0.schedule.vars[l.var];
        let from =
            l.from.as_ref().map_or("0".to_owned(), |from| format!("math::first({})", self.index(from)));
        let to =
            l.to.as_ref().map_or(format!("a{axis}"), |to| format!("math::end({}, a{axis})", self.index(to)));
        format!("for v{} in {from}..{to} {{ ", l.var)
    }

    /// `for v0 in 0..a0 {`, or back from the end.
    fn scan_head(&self, over: usize, direction: Direction) -> String {
        let extent = self.0.schedule.vars[over];
        if direction.reverse {
            format!("for v{over} in (0..a{extent}).rev() {{ ")
        } else {
            format!("for v{over} in 0..a{extent} {{ ")
        }
    }

    fn statement(&self, step: &Step) -> String {
        match &step.value {
            Value::Map(value) => {
                let wanted = self.kind(step.dst);
                self.store(step, &convert(self.expr(value), wanted))
            }
            Value::Reduce { op, over, body } => {
                let fold = Fold::new(*op, self.expr(body));
                let heads: String = over.iter().map(|l| self.head(l)).collect();
                let at = over.first().map_or(0, |l| l.var);
                let value = format!(
                    "{{ {} {heads}{}{} {} }}",
                    fold.start(),
                    fold.next(at),
                    "}".repeat(over.len()),
                    fold.value()
                );
                self.store(step, &self.converted(step, value, fold.result()))
            }
            Value::Scan { op, over, along, direction, body } => {
                let fold = Fold::new(*op, self.expr(body));
                let store = self.store(step, &self.converted(step, fold.value().to_owned(), fold.result()));
                let (first, second) =
                    if direction.exclusive { (store, fold.next(*over)) } else { (fold.next(*over), store) };
                format!(
                    "{} {}let v{along} = v{over}; {first} {second} }}",
                    fold.start(),
                    self.scan_head(*over, *direction)
                )
            }
        }
    }

    fn converted(&self, step: &Step, value: String, kind: Kind) -> String {
        convert((value, kind), self.kind(step.dst))
    }

    fn store(&self, step: &Step, value: &str) -> String {
        match step.dst {
            Place::Temp(w) => format!("w{w}[{}] = {value};", self.temp_offset(w, &step.index)),
            Place::Tensor(t) => {
                let dtype = self.0.spec.tensors[t].dtype;
                if is_packed(dtype) {
                    return format!("t{t}.put4({}, {value});", self.flat(t, &step.index));
                }
                format!("t{t}.put({}, {});", self.indices(&step.index), stored(dtype, value))
            }
        }
    }
}

/// The value rounded to the tensor's dtype; integers saturate.
fn stored(dtype: DType, value: &str) -> String {
    match dtype {
        DType::F64 | DType::I64 | DType::Bool | DType::I4 | DType::U4 => value.to_owned(),
        DType::F32 => format!("({value}) as f32"),
        DType::F16 => format!("f16::from_f64(math::cast_f16({value}))"),
        DType::Bf16 => format!("bf16::from_f64(math::cast_bf16({value}))"),
        DType::F8e4m3 => format!("F8E4M3::from_f64({value})"),
        DType::F8e5m2 => format!("F8E5M2::from_f64({value})"),
        DType::I8 | DType::U8 | DType::I32 => format!("math::cast_{dtype}({value}) as {dtype}"),
    }
}

/// The running value `r` of a reduction, and for an index `best` beside it.
struct Fold {
    op: ReduceOp,
    body: String,
    kind: Kind,
}

impl Fold {
    fn new(op: ReduceOp, (body, kind): (String, Kind)) -> Fold {
        Fold { op, body, kind }
    }

    /// Reals are summed in blocks.
    fn is_blocked(&self) -> bool {
        self.op == ReduceOp::Sum && self.kind != Kind::Int
    }

    fn start(&self) -> String {
        let (ty, lowest, highest) = match self.kind {
            Kind::Int => ("i64", "i64::MIN", "i64::MAX"),
            Kind::Real | Kind::Cond => ("f64", "f64::NEG_INFINITY", "f64::INFINITY"),
        };
        let start = match (self.op, self.kind) {
            (ReduceOp::Sum, Kind::Int) => "0_i64",
            (ReduceOp::Sum, _) => "math::Sum::default()",
            (ReduceOp::Prod, Kind::Int) => "1_i64",
            (ReduceOp::Prod, _) => "1.0",
            (ReduceOp::Max, _) => lowest,
            (ReduceOp::Min, _) => highest,
            (ReduceOp::ArgMax | ReduceOp::ArgMin, _) => {
                return format!("let mut r = 0_i64; let mut best: Option<{ty}> = None;");
            }
        };
        format!("let mut r = {start};")
    }

    fn next(&self, at: usize) -> String {
        let ty = if self.kind == Kind::Int { "i64" } else { "f64" };
        let next = match (self.op, self.kind) {
            (ReduceOp::Sum, _) if self.is_blocked() => "r.add(e);".to_owned(),
            (ReduceOp::Sum, _) => "r = r + e;".to_owned(),
            (ReduceOp::Prod, _) => "r = r * e;".to_owned(),
            (ReduceOp::Max, Kind::Int) => "r = r.max(e);".to_owned(),
            (ReduceOp::Min, Kind::Int) => "r = r.min(e);".to_owned(),
            (ReduceOp::Max, _) => "r = math::max(r, e);".to_owned(),
            (ReduceOp::Min, _) => "r = math::min(r, e);".to_owned(),
            (ReduceOp::ArgMax | ReduceOp::ArgMin, kind) => {
                let side = if self.op == ReduceOp::ArgMax { ">" } else { "<" };
                let better = match kind {
                    Kind::Int => format!("best.is_none_or(|b| e {side} b)"),
                    _ => format!("best.is_none_or(|b| e {side} b || (e.is_nan() && !b.is_nan()))"),
                };
                format!("if {better} {{ best = Some(e); r = v{at} as i64; }}")
            }
        };
        format!("let e: {ty} = {}; {next}", self.body)
    }

    /// What the terms so far give.
    fn value(&self) -> &'static str {
        if self.is_blocked() { "r.value()" } else { "r" }
    }

    fn result(&self) -> Kind {
        if self.op.gives_index() { Kind::Int } else { self.kind }
    }
}
