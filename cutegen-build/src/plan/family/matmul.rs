//! [`Matmul`]: specs that are one plain matrix product, `d = sum(k, a * b)`, as BLAS libraries have it: each side's
//! axes in any order and number, batches, a cast to the output's type, and a factor for the whole product. Symbolic:
//! knows variables, and neither extents nor strides nor what a library takes.

use std::collections::BTreeSet;

use cutegen_spec::math::{Binary, Expr, Loop, Place, ReduceOp, as_vars};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use super::contraction::flatten;
use crate::plan::schedule::{Schedule, Step, Value};

/// A product of two tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matmul {
    /// The left factor.
    pub a: Access,
    /// The right factor.
    pub b: Access,
    /// What is written, every element.
    pub d: Access,
    /// The summed variables, in the left factor's order.
    pub k: Vec<usize>,
    /// Tensors of one element that the product is multiplied with.
    pub scales: Vec<usize>,
}

/// A tensor and the variable of each of its dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The tensor.
    pub tensor: usize,
    /// One variable a dimension, no two equal.
    pub vars: Vec<usize>,
}

impl Matmul {
    /// The product that `schedule` is, if it is one and nothing else.
    #[must_use]
    pub fn of(spec: &KernelSpec, schedule: &Schedule) -> Option<Matmul> {
        let [sum, last] = schedule.steps.as_slice() else { return None };
        let d = written(spec, last)?;
        let (load, scales) = scaled_load(spec, d.tensor, last.value.expr())?;
        let (Place::Temp(temp), Value::Reduce { op: ReduceOp::Sum, over, body }) = (sum.dst, &sum.value)
        else {
            return None;
        };
        let whole = over.iter().chain(&sum.loops).all(Loop::is_whole);
        if load.0 != Place::Temp(temp) || !whole || schedule.temps[temp].may_round.is_some() {
            return None;
        }
        let Expr::Binary(Binary::Mul, left, right) = body else { return None };
        // the sum's own variables, by those of the written element
        let (outer, inner) = (as_vars(load.1)?, sum.vars());
        let renamed = |var: usize| inner.iter().position(|v| *v == var).map_or(var, |at| outer[at]);
        let access = |factor: &Expr| {
            let Expr::Load(Place::Tensor(tensor), index) = factor else { return None };
            let vars = as_vars(index)?.into_iter().map(renamed).collect();
            Some(Access { tensor: *tensor, vars })
        };
        let (a, b) = (access(left)?, access(right)?);
        let summed: BTreeSet<usize> = over.iter().map(|l| l.var).collect();
        let k = a.vars.iter().copied().filter(|v| summed.contains(v)).collect();
        Some(Matmul { a, b, d, k, scales }).filter(|found| found.is_one(&summed))
    }

    /// The written variables that both factors have.
    #[must_use]
    pub fn batch(&self) -> Vec<usize> {
        self.written(|var| self.a.vars.contains(&var) && self.b.vars.contains(&var))
    }

    /// The written variables of the left factor alone.
    #[must_use]
    pub fn left(&self) -> Vec<usize> {
        self.written(|var| !self.b.vars.contains(&var))
    }

    /// The written variables of the right factor alone.
    #[must_use]
    pub fn right(&self) -> Vec<usize> {
        self.written(|var| !self.a.vars.contains(&var))
    }

    fn written(&self, chosen: impl Fn(usize) -> bool) -> Vec<usize> {
        self.d.vars.iter().copied().filter(|var| chosen(*var)).collect()
    }

    /// Whether every variable has a role: summed ones are in both factors, others are written and in a factor.
    fn is_one(&self, summed: &BTreeSet<usize>) -> bool {
        let distinct =
            |access: &Access| access.vars.iter().collect::<BTreeSet<_>>().len() == access.vars.len();
        let known = |access: &Access| {
            access.vars.iter().all(|v| summed.contains(v) || self.d.vars.contains(v))
                && summed.iter().all(|v| access.vars.contains(v))
        };
        let read = |var: &usize| self.a.vars.contains(var) || self.b.vars.contains(var);
        [&self.a, &self.b, &self.d].into_iter().all(distinct)
            && [&self.a, &self.b].into_iter().all(known)
            && self.d.vars.iter().all(read)
    }
}

/// The one output, when the step writes all of it.
fn written(spec: &KernelSpec, step: &Step) -> Option<Access> {
    let (Place::Tensor(tensor), Value::Map(_)) = (step.dst, &step.value) else { return None };
    let one = spec.tensors.iter().filter(|t| t.role != Role::Input).count() == 1;
    let output = one && spec.tensors[tensor].role == Role::Output;
    output.then_some(Access { tensor, vars: as_vars(&step.index)? })
}

type Load<'a> = (Place, &'a [cutegen_spec::math::Index]);

/// Reads `value` as a load of a temporary, cast to what it is stored as, times tensors of one element.
fn scaled_load<'a>(spec: &KernelSpec, out: usize, value: &'a Expr) -> Option<(Load<'a>, Vec<usize>)> {
    let mut value = value;
    while let Expr::Cast(dtype, inner) = value {
        if *dtype != spec.tensors[out].dtype {
            return None;
        }
        value = inner;
    }
    let (mut factors, mut load, mut scales) = (Vec::new(), None, Vec::new());
    flatten(value, &mut factors);
    for factor in factors {
        match factor {
            Expr::Load(place @ Place::Temp(_), index) if load.is_none() => {
                load = Some((*place, index.as_slice()));
            }
            Expr::Load(Place::Tensor(scale), index) if index.is_empty() => scales.push(*scale),
            _ => return None,
        }
    }
    Some((load?, scales))
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;
    use cutegen_spec::target::Target;

    use super::Matmul;
    use crate::plan::Plan;

    fn found(tensors: &str, math: &str) -> Option<Matmul> {
        let axes = "b = 2, m = 3, n = 5, k = 7, l = 4";
        let text = format!("edition = 1\n[kernels.p]\naxes = {{ {axes} }}\n{tensors}\nmath = '''{math}'''");
        let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
        let plan = Plan::new(&kernels[0], &Target::host());
        Matmul::of(&plan.spec, &plan.schedule)
    }

    const TWO: &str = "inputs = { x = 'f32[m, k]', w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }";

    #[test]
    fn sides_batches_and_scales_are_told_apart() {
        let plain = found(TWO, "y[m, n] = sum(k, x[m, k] * w[n, k])").expect("a product");
        assert_eq!((plain.batch(), plain.left().len(), plain.right().len()), (vec![], 1, 1));
        assert_eq!((plain.k.len(), plain.scales.len()), (1, 0));
        let many =
            "inputs = { x = 'bf16[b, l, m, k]', w = 'bf16[b, k, n]' }\noutputs = { y = 'bf16[b, l, m, n]' }";
        let many =
            found(many, "y[b, l, m, n] = cast(bf16, sum(k, w[b, k, n] * x[b, l, m, k]))").expect("one");
        assert_eq!((many.batch().len(), many.left().len(), many.right().len()), (1, 1, 2));
        let scaled = "inputs = { x = 'f8e4m3[m, k]', w = 'f8e4m3[n, k]', s = 'f32[]', t = 'f32[]' }\n\
                      outputs = { y = 'bf16[m, n]' }";
        let scaled = found(scaled, "y[m, n] = s[] * sum(k, x[m, k] * w[n, k]) * t[]").expect("one");
        assert_eq!(scaled.scales, [2, 3]);
        let vector = "inputs = { x = 'f32[k]', w = 'f32[k, n]' }\noutputs = { y = 'f32[n]' }";
        let vector = found(vector, "y[n] = sum(k, x[k] * w[k, n])").expect("one");
        assert_eq!((vector.left().len(), vector.right().len()), (0, 1));
    }

    #[test]
    fn what_does_more_is_none() {
        for math in [
            "y[m, n] = relu(sum(k, x[m, k] * w[n, k]))",
            "y[m, n] = sum(k, x[m, k] * w[n, k]) + x[m, 0]",
            "y[m, n] = sum(k, x[m, k] * w[n, k] * w[n, k])",
            "y[m, n] = sum(k <= 3, x[m, k] * w[n, k])",
            "y[m, n] = max(k, x[m, k] * w[n, k])",
            "y[m, n] = sum(k, x[m, k] * w[n, len(k) - 1 - k])",
            "y[m, n] = 2 * sum(k, x[m, k] * w[n, k])",
            "y[m, n] = cast(bf16, sum(k, x[m, k] * w[n, k]))",
            "y[m, n] = sum((k, l), x[m, k] * w[n, k])",
        ] {
            assert_eq!(found(TWO, math), None, "{math}");
        }
    }
}
