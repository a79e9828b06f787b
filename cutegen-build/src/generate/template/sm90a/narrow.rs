//! Whether a kernel's functions may be as short as `NARROW` in the prelude has them: only where rounding the results to
//! bf16 hides what they err by, 2^-16 of the value. A product or a quotient passes a relative error on; what cancels,
//! compares or bends it does not, and neither does a sum of many.

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Unary};

/// For outputs of these types and values, and what is reduced or scanned on the way.
pub(super) fn is_narrow(outputs: &[(DType, &Expr)], reduced: &[&Expr]) -> bool {
    let hidden = |(dtype, value): &(DType, &Expr)| *dtype == DType::Bf16 && !spoils(value);
    outputs.iter().all(hidden) && !reduced.iter().any(|body| has_short(body))
}

/// Whether the prelude has a short form of it.
fn is_short(expr: &Expr) -> bool {
    use Unary::{Gelu, GeluTanh, Sigmoid, Silu, Tanh};
    matches!(expr, Expr::Unary(Sigmoid | Silu | Gelu | GeluTanh | Tanh, _))
}

fn has_short(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |e| found |= is_short(e));
    found
}

/// Whether anything uses the result of a short function otherwise than as a factor.
fn spoils(value: &Expr) -> bool {
    let mut found = false;
    value.visit(&mut |expr| {
        let passes = match expr {
            Expr::Binary(op, ..) => matches!(op, Binary::Mul | Binary::Div | Binary::Max | Binary::Min),
            Expr::Unary(op, _) => matches!(op, Unary::Neg | Unary::Abs | Unary::Relu),
            _ => true,
        };
        found |= !passes && expr.children().into_iter().any(has_short);
    });
    found
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::target::Target;

    use super::is_narrow;
    use crate::plan::Plan;

    fn narrow(ty: &str, math: &str) -> bool {
        let text = format!(
            "edition = 1\n[kernels.k]\naxes = {{ n = 8 }}\ninputs = {{ x = 'f32[n]', u = 'f32[n]' }}\n\
             outputs = {{ y = '{ty}[n]' }}\nmath = 'y[n] = u[n] * ({math})'"
        );
        let document = spec_file(&text, &Default::default());
        assert_eq!(document.errors, [], "{text}");
        let plan = Plan::new(&document.kernels[0], &Target::host());
        let value = plan.schedule.steps[0].value.expr();
        is_narrow(&[(plan.spec.tensors[2].dtype, value)], &[])
    }

    #[test]
    fn only_factors_of_bf16_are_short() {
        for math in ["gelu(x[n])", "-tanh(x[n] + 1)", "max(silu(x[n]), 0) / x[n]", "exp(x[n])"] {
            assert!(narrow("bf16", math) && !narrow("f16", math), "{math}");
        }
        for math in
            ["gelu(x[n]) - x[n]", "exp(tanh(x[n]))", "where(silu(x[n]) > u[n], 1, 0)", "tanh(gelu(x[n]))"]
        {
            assert!(!narrow("bf16", math), "{math}");
        }
    }
}
