//! Contractions: sums of a product of factors, and what each axis is to them.

use std::collections::BTreeSet;

use cutegen_spec::math::{Binary, Expr, Loop, Place, ReduceOp};
use cutegen_spec::spec::KernelSpec;

use super::alias::Identity;
use super::shape::Reduction;
use crate::plan::schedule::{Schedule, Step, Value};

/// What the axes of a contraction are to it, in BLAS terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Axes of both operands that are not summed.
    pub batch: Vec<usize>,
    /// Axes of the left operand alone.
    pub m: Vec<usize>,
    /// Axes of the right operand alone.
    pub n: Vec<usize>,
    /// The summed axes.
    pub k: Vec<usize>,
}

impl Roles {
    /// The roles of two products that share an operand: what the other operands alone have may differ.
    fn joined(&self, other: &Roles) -> Option<Roles> {
        let same = (&self.batch, &self.k) == (&other.batch, &other.k);
        let all = |a: &[usize], b: &[usize]| a.iter().chain(b).copied().collect::<BTreeSet<_>>();
        let one_side = self.m == other.m || self.n == other.n;
        (same && one_side).then(|| Roles {
            m: all(&self.m, &other.m).into_iter().collect(),
            n: all(&self.n, &other.n).into_iter().collect(),
            ..self.clone()
        })
    }
}

/// The roles of the schedule's axes, if every reduction in it is a contraction that shares an operand and its roles
/// with the others; and the tensors that are multiplied, scales left out.
pub(super) fn roles(
    spec: &KernelSpec,
    schedule: &Schedule,
    identity: &Identity,
) -> Option<(Roles, Vec<usize>)> {
    let mut found: Option<(Roles, BTreeSet<Operand>)> = None;
    let mut all = BTreeSet::new();
    let inner: BTreeSet<usize> = schedule.steps.iter().flat_map(|step| sums_inside(schedule, step)).collect();
    for step in &schedule.steps {
        if matches!(step.value, Value::Map(_)) || matches!(step.dst, Place::Temp(t) if inner.contains(&t)) {
            continue;
        }
        let (roles, operands) = one(spec, schedule, identity, step)?;
        all.extend(operands.iter().map(|(tensor, _)| *tensor));
        match &mut found {
            None => found = Some((roles, operands)),
            Some((known, shared)) => {
                shared.retain(|operand| operands.contains(operand));
                *known = known.joined(&roles).filter(|_| !shared.is_empty())?;
            }
        }
    }
    found.map(|(roles, _)| (roles, all.into_iter().collect()))
}

/// Temporaries of sums that a sum of products has among its factors: a block-scaled contraction.
fn sums_inside(schedule: &Schedule, step: &Step) -> Vec<usize> {
    let Value::Reduce { op: ReduceOp::Sum, body, .. } = &step.value else { return Vec::new() };
    let mut factors = Vec::new();
    flatten(body, &mut factors);
    factors
        .into_iter()
        .filter_map(|factor| match factor {
            Expr::Load(Place::Temp(t), _) => Some(*t),
            _ => None,
        })
        .filter(|t| sum_of(schedule, *t).is_some())
        .collect()
}

fn sum_of(schedule: &Schedule, temp: usize) -> Option<(&Step, &[Loop], &Expr)> {
    schedule.steps.iter().find_map(|step| match &step.value {
        Value::Reduce { op: ReduceOp::Sum, over, body } if step.dst == Place::Temp(temp) => {
            Some((step, over.as_slice(), body))
        }
        _ => None,
    })
}

/// A tensor that is multiplied, and its axes that are not summed.
type Operand = (usize, BTreeSet<usize>);

/// The axes that one factor depends on, and the tensors it reads.
struct Factor {
    axes: BTreeSet<usize>,
    tensors: BTreeSet<usize>,
}

/// The roles of one sum of products, and the tensors it multiplies.
fn one(
    spec: &KernelSpec,
    schedule: &Schedule,
    identity: &Identity,
    step: &Step,
) -> Option<(Roles, BTreeSet<Operand>)> {
    let Value::Reduce { op: ReduceOp::Sum, over, body } = &step.value else { return None };
    let shape = Reduction::of(spec, schedule, identity, step)?;
    if !shape.is_whole || shape.slides {
        return None;
    }
    let mut k: BTreeSet<usize> = over.iter().map(|l| identity.var(schedule, l.var)).collect();
    let mut factors = Vec::new();
    collect((spec, schedule, identity), body, &mut factors, &mut k)?;
    let summed: Vec<&Factor> = factors.iter().filter(|f| !f.axes.is_disjoint(&k)).collect();
    let free = |f: &Factor| f.axes.difference(&k).copied().collect::<BTreeSet<_>>();
    // the operands are the factors with most of the summed axes; scales have fewer
    let rank = |f: &&&Factor| (k.intersection(&f.axes).count(), std::cmp::Reverse(min_tensor(f)));
    let first = summed.iter().max_by_key(rank)?;
    let left = free(first);
    let second = summed.iter().filter(|f| free(f) != left).max_by_key(rank)?;
    let right = free(second);
    let all: BTreeSet<usize> = factors.iter().flat_map(&free).collect();
    if !all.iter().all(|axis| left.contains(axis) || right.contains(axis)) {
        return None;
    }
    let tensors =
        [first, second].iter().flat_map(|f| f.tensors.iter().map(|tensor| (*tensor, free(f)))).collect();
    let roles = Roles {
        batch: left.intersection(&right).copied().collect(),
        m: left.difference(&right).copied().collect(),
        n: right.difference(&left).copied().collect(),
        k: k.into_iter().collect(),
    };
    Some((roles, tensors))
}

fn min_tensor(factor: &Factor) -> usize {
    factor.tensors.first().copied().unwrap_or(usize::MAX)
}

/// The factors of a product; those of a sum that stands in it as a factor join, with its axes.
fn collect(
    (spec, schedule, identity): (&KernelSpec, &Schedule, &Identity),
    body: &Expr,
    out: &mut Vec<Factor>,
    k: &mut BTreeSet<usize>,
) -> Option<()> {
    let mut factors = Vec::new();
    flatten(body, &mut factors);
    for factor in factors {
        let inner = match factor {
            Expr::Load(Place::Temp(t), _) => sum_of(schedule, *t),
            _ => None,
        };
        match inner {
            Some((step, over, body)) => {
                let shape = Reduction::of(spec, schedule, identity, step)?;
                if !shape.is_whole || shape.slides {
                    return None;
                }
                k.extend(over.iter().map(|l| identity.var(schedule, l.var)));
                collect((spec, schedule, identity), body, out, k)?;
            }
            None => out.push(reads(schedule, identity, factor)),
        }
    }
    Some(())
}

fn reads(schedule: &Schedule, identity: &Identity, factor: &Expr) -> Factor {
    let mut tensors = BTreeSet::new();
    multiplied(factor, &mut tensors);
    let axes = factor.free_vars().into_iter().map(|v| identity.var(schedule, v)).collect();
    Factor { axes, tensors }
}

/// The tensors that each sum of products of a schedule multiplies, or that what it multiplies is made of. A product of
/// elements at one index, as in a norm, is none.
pub(crate) fn products(schedule: &Schedule) -> Vec<Vec<usize>> {
    let sums = schedule.steps.iter().filter_map(factors_of_sum);
    let unlike = sums.filter(|(_, factors)| factors.iter().any(|f| f.free_vars() != factors[0].free_vars()));
    let read = unlike.map(|(_, factors)| {
        let mut tensors = BTreeSet::new();
        factors.into_iter().for_each(|factor| read_through(schedule, factor, &mut tensors));
        tensors.into_iter().collect()
    });
    read.collect()
}

/// Whether a step sums products of two factors that each have a free axis of their own, as tensor cores form them.
pub(crate) fn is_product(step: &Step) -> bool {
    let Some((_, factors)) = factors_of_sum(step) else { return false };
    let vars: Vec<_> = factors.into_iter().map(Expr::free_vars).collect();
    let has_own = |one: &[usize], other: &[usize]| one.iter().any(|var| !other.contains(var));
    vars.iter().any(|one| vars.iter().any(|other| has_own(one, other) && has_own(other, one)))
}

/// The same as [`multiplied`], with what a factor's temporaries are made of.
fn read_through(schedule: &Schedule, factor: &Expr, tensors: &mut BTreeSet<usize>) {
    multiplied(factor, tensors);
    factor.visit(&mut |e| {
        if let Expr::Load(place @ Place::Temp(_), _) = e {
            let values = schedule.steps.iter().filter(|step| step.dst == *place);
            values.for_each(|step| read_through(schedule, step.value.expr(), tensors));
        }
    });
}

/// Adds the tensors whose elements `factor` takes its value from: what only a condition reads is none of them.
fn multiplied(factor: &Expr, tensors: &mut BTreeSet<usize>) {
    match factor {
        Expr::Load(Place::Tensor(t), _) => {
            tensors.insert(*t);
        }
        Expr::Where(parts) => parts[1..].iter().for_each(|part| multiplied(part, tensors)),
        other => other.children().into_iter().for_each(|child| multiplied(child, tensors)),
    }
}

/// The factors of a product.
pub(crate) fn flatten<'a>(body: &'a Expr, out: &mut Vec<&'a Expr>) {
    match body {
        Expr::Binary(Binary::Mul, a, b) => {
            flatten(a, out);
            flatten(b, out);
        }
        other => out.push(other),
    }
}

/// What a step sums over and the factors of its terms that depend on it, where those are two or more.
pub(super) fn factors_of_sum(step: &Step) -> Option<(&[Loop], Vec<&Expr>)> {
    let Value::Reduce { op: ReduceOp::Sum, over, body } = &step.value else { return None };
    let mut body = body;
    // a softmax divides its terms; the division does not hide the product
    while let Expr::Binary(Binary::Div, inner, _) = body {
        body = inner;
    }
    let mut factors = Vec::new();
    flatten(body, &mut factors);
    factors.retain(|factor| factor.free_vars().iter().any(|v| over.iter().any(|l| l.var == *v)));
    (factors.len() >= 2).then_some((over, factors))
}
