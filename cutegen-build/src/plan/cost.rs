//! [`Cost`]: bytes a kernel must move and operations it must do, from the schedule: the two sides of the roofline.

use std::collections::BTreeSet;

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Expr, Index, Loop, Place};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor};

use super::Plan;
use super::active::Active;
use super::family::contraction;
use super::sample::{Sample, Share};
use super::schedule::{Schedule, Step, Value};

/// Operations that it takes a CPU core to decode an 8-bit float, which it does each time it reads one.
const DECODING: f64 = 2.0;

/// The least work at given extents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Bytes: every input element that is addressed read once, every output element written once.
    pub bytes: f64,
    /// Those of `bytes` that are written.
    pub written: f64,
    /// Operations: each function, operator and reduction step counts one. What a bound, a `pad` or a condition on
    /// integers leaves out counts nothing, nor do conditions.
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
    Cost { bytes: read + written, written, flops: schedule.steps.iter().map(|step| work.least(step)).sum() }
}

/// The share of the operations at `axes` that sums of products have.
#[must_use]
pub fn of_products(plan: &Plan, axes: &[i64]) -> f64 {
    let work = Work { spec: &plan.spec, schedule: &plan.schedule, axes };
    let of = |counts: fn(&Step) -> bool| -> f64 {
        let steps = plan.schedule.steps.iter().filter(|step| counts(step));
        steps.map(|step| work.least(step)).sum()
    };
    let (all, products) = (of(|_| true), of(contraction::is_product));
    if all > 0.0 { products / all } else { 0.0 }
}

/// Whether a `where` chooses by indices in a kernel that sums. What the choice itself computes is left out of [`cost`]. What
/// other steps compute for it is counted, such as the scores that a mask hides.
#[must_use]
pub fn has_mask(plan: &Plan) -> bool {
    let steps = &plan.schedule.steps;
    let mut chooses = false;
    for step in steps {
        step.value.expr().visit(&mut |expr| {
            if let Expr::Where(parts) = expr {
                parts[0].visit(&mut |part| chooses |= matches!(part, Expr::Int(index) if names_a_var(index)));
            }
        });
    }
    chooses && steps.iter().any(|step| matches!(step.value, Value::Reduce { .. }))
}

fn names_a_var(index: &Index) -> bool {
    let mut vars = Vec::new();
    index.vars(&mut vars);
    !vars.is_empty()
}

/// What it takes to judge a kernel once at `axes`, in operations of its reference: drawing, filling and comparing a
/// byte takes about as long as 16 of a CPU core's, and 64 of a device's. Whole tensors count, for all of them are
/// filled, whatever the math addresses; so do terms that a condition leaves out, for the reference visits them.
#[must_use]
pub fn judging(plan: &Plan, axes: &[i64]) -> u64 {
    judged(plan, axes, |_| 1.0)
}

/// The same where the reference computes a sample of each output.
#[must_use]
pub fn judging_sample(plan: &Plan, sample: &Sample, axes: &[i64], share: Share) -> u64 {
    let steps = &plan.schedule.steps;
    judged(plan, axes, |number| sample.part((number, &steps[number]), &plan.schedule, axes, share))
}

/// What it takes where of each step this part of its elements is visited.
fn judged(plan: &Plan, axes: &[i64], part: impl Fn(usize) -> f64) -> u64 {
    let (byte, decoding) = if plan.target.is_host() { (16.0, DECODING) } else { (64.0, 0.0) };
    let bits = |tensor: &Tensor| tensor.elements(axes).unwrap_or(0) as f64 * f64::from(tensor.dtype.bits());
    let held: f64 = plan.spec.tensors.iter().map(bits).sum::<f64>() / 8.0;
    let work = Work { spec: &plan.spec, schedule: &plan.schedule, axes };
    let steps = plan.schedule.steps.iter().enumerate();
    let visited: f64 = steps.map(|(number, step)| work.visited(step, decoding) * part(number)).sum();
    let Cost { bytes, .. } = cost(&plan.spec, &plan.schedule, axes);
    visited.max(byte * bytes.max(held)) as u64
}

/// Terms of a reduction to one element that a reference on a device would add one after another, at `axes`: the most of
/// any step, 0 where all steps have loops.
#[must_use]
pub fn total(plan: &Plan, axes: &[i64]) -> u64 {
    let work = Work { spec: &plan.spec, schedule: &plan.schedule, axes };
    let terms = totals(plan).map(|over| work.points(over) as u64);
    terms.max().unwrap_or(0)
}

/// Whether a step reduces to one element.
#[must_use]
pub fn has_total(plan: &Plan) -> bool {
    totals(plan).next().is_some()
}

/// What each step that has one element is reduced over.
fn totals(plan: &Plan) -> impl Iterator<Item = &[Loop]> {
    plan.schedule.steps.iter().filter_map(|step| match &step.value {
        Value::Reduce { over, .. } if step.loops.is_empty() => Some(over.as_slice()),
        Value::Reduce { .. } | Value::Map(_) | Value::Scan { .. } => None,
    })
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

    /// Operations of a reference that visits every point; a bounded loop counts half of its axis for each bound, and an
    /// 8-bit float that is read so many as decoding takes.
    fn visited(&self, step: &Step, decoding: f64) -> f64 {
        let points = self.points(&step.loops);
        let operations = |expr: &Expr| operations(expr) + decoding * self.reads_of_8_bit_floats(expr);
        match &step.value {
            Value::Map(expr) => points * operations(expr),
            Value::Reduce { over, body, .. } => points * self.points(over) * (operations(body) + 1.0),
            Value::Scan { over, body, .. } => points * self.extent(*over) * (operations(body) + 1.0),
        }
    }

    fn reads_of_8_bit_floats(&self, expr: &Expr) -> f64 {
        let mut count = 0;
        expr.visit(&mut |e| {
            if let Expr::Load(Place::Tensor(t), _) | Expr::Pad(Place::Tensor(t), ..) = e {
                count += u32::from(matches!(self.spec.tensors[*t].dtype, DType::F8e4m3 | DType::F8e5m2));
            }
        });
        f64::from(count)
    }

    /// Operations that no kernel is spared.
    fn least(&self, step: &Step) -> f64 {
        let (inner, last) = match &step.value {
            Value::Map(_) => (Vec::new(), 0.0),
            Value::Reduce { over, .. } => (over.clone(), 1.0),
            Value::Scan { over, .. } => (vec![Loop::whole(*over)], 1.0),
        };
        let loops: Vec<Loop> = step.loops.iter().cloned().chain(inner).collect();
        let box_of = loops.iter().map(|l| self.extent(l.var)).product::<f64>();
        let active = Active { spec: self.spec, schedule: self.schedule, axes: self.axes };
        box_of * active.mean(&loops, step.value.expr(), last)
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

    use super::{cost, has_total, judging, of_products, total};
    use crate::plan::Plan;

    /// The plan of `math` with these axes and tensors.
    fn plan(axes: &str, tensors: &str, math: &str) -> Plan {
        let text = format!("edition = 1\n[kernels.k]\naxes = {{ {axes} }}\n{tensors}\nmath = '''{math}'''");
        let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
        Plan::new(&kernels[0], &Target::parse("sm_90a").expect("a target"))
    }

    /// Operations of a launch with constant axes, and what judging it takes.
    fn operations(plan: &Plan) -> (f64, u64) {
        let axes = plan.spec.bind(&Default::default()).expect("constant axes");
        (cost(&plan.spec, &plan.schedule, &axes).flops, judging(plan, &axes))
    }

    #[test]
    fn totals_have_all_terms_of_one_element() {
        let tensors = "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[]', r = 'f32[m]' }";
        let rows = "t[m] = sum(d, x[m, d])\nr[m] = t[m]";
        let both = plan("m = 6, d = 8", tensors, &format!("{rows}\ny[] = sum((m, d), x[m, d] * x[m, d])"));
        let of_rows = plan("m = 6, d = 8", tensors, &format!("{rows}\ny[] = sum(m, t[m])"));
        assert_eq!((total(&both, &[6, 8]), total(&of_rows, &[6, 8])), (48, 6));
        let none = plan("m = 6, d = 8", "inputs = { x = 'f32[m, d]' }\noutputs = { r = 'f32[m]' }", rows);
        assert_eq!((has_total(&both), has_total(&none), total(&none, &[6, 8])), (true, false, 0));
    }

    #[test]
    fn masked_taps_of_a_transposed_convolution_are_no_work() {
        let axes = "b = 1, c = 32, o = 64, h = 64, v = 128, r = 3, s = 3, p = '(h - 1) * 5 + 3', q = '(v - 1) * 5 + 3'";
        let strided = plan(
            axes,
            "inputs = { x = 'f32[b, c, h, v]', w = 'f32[c, o, r, s]' }\noutputs = { y = 'f32[b, o, p, q]' }",
            "y[b, o, p, q] = sum((c, r, s), where((p + 1 - r * 2) % 5 == 0 and (q + 1 - s * 2) % 5 == 0, \
             pad(x[b, c, (p + 1 - r * 2) / 5, (q + 1 - s * 2) / 5], 0) * w[c, o, r, s], 0))",
        );
        // each input pixel meets each tap of the filter once, but at the edges
        let whole = 2.0 * 64.0 * 128.0 * 32.0 * 64.0 * 9.0;
        let (flops, judged) = operations(&strided);
        assert!((0.9..=1.02).contains(&(flops / whole)), "{flops} of {whole}");
        assert!(judged as f64 > 20.0 * whole, "the reference visits every tap");
    }

    #[test]
    fn a_core_decodes_8_bit_floats_as_it_reads_them() {
        let of = |dtype: &str, target: &str| {
            let text = format!(
                "edition = 1\n[kernels.k]\naxes = {{ m = 64, n = 64, k = 64 }}\n\
                 inputs = {{ a = '{dtype}[m, k]', b = '{dtype}[k, n]' }}\noutputs = {{ c = 'f32[m, n]' }}\n\
                 math = 'c[m, n] = sum(k, a[m, k] * b[k, n])'"
            );
            let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
            judging(&Plan::new(&kernels[0], &Target::parse(target).expect("a target")), &[64, 64, 64])
        };
        let products = 64_u64.pow(3);
        assert_eq!(of("f16", "host"), 2 * products);
        assert_eq!(of("f8e4m3", "host"), 6 * products, "two decoded for each product and sum");
        assert_eq!(of("f8e4m3", "sm_90a"), 64 * (2 * 64 * 64 + 4 * 64 * 64), "a device is given its bytes");
    }

    #[test]
    fn products_have_factors_with_axes_of_their_own() {
        let share = |outputs: &str, math: &str| {
            let tensors = format!(
                "inputs = {{ x = 'f32[m, k]', w = 'f32[n, k]', g = 'f32[k]' }}\noutputs = {{ {outputs} }}"
            );
            let plan = plan("m = 8, n = 16, k = 64", &tensors, math);
            of_products(&plan, &[8, 16, 64])
        };
        let used = "z[] = sum((n, k), w[n, k]) + sum(k, g[k])";
        let head = share(
            "y = 'f32[m, n]', z = 'f32[]'",
            &format!("t[m, k] = rms_norm(k, x[m, k], 0.1)\ny[m, n] = sum(k, t[m, k] * w[n, k])\n{used}"),
        );
        assert!((0.7..1.0).contains(&head), "{head}");
        let rows =
            share("y = 'f32[m]', z = 'f32[]'", &format!("y[m] = sum(k, x[m, k] * x[m, k] * g[k])\n{used}"));
        assert!(rows.abs() < 1e-9, "{rows}: squares and weights of a row are no products of matrices");
    }

    #[test]
    fn bounds_count_the_points_inside() {
        let tensors = "inputs = { a = 'f32[i, k]', b = 'f32[k, j]' }\noutputs = { y = 'f32[i, j]' }";
        let triangle = |n: u64| {
            let math = "y[i, j] = sum((k >= j, k <= i), a[i, k] * b[k, j])";
            operations(&plan(&format!("i = {n}, j = {n}, k = {n}"), tensors, math)).0
        };
        // of 8 cubed, 8 * 9 * 10 / 6 points have j <= k <= i; all are looked at
        assert!((triangle(8) - 2.0 * 120.0).abs() < 1e-6, "{}", triangle(8));
        let sixth = 2.0 * 512_f64.powi(3) / 6.0;
        assert!((triangle(512) / sixth - 1.0).abs() < 0.05, "{} of {sixth}", triangle(512));
    }

    #[test]
    fn conditions_and_what_they_leave_out_are_no_work() {
        let tensors = "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }";
        let of = |math: &str| operations(&plan("m = 4, d = 8", tensors, math)).0 as u64;
        assert_eq!(of("y[m, d] = where(d < 2, x[m, d] * x[m, d], 0)"), 8);
        assert_eq!(of("y[m, d] = where(x[m, d] > 0, x[m, d], x[m, d] * 2)"), 0, "the cheaper branch");
        assert_eq!(of("y[m, d] = x[m, d] * 2 + 1"), 64);
    }

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
