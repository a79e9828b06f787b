//! The functions of the math language and their names.

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
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
    /// The largest whole number not above x.
    Floor,
    /// The smallest whole number not below x.
    Ceil,
    /// The nearest whole number, halves to even.
    Round,
    /// -1, 0 or 1; NaN stays.
    Sign,
    /// `not c`, of a condition.
    Not,
}

/// A function of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
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
    /// `a` to the power `b`.
    Pow,
    /// `a % b` of integers, never negative.
    Rem,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// Both conditions hold.
    And,
    /// At least one condition holds.
    Or,
}

/// A reduction over loop variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum ReduceOp {
    /// The sum; 0 when empty.
    Sum,
    /// The largest; -inf when empty.
    Max,
    /// The smallest; inf when empty.
    Min,
    /// The product; 1 when empty.
    Prod,
    /// Index of the largest, the lowest among equals; 0 when empty.
    ArgMax,
    /// Index of the smallest, the lowest among equals; 0 when empty.
    ArgMin,
}

impl Unary {
    /// Every function with its name in the language; [`Unary::Neg`] is the sign `-`.
    pub const ALL: [(Unary, &'static str); 25] = [
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
        (Unary::Floor, "floor"),
        (Unary::Ceil, "ceil"),
        (Unary::Round, "round"),
        (Unary::Sign, "sign"),
        (Unary::Not, "not"),
    ];

    /// The name in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        Unary::ALL.iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name)
    }

    /// The function that `name` names; `-` and `not` have no call form.
    #[must_use]
    pub fn parse(name: &str) -> Option<Unary> {
        Unary::calls().find(|(_, n)| *n == name).map(|(op, _)| op)
    }

    fn calls() -> impl Iterator<Item = (Unary, &'static str)> {
        Unary::ALL.into_iter().filter(|(op, _)| !matches!(op, Unary::Neg | Unary::Not))
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
            Binary::Pow => "pow",
            Binary::Rem => "rem",
            Binary::Lt => "lt",
            Binary::Le => "le",
            Binary::Gt => "gt",
            Binary::Ge => "ge",
            Binary::Eq => "eq",
            Binary::Ne => "ne",
            Binary::And => "and",
            Binary::Or => "or",
        }
    }

    /// The operator that `sign` writes.
    #[must_use]
    pub fn infix(sign: &str) -> Option<Binary> {
        Some(match sign {
            "+" => Binary::Add,
            "-" => Binary::Sub,
            "*" => Binary::Mul,
            "/" => Binary::Div,
            "%" => Binary::Rem,
            "<" => Binary::Lt,
            "<=" => Binary::Le,
            ">" => Binary::Gt,
            ">=" => Binary::Ge,
            "==" => Binary::Eq,
            "!=" => Binary::Ne,
            "and" => Binary::And,
            "or" => Binary::Or,
            _ => return None,
        })
    }

    /// Whether it compares two numbers.
    #[must_use]
    pub fn compares(self) -> bool {
        matches!(self, Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne)
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
            ReduceOp::Prod => "prod",
            ReduceOp::ArgMax => "argmax",
            ReduceOp::ArgMin => "argmin",
        }
    }

    /// The reduction that `name` names; a mean is a sum over a count.
    #[must_use]
    pub fn parse(name: &str) -> Option<ReduceOp> {
        [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::Prod, ReduceOp::ArgMax, ReduceOp::ArgMin]
            .into_iter()
            .find(|op| op.name() == name)
    }

    /// Whether the result is an index and not a value.
    #[must_use]
    pub fn gives_index(self) -> bool {
        matches!(self, ReduceOp::ArgMax | ReduceOp::ArgMin)
    }
}

/// Calls whose first argument is an axis that the call binds.
pub const REDUCTIONS: [&str; 7] = ["sum", "prod", "max", "min", "mean", "argmax", "argmin"];

/// Calls whose first argument is an axis that stays bound outside.
pub const PRELUDE: [&str; 4] = ["softmax", "log_softmax", "layer_norm", "rms_norm"];

/// Every word that may stand before `(`.
pub fn callable() -> impl Iterator<Item = &'static str> {
    let unary = Unary::calls().map(|(_, name)| name);
    unary.chain(REDUCTIONS).chain(PRELUDE).chain(["len", "clamp", "pad", "pow", "where", "cast"])
}
