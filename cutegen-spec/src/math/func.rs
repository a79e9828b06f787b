//! The functions of the math language: their names, and which of them edition 1 reserves for later versions.

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unary {
    /// `-x`
    Neg,
    /// `|x|`
    Abs,
    /// e^x
    Exp,
    /// 2^x
    Exp2,
    /// e^x - 1
    Expm1,
    /// Natural logarithm.
    Log,
    /// Logarithm to base 2.
    Log2,
    /// ln(1 + x)
    Log1p,
    /// Square root.
    Sqrt,
    /// 1 / sqrt(x)
    Rsqrt,
    /// Sine of radians.
    Sin,
    /// Cosine of radians.
    Cos,
    /// Hyperbolic tangent.
    Tanh,
    /// Error function.
    Erf,
    /// 1 / (1 + e^-x)
    Sigmoid,
    /// x * sigmoid(x)
    Silu,
    /// x * (1 + erf(x / sqrt 2)) / 2
    Gelu,
    /// x * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
    GeluTanh,
    /// max(x, 0), NaN kept
    Relu,
    /// ln(1 + e^x)
    Softplus,
}

/// A function of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, real
    Div,
    /// The larger; NaN if either is.
    Max,
    /// The smaller; NaN if either is.
    Min,
}

/// A reduction over one loop variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReduceOp {
    /// The sum; 0 when empty.
    Sum,
    /// The largest; -inf when empty.
    Max,
    /// The smallest; inf when empty.
    Min,
}

impl Unary {
    /// Every function with its name in the language; [`Unary::Neg`] is the sign `-`.
    pub const ALL: [(Unary, &'static str); 20] = [
        (Unary::Neg, "neg"),
        (Unary::Abs, "abs"),
        (Unary::Exp, "exp"),
        (Unary::Exp2, "exp2"),
        (Unary::Expm1, "expm1"),
        (Unary::Log, "log"),
        (Unary::Log2, "log2"),
        (Unary::Log1p, "log1p"),
        (Unary::Sqrt, "sqrt"),
        (Unary::Rsqrt, "rsqrt"),
        (Unary::Sin, "sin"),
        (Unary::Cos, "cos"),
        (Unary::Tanh, "tanh"),
        (Unary::Erf, "erf"),
        (Unary::Sigmoid, "sigmoid"),
        (Unary::Silu, "silu"),
        (Unary::Gelu, "gelu"),
        (Unary::GeluTanh, "gelu_tanh"),
        (Unary::Relu, "relu"),
        (Unary::Softplus, "softplus"),
    ];

    /// The name in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        Unary::ALL.iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name)
    }

    /// The function that `name` names; the sign has no call form.
    #[must_use]
    pub fn parse(name: &str) -> Option<Unary> {
        Unary::ALL.iter().find(|(op, n)| *n == name && *op != Unary::Neg).map(|(op, _)| *op)
    }
}

impl Binary {
    /// The name used in canonical text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Max => "max",
            Binary::Min => "min",
        }
    }
}

impl ReduceOp {
    /// The name in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
        }
    }
}

/// Reductions and the prelude: calls whose first argument is an axis.
pub const AXIS_CALLS: [&str; 8] =
    ["sum", "max", "min", "mean", "softmax", "log_softmax", "layer_norm", "rms_norm"];

/// Words of edition 1's grammar that this version parses but does not compute yet.
pub const RESERVED: [&str; 11] =
    ["prod", "argmax", "argmin", "pad", "pow", "floor", "ceil", "round", "sign", "where", "cast"];

/// Every word that may stand before `(`.
pub fn callable() -> impl Iterator<Item = &'static str> {
    let unary = Unary::ALL.iter().skip(1).map(|(_, name)| *name);
    unary.chain(AXIS_CALLS).chain(RESERVED).chain(["len", "clamp"])
}
