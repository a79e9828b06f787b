//! Expressions of the math as C++: what the naive kernels, the reference and the CuTe templates' inner bodies share.
//! Names and kinds of values follow the preludes beside this file.

mod places;

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Index, Kind, Place, Unary};
use cutegen_spec::spec::KernelSpec;

pub use places::Places;

/// How loads and constants are spelled; operators and `cg_` functions are the same in every dialect.
pub trait Dialect {
    /// The value of an element.
    fn load(&self, place: Place, index: &[Index]) -> String;
    /// What the elements of a place are.
    fn kind(&self, place: Place) -> Kind;
    /// A literal.
    fn constant(&self, value: f64) -> String;
    /// An integer (an extent, a loop variable, arithmetic on them) as a value.
    fn integer(&self, text: &str) -> String;
    /// An integer value as a real one.
    fn real(&self, text: &str) -> String {
        format!("cg_real({text})")
    }
    /// A scalar argument as a value.
    fn scalar(&self, position: usize) -> String;
    /// An index as an expression of `int64_t`.
    fn index(&self, index: &Index) -> String;
    /// A condition in plain C: every index is inside its dimension.
    fn inside(&self, place: Place, index: &[Index]) -> String;
    /// One of two values; only the reference needs both.
    fn choose(&self, condition: &str, a: &str, b: &str) -> String {
        format!("({condition} ? {a} : {b})")
    }
}

/// `expr` in the dialect, as a real number whatever its kind.
pub fn real(expr: &Expr, dialect: &dyn Dialect) -> String {
    coerce(value(expr, dialect), Kind::Real, dialect)
}

/// `expr` in the dialect, as a value of `kind`; integers become real where that is asked.
pub fn of_kind(expr: &Expr, kind: Kind, dialect: &dyn Dialect) -> String {
    coerce(value(expr, dialect), kind, dialect)
}

fn coerce((text, found): (String, Kind), wanted: Kind, dialect: &dyn Dialect) -> String {
    if found == Kind::Int && wanted == Kind::Real { dialect.real(&text) } else { text }
}

/// `expr` in the dialect with its kind.
pub fn value(expr: &Expr, dialect: &dyn Dialect) -> (String, Kind) {
    match expr {
        Expr::Const(value) => (dialect.constant(*value), Kind::Real),
        Expr::Int(index) => (dialect.integer(&dialect.index(index)), Kind::Int),
        Expr::Scalar(position) => (dialect.scalar(*position), Kind::Real),
        Expr::Load(place, index) => (dialect.load(*place, index), dialect.kind(*place)),
        Expr::Pad(place, index, other) => {
            let kind = dialect.kind(*place);
            let other = of_kind(other, kind, dialect);
            let text =
                format!("({} ? {} : {other})", dialect.inside(*place, index), dialect.load(*place, index));
            (text, kind)
        }
        Expr::Cast(dtype, a) => (format!("cg_cast_{dtype}({})", value(a, dialect).0), Kind::of(*dtype)),
        Expr::Where(parts) => {
            let [c, a, b] = parts.as_ref();
            let (a, b) = (value(a, dialect), value(b, dialect));
            let kind = common(a.1, b.1);
            let (a, b) = (coerce(a, kind, dialect), coerce(b, kind, dialect));
            (dialect.choose(&value(c, dialect).0, &a, &b), kind)
        }
        Expr::Unary(op, a) => unary(*op, value(a, dialect), dialect),
        Expr::Binary(op, a, b) => binary(*op, value(a, dialect), value(b, dialect), dialect),
        // schedules hold no reduction inside an expression
        Expr::Reduce(_, _, body) => value(body, dialect),
    }
}

fn common(a: Kind, b: Kind) -> Kind {
    if a == b { a } else { Kind::Real }
}

fn unary(op: Unary, a: (String, Kind), dialect: &dyn Dialect) -> (String, Kind) {
    match op {
        Unary::Neg => (format!("(-{})", a.0), a.1),
        Unary::Not => (format!("cg_not({})", a.0), Kind::Cond),
        Unary::Abs | Unary::Sign => (format!("cg_{}({})", op.name(), a.0), a.1),
        _ => (format!("cg_{}({})", op.name(), coerce(a, Kind::Real, dialect)), Kind::Real),
    }
}

fn binary(op: Binary, a: (String, Kind), b: (String, Kind), dialect: &dyn Dialect) -> (String, Kind) {
    let kind = match op {
        Binary::Div | Binary::Pow => Kind::Real,
        _ => common(a.1, b.1),
    };
    let (a, b) = (coerce(a, kind, dialect), coerce(b, kind, dialect));
    match op {
        Binary::Add => (format!("({a} + {b})"), kind),
        Binary::Sub => (format!("({a} - {b})"), kind),
        Binary::Mul => (format!("({a} * {b})"), kind),
        Binary::Div => (format!("({a} / {b})"), kind),
        Binary::And | Binary::Or => (format!("cg_{}({a}, {b})", op.name()), Kind::Cond),
        _ if op.compares() => (format!("cg_{}({a}, {b})", op.name()), Kind::Cond),
        _ => (format!("cg_{}({a}, {b})", op.name()), kind),
    }
}

/// The extent that an integer of a plain family is; those have no other.
#[must_use]
pub fn extent(index: &Index) -> String {
    match index {
        Index::Extent(axis) => format!("a{axis}"),
        Index::Const(value) => value.to_string(),
        Index::Var(_) | Index::Read(..) | Index::Op(..) => String::new(),
    }
}

/// Whether two elements share a byte.
#[must_use]
pub fn is_packed(dtype: DType) -> bool {
    dtype.bits() < 8
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
        DType::U8 | DType::I4 | DType::U4 => "unsigned char",
        DType::Bool => "bool8",
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

/// Declarations that read the arguments out of `void** params`, in the order of [`super::all_args`]; `parts` are the
/// element types of the workspace.
#[must_use]
pub fn unpack_params(spec: &KernelSpec, parts: &[&str]) -> String {
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
    for (i, part) in parts.iter().enumerate() {
        line(format!("{part}* const w{i}"), format!("{part}*"));
    }
    lines.join("\n")
}
