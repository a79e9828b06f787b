//! Which sums of a kernel are of products of its inputs, and what the gate may conclude from that. Pure.

use cutegen_spec::math::{Binary, Expr, Place, ReduceOp};

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
/// [`only_sums`], and in a contraction whatever comes after them: who sums products adds them up. Elsewhere a mean may
/// honestly be a running one, and a factor be taken into a sum, each with roundings of its own.
#[must_use]
pub fn exact_integers(plan: &Plan) -> bool {
    let exact = |step: &Step| match &step.value {
        Value::Map(_) => true,
        Value::Reduce { op: ReduceOp::Sum, body, .. } => is_product(body),
        Value::Reduce { .. } | Value::Scan { .. } => false,
    };
    only_sums(plan)
        || matches!(plan.family, Family::Contraction { .. }) && plan.schedule.steps.iter().all(exact)
}

/// Whether `body` is a product of elements of inputs.
fn is_product(body: &Expr) -> bool {
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
        assert_eq!(of("y[m, n] = gelu(sum(k, x[m, k] * w[n, k]) * by + b[n])"), (false, true));
    }

    #[test]
    fn others_are_not() {
        let inside = "y[m, n] = sum(k, x[m, k] * (w[n, k] * by)) + b[n]";
        assert_eq!(of(inside), (false, false), "a factor in the sum need not be whole");
        let mean = "y[m, n] = x[m, n] - mean(k, x[m, k])";
        assert_eq!(of(mean), (false, false), "a mean may be a running one");
        assert_eq!(of("y[m, n] = softmax(n, x[m, n])"), (false, false));
    }
}
