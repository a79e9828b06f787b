//! [`Sample`]: which steps of a schedule may be computed for some of their elements alone, where all cost too much: those on
//! a few rows and columns of the outputs. Pure; which rows and columns these are is the reference's.
//!
//! A step is cut where it runs over both axes and all that read it are cut alike, at the same row and column. What else
//! there is, is computed as a whole, so it must be cheap: an axis short of what is cut. Nothing is cut of scans, and of
//! what needs a whole tensor.

use cutegen_spec::axis;
use cutegen_spec::math::{Expr, Index, Place};
use cutegen_spec::spec::KernelSpec;

use super::schedule::{Schedule, Step, Value};

/// Of so many neighbouring rows, or columns, one is taken; and the first and the last of all.
pub const STRATUM: i64 = 64;

/// Which elements are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All on the rows and columns.
    Lines,
    /// Those where a row and a column meet.
    Grid,
}

/// The steps that are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    cuts: Vec<Option<Cut>>,
}

/// Where a step is cut: places among its loops, the outer one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The only line, or the outer one.
    pub outer: usize,
    /// The inner one.
    pub inner: Option<usize>,
}

impl Sample {
    /// How this schedule may be sampled: by two axes of an output rather than by one, by large ones first.
    #[must_use]
    pub fn of(spec: &KernelSpec, schedule: &Schedule) -> Option<Self> {
        let is_whole = |step: &Step| match &step.value {
            Value::Scan { .. } => true,
            Value::Reduce { op, .. } => op.gives_index(),
            Value::Map(_) => false,
        };
        if schedule.steps.iter().any(is_whole) {
            return None;
        }
        let extents = axis::largest(&spec.axes)?;
        let results = schedule.steps.iter().filter(|step| matches!(step.dst, Place::Tensor(_)));
        let result = results.max_by_key(|step| step.loops.len())?;
        let mut axes: Vec<usize> = result.loops.iter().map(|l| schedule.vars[l.var]).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(extents[*axis]));
        let pairs = (1..axes.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let two = pairs.map(|(a, b)| vec![axes[a], axes[b]]);
        let mut all = two.chain(axes.iter().map(|axis| vec![*axis]));
        all.find_map(|lines| Cutting { schedule, lines: &lines }.sample())
    }

    /// Where this step is cut.
    #[must_use]
    pub fn cut(&self, step: usize) -> Option<Cut> {
        self.cuts[step]
    }

    /// The part of this step's elements that is computed.
    #[must_use]
    pub fn part(
        &self,
        (number, step): (usize, &Step),
        schedule: &Schedule,
        axes: &[i64],
        share: Share,
    ) -> f64 {
        let Some(Cut { outer, inner }) = self.cuts[number] else { return 1.0 };
        let part = |place: usize| {
            let extent = axes[schedule.vars[step.loops[place].var]].max(1);
            ((extent.div_euclid(STRATUM) + 3).min(extent)) as f64 / extent as f64
        };
        match (inner, share) {
            (None, _) => part(outer),
            (Some(inner), Share::Lines) => (part(outer) + part(inner)).min(1.0),
            (Some(inner), Share::Grid) => part(outer) * part(inner),
        }
    }
}

struct Cutting<'a> {
    schedule: &'a Schedule,
    lines: &'a [usize],
}

impl Cutting<'_> {
    /// The sample by these lines, if it saves what costs most.
    fn sample(&self) -> Option<Sample> {
        let steps = &self.schedule.steps;
        let mut cuts = vec![None; steps.len()];
        for number in (0..steps.len()).rev() {
            cuts[number] = self.places(&steps[number]).filter(|_| self.is_read_alike(number, &cuts));
        }
        let (cut, whole): (Vec<_>, Vec<_>) = (0..steps.len())
            .filter(|number| matches!(steps[*number].value, Value::Reduce { .. }))
            .partition(|number| cuts[*number].is_some());
        let is_cheap =
            |whole: &usize| cut.iter().any(|cut| is_less(&self.visited(*whole), &self.visited(*cut)));
        (!cut.is_empty() && whole.iter().all(is_cheap)).then_some(Sample { cuts })
    }

    /// Where a step would be cut, if its elements lie as its loops run and each line is one loop.
    fn places(&self, step: &Step) -> Option<Cut> {
        let runs = step.index.len() == step.loops.len()
            && step
                .index
                .iter()
                .zip(&step.loops)
                .all(|(index, l)| *index == Index::Var(l.var) && l.is_whole());
        let place = |axis: &usize| {
            let mut found = (0..step.loops.len()).filter(|l| self.schedule.vars[step.loops[*l].var] == *axis);
            found.next().filter(|_| found.next().is_none())
        };
        let mut places: Vec<usize> = self.lines.iter().map(place).collect::<Option<_>>()?;
        places.sort_unstable();
        runs.then(|| Cut { outer: places[0], inner: places.get(1).copied() })
    }

    /// Whether all that read what this step writes are cut, and read at their own row and column.
    fn is_read_alike(&self, number: usize, cuts: &[Option<Cut>]) -> bool {
        let steps = &self.schedule.steps;
        let Place::Temp(_) = steps[number].dst else { return true };
        (number + 1..steps.len()).all(|reader| {
            let mut is_alike = true;
            steps[reader].value.expr().visit(&mut |e| match e {
                Expr::Load(place, index) if *place == steps[number].dst => {
                    is_alike &=
                        cuts[reader].is_some() && self.is_at_own((&steps[number], index), &steps[reader]);
                }
                Expr::Pad(place, ..) => is_alike &= *place != steps[number].dst,
                _ => {}
            });
            is_alike
        })
    }

    /// Whether the lines' indices of what is read are the reader's own loops.
    fn is_at_own(&self, (read, index): (&Step, &[Index]), reader: &Step) -> bool {
        let at = |step: &Step, axis| step.loops.iter().position(|l| self.schedule.vars[l.var] == axis);
        self.lines.iter().all(|axis| match (at(read, *axis), at(reader, *axis)) {
            (Some(read), Some(own)) => index[read] == Index::Var(reader.loops[own].var),
            _ => false,
        })
    }

    /// The axes that a reduction runs over in all, in order.
    fn visited(&self, step: usize) -> Vec<usize> {
        let step = &self.schedule.steps[step];
        let over = match &step.value {
            Value::Reduce { over, .. } => over.as_slice(),
            Value::Map(_) | Value::Scan { .. } => &[],
        };
        let mut axes: Vec<usize> = step.loops.iter().chain(over).map(|l| self.schedule.vars[l.var]).collect();
        axes.sort_unstable();
        axes
    }
}

/// Whether these axes are some of the others, and not all.
fn is_less(few: &[usize], many: &[usize]) -> bool {
    let mut rest = many.to_vec();
    let is_in = few
        .iter()
        .all(|axis| rest.iter().position(|other| other == axis).map(|at| rest.remove(at)).is_some());
    is_in && !rest.is_empty()
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;

    use super::{Cut, Sample, Share};
    use crate::plan::schedule::{Value, lower};

    /// Of each reduction of this math, where it is cut; none where nothing is.
    fn cuts(inputs: &str, output: &str, math: &str) -> Option<Vec<Option<Cut>>> {
        let axes = "b = '1..=8', m = '1..=4096', n = '1..=2048', k = '1..=1024', r = 'm', c = 'n', d = 'k'";
        let text = format!(
            "edition = 1\n[kernels.one]\naxes = {{ {axes} }}\ninputs = {{ {inputs} }}\noutputs = {{ y = {output} }}\nmath = '{math}'"
        );
        let spec = spec_file(&text, &Settings::default()).into_kernels().expect("a right spec").remove(0);
        let schedule = lower(&spec);
        let sample = Sample::of(&spec, &schedule)?;
        let steps = schedule.steps.iter().enumerate();
        let reductions = steps.filter(|(_, step)| matches!(step.value, Value::Reduce { .. }));
        Some(reductions.map(|(number, _)| sample.cut(number)).collect())
    }

    const XW: &str = "x = 'f32[m, k]', w = 'f32[k, n]'";

    #[test]
    fn products_are_cut_by_rows_and_columns() {
        let both = Some(Cut { outer: 0, inner: Some(1) });
        assert_eq!(cuts(XW, "'f32[m, n]'", "y[m, n] = sum(k, x[m, k] * w[k, n])"), Some(vec![both]));
        let batched = "x = 'f32[b, m, k]', w = 'f32[b, k, n]'";
        let inner = Some(Cut { outer: 1, inner: Some(2) });
        let math = "y[b, m, n] = sum(k, x[b, m, k] * w[b, k, n])";
        assert_eq!(cuts(batched, "'f32[b, m, n]'", math), Some(vec![inner]));
        let scaled = "y[m, n] = sum(k, x[m, k] * w[k, n]) * max(k, x[m, k])";
        let found = cuts(XW, "'f32[m, n]'", scaled).expect("the scale is cheap");
        assert!(found.contains(&both) && found.contains(&None), "{found:?}");
    }

    #[test]
    fn what_is_reduced_along_rows_is_cut_by_rows_alone() {
        let row = Some(Cut { outer: 0, inner: None });
        let found = cuts(XW, "'f32[m, n]'", "y[m, n] = softmax(n, sum(k, x[m, k] * w[k, n]))");
        assert!(found.is_some_and(|cuts| cuts.iter().all(|cut| *cut == row)));
    }

    #[test]
    fn whole_tensors_scans_and_indices_are_not_sampled() {
        const X: &str = "x = 'f32[m, k]'";
        assert_eq!(cuts(X, "'f32[]'", "y[] = sum((m, k), x[m, k])"), None);
        let norm = "y[m, k] = x[m, k] * rsqrt(sum((r, d), x[r, d] * x[r, d]))";
        assert_eq!(cuts(X, "'f32[m, k]'", norm), None);
        let of_product =
            "z[m, n] = sum(k, x[m, k] * w[k, n]); y[m, n] = z[m, n] * rsqrt(sum((r, c), z[r, c]))";
        assert_eq!(cuts(XW, "'f32[m, n]'", of_product), None, "the norm needs every product");
        assert_eq!(cuts("x = 'f32[m]'", "'f32[m]'", "y[m] = sum(r <= m, x[r])"), None);
        assert_eq!(cuts(X, "'i32[m]'", "y[m] = argmax(k, x[m, k])"), None);
        assert_eq!(cuts(X, "'f32[m, k]'", "y[m, k] = x[m, k] + 1"), None, "nothing to save");
    }

    #[test]
    fn a_sample_is_a_small_part() {
        let text = "edition = 1\n[kernels.one]\naxes = { m = '1..=4096', n = '1..=4096', k = '1..=64' }\n\
                    inputs = { x = 'f32[m, k]', w = 'f32[k, n]' }\noutputs = { y = 'f32[m, n]' }\n\
                    math = 'y[m, n] = sum(k, x[m, k] * w[k, n])'";
        let spec = spec_file(text, &Settings::default()).into_kernels().expect("a right spec").remove(0);
        let schedule = lower(&spec);
        let sample = Sample::of(&spec, &schedule).expect("a product");
        let part = |axes: [i64; 3], share| sample.part((0, &schedule.steps[0]), &schedule, &axes, share);
        assert!((part([4096, 4096, 64], Share::Lines) - 2.0 * 67.0 / 4096.0).abs() < 1e-9);
        assert!((part([4096, 4096, 64], Share::Grid) - (67.0_f64 / 4096.0).powi(2)).abs() < 1e-9);
        assert!((part([2, 2, 64], Share::Lines) - 1.0).abs() < 1e-9);
    }
}
