//! Which kernels are attention: two contractions around a softmax over the axis that they share.

use std::collections::BTreeSet;

use cutegen_spec::math::{Expr, Loop, Place, Unary};

use super::alias::Identity;
use super::contraction::factors_of_sum;
use crate::plan::schedule::{Schedule, Step, Value};

/// Whether a sum weighs values by exponentials of an earlier contraction, over an axis that this one leaves free, and
/// such exponentials alone are summed over that axis too.
pub(super) fn is_attention(schedule: &Schedule, identity: &Identity) -> bool {
    schedule.steps.iter().filter_map(|step| Softmax::of(schedule, identity, step)).any(|softmax| {
        let mut steps = schedule.steps.iter();
        steps.clone().any(|step| softmax.weighs(step)) && steps.any(|step| softmax.normalises(step))
    })
}

/// Exponentials of one contraction.
struct Softmax<'a> {
    schedule: &'a Schedule,
    identity: &'a Identity,
    /// The axes that the contraction leaves free.
    free: BTreeSet<usize>,
    /// Its temporary.
    scores: usize,
}

impl<'a> Softmax<'a> {
    /// Of the sum that a step is, if it is one of a product of two different factors.
    fn of(schedule: &'a Schedule, identity: &'a Identity, step: &Step) -> Option<Self> {
        let (Place::Temp(scores), (_, factors)) = (step.dst, factors_of_sum(step)?) else { return None };
        let free = step.vars().into_iter().map(|var| identity.var(schedule, var)).collect();
        let distinct = factors.iter().any(|factor| *factor != factors[0]);
        distinct.then_some(Softmax { schedule, identity, free, scores })
    }

    /// Whether a step sums exponentials times something that does not depend on the scores.
    fn weighs(&self, step: &Step) -> bool {
        factors_of_sum(step).is_some_and(|(over, factors)| {
            let mut factors = factors.into_iter();
            let weighted = factors.clone().any(|factor| self.is_exponential(factor));
            self.shares(over) && weighted && factors.any(|factor| !self.reads(factor))
        })
    }

    /// Whether a step sums exponentials alone.
    fn normalises(&self, step: &Step) -> bool {
        let Value::Reduce { over, body, .. } = &step.value else { return false };
        self.shares(over) && factors_of_sum(step).is_none() && self.is_exponential(body)
    }

    fn shares(&self, over: &[Loop]) -> bool {
        over.iter().any(|l| self.free.contains(&self.identity.var(self.schedule, l.var)))
    }

    /// Whether `expr` is, or holds, an exponential of the scores.
    fn is_exponential(&self, expr: &Expr) -> bool {
        self.any(expr, &|e| matches!(e, Expr::Unary(Unary::Exp | Unary::Exp2, inner) if self.reads(inner)))
    }

    fn reads(&self, expr: &Expr) -> bool {
        self.any(expr, &|e| matches!(e, Expr::Load(Place::Temp(t), _) if *t == self.scores))
    }

    /// Whether something in `expr`, or in the elementwise steps that it reads, is so.
    fn any(&self, expr: &Expr, is: &dyn Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        expr.visit(&mut |e| {
            found |= is(e);
            if let Expr::Load(place @ Place::Temp(_), _) = e {
                let mut maps = self.schedule.steps.iter().filter(|step| step.dst == *place);
                found |= maps.any(|step| matches!(&step.value, Value::Map(value) if self.any(value, is)));
            }
        });
        found
    }
}
