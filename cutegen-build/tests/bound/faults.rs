//! [`Fault`]: what dishonest kernels do, and to which specs each applies: only what its math shows decides.

use cutegen_build::plan::Plan;
use cutegen_build::plan::schedule::Value;
use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Index, Kind, Place, ReduceOp, Unary};
use cutegen_spec::tensor::Role;

use super::values::square_of_difference;

/// A fault of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Inputs of f32 rounded to bf16.
    Bf16Inputs,
    /// Inputs of f32 rounded to f16.
    F16Inputs,
    /// Arguments of exponentials rounded to bf16.
    Bf16Exp,
    /// Factors under a sum rounded to TF32.
    Tf32,
    /// Running sums kept in bf16.
    Bf16Sum,
    /// Running sums kept in f16.
    F16Sum,
    /// Reductions without their last element.
    DropsLast,
    /// Reductions without their first element.
    DropsFirst,
    /// Inclusive scans made exclusive, exclusive ones inclusive.
    ScanOffByOne,
    /// A bounded reduction that runs one element too far.
    BoundOffByOne,
    /// One element holds its neighbour's value.
    Neighbour,
    /// `sum(x * x) - n m * m` for `sum((x - m) * (x - m))`.
    NaiveVariance,
    /// Softmax without its maximum.
    NoMax,
    /// An epsilon left out.
    NoEps,
    /// `rsqrt` to 8 bits.
    CoarseRsqrt,
    /// Narrow outputs cut instead of rounded.
    TruncatesOutput,
    /// The highest index among equals.
    LastOfTies,
    /// `max`, `min` and `relu` that lose NaN.
    SwallowsNan,
    /// Subnormal inputs and results taken for 0, without fast math.
    FlushesSubnormals,
    /// A gather that reads the row after the right one.
    ReadsNextRow,
    /// Masks taken for true everywhere.
    IgnoresMask,
    /// 1 outside of padded tensors.
    PadsOnes,
    /// 8-bit scales of 128.
    Scale128,
    /// A sum's operand that is an input (a bias, a residual), left out.
    DropsResidual,
    /// GELU by tanh for GELU by erf.
    GeluByTanh,
}

impl Fault {
    pub(crate) const ALL: [Fault; 25] = [
        Fault::Bf16Inputs,
        Fault::F16Inputs,
        Fault::Bf16Exp,
        Fault::Tf32,
        Fault::Bf16Sum,
        Fault::F16Sum,
        Fault::DropsLast,
        Fault::DropsFirst,
        Fault::ScanOffByOne,
        Fault::BoundOffByOne,
        Fault::Neighbour,
        Fault::NaiveVariance,
        Fault::NoMax,
        Fault::NoEps,
        Fault::CoarseRsqrt,
        Fault::TruncatesOutput,
        Fault::LastOfTies,
        Fault::SwallowsNan,
        Fault::FlushesSubnormals,
        Fault::ReadsNextRow,
        Fault::IgnoresMask,
        Fault::PadsOnes,
        Fault::Scale128,
        Fault::DropsResidual,
        Fault::GeluByTanh,
    ];

    /// Whether the fault changes what a kernel of this math computes.
    pub(crate) fn applies(self, plan: &Plan) -> bool {
        let has = |what: &dyn Fn(&Expr) -> bool| any(plan, what);
        match self {
            Fault::Bf16Inputs | Fault::F16Inputs => all_inputs(plan, DType::F32) && gives(plan, DType::F32),
            Fault::Bf16Exp => has(&|e| matches!(e, Expr::Unary(Unary::Exp, _))),
            Fault::Tf32 => all_inputs(plan, DType::F32) && summed(plan, &is_product),
            Fault::Bf16Sum | Fault::F16Sum => summed(plan, &|_| true),
            Fault::DropsLast | Fault::DropsFirst => reductions(plan).any(|_| true),
            Fault::ScanOffByOne => plan.schedule.steps.iter().any(|s| matches!(s.value, Value::Scan { .. })),
            Fault::BoundOffByOne => bounded(plan),
            Fault::Neighbour => plan.spec.tensors.iter().any(|t| t.role != Role::Input && !t.dims.is_empty()),
            Fault::NaiveVariance => summed(plan, &|body| is_variance(plan, body)),
            Fault::NoMax => has(&|e| is_softmax(plan, e)),
            Fault::NoEps => has(&|e| matches!(e, Expr::Binary(Binary::Add, _, b) if is_eps(b, plan))),
            Fault::CoarseRsqrt => has(&|e| matches!(e, Expr::Unary(Unary::Rsqrt, _))),
            Fault::TruncatesOutput => rounds_output(plan),
            Fault::LastOfTies => reductions(plan).any(|(op, _)| op.gives_index()),
            Fault::SwallowsNan => swallows(plan),
            Fault::FlushesSubnormals => all_inputs(plan, DType::F32) && hands_on(plan),
            Fault::ReadsNextRow => reads_rows(plan),
            Fault::IgnoresMask => has(&|e| matches!(e, Expr::Where(parts) if reads_mask(&parts[0], plan))),
            Fault::PadsOnes => has(&|e| matches!(e, Expr::Pad(..))),
            Fault::Scale128 => has(&|e| *e == Expr::Const(127.0)),
            Fault::DropsResidual => has(&adds_input),
            Fault::GeluByTanh => has(&|e| matches!(e, Expr::Unary(Unary::Gelu, _))),
        }
    }
}

fn any(plan: &Plan, what: &dyn Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    for step in &plan.schedule.steps {
        step.value.expr().visit(&mut |expr| found |= what(expr));
    }
    found
}

fn reductions(plan: &Plan) -> impl Iterator<Item = (ReduceOp, &Expr)> {
    plan.schedule.steps.iter().filter_map(|step| match &step.value {
        Value::Reduce { op, body, .. } | Value::Scan { op, body, .. } => Some((*op, body)),
        Value::Map(_) => None,
    })
}

/// Whether a real sum has such a body.
fn summed(plan: &Plan, what: &dyn Fn(&Expr) -> bool) -> bool {
    let kind = |body: &Expr| body.kind(&|place| plan.schedule.kind(&plan.spec, place));
    reductions(plan).any(|(op, body)| op == ReduceOp::Sum && kind(body) == Kind::Real && what(body))
}

fn is_product(body: &Expr) -> bool {
    matches!(body, Expr::Binary(Binary::Mul, ..))
}

/// What is subtracted is a value of the whole reduction, not another element.
fn is_variance(plan: &Plan, body: &Expr) -> bool {
    let Some((_, mean)) = square_of_difference(body) else { return false };
    let mut sums = false;
    mean.visit(&mut |e| {
        sums |= matches!(e, Expr::Load(place @ Place::Temp(_), _) if reduces(plan, *place, ReduceOp::Sum));
    });
    sums
}

fn reduces(plan: &Plan, place: Place, wanted: ReduceOp) -> bool {
    plan.schedule
        .steps
        .iter()
        .any(|s| s.dst == place && matches!(s.value, Value::Reduce { op, .. } if op == wanted))
}

fn is_softmax(plan: &Plan, expr: &Expr) -> bool {
    let Expr::Unary(Unary::Exp, inner) = expr else { return false };
    matches!(inner.as_ref(), Expr::Binary(Binary::Sub, _, top)
        if matches!(top.as_ref(), Expr::Load(place, _) if reduces(plan, *place, ReduceOp::Max)))
}

fn all_inputs(plan: &Plan, dtype: DType) -> bool {
    let mut inputs = plan.spec.tensors.iter().filter(|t| t.role != Role::Output && t.dtype.is_float());
    inputs.clone().next().is_some() && inputs.all(|t| t.dtype == dtype)
}

/// Indices show the rounding of inputs only where it makes them equal, narrow outputs not at all.
fn gives(plan: &Plan, dtype: DType) -> bool {
    plan.spec.tensors.iter().filter(|t| t.role == Role::Output).all(|t| t.dtype == dtype)
}

fn bounded(plan: &Plan) -> bool {
    let mut steps = plan.schedule.steps.iter();
    steps.any(|s| matches!(&s.value, Value::Reduce { over, .. } if over.iter().any(|l| l.to.is_some())))
}

/// A narrow output that is computed, not copied or rounded by the math.
fn rounds_output(plan: &Plan) -> bool {
    plan.schedule.steps.iter().any(|step| match (&step.value, step.dst) {
        (Value::Map(value), Place::Tensor(t)) => {
            let narrow = matches!(plan.spec.tensors[t].dtype, DType::Bf16 | DType::F16 | DType::F8e4m3);
            narrow
                && matches!(value, Expr::Unary(..) | Expr::Binary(..))
                && !matches!(value, Expr::Unary(Unary::Relu, _))
        }
        _ => false,
    })
}

/// An output that is an element of an input, as it is, for some values.
fn hands_on(plan: &Plan) -> bool {
    let picks = |e: &Expr| {
        let of_inputs = e.children().into_iter().any(is_input);
        of_inputs
            && matches!(
                e,
                Expr::Unary(Unary::Relu, _) | Expr::Binary(Binary::Max | Binary::Min, ..) | Expr::Where(_)
            )
    };
    let outputs = plan.schedule.steps.iter().filter(|s| matches!(s.dst, Place::Tensor(_)));
    outputs.into_iter().any(|s| picks(s.value.expr()))
}

fn swallows(plan: &Plan) -> bool {
    let picks =
        |e: &Expr| matches!(e, Expr::Unary(Unary::Relu, _) | Expr::Binary(Binary::Max | Binary::Min, ..));
    let reduced = reductions(plan).any(|(op, _)| matches!(op, ReduceOp::Max | ReduceOp::Min));
    let sums = reductions(plan).any(|(op, _)| op == ReduceOp::Sum);
    (reduced && !sums) || any(plan, &picks)
}

fn reads_rows(plan: &Plan) -> bool {
    let mut found = false;
    for step in &plan.schedule.steps {
        step.value.expr().visit(&mut |expr| {
            for index in expr.indices() {
                index.visit(&mut |i| found |= matches!(i, Index::Read(..)));
            }
        });
    }
    found
}

/// Whether a condition reads a bool tensor.
pub(crate) fn reads_mask(condition: &Expr, plan: &Plan) -> bool {
    let mut found = false;
    condition.visit(&mut |e| {
        found |= matches!(e, Expr::Load(Place::Tensor(t), _) if plan.spec.tensors[*t].dtype == DType::Bool);
    });
    found
}

/// Whether an operand is an element of an input.
pub(crate) fn is_input(expr: &Expr) -> bool {
    matches!(expr, Expr::Load(Place::Tensor(_), _))
}

fn adds_input(expr: &Expr) -> bool {
    matches!(expr, Expr::Binary(Binary::Add, a, b) if is_input(a) || is_input(b))
}

/// Whether an operand is the epsilon of a norm.
pub(crate) fn is_eps(expr: &Expr, plan: &Plan) -> bool {
    matches!(expr, Expr::Scalar(position) if plan.spec.scalars[*position].name == "eps")
}
