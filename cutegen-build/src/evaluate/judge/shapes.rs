//! Test shapes of a spec: the ends of every range, 1, primes, tile edges, and its workloads, as far as each can be
//! afforded. Pure.

use cutegen_spec::axis::{Axis, Extent, resolve};
use cutegen_spec::spec::KernelSpec;

/// What shapes are chosen by.
pub struct Budget<'a> {
    /// Cost of a shape, in multiply-adds or elements.
    pub cost: &'a dyn Fn(&[i64]) -> u64,
    /// The largest cost that is judged.
    pub cap: u64,
    /// The largest number of shapes.
    pub most: usize,
    /// Tile extents whose edges are probed.
    pub tiles: &'a [i64],
}

/// The extents of all axes for each test shape, the most conclusive first. At least one where the domain has any.
#[must_use]
pub fn shapes(spec: &KernelSpec, budget: &Budget<'_>) -> Vec<Vec<i64>> {
    let mut chosen: Vec<Vec<i64>> = Vec::new();
    let mut add = |shape: Option<Vec<i64>>| {
        let affordable = shape.filter(|s| (budget.cost)(s) <= budget.cap);
        if let Some(shape) = affordable.filter(|s| !chosen.contains(s)) {
            chosen.push(shape);
        }
    };
    let values: Vec<Vec<i64>> = spec.axes.iter().map(|axis| edges(axis, budget.tiles)).collect();
    let rounds = values.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mixed = |round: usize| shrink(&spec.axes, budget, |a| nth(&values[a], round + a));
    add(mixed(0));
    add(mixed(1));
    add(shrink(&spec.axes, budget, |a| smallest(&spec.axes[a])));
    for workload in &spec.workloads {
        add(spec.bind(&workload.axes).ok());
    }
    for axis in spec.run_time_axes() {
        add(shrink(&spec.axes, budget, |a| {
            if a == axis { largest(&spec.axes[a]) } else { smallest(&spec.axes[a]) }
        }));
    }
    add(shrink(&spec.axes, budget, |a| largest(&spec.axes[a])));
    (2..rounds).for_each(|round| add(mixed(round)));
    if chosen.is_empty() {
        chosen.extend(resolve(&spec.axes, &|a| smallest(&spec.axes[a])));
    }
    chosen.truncate(budget.most);
    chosen
}

/// The workloads that are too large to be among `chosen`. One is there all the same where a domain has no smaller shape.
pub(in crate::evaluate) fn beyond(
    spec: &KernelSpec,
    chosen: &[Vec<i64>],
    is_large: impl Fn(&[i64]) -> bool,
) -> Vec<Vec<i64>> {
    let workloads = spec.workloads.iter().filter_map(|workload| spec.bind(&workload.axes).ok());
    workloads.filter(|axes| is_large(axes) && !chosen.contains(axes)).collect()
}

pub(in crate::evaluate) fn nth(values: &[i64], index: usize) -> i64 {
    values.get(index % values.len().max(1)).copied().unwrap_or(1)
}

pub(in crate::evaluate) fn smallest(axis: &Axis) -> i64 {
    clamp(axis, i64::MIN)
}

pub(in crate::evaluate) fn largest(axis: &Axis) -> i64 {
    clamp(axis, i64::MAX)
}

/// Extents worth trying on one axis, each inside its range.
pub(in crate::evaluate) fn edges(axis: &Axis, tiles: &[i64]) -> Vec<i64> {
    let edges = tiles.iter().flat_map(|tile| [tile + 1, tile - 1, *tile]);
    let wanted = [37, 131, 3].into_iter().chain(edges).chain([1, 7, 251, 64, 2]);
    let mut values: Vec<i64> = Vec::new();
    for value in wanted.map(|v| clamp(axis, v)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// The nearest extent that the axis allows; 1 for an axis without a range.
pub(in crate::evaluate) fn clamp(axis: &Axis, value: i64) -> i64 {
    match axis.extent {
        Extent::Const(extent) => extent,
        Extent::Derived(_) => 1,
        Extent::Range { lo, hi, multiple_of, .. } => {
            let step = multiple_of.max(1);
            let floor = value.clamp(lo, hi).div_euclid(step) * step;
            if floor >= lo { floor } else { floor.saturating_add(step) }
        }
    }
}

/// Binds the run-time axes and halves the largest of them until the shape can be afforded.
fn shrink(axes: &[Axis], budget: &Budget<'_>, bind: impl Fn(usize) -> i64) -> Option<Vec<i64>> {
    let mut bound: Vec<i64> = (0..axes.len()).map(bind).collect();
    loop {
        let shape = resolve(axes, &|a| bound[a])?;
        if (budget.cost)(&shape) <= budget.cap {
            return Some(shape);
        }
        let reducible = |a: &usize| axes[*a].is_run_time() && clamp(&axes[*a], bound[*a] / 2) < bound[*a];
        let widest = (0..axes.len()).filter(reducible).max_by_key(|a| bound[*a])?;
        bound[widest] = clamp(&axes[widest], bound[widest] / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, beyond, shapes};
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;
    use cutegen_spec::spec::KernelSpec;

    fn spec(axes: &str) -> KernelSpec {
        let text = format!(
            "edition = 1\n[kernels.k]\naxes = {axes}\ninputs = {{ x = \"f32[m, n]\" }}\n\
             outputs = {{ y = \"f32[m, n]\" }}\nmath = \"y[m, n] = x[m, n]\"\nworkloads = [{{ m = 4096 }}]\n"
        );
        let mut document = spec_file(&text, &Settings::default());
        assert_eq!(document.errors, []);
        document.kernels.remove(0)
    }

    fn of(axes: &str, cap: u64) -> Vec<Vec<i64>> {
        let cost = |s: &[i64]| s.iter().product::<i64>().unsigned_abs();
        shapes(&spec(axes), &Budget { cost: &cost, cap, most: 14, tiles: &[128] })
    }

    #[test]
    fn ends_edges_primes_and_workloads() {
        let all = of("{ m = \"1..=8192\", n = 96 }", 1 << 20);
        let m: Vec<i64> = all.iter().map(|s| s[0]).collect();
        for wanted in [1, 37, 127, 128, 129, 4096, 8192] {
            assert!(m.contains(&wanted), "{wanted} in {m:?}");
        }
        assert!(all.len() <= 14 && all.iter().all(|s| s[1] == 96), "{all:?}");
    }

    #[test]
    fn caps_cost_and_respects_multiples() {
        let all = of("{ m = { range = \"16..=8192\", multiple-of = 16 }, n = 96 }", 100_000);
        assert!(all.iter().all(|s| s[0] % 16 == 0 && s[0] >= 16 && s[0] * s[1] <= 100_000), "{all:?}");
        assert!(all.iter().any(|s| s[0] >= 512), "the capped upper end: {all:?}");
        assert_eq!(of("{ m = \"4096..=4096\", n = 96 }", 1), [[4096, 96]], "never none");
    }

    /// Two cases of one shape would have inputs of their own, and what a baseline does on the first says nothing of the other.
    #[test]
    fn a_large_workload_is_judged_once() {
        let (all, one) = (spec("{ m = \"1..=8192\", n = 96 }"), spec("{ m = \"4096..=8192\", n = 96 }"));
        assert_eq!(beyond(&all, &of("{ m = \"1..=8192\", n = 96 }", 1000), |_| true), [[4096, 96]]);
        assert!(beyond(&one, &of("{ m = \"4096..=8192\", n = 96 }", 1), |_| true).is_empty());
    }
}
