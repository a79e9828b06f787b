//! The CPU fallback of a schedule as Rust: what an emitted host wrapper runs when no compiled variant may. It
//! computes in f64, so it stays inside the bound, and it touches tensors only through the views' checked accessors.

use std::fmt::Write as _;

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Place, ReduceOp, Unary};

use crate::plan::Plan;
use crate::plan::schedule::{Step, Value};

/// The statements of the fallback. In scope: `t0..` the views by position (outputs mutable), `a0..` the extents as
/// `usize`, `s0..` the scalars; `math` is the runtime's fallback module.
#[must_use]
pub fn print(plan: &Plan) -> String {
    let mut text = String::new();
    for (i, temp) in plan.schedule.temps.iter().enumerate() {
        let size = temp.axes.iter().map(|a| format!("a{a}")).collect::<Vec<_>>().join(" * ");
        let size = if size.is_empty() { "1".to_owned() } else { size };
        let _ = writeln!(text, "let mut w{i} = vec![0.0_f64; {size}];");
    }
    for step in &plan.schedule.steps {
        for var in &step.vars {
            let _ = write!(text, "for v{var} in 0..a{} {{ ", plan.schedule.vars[*var]);
        }
        text.push_str(&statement(plan, step));
        text.push_str(&"}".repeat(step.vars.len()));
        text.push('\n');
    }
    text
}

fn statement(plan: &Plan, step: &Step) -> String {
    let value = match &step.value {
        Value::Map(value) => expr(plan, value),
        Value::Reduce { op, over, body } => {
            let (start, next) = match op {
                ReduceOp::Sum => ("0.0", "r + e"),
                ReduceOp::Max => ("f64::NEG_INFINITY", "math::max(r, e)"),
                ReduceOp::Min => ("f64::INFINITY", "math::min(r, e)"),
            };
            let extent = plan.schedule.vars[*over];
            let body = expr(plan, body);
            format!(
                "{{ let mut r = {start}; for v{over} in 0..a{extent} {{ let e: f64 = {body}; r = {next}; }} r }}"
            )
        }
    };
    match step.dst {
        Place::Temp(w) => format!("w{w}[{}] = {value};", temp_offset(plan, w, &step.vars)),
        Place::Tensor(t) => {
            format!("t{t}.put({}, {});", index(&step.vars), store(plan.spec.tensors[t].dtype, &value))
        }
    }
}

fn index(vars: &[usize]) -> String {
    let names: Vec<String> = vars.iter().map(|v| format!("v{v}")).collect();
    format!("[{}]", names.join(", "))
}

fn temp_offset(plan: &Plan, temp: usize, vars: &[usize]) -> String {
    let dims: Vec<String> = plan.schedule.temps[temp].axes.iter().map(|a| format!("a{a}")).collect();
    super::offset(vars, &dims)
}

/// The value rounded to the tensor's dtype.
fn store(dtype: DType, value: &str) -> String {
    match dtype {
        DType::F64 => value.to_owned(),
        DType::F16 => format!("f16::from_f64({value})"),
        DType::Bf16 => format!("bf16::from_f64({value})"),
        DType::F32
        | DType::F8e4m3
        | DType::F8e5m2
        | DType::I8
        | DType::U8
        | DType::I32
        | DType::I64
        | DType::Bool
        | DType::I4
        | DType::U4 => format!("({value}) as f32"),
    }
}

fn expr(plan: &Plan, e: &Expr) -> String {
    match e {
        Expr::Const(value) if value.is_infinite() && *value > 0.0 => "f64::INFINITY".to_owned(),
        Expr::Const(value) if value.is_infinite() => "f64::NEG_INFINITY".to_owned(),
        Expr::Const(value) => format!("{value:?}_f64"),
        Expr::Extent(axis) => format!("(a{axis} as f64)"),
        Expr::Index(var) => format!("(v{var} as f64)"),
        Expr::Scalar(s) => format!("f64::from(s{s})"),
        Expr::Load(Place::Tensor(t), vars) => format!("f64::from(t{t}.at({}))", index(vars)),
        Expr::Load(Place::Temp(w), vars) => format!("w{w}[{}]", temp_offset(plan, *w, vars)),
        Expr::Unary(op, a) => unary(*op, &expr(plan, a)),
        Expr::Binary(op, a, b) => {
            let (a, b) = (expr(plan, a), expr(plan, b));
            match op {
                Binary::Add => format!("({a} + {b})"),
                Binary::Sub => format!("({a} - {b})"),
                Binary::Mul => format!("({a} * {b})"),
                Binary::Div => format!("({a} / {b})"),
                Binary::Max => format!("math::max({a}, {b})"),
                Binary::Min => format!("math::min({a}, {b})"),
            }
        }
        // schedules hold no reduction inside an expression
        Expr::Reduce(_, _, body) => expr(plan, body),
    }
}

/// Functions of `f64` that std has under a name of its own; the rest is the runtime's.
fn unary(op: Unary, a: &str) -> String {
    match op {
        Unary::Neg => format!("(-{a})"),
        Unary::Abs => format!("({a}).abs()"),
        Unary::Exp => format!("({a}).exp()"),
        Unary::Exp2 => format!("({a}).exp2()"),
        Unary::Expm1 => format!("({a}).exp_m1()"),
        Unary::Log => format!("({a}).ln()"),
        Unary::Log2 => format!("({a}).log2()"),
        Unary::Log1p => format!("({a}).ln_1p()"),
        Unary::Sqrt => format!("({a}).sqrt()"),
        Unary::Sin => format!("({a}).sin()"),
        Unary::Cos => format!("({a}).cos()"),
        Unary::Tanh => format!("({a}).tanh()"),
        Unary::Rsqrt
        | Unary::Erf
        | Unary::Sigmoid
        | Unary::Silu
        | Unary::Gelu
        | Unary::GeluTanh
        | Unary::Relu
        | Unary::Softplus => format!("math::{}({a})", op.name()),
    }
}
