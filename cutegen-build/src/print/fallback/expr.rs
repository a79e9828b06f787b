//! Expressions of the CPU fallback as Rust, with their kinds: `f64`, `i64` or `bool`.

use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Binary, Expr, Index, Kind, Place, Unary};

use crate::plan::Plan;
use crate::print::c::is_packed;
use crate::print::offset;

/// The Rust dialect.
pub(super) struct Rust<'a>(pub(super) &'a Plan);

/// An expression's text brought to `wanted`.
pub(super) fn convert((text, kind): (String, Kind), wanted: Kind) -> String {
    if kind == Kind::Int && wanted == Kind::Real { format!("({text} as f64)") } else { text }
}

/// An extent as `usize`.
fn extent(expr: &IntExpr) -> String {
    match expr {
        IntExpr::Const(value) if *value >= 0 => value.to_string(),
        IntExpr::Axis(axis) => format!("a{axis}"),
        other => format!("math::at({})", whole(other)),
    }
}

/// An expression of axes as `i64`.
fn whole(expr: &IntExpr) -> String {
    match expr {
        IntExpr::Const(value) => format!("({value}_i64)"),
        IntExpr::Axis(axis) => format!("(a{axis} as i64)"),
        IntExpr::Device(prop) => prop.name().to_owned(),
        IntExpr::Op(op, a, b) => operation(*op, &whole(a), &whole(b)),
    }
}

/// An operation of `i64`s, as the spec's integers have it.
fn operation(op: IntOp, a: &str, b: &str) -> String {
    match op {
        IntOp::Add => format!("({a} + {b})"),
        IntOp::Sub => format!("({a} - {b})"),
        IntOp::Mul => format!("({a} * {b})"),
        IntOp::Div => format!("math::floor_div({a}, {b})"),
        IntOp::Rem => format!("math::modulo({a}, {b})"),
        IntOp::CeilDiv => format!("math::floor_div(({a} + {b} - 1), {b})"),
        IntOp::Min => format!("({a}).min({b})"),
        IntOp::Max => format!("({a}).max({b})"),
    }
}

impl Rust<'_> {
    pub(super) fn kind(&self, place: Place) -> Kind {
        self.0.schedule.kind(&self.0.spec, place)
    }

    /// `[v0, math::at(v1 as i64 + 1)]`
    pub(super) fn indices(&self, index: &[Index]) -> String {
        let texts: Vec<String> = index.iter().map(|i| self.position(i)).collect();
        format!("[{}]", texts.join(", "))
    }

    /// An index as `usize`.
    fn position(&self, index: &Index) -> String {
        match index {
            Index::Var(var) => format!("v{var}"),
            Index::Const(value) if *value >= 0 => value.to_string(),
            Index::Extent(axis) => format!("a{axis}"),
            other => format!("math::at({})", self.index(other)),
        }
    }

    /// An index as `i64`.
    pub(super) fn index(&self, index: &Index) -> String {
        match index {
            Index::Const(value) => format!("({value}_i64)"),
            Index::Extent(axis) => format!("(a{axis} as i64)"),
            Index::Var(var) => format!("(v{var} as i64)"),
            Index::Read(tensor, indices) => {
                let element = self.load(Place::Tensor(*tensor), indices);
                format!("({element})")
            }
            Index::Op(op, a, b) => operation(*op, &self.index(a), &self.index(b)),
        }
    }

    pub(super) fn temp_offset(&self, temp: usize, index: &[Index]) -> String {
        let dims: Vec<String> = self.0.schedule.temps[temp].axes.iter().map(|a| format!("a{a}")).collect();
        let indices: Vec<String> = index.iter().map(|i| self.position(i)).collect();
        offset(&indices, &dims)
    }

    /// Row-major position of an element of a packed tensor.
    pub(super) fn flat(&self, tensor: usize, index: &[Index]) -> String {
        let dims: Vec<String> = self.0.spec.tensors[tensor].dims.iter().map(extent).collect();
        let indices: Vec<String> = index.iter().map(|i| self.position(i)).collect();
        offset(&indices, &dims)
    }

    fn load(&self, place: Place, index: &[Index]) -> String {
        let t = match place {
            Place::Temp(w) => return format!("w{w}[{}]", self.temp_offset(w, index)),
            Place::Tensor(t) => t,
        };
        let dtype = self.0.spec.tensors[t].dtype;
        if is_packed(dtype) {
            return format!("t{t}.at4({})", self.flat(t, index));
        }
        let element = format!("t{t}.at({})", self.indices(index));
        match dtype {
            DType::F8e4m3 | DType::F8e5m2 => format!("{element}.to_f64()"),
            DType::I8 | DType::U8 | DType::I32 => format!("i64::from({element})"),
            DType::I64 | DType::Bool => element,
            _ => format!("f64::from({element})"),
        }
    }

    fn inside(&self, place: Place, index: &[Index]) -> String {
        let dims: Vec<String> = match place {
            Place::Tensor(t) => self.0.spec.tensors[t].dims.iter().map(extent).collect(),
            Place::Temp(w) => self.0.schedule.temps[w].axes.iter().map(|a| format!("a{a}")).collect(),
        };
        let one = |(i, dim): (&Index, &String)| format!("math::is_inside({}, {dim})", self.index(i));
        let all: Vec<String> = index.iter().zip(&dims).map(one).collect();
        if all.is_empty() { "true".to_owned() } else { all.join(" && ") }
    }

    fn real(&self, e: &Expr) -> String {
        match e {
            Expr::Int(Index::Extent(axis)) => format!("(a{axis} as f64)"),
            Expr::Int(Index::Var(var)) => format!("(v{var} as f64)"),
            e => convert(self.expr(e), Kind::Real),
        }
    }

    fn of_kind(&self, e: &Expr, kind: Kind) -> String {
        if kind == Kind::Real { self.real(e) } else { self.expr(e).0 }
    }

    fn kind_of(&self, e: &Expr) -> Kind {
        e.kind(&|place| self.kind(place))
    }

    fn common(&self, a: &Expr, b: &Expr) -> Kind {
        let (a, b) = (self.kind_of(a), self.kind_of(b));
        if a == b { a } else { Kind::Real }
    }

    pub(super) fn expr(&self, e: &Expr) -> (String, Kind) {
        let kind = self.kind_of(e);
        let text = match e {
            Expr::Const(value) if value.is_infinite() && *value > 0.0 => "f64::INFINITY".to_owned(),
            Expr::Const(value) if value.is_infinite() => "f64::NEG_INFINITY".to_owned(),
            Expr::Const(value) => format!("{value:?}_f64"),
            Expr::Int(index) => self.index(index),
            Expr::Scalar(s) => format!("f64::from(s{s})"),
            Expr::Load(place, index) => self.load(*place, index),
            Expr::Pad(place, index, other) => format!(
                "(if {} {{ {} }} else {{ {} }})",
                self.inside(*place, index),
                self.load(*place, index),
                self.of_kind(other, kind)
            ),
            Expr::Where(parts) => {
                let [c, a, b] = parts.as_ref();
                let kind = self.common(a, b);
                let (c, a, b) = (self.expr(c).0, self.of_kind(a, kind), self.of_kind(b, kind));
                return (format!("(if {c} {{ {a} }} else {{ {b} }})"), kind);
            }
            Expr::Cast(dtype, a) => {
                let inner = if Kind::of(*dtype) == Kind::Real { self.real(a) } else { self.expr(a).0 };
                format!("math::cast_{dtype}({inner})")
            }
            Expr::Unary(op, a) => self.unary(*op, a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            // schedules hold no reduction inside an expression
            Expr::Reduce(_, _, body) => return self.expr(body),
        };
        (text, kind)
    }

    fn binary(&self, op: Binary, a: &Expr, b: &Expr) -> String {
        let kind = match op {
            Binary::Div | Binary::Pow => Kind::Real,
            _ => self.common(a, b),
        };
        let (a, b) = (self.of_kind(a, kind), self.of_kind(b, kind));
        match (op, kind) {
            (Binary::Add, _) => format!("({a} + {b})"),
            (Binary::Sub, _) => format!("({a} - {b})"),
            (Binary::Mul, _) => format!("({a} * {b})"),
            (Binary::Div, _) => format!("({a} / {b})"),
            (Binary::Max, Kind::Int) => format!("({a}).max({b})"),
            (Binary::Min, Kind::Int) => format!("({a}).min({b})"),
            (Binary::Max, _) => format!("math::max({a}, {b})"),
            (Binary::Min, _) => format!("math::min({a}, {b})"),
            (Binary::Pow, _) => format!("math::pow({a}, {b})"),
            (Binary::Rem, _) => format!("math::modulo({a}, {b})"),
            (Binary::Lt, _) => format!("({a} < {b})"),
            (Binary::Le, _) => format!("({a} <= {b})"),
            (Binary::Gt, _) => format!("({a} > {b})"),
            (Binary::Ge, _) => format!("({a} >= {b})"),
            (Binary::Eq, _) => format!("({a} == {b})"),
            (Binary::Ne, _) => format!("({a} != {b})"),
            (Binary::And, _) => format!("({a} && {b})"),
            (Binary::Or, _) => format!("({a} || {b})"),
        }
    }

    /// Functions that std has under a name of its own; the rest is the runtime's.
    fn unary(&self, op: Unary, a: &Expr) -> String {
        if self.kind_of(a) == Kind::Int && matches!(op, Unary::Neg | Unary::Abs | Unary::Sign) {
            let a = self.expr(a).0;
            return match op {
                Unary::Neg => format!("(-{a})"),
                Unary::Abs => format!("({a}).abs()"),
                _ => format!("({a}).signum()"),
            };
        }
        if op == Unary::Not {
            return format!("(!{})", self.expr(a).0);
        }
        let a = self.real(a);
        match op {
            Unary::Neg => format!("(-{a})"),
            Unary::Not => format!("(!{a})"),
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
            Unary::Floor
            | Unary::Ceil
            | Unary::Round
            | Unary::Sign
            | Unary::Rsqrt
            | Unary::Erf
            | Unary::Sigmoid
            | Unary::Silu
            | Unary::Gelu
            | Unary::GeluTanh
            | Unary::Relu
            | Unary::Softplus => format!("math::{}({a})", op.name()),
        }
    }
}
