//! [`Plain`]: matrix products with nothing around them, as BLAS libraries have them: a cast to the output's type, and a factor
//! for the whole product. Symbolic: knows variables, and no extents.

use std::collections::BTreeSet;

use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::math::{Expr, Place, as_vars};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use crate::plan::family::contraction::flatten;
use crate::plan::matmul::{Matmul, View};
use crate::plan::schedule::{Schedule, Step, Value};

/// A product of two tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// The left factor.
    pub(super) a: View,
    /// The right factor.
    pub(super) b: View,
    /// What is written, every element.
    pub(super) d: View,
    /// The variables of what is written, outermost first.
    pub(super) written: Vec<usize>,
    /// The summed variables.
    pub(super) k: Vec<usize>,
    /// Tensors of one element that the product is multiplied with.
    pub(super) scales: Vec<usize>,
}

impl Plain {
    /// The product that `schedule` is, if it is one and nothing else.
    pub(super) fn of(spec: &KernelSpec, schedule: &Schedule) -> Option<Plain> {
        let found = Matmul::of(spec, schedule)?;
        let ([product], [last]) = (found.products.as_slice(), found.maps(schedule)) else { return None };
        let (d, written) = written(spec, last)?;
        let (load, scales) = scaled_load(spec, d.tensor, last.value.expr())?;
        let is_product = load == Place::Temp(product.sum) && schedule.temps[product.sum].may_round.is_none();
        let (a, b) = (product.a.clone(), product.b.clone());
        let starts = [&a, &b, &d].iter().all(|view| view.offset == IntExpr::Const(0));
        (is_product && starts).then_some(Plain { a, b, d, written, k: found.k, scales })
    }

    /// The written variables that both factors have.
    pub(super) fn batch(&self) -> Vec<usize> {
        self.written(|var| self.a.strides.contains_key(&var) && self.b.strides.contains_key(&var))
    }

    /// The written variables of the left factor alone.
    pub(super) fn left(&self) -> Vec<usize> {
        self.written(|var| !self.b.strides.contains_key(&var))
    }

    /// The written variables of the right factor alone.
    pub(super) fn right(&self) -> Vec<usize> {
        self.written(|var| !self.a.strides.contains_key(&var))
    }

    fn written(&self, chosen: impl Fn(usize) -> bool) -> Vec<usize> {
        self.written.iter().copied().filter(|var| chosen(*var)).collect()
    }
}

/// The one output, when the step writes all of it.
fn written(spec: &KernelSpec, step: &Step) -> Option<(View, Vec<usize>)> {
    let (Place::Tensor(tensor), Value::Map(_)) = (step.dst, &step.value) else { return None };
    let one = spec.tensors.iter().filter(|t| t.role != Role::Input).count() == 1;
    let vars = as_vars(&step.index)?;
    let distinct = vars.iter().collect::<BTreeSet<_>>().len() == vars.len();
    let output = one && distinct && spec.tensors[tensor].role == Role::Output;
    output.then_some((View::of(tensor, &spec.tensors[tensor], &step.index)?, vars))
}

/// Reads `value` as a load of a temporary, cast to what it is stored as, times tensors of one element.
fn scaled_load(spec: &KernelSpec, out: usize, value: &Expr) -> Option<(Place, Vec<usize>)> {
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
            Expr::Load(place @ Place::Temp(_), _) if load.is_none() => load = Some(*place),
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

    use super::Plain;
    use crate::plan::Plan;

    fn found(tensors: &str, math: &str) -> Option<Plain> {
        let axes = "b = 2, m = 3, n = 5, k = 7, l = 4";
        let text = format!("edition = 1\n[kernels.p]\naxes = {{ {axes} }}\n{tensors}\nmath = '''{math}'''");
        let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
        let plan = Plan::new(&kernels[0], &Target::host());
        Plain::of(&plan.spec, &plan.schedule)
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
        assert_eq!((many.batch().len(), many.left().len(), many.right().len()), (1, 2, 1));
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
