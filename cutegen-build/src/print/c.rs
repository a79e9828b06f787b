//! Expressions of the math as C++: what the naive kernels, the reference and the CuTe templates' inner bodies share.
//! Names and kinds of values follow the preludes beside this file.

use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::IntOp;
use cutegen_spec::math::{Binary, Expr, Index, Kind, Loop, Place, Unary};
use cutegen_spec::spec::KernelSpec;

use super::{int, offset};
use crate::plan::schedule::Schedule;

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

/// Texts of indices and elements: `v0` for loop variables, `a0` extents, `t0[...]` tensors, `w0[...]` temporaries.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Whose tensors.
    pub spec: &'a KernelSpec,
    /// Whose temporaries.
    pub schedule: &'a Schedule,
}

impl Places<'_> {
    /// An index as an expression of `int64_t`.
    #[must_use]
    pub fn index(&self, index: &Index) -> String {
        match index {
            Index::Const(value) => format!("int64_t({value})"),
            Index::Extent(axis) => format!("a{axis}"),
            Index::Var(var) => format!("v{var}"),
            Index::Read(tensor, _) => self.position(*tensor, read(index)),
            Index::Op(op, a, b) => {
                let (a, b) = (self.index(a), self.index(b));
                match op {
                    IntOp::Add => format!("({a} + {b})"),
                    IntOp::Sub => format!("({a} - {b})"),
                    IntOp::Mul => format!("({a} * {b})"),
                    IntOp::Div => format!("cg_floor_div({a}, {b})"),
                    IntOp::Rem => format!("cg_mod({a}, {b})"),
                    IntOp::CeilDiv => format!("cg_floor_div(({a} + {b} - 1), {b})"),
                    IntOp::Min => format!("cg_imin({a}, {b})"),
                    IntOp::Max => format!("cg_imax({a}, {b})"),
                }
            }
        }
    }

    /// An element that is an index: plain `int64_t` in every dialect.
    fn position(&self, tensor: usize, index: &[Index]) -> String {
        let (place, dtype) = (Place::Tensor(tensor), self.spec.tensors[tensor].dtype);
        if !is_packed(dtype) {
            return format!("int64_t({})", self.element(place, index));
        }
        let at = self.offset(place, index);
        let nibble = format!("((t{tensor}[({at}) / 2] >> (({at}) % 2 * 4)) & 15)");
        if dtype == DType::I4 { format!("int64_t(({nibble} ^ 8) - 8)") } else { format!("int64_t({nibble})") }
    }

    /// An element: an lvalue, but for packed types.
    #[must_use]
    pub fn element(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Tensor(t) => format!("t{t}[{}]", self.offset(place, index)),
            Place::Temp(w) => format!("w{w}[{}]", self.offset(place, index)),
        }
    }

    /// Where an element lies, in elements.
    #[must_use]
    pub fn offset(&self, place: Place, index: &[Index]) -> String {
        let indices: Vec<String> = index.iter().map(|i| self.index(i)).collect();
        if let Place::Tensor(t) = place
            && let Some(strides) = &self.spec.tensors[t].strides
        {
            let terms: Vec<String> =
                indices.iter().zip(strides).map(|(i, stride)| format!("{i} * {}", int(stride))).collect();
            return if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") };
        }
        offset(&indices, &self.dims(place))
    }

    /// Extents of each dimension.
    #[must_use]
    pub fn dims(&self, place: Place) -> Vec<String> {
        match place {
            Place::Tensor(t) => self.spec.tensors[t].dims.iter().map(int).collect(),
            Place::Temp(w) => self.schedule.temps[w].axes.iter().map(|a| format!("a{a}")).collect(),
        }
    }

    /// The value of an element; packed types are taken out of their byte.
    #[must_use]
    pub fn load(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Temp(_) => self.element(place, index),
            Place::Tensor(t) if is_packed(self.spec.tensors[t].dtype) => {
                format!("cg_load_{}(t{t}, {})", self.spec.tensors[t].dtype, self.offset(place, index))
            }
            Place::Tensor(_) => format!("cg_load({})", self.element(place, index)),
        }
    }

    /// A condition in plain C: every index is inside its dimension.
    #[must_use]
    pub fn inside(&self, place: Place, index: &[Index]) -> String {
        let dims = self.dims(place);
        let one = |(i, dim): (&Index, &String)| {
            let i = self.index(i);
            format!("{i} >= 0 && {i} < {dim}")
        };
        let all: Vec<String> = index.iter().zip(&dims).map(one).collect();
        if all.is_empty() { "true".to_owned() } else { all.join(" && ") }
    }

    /// `first` and `end` of a loop, as `int64_t`.
    #[must_use]
    pub fn bounds(&self, l: &Loop) -> (String, String) {
        let extent = format!("a{}", self.schedule.vars[l.var]);
        let first = l.from.as_ref().map(|from| format!("cg_imax(0, {})", self.index(from)));
        let end = l.to.as_ref().map(|to| format!("cg_imin({extent}, {})", self.index(to)));
        (first.unwrap_or_else(|| "0".to_owned()), end.unwrap_or(extent))
    }

    /// The head of a `for` over a loop.
    #[must_use]
    pub fn for_loop(&self, l: &Loop) -> String {
        let (first, end) = self.bounds(l);
        let v = l.var;
        if l.to.is_none() {
            return format!("for (int64_t v{v} = {first}; v{v} < {end}; ++v{v})");
        }
        format!("for (int64_t v{v} = {first}, end{v} = {end}; v{v} < end{v}; ++v{v})")
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

fn read(index: &Index) -> &[Index] {
    match index {
        Index::Read(_, indices) => indices,
        Index::Const(_) | Index::Extent(_) | Index::Var(_) | Index::Op(..) => &[],
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
