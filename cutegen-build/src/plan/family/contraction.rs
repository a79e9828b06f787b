//! Contractions: sums of a product of factors, and what each axis is to them.

use std::collections::BTreeSet;

use cutegen_spec::math::{Binary, Expr, Loop, Place, ReduceOp};
use cutegen_spec::spec::KernelSpec;

use super::shape::{Reduction, root};
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

/// The roles of the schedule's axes, if every reduction in it is a contraction of one shape that shares an operand
/// with the others; and the tensors that are multiplied, scales left out.
pub(super) fn roles(spec: &KernelSpec, schedule: &Schedule) -> Option<(Roles, Vec<usize>)> {
    let mut found: Option<(Roles, BTreeSet<usize>)> = None;
    let mut all = BTreeSet::new();
    let inner: BTreeSet<usize> = schedule.steps.iter().flat_map(|step| sums_inside(schedule, step)).collect();
    for step in &schedule.steps {
        if matches!(step.value, Value::Map(_)) || matches!(step.dst, Place::Temp(t) if inner.contains(&t)) {
            continue;
        }
        let (roles, operands) = one(spec, schedule, step)?;
        all.extend(operands.iter().copied());
        match &mut found {
            None => found = Some((roles, operands)),
            Some((known, shared)) => {
                shared.retain(|tensor| operands.contains(tensor));
                if *known != roles || shared.is_empty() {
                    return None;
                }
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

/// The axes that one factor depends on, and the tensors it reads.
struct Factor {
    axes: BTreeSet<usize>,
    tensors: BTreeSet<usize>,
}

/// The roles of one sum of products, and the tensors it multiplies.
fn one(spec: &KernelSpec, schedule: &Schedule, step: &Step) -> Option<(Roles, BTreeSet<usize>)> {
    let Value::Reduce { op: ReduceOp::Sum, over, body } = &step.value else { return None };
    let shape = Reduction::of(spec, schedule, step)?;
    if !shape.is_whole || shape.slides {
        return None;
    }
    let mut k: BTreeSet<usize> = over.iter().map(|l| root(spec, schedule.vars[l.var])).collect();
    let mut factors = Vec::new();
    collect(spec, schedule, body, &mut factors, &mut k)?;
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
    let tensors = [first, second].iter().flat_map(|f| f.tensors.iter().copied()).collect();
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
    spec: &KernelSpec,
    schedule: &Schedule,
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
                let shape = Reduction::of(spec, schedule, step)?;
                if !shape.is_whole || shape.slides {
                    return None;
                }
                k.extend(over.iter().map(|l| root(spec, schedule.vars[l.var])));
                collect(spec, schedule, body, out, k)?;
            }
            None => out.push(reads(spec, schedule, factor)),
        }
    }
    Some(())
}

fn reads(spec: &KernelSpec, schedule: &Schedule, factor: &Expr) -> Factor {
    let mut tensors = BTreeSet::new();
    factor.visit(&mut |e| {
        if let Expr::Load(Place::Tensor(t), _) = e {
            tensors.insert(*t);
        }
    });
    let axes = factor.free_vars().into_iter().map(|v| root(spec, schedule.vars[v])).collect();
    Factor { axes, tensors }
}

/// The factors of a product.
pub(super) fn flatten<'a>(body: &'a Expr, out: &mut Vec<&'a Expr>) {
    match body {
        Expr::Binary(Binary::Mul, a, b) => {
            flatten(a, out);
            flatten(b, out);
        }
        other => out.push(other),
    }
}

/// Whether a sum is over a product of two factors that both depend on what it runs over.
pub(super) fn is_product_of_two(step: &Step) -> bool {
    let Value::Reduce { over, body, .. } = &step.value else { return false };
    let mut body = body;
    // a softmax divides its terms; the division does not hide the product
    while let Expr::Binary(Binary::Div, inner, _) = body {
        body = inner;
    }
    let mut factors = Vec::new();
    flatten(body, &mut factors);
    let reduced: Vec<usize> = over.iter().map(|l| l.var).collect();
    let over = |f: &&&Expr| f.free_vars().iter().any(|v| reduced.contains(v));
    factors.iter().filter(over).count() >= 2
}
