//! Which sums of a kernel are of products of its inputs, and what the gate may conclude from that. Pure.

use cutegen_spec::math::{Binary, Expr, Place, ReduceOp, Unary};

use super::Plan;
use super::family::Family;
use super::schedule::{Step, Value};

/// Whether all that is computed are sums of products of inputs, and nothing after them: integers stay integers up to
/// the last rounding, and every error is that of a sum.
#[must_use]
pub fn only_sums(plan: &Plan) -> bool {
    let exact = |step: &Step| match &step.value {
        Value::Map(value) => matches!(value, Expr::Load(..)),
        Value::Reduce { op: ReduceOp::Sum, body, .. } => is_product(body),
        Value::Reduce { .. } | Value::Scan { .. } => false,
    };
    plan.schedule.steps.iter().all(exact)
}

/// Whether every sum over integers is exact, in any order and however it is split. So it is where there are
/// [`only_sums`], and in a contraction that an honest kernel takes nothing into but what is whole as well, a bias or
/// another sum. Elsewhere a mean may be a running one, and a scalar's factor be taken into the terms,
/// each with roundings of its own.
#[must_use]
pub fn exact_integers(plan: &Plan) -> bool {
    let exact = |step: &Step| match &step.value {
        Value::Map(value) => combined(value).is_some(),
        Value::Reduce { op: ReduceOp::Sum, body, .. } => is_product(body),
        Value::Reduce { .. } | Value::Scan { .. } => false,
    };
    only_sums(plan)
        || matches!(plan.family, Family::Contraction { .. }) && plan.schedule.steps.iter().all(exact)
}

/// Whether what a kernel takes into a sum would show in the value: it holds one that no function stands before. `None`
/// where that might not be whole: a factor that is neither a power of two nor made of sums, a divisor, an addend that
/// is no product of elements.
fn combined(value: &Expr) -> Option<bool> {
    match value {
        Expr::Load(Place::Temp(_), _) => Some(true),
        Expr::Load(Place::Tensor(_), _) | Expr::Const(_) | Expr::Int(_) | Expr::Scalar(_) => Some(false),
        Expr::Unary(Unary::Neg | Unary::Abs | Unary::Relu, a) => combined(a),
        Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Pad(_, _, a) => combined(a).map(|_| false),
        Expr::Where(parts) => {
            let parts = parts.iter().map(combined).collect::<Option<Vec<bool>>>()?;
            Some(parts[1] || parts[2])
        }
        Expr::Binary(op, a, b) => {
            let fits = |of_a: bool, of_b: bool| match op {
                Binary::Add | Binary::Sub => {
                    (of_a || !of_b || is_product(a)) && (of_b || !of_a || is_product(b))
                }
                Binary::Mul => (of_a || !of_b || scales(a)) && (of_b || !of_a || scales(b)),
                Binary::Div => !of_a && !of_b,
                _ => true,
            };
            let (of_a, of_b) = (combined(a)?, combined(b)?);
            fits(of_a, of_b).then_some(of_a || of_b)
        }
        Expr::Reduce(..) => None,
    }
}

/// Whether a sum times this stays as exact wherever it is multiplied: a power of two, or what no kernel has before its
/// sums are done.
fn scales(factor: &Expr) -> bool {
    let mut of_sums = false;
    factor.visit(&mut |expr| of_sums |= matches!(expr, Expr::Load(Place::Temp(_), _)));
    of_sums || matches!(factor, Expr::Const(c) if c.is_normal() && c.to_bits() << 12 == 0)
}

/// Whether `body` is a product of elements of inputs.
pub(crate) fn is_product(body: &Expr) -> bool {
    match body {
        Expr::Load(Place::Tensor(_), _) => true,
        Expr::Binary(Binary::Mul, a, b) => is_product(a) && is_product(b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;
    use cutegen_spec::target::Target;

    use super::{exact_integers, only_sums};
    use crate::plan::Plan;

    /// Whether the math is only sums, and whether its sums of integers are exact.
    fn of(math: &str) -> (bool, bool) {
        let used = |names: &[(&str, &str)]| -> String {
            let named = names.iter().filter(|(name, _)| math.contains(name));
            named.map(|(name, what)| format!("{} = '{what}', ", name.trim_matches('['))).collect()
        };
        let text = format!(
            "edition = 1\n[kernels.one]\naxes = {{ m = '1..=64', n = 64, k = 64 }}\n\
             inputs = {{ {} }}\noutputs = {{ y = 'f32[m, n]' }}\nscalars = {{ {} }}\nmath = '{math}'",
            used(&[("x[", "f32[m, k]"), ("w[", "f32[n, k]"), ("b[", "f32[n]")]),
            used(&[("by", "f32")]),
        );
        let specs = spec_file(&text, &Settings::default()).into_kernels().expect("a right spec");
        let plan = Plan::new(&specs[0], &Target::host());
        (only_sums(&plan), exact_integers(&plan))
    }

    #[test]
    fn sums_of_a_contraction_are_exact_whatever_follows() {
        assert_eq!(of("y[m, n] = sum(k, x[m, k] * w[n, k])"), (true, true));
        for epilogue in
            ["gelu(SUM + b[n])", "relu(SUM - b[n]) * 0.125", "silu(SUM) * (SUM + 1 * b[n] * b[n])"]
        {
            let math = format!("y[m, n] = {}", epilogue.replace("SUM", "sum(k, x[m, k] * w[n, k])"));
            assert_eq!(of(&math.replace("1 * ", "")), (false, true), "{epilogue}");
        }
    }

    #[test]
    fn others_are_not() {
        let inside = "y[m, n] = sum(k, x[m, k] * (w[n, k] * by)) + b[n]";
        assert_eq!(of(inside), (false, false), "a factor in the sum need not be whole");
        let mean = "y[m, n] = x[m, n] - mean(k, x[m, k])";
        assert_eq!(of(mean), (false, false), "a mean may be a running one");
        for epilogue in [
            "SUM * by + b[n]",
            "SUM + by * b[n]",
            "relu(SUM) * 0.3",
            "SUM + gelu(b[n])",
            "SUM * b[n]",
            "SUM / 64",
        ] {
            let math = format!("y[m, n] = {}", epilogue.replace("SUM", "sum(k, x[m, k] * w[n, k])"));
            assert_eq!(of(&math), (false, false), "{epilogue}: a kernel may take it into the sum");
        }
        assert_eq!(of("y[m, n] = softmax(n, x[m, n])"), (false, false));
    }
}
