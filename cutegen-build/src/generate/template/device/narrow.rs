//! Which of a kernel's functions may be as short as the prelude has them: only where rounding the results to a narrow type
//! hides what they err by. At the tie just above a power of two, where it hides least, that is 2^-16 of the value for bf16,
//! more for 8-bit floats, and 2^-22 for f16. A product or a quotient passes a relative error on; what cancels, compares,
//! bends or rounds it does not, and neither does a sum of many but for terms of one sign.

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Place, ReduceOp, Unary};

/// What a kernel computes.
pub(super) struct Values<'a> {
    /// Each output's type and value.
    pub(super) outputs: Vec<(DType, &'a Expr)>,
    /// What is reduced or scanned on the way, and the temporary that stands for it.
    pub(super) reduced: Vec<(ReduceOp, Option<usize>, &'a Expr)>,
    /// Loop variables along a row; none where no row is divided by what it shares.
    pub(super) cols: &'a [usize],
}

impl Values<'_> {
    /// What the prelude's holes are filled with.
    pub(super) fn holes(&self) -> [(&'static str, &'static str); 3] {
        let word = |is: bool| if is { "true" } else { "false" };
        [
            ("NARROW", word(self.functions())),
            ("NARROW_EXP", word(self.exponentials())),
            ("NARROW_QUOTIENT", word(self.quotients())),
        ]
    }

    /// sigmoid, silu, gelu, gelu_tanh and tanh, off by 2^-16.
    fn functions(&self) -> bool {
        use Unary::{Gelu, GeluTanh, Sigmoid, Silu, Tanh};
        let is_short = |e: &Expr| matches!(e, Expr::Unary(Sigmoid | Silu | Gelu | GeluTanh | Tanh, _));
        self.outputs_hide(7, &is_short) && !self.reduced.iter().any(|(.., body)| has(body, &is_short))
    }

    /// exp, off by 2^-17, and sums of nothing but exponentials, off by as much.
    fn exponentials(&self) -> bool {
        let is_exp = |e: &Expr| matches!(e, Expr::Unary(Unary::Exp, _));
        let is_sum = |(op, _, body): &&(ReduceOp, Option<usize>, &Expr)| *op == ReduceOp::Sum && is_exp(body);
        let sums: Vec<usize> = self.reduced.iter().filter(is_sum).filter_map(|(_, temp, _)| *temp).collect();
        let is_short = |e: &Expr| is_exp(e) || matches!(e, Expr::Load(Place::Temp(t), _) if sums.contains(t));
        let plain = |reduced: &(ReduceOp, Option<usize>, &Expr)| {
            if is_sum(&reduced) {
                !reduced.2.children().into_iter().any(|inner| has(inner, &is_short))
            } else {
                !has(reduced.2, &is_short)
            }
        };
        self.outputs_hide(7, &is_short) && self.reduced.iter().all(plain)
    }

    /// Quotients of elements by what their row shares, off by 2 roundings of a float.
    fn quotients(&self) -> bool {
        let runs = |e: &Expr| e.free_vars().iter().any(|var| self.cols.contains(var));
        let is_short = |e: &Expr| matches!(e, Expr::Binary(Binary::Div, a, b) if runs(a) && !runs(b));
        self.outputs_hide(10, &is_short) && !self.reduced.iter().any(|(.., body)| has(body, &is_short))
    }

    /// Whether outputs that have short functions store at most so many bits of fraction, and have them as factors.
    fn outputs_hide(&self, bits: u32, is_short: &dyn Fn(&Expr) -> bool) -> bool {
        let hides = |(dtype, value): &(DType, &Expr)| {
            !has(value, is_short) || (fraction(*dtype) <= bits && !spoils(value, is_short))
        };
        self.outputs.iter().all(hides)
    }
}

/// Bits that a float stores of its fraction.
fn fraction(dtype: DType) -> u32 {
    match dtype {
        DType::F8e5m2 => 2,
        DType::F8e4m3 => 3,
        DType::Bf16 => 7,
        DType::F16 => 10,
        _ => u32::MAX,
    }
}

fn has(expr: &Expr, is_short: &dyn Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    expr.visit(&mut |e| found |= is_short(e));
    found
}

/// Whether anything uses the result of a short function otherwise than as a factor.
fn spoils(value: &Expr, is_short: &dyn Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    value.visit(&mut |expr| {
        let passes = match expr {
            Expr::Binary(op, ..) => matches!(op, Binary::Mul | Binary::Div | Binary::Max | Binary::Min),
            Expr::Unary(op, _) => matches!(op, Unary::Neg | Unary::Abs | Unary::Relu),
            Expr::Cast(..) => false,
            _ => true,
        };
        found |= !passes && expr.children().into_iter().any(|child| has(child, is_short));
    });
    found
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::target::Target;

    use super::super::rowwise;
    use super::Values;
    use crate::plan::Plan;
    use crate::plan::family::Family;

    fn plan(outputs: &str, math: &str) -> Plan {
        let u = if math.contains("u[") { ", u = 'f32[m, n]'" } else { "" };
        let text = format!(
            "edition = 1\n[kernels.k]\naxes = {{ m = 8, n = 8 }}\n\
             inputs = {{ x = 'f32[m, n]'{u} }}\noutputs = {{ {outputs} }}\nmath = '''{math}'''"
        );
        let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
        Plan::new(&kernels[0], &Target::parse("sm_90a").expect("a target"))
    }

    fn functions(ty: &str, math: &str) -> bool {
        let plan = plan(&format!("y = '{ty}[m, n]'"), &format!("y[m, n] = u[m, n] * ({math})"));
        let value = plan.schedule.steps[0].value.expr();
        let outputs = vec![(plan.spec.tensors.last().expect("y").dtype, value)];
        Values { outputs, reduced: Vec::new(), cols: &[] }.functions()
    }

    #[test]
    fn only_factors_of_few_bits_are_short() {
        for math in ["gelu(x[m, n])", "-tanh(x[m, n] + 1)", "max(silu(x[m, n]), 0) / x[m, n]"] {
            assert!(
                functions("bf16", math) && functions("f8e5m2", math) && !functions("f16", math),
                "{math}"
            );
        }
        for math in [
            "gelu(x[m, n]) - x[m, n]",
            "exp(tanh(x[m, n]))",
            "where(silu(x[m, n]) > u[m, n], 1, 0)",
            "tanh(gelu(x[m, n]))",
            "cast(bf16, silu(x[m, n]))",
        ] {
            assert!(!functions("bf16", math), "{math}");
        }
    }

    /// Whether exponentials are short, and quotients.
    fn of_rows(outputs: &str, math: &str) -> (bool, bool) {
        let plan = plan(outputs, math);
        let Family::Rowwise { rows: Some(rows), .. } = &plan.family else { panic!("{:?}", plan.family) };
        let values = rowwise::values(&plan, rows);
        (values.exponentials(), values.quotients())
    }

    #[test]
    fn a_softmax_of_few_bits_is_short() {
        let softmax = "y[m, n] = softmax(n, x[m, n])";
        assert_eq!(of_rows("y = 'bf16[m, n]'", softmax), (true, true));
        assert_eq!(of_rows("y = 'f16[m, n]'", softmax), (false, true));
        assert_eq!(of_rows("y = 'f32[m, n]'", softmax), (false, false));
    }

    #[test]
    fn what_cancels_is_not_short() {
        let of_bf16 = |math: &str| of_rows("y = 'bf16[m, n]'", math);
        assert!(!of_bf16("y[m, n] = log_softmax(n, x[m, n])").0, "a logarithm of the sum");
        assert!(!of_bf16("s[m] = sum(n, exp(x[m, n]) * u[m, n])\ny[m, n] = exp(x[m, n]) / s[m]").0, "signs");
        assert_eq!(of_bf16("y[m, n] = softmax(n, x[m, n]) - u[m, n]"), (false, false));
    }

    #[test]
    fn what_is_stored_whole_is_not_short() {
        let outputs = |ty: &str| format!("y = '{ty}[m, n]', z = 'f32[m]'");
        let and_sum = "s[m] = sum(n, exp(x[m, n]))\ny[m, n] = exp(x[m, n]) / s[m]\nz[m] = s[m]";
        assert_eq!(of_rows(&outputs("bf16"), and_sum), (false, true));
        let scaled = "s[m] = max(n, abs(x[m, n])) / 448\ny[m, n] = x[m, n] / s[m]\nz[m] = s[m]";
        assert!(of_rows(&outputs("f8e4m3"), scaled).1);
        assert!(!of_rows(&outputs("i8"), &scaled.replace("x[m, n] / s[m]", "cast(i8, x[m, n] / s[m])")).1);
    }
}
