//! Expressions of the math as C++: what the naive kernels, the reference and the CuTe templates' inner bodies share.

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Place, Unary};
use cutegen_spec::spec::KernelSpec;

use super::{int, offset};
use crate::plan::schedule::Schedule;

/// How loads and constants are spelled; operators and `cg_` functions are the same in every dialect.
pub trait Dialect {
    /// The value of an element.
    fn load(&self, place: Place, vars: &[usize]) -> String;
    /// A literal.
    fn constant(&self, value: f64) -> String;
    /// An integer (an extent or a loop variable) as a value.
    fn integer(&self, text: &str) -> String;
    /// A scalar argument as a value.
    fn scalar(&self, position: usize) -> String;
}

/// `expr` in the dialect.
pub fn expr(expr_: &Expr, dialect: &dyn Dialect) -> String {
    match expr_ {
        Expr::Const(value) => dialect.constant(*value),
        Expr::Extent(axis) => dialect.integer(&format!("a{axis}")),
        Expr::Index(var) => dialect.integer(&format!("v{var}")),
        Expr::Scalar(position) => dialect.scalar(*position),
        Expr::Load(place, vars) => dialect.load(*place, vars),
        Expr::Unary(Unary::Neg, a) => format!("(-{})", expr(a, dialect)),
        Expr::Unary(op, a) => format!("cg_{}({})", op.name(), expr(a, dialect)),
        Expr::Binary(op, a, b) => {
            let (a, b) = (expr(a, dialect), expr(b, dialect));
            match op {
                Binary::Add => format!("({a} + {b})"),
                Binary::Sub => format!("({a} - {b})"),
                Binary::Mul => format!("({a} * {b})"),
                Binary::Div => format!("({a} / {b})"),
                Binary::Max => format!("cg_max({a}, {b})"),
                Binary::Min => format!("cg_min({a}, {b})"),
            }
        }
        // schedules hold no reduction inside an expression
        Expr::Reduce(_, _, body) => expr(body, dialect),
    }
}

/// The C++ type of a tensor's elements, as the preludes define it.
#[must_use]
pub fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "double",
        DType::F32 => "float",
        DType::F16 => "f16",
        DType::Bf16 => "bf16",
        DType::F8e4m3 => "f8e4m3",
        DType::F8e5m2 => "f8e5m2",
        DType::I8 => "signed char",
        DType::U8 | DType::Bool | DType::I4 | DType::U4 => "unsigned char",
        DType::I32 => "int",
        DType::I64 => "long long",
    }
}

/// A finite or infinite literal as a C++ `double`.
#[must_use]
pub fn literal(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "cg_inf()".to_owned() } else { "(-cg_inf())".to_owned() };
    }
    format!("{value:?}")
}

/// Element access by position: `t0[...]` for tensors, `w0[...]` for temporaries.
#[must_use]
pub fn element_at(spec: &KernelSpec, schedule: &Schedule, place: Place, vars: &[usize]) -> String {
    match place {
        Place::Tensor(t) => {
            let dims: Vec<String> = spec.tensors[t].dims.iter().map(int).collect();
            format!("t{t}[{}]", offset(vars, &dims))
        }
        Place::Temp(w) => {
            let dims: Vec<String> = schedule.temps[w].axes.iter().map(|a| format!("a{a}")).collect();
            format!("w{w}[{}]", offset(vars, &dims))
        }
    }
}

/// Declarations that read the arguments out of `void** params`, in the order of [`super::all_args`].
#[must_use]
pub fn unpack_params(spec: &KernelSpec, parts: usize, part_type: &str) -> String {
    let mut lines = Vec::new();
    let mut next = 0;
    let mut line = |declared: String, ty: String| {
        lines.push(format!("  {declared} = *reinterpret_cast<{ty} const*>(params[{next}]);"));
        next += 1;
    };
    for (i, tensor) in spec.tensors.iter().enumerate() {
        let constness = if tensor.role == cutegen_spec::tensor::Role::Input { "const " } else { "" };
        let ty = format!("{constness}{}*", element(tensor.dtype));
        line(format!("{ty} const t{i}"), ty.clone());
    }
    for i in 0..spec.axes.len() {
        line(format!("[[maybe_unused]] const int64_t a{i}"), "int64_t".to_owned());
    }
    for (i, scalar) in spec.scalars.iter().enumerate() {
        let ty = element(scalar.dtype);
        line(format!("const {ty} s{i}"), ty.to_owned());
    }
    for i in 0..parts {
        line(format!("{part_type}* const w{i}"), format!("{part_type}*"));
    }
    lines.join("\n")
}
