//! [`Cost`]: bytes a kernel must move and operations it must do, from the schedule: the two sides of the roofline.

use std::collections::BTreeSet;

use cutegen_spec::math::{Expr, Index, Loop, Place};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor};

use super::Plan;
use super::schedule::{Schedule, Step, Value};

/// The least work at given extents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Bytes: every input element that is addressed read once, every output element written once.
    pub bytes: f64,
    /// Those of `bytes` that are written.
    pub written: f64,
    /// Operations: each function, operator and reduction step counts one. A bounded loop counts half of its axis for
    /// each bound.
    pub flops: f64,
}

impl Cost {
    /// The share of its bytes that is read; all of none.
    #[must_use]
    pub fn read(&self) -> f64 {
        if self.bytes > 0.0 { 1.0 - self.written / self.bytes } else { 1.0 }
    }
}

/// The cost at `axes` (extents by position).
#[must_use]
pub fn cost(spec: &KernelSpec, schedule: &Schedule, axes: &[i64]) -> Cost {
    let work = Work { spec, schedule, axes };
    let moved = (0..spec.tensors.len()).map(|tensor| work.moved(tensor));
    let (read, written) = moved.fold((0.0, 0.0), |all, (read, written)| (all.0 + read, all.1 + written));
    Cost { bytes: read + written, written, flops: schedule.steps.iter().map(|step| work.flops(step)).sum() }
}

/// What it takes to judge a kernel once at `axes`, in operations of its reference: drawing, filling and comparing a
/// byte takes about as long as 16 of a CPU core's, and 64 of a device's. Whole tensors count, for all of them are
/// filled, whatever the math addresses.
#[must_use]
pub fn judging(plan: &Plan, axes: &[i64]) -> u64 {
    let byte = if plan.target.is_host() { 16.0 } else { 64.0 };
    let bits = |tensor: &Tensor| tensor.elements(axes).unwrap_or(0) as f64 * f64::from(tensor.dtype.bits());
    let held: f64 = plan.spec.tensors.iter().map(bits).sum::<f64>() / 8.0;
    let Cost { bytes, flops, .. } = cost(&plan.spec, &plan.schedule, axes);
    flops.max(byte * bytes.max(held)) as u64
}

struct Work<'a> {
    spec: &'a KernelSpec,
    schedule: &'a Schedule,
    axes: &'a [i64],
}

impl Work<'_> {
    fn extent(&self, var: usize) -> f64 {
        self.axes.get(self.schedule.vars[var]).copied().unwrap_or(0) as f64
    }

    fn points(&self, loops: &[Loop]) -> f64 {
        let one = |l: &Loop| self.extent(l.var) * 0.5_f64.powi(l.bounds().count() as i32);
        loops.iter().map(one).product()
    }

    fn flops(&self, step: &Step) -> f64 {
        let points = self.points(&step.loops);
        match &step.value {
            Value::Map(expr) => points * operations(expr),
            Value::Reduce { over, body, .. } => points * self.points(over) * (operations(body) + 1.0),
            Value::Scan { over, body, .. } => points * self.extent(*over) * (operations(body) + 1.0),
        }
    }

    /// Bytes of a tensor that are read and that are written: all that is addressed, which are fewer than it has where every
    /// access goes through an index input or names few variables.
    fn moved(&self, tensor: usize) -> (f64, f64) {
        let declared = &self.spec.tensors[tensor];
        let all = declared.elements(self.axes).unwrap_or(0) as f64;
        let mut elements = 0.0;
        let mut written = 0.0;
        for step in &self.schedule.steps {
            step.value.expr().visit(&mut |e| {
                if let Expr::Load(Place::Tensor(t), index) | Expr::Pad(Place::Tensor(t), index, _) = e
                    && *t == tensor
                {
                    elements += self.distinct(index);
                }
                for index in e.indices() {
                    elements += self.read_by(index, tensor);
                }
            });
            step.index.iter().for_each(|index| elements += self.read_by(index, tensor));
            if step.dst == Place::Tensor(tensor) && declared.role != Role::Input {
                written += self.points(&step.loops);
            }
        }
        let of = |elements: f64| elements * f64::from(declared.dtype.bits()) / 8.0;
        (of(elements.min(all)), of(written))
    }

    /// How many elements an access can address at most: the product of the extents of what it names.
    fn distinct(&self, index: &[Index]) -> f64 {
        let mut vars = Vec::new();
        index.iter().for_each(|i| i.vars(&mut vars));
        let vars: BTreeSet<usize> = vars.into_iter().collect();
        vars.into_iter().map(|var| self.extent(var)).product()
    }

    fn read_by(&self, index: &Index, tensor: usize) -> f64 {
        let mut elements = 0.0;
        index.visit(&mut |i| {
            if let Index::Read(t, inner) = i
                && *t == tensor
            {
                elements += self.distinct(inner);
            }
        });
        elements
    }
}

fn operations(expr: &Expr) -> f64 {
    let mut count = 0.0;
    expr.visit(&mut |e| {
        count += f64::from(u8::from(matches!(
            e,
            Expr::Unary(..) | Expr::Binary(..) | Expr::Where(_) | Expr::Cast(..)
        )));
    });
    count
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;
    use cutegen_spec::target::Target;

    use super::{cost, judging};
    use crate::plan::Plan;

    #[test]
    fn judging_fills_what_the_math_leaves_alone() {
        let text = "edition = 1\n[kernels.k]\naxes = { t = \"1..=64\", n = \"64..=4096\" }\n\
                    inputs = { x = \"f32[t]\", slot = { type = \"i32[t]\", range = \"0..n\", unique = true } }\n\
                    inout = { cache = \"f32[n]\" }\nmath = \"cache[slot[t]] = x[t]\"\n";
        let mut kernels = spec_file(text, &Settings::default()).into_kernels().expect("right specs");
        let plan = Plan::new(&kernels.remove(0), &Target::parse("sm_90a").expect("a target"));
        let moved = cost(&plan.spec, &plan.schedule, &[2, 1000]);
        assert!((24.0..=32.0).contains(&moved.bytes), "two of x, slot and cache: {moved:?}");
        assert!((moved.written - 8.0).abs() < 1e-9, "two of cache: {moved:?}");
        assert_eq!(judging(&plan, &[2, 1000]), 64 * (8 + 8 + 4000), "the whole cache is filled and compared");
    }
}
