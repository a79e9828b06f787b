//! Test shapes between powers of two: in each octave of each ranged axis an odd multiple of its step, one axis at a time where
//! all at once cost too much, and the powers themselves; round decimal numbers; each workload less a step. Pure.

use cutegen_spec::axis::{Axis, Extent, resolve};
use cutegen_spec::spec::KernelSpec;

use super::sampling::{IsSampled, REFERENCE};
use super::shapes::{Budget, clamp, largest, smallest};
use crate::evaluate::rng::Random;

/// Classes, experts and vocabularies come in round decimal numbers.
const DECADES: [i64; 3] = [100, 1000, 10_000];
/// Octaves below this are of extents that are judged anyway.
const SMALL: u32 = 3;

/// The extents of all axes for each shape that `known` lacks, what they are drawn by being the seed. Where it costs too much,
/// but `sampled` does not, the reference is to be sampled.
pub(in crate::evaluate) fn octaves(
    spec: &KernelSpec,
    (budget, sampled): (&Budget<'_>, IsSampled<'_>),
    seed: u64,
    known: &[Vec<i64>],
) -> Vec<Vec<i64>> {
    let random = Random::new(seed, 0, u64::MAX - 2);
    let mut drawing = Drawing { spec, budget, sampled, random, found: Vec::new() };
    for workload in &spec.workloads {
        let less = spec.bind(&workload.axes).ok().and_then(|axes| drawing.less_a_step(&axes));
        let is_judged = drawing.add(less.clone());
        less.filter(|axes| !is_judged && sampled(axes)).into_iter().for_each(|axes| drawing.push(axes));
    }
    let highest = spec.run_time_axes().map(|axis| top(&spec.axes[axis])).max().unwrap_or(0);
    for octave in SMALL..=highest {
        drawing.odd(octave);
    }
    drawing.near_the_ends();
    for octave in SMALL..=highest {
        drawing.powers(octave);
    }
    for decade in DECADES {
        drawing.decimal(decade);
    }
    drawing.found.retain(|axes| !known.contains(axes));
    drawing.found
}

struct Drawing<'a> {
    spec: &'a KernelSpec,
    budget: &'a Budget<'a>,
    sampled: IsSampled<'a>,
    random: Random,
    found: Vec<Vec<i64>>,
}

impl Drawing<'_> {
    fn add(&mut self, shape: Option<Vec<i64>>) -> bool {
        let dear = self.budget.cap.saturating_mul(REFERENCE);
        let Some(shape) = shape.filter(|shape| (self.budget.cost)(shape) <= dear) else { return false };
        self.push(shape);
        true
    }

    fn push(&mut self, shape: Vec<i64>) {
        if !self.found.contains(&shape) {
            self.found.push(shape);
        }
    }

    fn less_a_step(&self, axes: &[i64]) -> Option<Vec<i64>> {
        resolve(&self.spec.axes, &|a| {
            if self.spec.axes[a].is_run_time() {
                clamp(&self.spec.axes[a], axes[a] - step(&self.spec.axes[a]))
            } else {
                axes[a]
            }
        })
    }

    /// Odd multiples in this octave of all axes at once, each no further than it goes; else of one at a time.
    fn odd(&mut self, octave: u32) {
        let extents: Vec<i64> =
            (0..self.spec.axes.len()).map(|a| self.odd_of(a, octave.min(top(&self.spec.axes[a])))).collect();
        let axes: Vec<usize> =
            self.spec.run_time_axes().filter(|a| top(&self.spec.axes[*a]) >= octave).collect();
        self.at_once_or_each(&extents, &axes);
    }

    /// These extents at once, else of one of these axes at a time.
    fn at_once_or_each(&mut self, extents: &[i64], axes: &[usize]) {
        if self.add(resolve(&self.spec.axes, &|a| extents[a])) {
            return;
        }
        for axis in axes {
            let whole = |shape: &[i64]| (self.budget.cost)(shape) <= self.budget.cap;
            let shape = self.reduced(extents, Some(*axis), &whole);
            if !self.add(shape) {
                let shape = self.reduced(extents, Some(*axis), self.sampled);
                shape.into_iter().for_each(|shape| self.push(shape));
            }
        }
    }

    /// One axis as it is, the others halved until the shape can be afforded.
    fn reduced(
        &self,
        extents: &[i64],
        axis: Option<usize>,
        is_affordable: &dyn Fn(&[i64]) -> bool,
    ) -> Option<Vec<i64>> {
        let mut bound = extents.to_vec();
        loop {
            let shape = resolve(&self.spec.axes, &|a| bound[a])?;
            if is_affordable(&shape) {
                return Some(shape);
            }
            let half = |a: usize| clamp(&self.spec.axes[a], (bound[a] / 2) | 1);
            let others = self.spec.run_time_axes().filter(|a| Some(*a) != axis && half(*a) < bound[*a]);
            let widest = others.max_by_key(|a| bound[*a])?;
            bound[widest] = half(widest);
        }
    }

    /// All axes within an eighth of their ends at once, else all as long as a sample can be afforded of.
    fn near_the_ends(&mut self) {
        let extents: Vec<i64> = (0..self.spec.axes.len())
            .map(|a| {
                let axis = &self.spec.axes[a];
                let (end, steps) = (largest(axis), (largest(axis) / step(axis) / 8).max(1));
                let back = self.random.within((0, steps)) / 2 * 2 + 1;
                clamp(axis, end - back * step(axis))
            })
            .collect();
        if !self.add(resolve(&self.spec.axes, &|a| extents[a])) {
            let shape = self.reduced(&extents, None, self.sampled);
            shape.into_iter().for_each(|shape| self.push(shape));
        }
    }

    /// A power of two in each axis, each in another octave.
    fn powers(&mut self, octave: u32) {
        let count = self.spec.axes.len().max(1);
        let extents: Vec<i64> = (0..self.spec.axes.len())
            .map(|a| {
                let octaves = top(&self.spec.axes[a]) + 1;
                let turned = octave as usize + a * octaves as usize / count;
                clamp(&self.spec.axes[a], 1 << (turned % octaves as usize))
            })
            .collect();
        self.add(resolve(&self.spec.axes, &|a| extents[a]));
    }

    /// The same decimal number in all axes that have it, else in one at a time.
    fn decimal(&mut self, number: i64) {
        let has =
            |axis: &Axis| smallest(axis) <= number && number <= largest(axis) && number % step(axis) == 0;
        let axes: Vec<usize> = self.spec.run_time_axes().filter(|a| has(&self.spec.axes[*a])).collect();
        let bound = |a: usize| if axes.contains(&a) { number } else { smallest(&self.spec.axes[a]) };
        let extents: Vec<i64> = (0..self.spec.axes.len()).map(bound).collect();
        if !axes.is_empty() {
            self.at_once_or_each(&extents, &axes);
        }
    }

    /// An odd multiple of the step between this power of two and the next, else whatever is nearest.
    fn odd_of(&mut self, axis: usize, octave: u32) -> i64 {
        let axis = &self.spec.axes[axis];
        let (step, low) = (step(axis), 1_i64 << octave);
        let from = (low.max(smallest(axis)) + step - 1) / step;
        let to = (low.saturating_mul(2) - 1).min(largest(axis)) / step;
        if from > to {
            return clamp(axis, low);
        }
        let multiple = self.random.within((from, to + 1)) | 1;
        clamp(axis, if multiple > to { to - 1 + to % 2 } else { multiple } * step)
    }
}

fn step(axis: &Axis) -> i64 {
    match axis.extent {
        Extent::Range { multiple_of, .. } => multiple_of.max(1),
        Extent::Const(_) | Extent::Derived(_) => 1,
    }
}

/// The octave of an axis's largest extent.
fn top(axis: &Axis) -> u32 {
    largest(axis).max(1).ilog2().min(61)
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;
    use cutegen_spec::spec::KernelSpec;

    use super::octaves;
    use crate::evaluate::judge::shapes::Budget;

    fn spec(axes: &str) -> KernelSpec {
        let text = format!(
            "edition = 1\n[kernels.k]\naxes = {axes}\ninputs = {{ x = \"f32[m, n]\" }}\n\
             outputs = {{ y = \"f32[m, n]\" }}\nmath = \"y[m, n] = x[m, n]\"\nworkloads = [{{ m = 4032, n = 512 }}]\n"
        );
        spec_file(&text, &Settings::default()).into_kernels().expect("a right spec").remove(0)
    }

    fn of(axes: &str, cap: u64, seed: u64) -> Vec<Vec<i64>> {
        let cost = |s: &[i64]| s.iter().product::<i64>().unsigned_abs();
        let budget = Budget { cost: &cost, cap, most: 14, tiles: &[] };
        octaves(&spec(axes), (&budget, &|_| false), seed, &[])
    }

    #[test]
    fn each_octave_of_each_axis_has_an_odd_extent_and_a_power() {
        for seed in 0..50 {
            let all = of("{ m = \"1..=8192\", n = \"1..=1024\" }", 1 << 19, seed);
            for (axis, top) in [(0, 12), (1, 9)] {
                for octave in 3..=top {
                    let is_in = |s: &&Vec<i64>| s[axis] >> octave == 1;
                    assert!(all.iter().any(|s| is_in(&s) && s[axis] % 2 == 1), "{seed}: {axis} 2^{octave}");
                    assert!(all.iter().any(|s| s[axis] == 1 << octave), "{seed}: {axis} 2^{octave}: {all:?}");
                }
            }
            assert!(all.iter().any(|s| *s == [4031, 511]), "the workload less a step");
            assert!(all.iter().any(|s| *s == [1000, 1000]), "round decimal numbers: {all:?}");
            assert!(all.iter().all(|s| s[0] * s[1] <= 8 << 19 && s[0] <= 8192 && s[1] <= 1024));
        }
    }

    #[test]
    fn steps_are_kept_and_all_axes_come_near_their_ends_at_once() {
        let all = of("{ m = { range = \"48..=4080\", multiple-of = 48 }, n = \"1..=512\" }", 1 << 19, 7);
        assert!(all.iter().all(|s| s[0] % 48 == 0));
        assert!(all.iter().any(|s| s[0] >= 3536 && s[0] < 4080 && s[1] > 446 && s[1] < 512), "{all:?}");
    }
}
