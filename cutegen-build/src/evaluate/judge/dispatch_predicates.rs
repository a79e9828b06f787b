//! Test shapes that the dispatch predicates of a list need besides those that are judged anyway. Where a variant is dispatched
//! these are the edges of its tiles, and two tiles with a part of a third. The ends of its preferred ranges join them. The
//! domain must have them, and each must be affordable. Pure.

use std::collections::BTreeSet;

use cutegen_spec::axis::{Extent, resolve};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility, dispatch};
use cutegen_spec::spec::KernelSpec;

use super::sampling::IsSampled;
use super::shapes::{Budget, clamp, edges, largest, nth, smallest};

/// A shape that a dispatch predicate needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::evaluate) struct Needed {
    pub(in crate::evaluate) axes: Vec<i64>,
    pub(in crate::evaluate) price: Price,
}

/// What judging at a shape costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluate) enum Price {
    /// No more than others.
    Affordable,
    /// The same; but what goes wrong at an edge does so on most inputs, so few distributions do.
    Edge,
    /// One of many between powers of two: what goes wrong there does so on most inputs, and at the first launch.
    Octave,
    /// More than the cap: a variant that serves no other shape is judged there as at a large workload.
    Large,
}

/// Dispatch predicates of variants, as (eligible, preferred), in dispatch order.
type Predicates<'a> = [(&'a Eligibility, &'a Eligibility)];

/// Tile extents of a variant by axis.
type Tiles<'a> = &'a [(usize, i64)];

/// Whether an extent fills a tile as wanted, and which extent of an axis does.
type Filling<'a> = (&'a dyn Fn(i64, i64) -> bool, &'a dyn Fn(usize, i64) -> i64);

/// Which of the tiled axes have another extent than a tile.
type Moves<'a> = &'a dyn Fn(usize) -> bool;

/// Shapes that each variant should serve.
const SERVED: usize = 3;
/// Most shapes for one list: so many, or so many for each variant.
const MOST: usize = 32;
const MOST_EACH: usize = 12;
/// How many powers of two of steps beside a tile are tried.
const BESIDE: u32 = 7;
/// Most combinations of extents that are tried.
const COMBINED: usize = 1 << 14;
/// Most multiples that are tried for one condition.
const MULTIPLES: i64 = 1 << 16;
/// How many steps around an extent one is looked for that meets several conditions.
const AROUND: i64 = 1 << 9;

/// What can be afforded: of whole references, of the dearest, and whether it can by a sample.
pub(in crate::evaluate) type Means<'a> = (&'a Budget<'a>, u64, IsSampled<'a>);

/// The shapes that `predicates` and tiles, by variant, need and `known` lacks, which are judged by all distributions, or those
/// `beyond`, by some; none that costs more than `dear`.
pub(in crate::evaluate) fn needed(
    spec: &KernelSpec,
    means: Means<'_>,
    (predicates, tiles): (&Predicates<'_>, &[Tiles<'_>]),
    [known, beyond]: [&[Vec<i64>]; 2],
) -> Vec<Needed> {
    let search = Search::new(spec, means, predicates);
    let mut found = Vec::new();
    (0..predicates.len()).for_each(|variant| search.serve(variant, known, &mut found));
    let tiled = || tiles.iter().copied().enumerate().filter(|(_, tiles)| !tiles.is_empty());
    tiled().for_each(|tiled| search.edges(tiled, known, &mut found));
    (0..predicates.len()).for_each(|variant| search.ends(variant, known, &mut found));
    tiled().for_each(|tiled| search.twice(tiled, &[known, beyond].concat(), &mut found));
    found.truncate(MOST.max(MOST_EACH * predicates.len()));
    found
}

/// How bases are aligned when the dispatched variant is looked up.
#[derive(Clone, Copy)]
enum Bases {
    Aligned,
    Misaligned,
}

struct Search<'a> {
    spec: &'a KernelSpec,
    budget: &'a Budget<'a>,
    /// The largest cost of all.
    dear: u64,
    sampled: IsSampled<'a>,
    predicates: &'a Predicates<'a>,
    /// Shapes that others are made from, an axis moved at a time.
    origins: Vec<Vec<i64>>,
    /// Extents of each axis at which a predicate turns, and edges of ranges and tiles.
    extents: Vec<Vec<i64>>,
    /// Combinations of these, cheapest first.
    shapes: Vec<Vec<i64>>,
}

impl<'a> Search<'a> {
    fn new(spec: &'a KernelSpec, (budget, dear, sampled): Means<'a>, predicates: &'a Predicates<'a>) -> Self {
        let (extents, shapes) = (Vec::new(), Vec::new());
        let origins = origins(spec, budget);
        let mut search = Self { spec, budget, dear, sampled, predicates, origins, extents, shapes };
        search.extents = (0..spec.axes.len()).map(|axis| search.extents_of(axis)).collect();
        search.shapes = search.combined();
        search
    }

    /// Adds shapes until this variant serves enough, or there are none.
    fn serve(&self, variant: usize, known: &[Vec<i64>], found: &mut Vec<Needed>) {
        let serves = |axes: &[i64], bases| self.served(axes, bases) == Some(variant);
        let has = |bases, found: &[Needed]| {
            let all = known.iter().chain(found.iter().map(|needed| &needed.axes));
            all.filter(|axes| serves(axes, bases)).count()
        };
        let missing = SERVED.min(self.budget.most).saturating_sub(has(Bases::Aligned, found));
        if missing == 0 {
            return;
        }
        let mut there = self.serving(variant, Bases::Aligned);
        if there.is_empty() && has(Bases::Misaligned, found) == 0 {
            there = self.serving(variant, Bases::Misaligned);
        }
        let (cheap, dear): (Vec<_>, Vec<_>) = there.into_iter().partition(|axes| self.is_affordable(axes));
        let cheap: Vec<_> = cheap.into_iter().filter(|axes| !known.contains(axes)).collect();
        let places: BTreeSet<usize> = [cheap.len() / 2, cheap.len() / 4, 0].into_iter().collect();
        let chosen = places.into_iter().rev().filter_map(|place| cheap.get(place)).take(missing);
        chosen.for_each(|axes| add(found, axes, Price::Affordable));
        if has(Bases::Aligned, found) + has(Bases::Misaligned, found) == 0 {
            let cheapest = dear.iter().min_by_key(|axes| (self.budget.cost)(axes));
            let cheapest = cheapest.filter(|axes| (self.budget.cost)(axes) <= self.dear);
            cheapest.into_iter().for_each(|axes| add(found, axes, Price::Large));
        }
    }

    /// Shapes at which this variant is dispatched.
    fn serving(&self, variant: usize, bases: Bases) -> Vec<Vec<i64>> {
        let serves = |axes: &Vec<i64>| self.served(axes, bases) == Some(variant);
        let combined: Vec<_> = self.shapes.iter().filter(|axes| serves(axes)).cloned().collect();
        if !combined.is_empty() {
            return combined;
        }
        let climbed = self.origins.iter().filter_map(|origin| self.climbed(origin.clone(), variant));
        climbed.filter(serves).collect()
    }

    /// Adds shapes of one tile in each tiled axis, and of a step less and more in all at once; then of what is next to a tile
    /// in one axis, the others having whole tiles.
    fn edges(&self, tiled: (usize, Tiles<'_>), known: &[Vec<i64>], found: &mut Vec<Needed>) {
        let all = |by| self.tiled(tiled, &|axis, tile| self.step(axis, tile, by));
        let each = || tiled.1.iter().flat_map(|(axis, _)| [1, -1].map(|way| self.beside(tiled, *axis, way)));
        let shapes: Vec<Vec<i64>> = [0, 1, -1].into_iter().flat_map(all).chain(each().flatten()).collect();
        shapes.iter().filter(|axes| !known.contains(axes)).for_each(|axes| add(found, axes, Price::Edge));
    }

    /// The next extent of one axis behind its tile, or before it, that this variant serves where the others have a tile: some
    /// take multiples alone.
    fn beside(&self, (variant, tiles): (usize, Tiles<'_>), axis: usize, way: i64) -> Option<Vec<i64>> {
        let moves = |at: usize| at == axis;
        let at = |steps: i64| {
            self.at((variant, tiles), (&moves, &|axis, tile| self.step(axis, tile, way * steps)))
        };
        let tile = self.at((variant, tiles), (&moves, &|_, tile| tile));
        let is_other = |axes: &Vec<i64>| tile.as_ref() != Some(axes);
        (0..BESIDE).filter_map(|octave| at(1 << octave)).find(is_other)
    }

    /// Adds shapes of two whole tiles, and of two and a part of a third, where nothing that is judged anyway has as many:
    /// what a kernel keeps from one tile to the next is wrong in the second.
    fn twice(&self, (variant, tiles): (usize, Tiles<'_>), judged: &[Vec<i64>], found: &mut Vec<Needed>) {
        let has_whole = |extent: i64, tile: i64| extent == 2 * tile;
        let has_part = |extent: i64, tile: i64| extent > 2 * tile && extent % tile != 0;
        let whole = |_: usize, tile: i64| 2 * tile;
        // a power of two divides by what a variant may want
        let part = |tile: i64| 1_i64 << (tile / 2).max(1).ilog2();
        let and_part =
            |axis: usize, tile: i64| self.step(axis, 2 * tile, (part(tile) / self.stride(axis)).max(1));
        self.filled((variant, tiles), (&has_whole, &whole), judged, found);
        self.filled((variant, tiles), (&has_part, &and_part), judged, found);
    }

    /// Adds shapes of these extents for the tiled axes that no judged shape fills so, which this variant serves.
    fn filled(
        &self,
        (variant, tiles): (usize, Tiles<'_>),
        (is_filled, extent): Filling<'_>,
        judged: &[Vec<i64>],
        found: &mut Vec<Needed>,
    ) {
        let serves = |axes: &&Vec<i64>| self.served(axes, Bases::Aligned) == Some(variant);
        let fills = |axes: &Vec<i64>, (axis, tile): &(usize, i64)| is_filled(axes[*axis], *tile);
        let ranged: Vec<(usize, i64)> =
            tiles.iter().filter(|(axis, _)| self.spec.axes[*axis].is_run_time()).copied().collect();
        let is_judged = judged.iter().filter(serves).any(|axes| ranged.iter().all(|tile| fills(axes, tile)));
        if !is_judged {
            let shapes = self.tiled((variant, &ranged), extent);
            let new = shapes.iter().filter(|axes| ranged.iter().any(|tile| fills(axes, tile)));
            new.for_each(|axes| add(found, axes, Price::Octave));
        }
    }

    /// Shapes that this variant serves, tiled axes having this extent: all of them at once, else one.
    fn tiled(
        &self,
        (variant, tiles): (usize, Tiles<'_>),
        extent: &dyn Fn(usize, i64) -> i64,
    ) -> Vec<Vec<i64>> {
        let at = |moves: Moves<'_>| self.at((variant, tiles), (moves, extent));
        let several = || tiles.iter().filter_map(|(axis, _)| at(&|moved| moved == *axis)).collect();
        at(&|_| true).map_or_else(several, |axes| vec![axes])
    }

    /// A shape that this variant serves, in which these tiled axes have this extent and the others a tile.
    fn at(
        &self,
        (variant, tiles): (usize, Tiles<'_>),
        (moves, extent): (Moves<'_>, &dyn Fn(usize, i64) -> i64),
    ) -> Option<Vec<i64>> {
        let is_affordable = |axes: &Vec<i64>| self.is_affordable(axes) || (self.sampled)(axes);
        let serves =
            |axes: &Vec<i64>| is_affordable(axes) && self.served(axes, Bases::Aligned) == Some(variant);
        let tile = |axis| tiles.iter().find(|(tiled, _)| *tiled == axis).map(|(_, extent)| *extent);
        self.origins.iter().find_map(|origin| {
            let bound = |axis: usize| match tile(axis) {
                Some(tile) if moves(axis) => clamp(&self.spec.axes[axis], extent(axis, tile)),
                Some(tile) => clamp(&self.spec.axes[axis], tile),
                None => origin[axis],
            };
            resolve(&self.spec.axes, &bound).filter(serves)
        })
    }

    /// Adds the ends of the ranges in which this variant is preferred, and what lies one beyond.
    fn ends(&self, variant: usize, known: &[Vec<i64>], found: &mut Vec<Needed>) {
        for condition in &self.predicates[variant].1.0 {
            let only = Eligibility(vec![condition.clone()]);
            for axis in self.spec.run_time_axes() {
                let turns = self.origins.iter().filter_map(|origin| self.turn(origin, axis, &only));
                for turn in turns.collect::<BTreeSet<[i64; 2]>>() {
                    let judged = known.iter().chain(found.iter().map(|needed| &needed.axes));
                    let both = self.both_sides(variant, (axis, turn), judged).into_iter().flatten();
                    let new: Vec<_> = both.filter(|axes| !known.contains(axes)).collect();
                    new.iter().for_each(|axes| add(found, axes, Price::Edge));
                }
            }
        }
    }

    /// Two shapes that differ in an axis, whose extents are these, and of which the variant serves one: if it can be, one
    /// that is judged already.
    fn both_sides<'s>(
        &self,
        variant: usize,
        (axis, [low, high]): (usize, [i64; 2]),
        mut judged: impl Iterator<Item = &'s Vec<i64>>,
    ) -> Option<[Vec<i64>; 2]> {
        let beside = |axes: &[i64]| {
            let other = if axes[axis] == low { high } else { low };
            self.moved(axes, axis, other).filter(|other| self.is_affordable(other))
        };
        let is_end = |axes: &&Vec<i64>| {
            let serves = || self.served(axes, Bases::Aligned) == Some(variant);
            [low, high].contains(&axes[axis]) && serves() && beside(axes).is_some()
        };
        let able = || self.shapes.iter().filter(is_end).filter(|axes| self.is_affordable(axes));
        let end = judged.find(is_end).or_else(|| able().nth(able().count() / 2))?;
        Some([end.clone(), beside(end)?])
    }

    fn is_affordable(&self, axes: &[i64]) -> bool {
        (self.budget.cost)(axes) <= self.budget.cap
    }

    /// The variant that is dispatched.
    fn served(&self, axes: &[i64], bases: Bases) -> Option<usize> {
        let address = |dtype: DType| match bases {
            Bases::Aligned => 0,
            Bases::Misaligned => dtype.bytes() as u64,
        };
        let addresses: Vec<u64> = self.spec.tensors.iter().map(|tensor| address(tensor.dtype)).collect();
        dispatch(self.predicates, axes, &addresses)
    }

    /// The shape with another extent of one axis, and of what is derived from it.
    fn moved(&self, axes: &[i64], axis: usize, extent: i64) -> Option<Vec<i64>> {
        resolve(&self.spec.axes, &|at| if at == axis { extent } else { axes[at] })
    }

    fn holds_at(&self, axes: &[i64], axis: usize, extent: i64, predicate: &Eligibility) -> bool {
        let aligned = vec![0; self.spec.tensors.len()];
        self.moved(axes, axis, extent).is_some_and(|axes| predicate.holds(&axes, &aligned))
    }

    /// The two neighbouring extents of an axis between which a predicate turns, by halving; none where it does not.
    fn turn(&self, origin: &[i64], axis: usize, predicate: &Eligibility) -> Option<[i64; 2]> {
        let (mut low, mut high) = self.domain(axis);
        let at_low = self.holds_at(origin, axis, low, predicate);
        if at_low == self.holds_at(origin, axis, high, predicate) {
            return None;
        }
        loop {
            let middle = clamp(&self.spec.axes[axis], low + (high - low) / 2);
            if middle <= low {
                break;
            }
            if self.holds_at(origin, axis, middle, predicate) == at_low {
                low = middle
            } else {
                high = middle
            }
        }
        Some([low, high])
    }

    /// The smallest and the largest extent.
    fn domain(&self, axis: usize) -> (i64, i64) {
        (smallest(&self.spec.axes[axis]), largest(&self.spec.axes[axis]))
    }

    /// The extent this many steps further, inside the range.
    fn step(&self, axis: usize, from: i64, steps: i64) -> i64 {
        clamp(&self.spec.axes[axis], from.saturating_add(steps.saturating_mul(self.stride(axis))))
    }

    /// What extents of an axis are multiples of.
    fn stride(&self, axis: usize) -> i64 {
        match self.spec.axes[axis].extent {
            Extent::Range { multiple_of, .. } => multiple_of.max(1),
            _ => 1,
        }
    }

    /// The first and the last extents at which something divides, and what lies one beyond each.
    fn multiples(&self, origin: &[i64], axis: usize, (predicate, by): (&Eligibility, i64)) -> Vec<i64> {
        let (low, high) = self.domain(axis);
        let holds = |extent: &i64| self.holds_at(origin, axis, *extent, predicate);
        let many = by.min(MULTIPLES).min(high - low + 1);
        let first = (0..many).map(|steps| self.step(axis, low, steps)).find(holds);
        let last = first.and_then(|_| (0..many).map(|steps| self.step(axis, high, -steps)).find(holds));
        let beyond = |(extent, way): (i64, i64)| [extent, self.step(axis, extent, way)];
        let both = first.map(|first| (first, 1)).into_iter().chain(last.map(|last| (last, -1)));
        both.flat_map(beyond).collect()
    }

    /// Extents of an axis at which a predicate turns, and edges of ranges and tiles.
    fn extents_of(&self, axis: usize) -> Vec<i64> {
        let mut extents = Vec::new();
        if self.spec.axes[axis].is_run_time() {
            let conditions = self.predicates.iter().flat_map(|(eligible, preferred)| [eligible, preferred]);
            for condition in conditions.flat_map(|predicate| &predicate.0) {
                let only = Eligibility(vec![condition.clone()]);
                for origin in &self.origins {
                    extents.extend(match condition {
                        Condition::Divides { by, .. } => self.multiples(origin, axis, (&only, *by)),
                        Condition::AtLeast { .. } | Condition::AtMost { .. } => {
                            self.turn(origin, axis, &only).map_or_else(Vec::new, Vec::from)
                        }
                        Condition::Aligned { .. } => Vec::new(),
                    });
                }
            }
        }
        extents.extend(self.origins.iter().map(|origin| origin[axis]));
        let mut seen = BTreeSet::new();
        extents.retain(|extent| seen.insert(*extent));
        extents
    }

    /// Combinations of the extents, cheapest first.
    fn combined(&self) -> Vec<Vec<i64>> {
        let mut extents = self.extents.clone();
        let count = |extents: &[Vec<i64>]| extents.iter().fold(1, |n: usize, e| n.saturating_mul(e.len()));
        while count(&extents) > COMBINED {
            let Some(longest) = extents.iter_mut().max_by_key(|extents| extents.len()) else { break };
            longest.pop();
        }
        let nth = |mut number: usize| {
            let mut bound = Vec::with_capacity(extents.len());
            for extents in &extents {
                bound.push(extents[number % extents.len()]);
                number /= extents.len();
            }
            resolve(&self.spec.axes, &|axis| bound[axis])
        };
        let mut shapes: Vec<Vec<i64>> = (0..count(&extents)).filter_map(nth).collect();
        shapes.sort_by_cached_key(|axes| ((self.budget.cost)(axes), axes.clone()));
        shapes.dedup();
        shapes
    }

    /// From a shape, an axis at a time, to one at which more of a variant's conditions hold.
    fn climbed(&self, mut axes: Vec<i64>, variant: usize) -> Option<Vec<i64>> {
        let (eligible, preferred) = self.predicates[variant];
        let conditions = eligible.0.iter().chain(&preferred.0).cloned();
        let conditions: Vec<Eligibility> = conditions.map(|condition| Eligibility(vec![condition])).collect();
        let aligned = vec![0; self.spec.tensors.len()];
        let held = |axes: &[i64]| conditions.iter().filter(|one| one.holds(axes, &aligned)).count();
        // a divisor's steps keep what it divides
        let divisors = eligible.0.iter().chain(&preferred.0).filter_map(divisor);
        let strides: BTreeSet<i64> = divisors.chain([1]).collect();
        for axis in self.spec.run_time_axes().chain(self.spec.run_time_axes()) {
            let steps =
                |stride: i64| (0..AROUND).flat_map(move |n| [n, -n]).map(move |n| stride.saturating_mul(n));
            let steps: Vec<i64> = strides.iter().copied().flat_map(steps).collect();
            let near = self.extents[axis].iter().flat_map(|from| steps.iter().map(|steps| (*from, *steps)));
            for (from, steps) in near {
                if held(&axes) == conditions.len() {
                    return Some(axes);
                }
                let moved = self.moved(&axes, axis, self.step(axis, from, steps));
                axes = moved.filter(|moved| held(moved) > held(&axes)).unwrap_or(axes);
            }
        }
        None
    }
}

fn divisor(condition: &Condition) -> Option<i64> {
    match condition {
        Condition::Divides { by, .. } => Some(*by),
        Condition::AtLeast { .. } | Condition::AtMost { .. } | Condition::Aligned { .. } => None,
    }
}

fn add(found: &mut Vec<Needed>, axes: &[i64], price: Price) {
    if found.iter().all(|needed| needed.axes != axes) {
        found.push(Needed { axes: axes.to_vec(), price });
    }
}

/// The workloads, edges of ranges and tiles, and the ends of every range.
fn origins(spec: &KernelSpec, budget: &Budget<'_>) -> Vec<Vec<i64>> {
    let values: Vec<Vec<i64>> = spec.axes.iter().map(|axis| edges(axis, budget.tiles)).collect();
    let workloads = spec.workloads.iter().filter_map(|workload| spec.bind(&workload.axes).ok());
    let mixed = (0..2).filter_map(|round| resolve(&spec.axes, &|a| nth(&values[a], round + a)));
    let ends = [smallest, largest].into_iter().filter_map(|end| resolve(&spec.axes, &|a| end(&spec.axes[a])));
    let mut origins = Vec::new();
    for origin in mixed.chain(ends).chain(workloads.take(4)) {
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    origins
}

#[cfg(test)]
mod tests;
