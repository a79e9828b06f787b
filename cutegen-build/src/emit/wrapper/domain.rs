//! What holds of an integer expression over a kernel's whole domain: the range of its values and a number that
//! divides them all. Never says more than is true; unsure is an answer.

use cutegen_spec::axis::{Axis, Extent};
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{IntExpr, IntOp};

/// Values from `lo` to `hi`, all multiples of `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Values {
    lo: i64,
    hi: i64,
    step: i64,
}

/// Whether every launch in the domain meets `eligibility`, its tensors being aligned as an allocator aligns.
pub(super) fn always(eligibility: &Eligibility, axes: &[Axis]) -> bool {
    eligibility.0.iter().all(|condition| match condition {
        Condition::Divides { expr, by } => values(expr, axes).is_some_and(|v| v.step % by == 0),
        Condition::AtLeast { expr, bound } => values(expr, axes).is_some_and(|v| v.lo >= *bound),
        Condition::AtMost { expr, bound } => values(expr, axes).is_some_and(|v| v.hi <= *bound),
        Condition::Aligned { bytes, .. } => *bytes <= 256,
    })
}

/// The expression with axes of known extent replaced, and whatever is constant worked out.
pub(super) fn fold(expr: &IntExpr, axes: &[Axis]) -> IntExpr {
    match expr {
        IntExpr::Axis(axis) => match axes.get(*axis).map(|axis| &axis.extent) {
            Some(Extent::Const(value)) => IntExpr::Const(*value),
            Some(Extent::Range { .. } | Extent::Derived(_)) | None => expr.clone(),
        },
        IntExpr::Const(_) | IntExpr::Device(_) => expr.clone(),
        IntExpr::Op(op, a, b) => {
            let folded = IntExpr::op(*op, fold(a, axes), fold(b, axes));
            folded.eval_axes(&[]).map_or(folded, IntExpr::Const)
        }
    }
}

/// A number that no value of the expression exceeds.
pub(super) fn most(expr: &IntExpr, axes: &[Axis]) -> Option<i64> {
    values(expr, axes).map(|values| values.hi)
}

/// The axes where run-time ones end at these extents, if not before.
pub(super) fn up_to(axes: &[Axis], extents: &[i64]) -> Vec<Axis> {
    let mut axes = axes.to_vec();
    for (axis, extent) in axes.iter_mut().zip(extents) {
        if let Extent::Range { lo, hi, .. } = &mut axis.extent {
            *hi = (*hi).min(*extent).max(*lo);
        }
    }
    axes
}

fn values(expr: &IntExpr, axes: &[Axis]) -> Option<Values> {
    match expr {
        IntExpr::Const(value) => Some(Values { lo: *value, hi: *value, step: value.saturating_abs() }),
        IntExpr::Device(_) => None,
        IntExpr::Axis(axis) => match &axes.get(*axis)?.extent {
            Extent::Const(value) => values(&IntExpr::Const(*value), axes),
            Extent::Range { lo, hi, multiple_of, .. } => {
                Some(Values { lo: *lo, hi: *hi, step: *multiple_of })
            }
            Extent::Derived(expr) => values(expr, axes),
        },
        IntExpr::Op(op, a, b) => combine(*op, values(a, axes)?, values(b, axes)?),
    }
}

fn combine(op: IntOp, a: Values, b: Values) -> Option<Values> {
    let corners = |f: &dyn Fn(i64, i64) -> Option<i64>, step: i64| {
        let ends = [f(a.lo, b.lo)?, f(a.lo, b.hi)?, f(a.hi, b.lo)?, f(a.hi, b.hi)?];
        Some(Values { lo: *ends.iter().min()?, hi: *ends.iter().max()?, step })
    };
    let both = gcd(a.step, b.step);
    match op {
        IntOp::Add => corners(&i64::checked_add, both),
        IntOp::Sub => corners(&i64::checked_sub, both),
        IntOp::Mul => corners(&i64::checked_mul, a.step.checked_mul(b.step)?),
        IntOp::Min => corners(&|a, b| Some(a.min(b)), both),
        IntOp::Max => corners(&|a, b| Some(a.max(b)), both),
        IntOp::Div if b.lo > 0 => corners(&|a, b| Some(a.div_euclid(b)), 1),
        IntOp::CeilDiv if b.lo > 0 => corners(&|a, b| Some(a.checked_add(b - 1)?.div_euclid(b)), 1),
        IntOp::Rem if b.lo > 0 => Some(Values { lo: 0, hi: b.hi - 1, step: 1 }),
        IntOp::Div | IntOp::CeilDiv | IntOp::Rem => None,
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_always_holds_and_no_more() {
        let range = Extent::Range { lo: 8, hi: 64, multiple_of: 8, buckets: Vec::new() };
        let derived = Extent::Derived(IntExpr::op(IntOp::Add, IntExpr::Axis(0), IntExpr::Axis(1)));
        let axis = |name: &str, extent| Axis { name: name.to_owned(), extent };
        let axes = [axis("m", range), axis("k", Extent::Const(512)), axis("p", derived)];
        let holds = |text: &str| Eligibility::parse_positional(text).is_ok_and(|e| always(&e, &axes));
        for text in ["true", "a1 % 64 == 0", "a0 >= 8", "(a0 * a1) <= 32768", "a2 % 8 == 0", "t0 aligned 128"]
        {
            assert!(holds(text), "{text}");
        }
        for text in
            ["a0 % 16 == 0", "a0 >= 9", "a0 <= 63", "sm_count >= 1", "t0 aligned 512", "(a0 / 3) % 2 == 0"]
        {
            assert!(!holds(text), "{text}");
        }
        let most =
            |text: &str, axes: &[Axis]| super::most(&IntExpr::parse_positional(text).expect(text), axes);
        assert_eq!([most("ceil_div(a0, 16) * 4", &axes), most("a2", &axes)], [Some(16), Some(576)]);
        assert_eq!(most("a1 / (a0 - 8)", &axes), None);
        let axes = super::up_to(&axes, &[32, 7, 0]);
        assert_eq!([most("ceil_div(a0, 16) * 4", &axes), most("a2", &axes)], [Some(8), Some(544)]);
    }
}
