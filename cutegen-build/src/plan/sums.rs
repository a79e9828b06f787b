//! Which sums of a kernel are of products of its inputs, and what the gate may conclude from that. Pure.

use std::collections::BTreeSet;

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

/// Whether some sum adds products of two inputs, as a convolution does and a pool does not.
#[must_use]
pub fn multiplies(plan: &Plan) -> bool {
    let sums = plan.schedule.steps.iter().filter_map(|step| match &step.value {
        Value::Reduce { op: ReduceOp::Sum, body, .. } => Some(body),
        Value::Reduce { .. } | Value::Map(_) | Value::Scan { .. } => None,
    });
    sums.into_iter().any(|body| {
        let mut found = false;
        body.visit(&mut |part| {
            if let Expr::Binary(Binary::Mul, left, right) = part {
                let [left, right] = [left, right].map(|side| tensors(side));
                found |= !left.is_empty() && !right.is_empty() && left.union(&right).count() > 1;
            }
        });
        found
    })
}

/// Integers over which every sum of a kernel is exact, in any order and however it is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactIntegers {
    /// None: a sum has roundings that are no sum's.
    None,
    /// Small ones. An input is multiplied by itself, and the square of a wide one does not fit.
    Small,
    /// Small ones, and wide ones in one of the inputs.
    Wide,
}

/// Integers over which sums are exact. Where there are [`only_sums`], they are. In a contraction they are where an honest
/// kernel takes only whole numbers into its sums, a bias or another sum. Elsewhere a mean may be a running one. A
/// scalar's factor may be taken into the terms, each with roundings of its own.
#[must_use]
pub fn exact_integers(plan: &Plan) -> ExactIntegers {
    let exact = |step: &Step| match &step.value {
        Value::Map(value) => combined(value).is_some(),
        Value::Reduce { op: ReduceOp::Sum, body, .. } => is_product(body),
        Value::Reduce { .. } | Value::Scan { .. } => false,
    };
    let are_exact = only_sums(plan)
        || matches!(plan.family, Family::Contraction { .. }) && plan.schedule.steps.iter().all(exact);
    match (are_exact, plan.schedule.steps.iter().any(squares)) {
        (false, _) => ExactIntegers::None,
        (true, true) => ExactIntegers::Small,
        (true, false) => ExactIntegers::Wide,
    }
}

/// Whether the terms of a step's sum, which are products of inputs, have one of them twice.
fn squares(step: &Step) -> bool {
    let Value::Reduce { body, .. } = &step.value else { return false };
    let mut factors = BTreeSet::new();
    let mut is_twice = false;
    body.visit(&mut |expr| {
        if let Expr::Load(Place::Tensor(tensor), _) = expr {
            is_twice |= !factors.insert(*tensor);
        }
    });
    is_twice
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

fn tensors(of: &Expr) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    of.visit(&mut |part| {
        if let Expr::Load(Place::Tensor(tensor), _) | Expr::Pad(Place::Tensor(tensor), ..) = part {
            found.insert(*tensor);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;
    use cutegen_spec::target::Target;

    use super::ExactIntegers::{None, Small, Wide};
    use super::{ExactIntegers, exact_integers, only_sums};
    use crate::plan::Plan;

    /// Whether the math is only sums, and the integers over which its sums are exact.
    fn of(math: &str) -> (bool, ExactIntegers) {
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
        assert_eq!(of("y[m, n] = sum(k, x[m, k] * w[n, k])"), (true, Wide));
        for epilogue in
            ["gelu(SUM + b[n])", "relu(SUM - b[n]) * 0.125", "silu(SUM) * (SUM + 1 * b[n] * b[n])"]
        {
            let math = format!("y[m, n] = {}", epilogue.replace("SUM", "sum(k, x[m, k] * w[n, k])"));
            assert_eq!(of(&math.replace("1 * ", "")), (false, Wide), "{epilogue}");
        }
    }

    #[test]
    fn squares_of_wide_integers_do_not_fit() {
        let both = "inputs = { x = 'f32[m, k]', w = 'f32[m, k]' }";
        let one = "inputs = { x = 'f32[m, k]' }";
        for (inputs, terms, expected) in [
            (one, "x[m, k]", Wide),
            (one, "x[m, k] * x[m, k]", Small),
            (both, "x[m, k] * w[m, k]", Wide),
            (both, "x[m, k] * w[m, k] * x[m, k]", Small),
        ] {
            let text = format!(
                "edition = 1\n[kernels.one]\naxes = {{ m = '1..=64', k = 64 }}\n{inputs}\n\
                 outputs = {{ y = 'f32[m]' }}\nmath = 'y[m] = sum(k, {terms})'"
            );
            let specs = spec_file(&text, &Settings::default()).into_kernels().expect("a right spec");
            assert_eq!(exact_integers(&Plan::new(&specs[0], &Target::host())), expected, "{terms}");
        }
        let gated = "y[m, n] = sum(k, x[m, k] * w[n, k]) * sigmoid(sum(k, x[m, k] * w[n, k]))";
        assert_eq!(of(gated).1, Wide, "each sum has an input once");
    }

    #[test]
    fn others_are_not() {
        let inside = "y[m, n] = sum(k, x[m, k] * (w[n, k] * by)) + b[n]";
        assert_eq!(of(inside), (false, None), "a factor in the sum need not be whole");
        let mean = "y[m, n] = x[m, n] - mean(k, x[m, k])";
        assert_eq!(of(mean), (false, None), "a mean may be a running one");
        for epilogue in [
            "SUM * by + b[n]",
            "SUM + by * b[n]",
            "relu(SUM) * 0.3",
            "SUM + gelu(b[n])",
            "SUM * b[n]",
            "SUM / 64",
        ] {
            let math = format!("y[m, n] = {}", epilogue.replace("SUM", "sum(k, x[m, k] * w[n, k])"));
            assert_eq!(of(&math), (false, None), "{epilogue}: a kernel may take it into the sum");
        }
        assert_eq!(of("y[m, n] = softmax(n, x[m, n])"), (false, None));
    }
}
