//! Integer expressions as a person writes them: no more parentheses than their meaning needs, and a number where it is always
//! the same one.

use std::collections::BTreeSet;

use cutegen_spec::axis::Extent;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::spec::KernelSpec;

/// How tightly an operator binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sum,
    Product,
    Atom,
}

/// The value of an expression that has the same one at every shape.
pub(super) fn always(spec: &KernelSpec, expr: &IntExpr) -> Option<i64> {
    let mut named = BTreeSet::new();
    expr.axes(&mut named);
    let mut values = vec![0; spec.axes.len()];
    for axis in named {
        values[axis] = match &spec.axes[axis].extent {
            Extent::Const(value) => *value,
            Extent::Derived(of) => always(spec, of)?,
            Extent::Range { lo, hi, .. } if lo == hi => *lo,
            Extent::Range { .. } => return None,
        };
    }
    expr.eval_axes(&values)
}

/// An expression with the names of axes.
pub(super) fn named(spec: &KernelSpec, expr: &IntExpr) -> String {
    written(spec, expr).0
}

fn written(spec: &KernelSpec, expr: &IntExpr) -> (String, Level) {
    let IntExpr::Op(op, a, b) = expr else {
        return (expr.text(&|axis| spec.axes[axis].name.clone()), Level::Atom);
    };
    let (level, sign) = match op {
        IntOp::Add => (Level::Sum, "+"),
        IntOp::Sub => (Level::Sum, "-"),
        IntOp::Mul => (Level::Product, "*"),
        IntOp::Div => (Level::Product, "/"),
        IntOp::Rem => (Level::Product, "%"),
        IntOp::CeilDiv | IntOp::Min | IntOp::Max => {
            let name = match op {
                IntOp::Min => "min",
                IntOp::Max => "max",
                _ => "ceil_div",
            };
            return (format!("{name}({}, {})", named(spec, a), named(spec, b)), Level::Atom);
        }
    };
    // operators associate to the left, and a quotient in a product is rounded
    let left = within(written(spec, a), level, true);
    let right = within(written(spec, b), level, *op == IntOp::Add);
    (format!("{left} {sign} {right}"), level)
}

/// The text, in parentheses where it binds less than its place asks for, or as much and may not stand there.
fn within((text, own): (String, Level), level: Level, is_safe: bool) -> String {
    if own > level || (own == level && is_safe) { text } else { format!("({text})") }
}

#[cfg(test)]
mod tests {
    use super::{always, named};
    use crate::generate::prompt::sample::plan;
    use cutegen_spec::int_expr::IntExpr;

    #[test]
    fn expressions_have_the_parentheses_that_they_need() {
        let spec = plan().spec;
        let expr = |text: &str| {
            IntExpr::parse(text, &|name| spec.axes.iter().position(|axis| axis.name == name)).expect("right")
        };
        for text in [
            "(v + 4 - 5) / 2 + 1",
            "v - (r - 1)",
            "v * (r / 2)",
            "v * r / 2",
            "v + r - 1",
            "v - r * 2 % 3",
            "max(v - 1, r) * 2",
            "v / (r * 2)",
        ] {
            let one = expr(text);
            assert_eq!(named(&spec, &one), text);
            assert_eq!(expr(&named(&spec, &one)).eval_axes(&[1, 64, 3, 32]), one.eval_axes(&[1, 64, 3, 32]));
        }
        assert_eq!(named(&spec, &expr("((v + (4 - 5)) + (r * (2 * 3)))")), "v + 4 - 5 + r * (2 * 3)");
        assert_eq!(
            (always(&spec, &expr("(v - 1) / 2 + 1")), always(&spec, &expr("b + v"))),
            (Some(32), None)
        );
    }
}
