//! [`Case`]: one shape and distribution with its drawn inputs and what they must give. Cases do not depend on a
//! candidate, so screening many draws and computes each once.

use std::collections::BTreeMap;
use std::rc::Rc;

use cutegen_spec::math::Place;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor, ValueRange};

use super::backend::{Holding, Inputs, MemoryBackend};
use super::content::{self, Content, Contents};
use super::element;
use super::inputs::{Request, draw, draw_odd_scalar, draw_scalar, scalar_value};
use super::magnitude;
use super::reference::Sampled;
use super::sampling::Shares;
use super::strided::Placed;
use crate::evaluate::error::Error;
use crate::evaluate::rng::mix;
use crate::evaluate::wire::protocol::ScalarValue;
use crate::outcome::Distribution;
use crate::plan::sums::ExactIntegers;

/// Chooses a scalar's value from a seed and its position; `None` leaves it to [`draw_scalar`].
pub type ScalarChoice = Box<dyn Fn(u64, usize) -> Option<f64>>;

/// One shape and distribution.
#[derive(Debug)]
pub(crate) struct Case<H> {
    pub(crate) axes: Vec<i64>,
    pub(crate) distribution: Distribution,
    pub(crate) scalars: Vec<ScalarValue>,
    /// Inputs and expectations, in the form of the backend.
    pub(crate) held: H,
    /// Positions of outputs for which the bound is too loose to tell anything.
    pub(crate) loose_bounds: Vec<usize>,
    /// Whether expectations are of some elements alone.
    pub(crate) is_sampled: bool,
}

/// How the inputs of a shape came to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Drawn(Distribution),
    /// Normal ones, of which a few elements are others.
    Changed,
}

/// Draws cases and keeps them while they fit.
pub(in crate::evaluate) struct Cases<D: MemoryBackend> {
    pub(in crate::evaluate) backend: Rc<D>,
    seed: u64,
    exact_integers: ExactIntegers,
    scalar: Option<ScalarChoice>,
    /// Where references are sampled.
    pub(in crate::evaluate) shares: Shares,
    kept: BTreeMap<(usize, Origin), Rc<Case<D::Held>>>,
    room: usize,
}

impl<D: MemoryBackend> Cases<D> {
    pub(in crate::evaluate) fn new(
        backend: Rc<D>,
        seed: u64,
        exact_integers: ExactIntegers,
        scalar: Option<ScalarChoice>,
        room: usize,
    ) -> Self {
        Self { backend, seed, exact_integers, scalar, shares: Shares::new(), kept: BTreeMap::new(), room }
    }

    /// Whether this distribution says anything about the math.
    pub(in crate::evaluate) fn tells(&self, distribution: Distribution) -> bool {
        self.exact_integers == ExactIntegers::Wide || distribution != Distribution::WideIntegers
    }

    /// The case of shape number `shape`, whose extents are `axes`.
    pub(in crate::evaluate) fn get(
        &mut self,
        spec: &KernelSpec,
        shape: usize,
        axes: &[i64],
        distribution: Distribution,
    ) -> Result<Rc<Case<D::Held>>, Error> {
        let key = (shape, Origin::Drawn(distribution));
        if let Some(case) = self.kept.get(&key) {
            return Ok(Rc::clone(case));
        }
        let drawn = self.draw(spec, mix(self.seed ^ shape as u64), axes, distribution)?;
        Ok(self.keep(key, drawn))
    }

    /// Keeps a case of so many bytes while there is room.
    fn keep(&mut self, key: (usize, Origin), (case, bytes): (Case<D::Held>, usize)) -> Rc<Case<D::Held>> {
        let case = Rc::new(case);
        if let Some(room) = self.room.checked_sub(bytes) {
            self.room = room;
            self.kept.insert(key, Rc::clone(&case));
        }
        case
    }

    /// The normal case of this shape with a few elements of each input changed; none where nothing can be.
    pub(in crate::evaluate) fn changed(
        &mut self,
        spec: &KernelSpec,
        shape: usize,
        axes: &[i64],
    ) -> Result<Option<Rc<Case<D::Held>>>, Error> {
        let key = (shape, Origin::Changed);
        if let Some(case) = self.kept.get(&key) {
            return Ok(Some(Rc::clone(case)));
        }
        let (seed, distribution) = (mix(self.seed ^ shape as u64), Distribution::Normal);
        let mut contents = prepared(spec, (seed, distribution), axes, D::DRAWS)?;
        // not even a row's extremes stay what they are
        let others = prepared(spec, (mix(!seed), Distribution::Large), axes, D::DRAWS)?;
        if !change(spec, (mix(!seed), axes), &mut contents, &others)? {
            return Ok(None);
        }
        let scalars = self.get(spec, shape, axes, distribution)?.scalars.clone();
        let sampled = self.sampled(seed, axes);
        let inputs =
            Inputs { spec, axes, scalars: &scalars, contents, is_exact: false, is_drawn: true, sampled };
        let Holding { held, loose_bounds, bytes, .. } = self.backend.hold(inputs)?;
        let is_sampled = sampled.is_some();
        let case = Case { axes: axes.to_vec(), distribution, scalars, held, loose_bounds, is_sampled };
        Ok(Some(self.keep(key, (case, bytes))))
    }

    fn draw(
        &self,
        spec: &KernelSpec,
        seed: u64,
        axes: &[i64],
        distribution: Distribution,
    ) -> Result<(Case<D::Held>, usize), Error> {
        let contents = prepared(spec, (seed, distribution), axes, D::DRAWS)?;
        let usual = self.scalars(spec, seed, distribution);
        let odd = self.odd_scalars(spec, seed, distribution);
        // declared ranges and distinct values are larger than what these promise
        let small = spec.tensors.iter().all(|t| t.range.is_none() && !t.unique);
        let integers = matches!(distribution, Distribution::Integers | Distribution::WideIntegers);
        let is_exact = self.exact_integers != ExactIntegers::None && integers && small;
        let sampled = self.sampled(mix(seed ^ distribution as u64), axes);
        let hold = |scalars: &[ScalarValue], contents| {
            self.backend.hold(Inputs { spec, axes, scalars, contents, is_exact, is_drawn: true, sampled })
        };
        let case = |Holding { held, loose_bounds, bytes, .. }: Holding<D::Held>, scalars| {
            let is_sampled = sampled.is_some();
            (Case { axes: axes.to_vec(), distribution, scalars, held, loose_bounds, is_sampled }, bytes)
        };
        if let Some(odd) = odd {
            let holding = hold(&odd, contents.clone())?;
            if holding.is_finite {
                return Ok(case(holding, odd));
            }
        }
        Ok(case(hold(&usual, contents)?, usual))
    }

    /// Which elements are computed at these extents: others for each case.
    fn sampled(&self, seed: u64, axes: &[i64]) -> Option<Sampled> {
        self.shares.get(axes).map(|share| Sampled { seed, share: *share })
    }

    /// Scalars of either sign and any size, in half of the cases; none where a distribution has its own.
    fn odd_scalars(
        &self,
        spec: &KernelSpec,
        seed: u64,
        distribution: Distribution,
    ) -> Option<Vec<ScalarValue>> {
        let own = [Distribution::NearOne, Distribution::Specials, Distribution::PairedSpecials];
        let is_odd = mix(seed ^ mix(distribution as u64)).is_multiple_of(2) && !own.contains(&distribution);
        let drawn = || spec.scalars.iter().enumerate().map(|(at, scalar)| draw_odd_scalar(seed, at, scalar));
        (is_odd && self.scalar.is_none() && !spec.scalars.is_empty()).then(|| drawn().collect())
    }

    /// The scalars of a launch.
    pub(in crate::evaluate) fn scalars(
        &self,
        spec: &KernelSpec,
        seed: u64,
        distribution: Distribution,
    ) -> Vec<ScalarValue> {
        let chosen = |position: usize| self.scalar.as_ref().and_then(|choose| choose(seed, position));
        let value = |(position, scalar): (usize, &cutegen_spec::tensor::Scalar)| match chosen(position) {
            Some(value) => scalar_value(scalar.dtype, value),
            None => draw_scalar(distribution, seed, position, scalar),
        };
        spec.scalars.iter().enumerate().map(value).collect()
    }
}

/// Parts of an input, at most, of each of which one element changes: whatever a kernel leaves out is to have some.
const PARTS: usize = 16;
/// Elements of a part, at least: samples of a small input are to miss what changes.
const PART: usize = 256;
/// What a changed float is away from zero, at least. Normal ones stay below it, and what overflows does so at much more.
const FAR: f64 = 4.0;

/// Takes an element in each part of each input from `others`, which are large ones, and says whether any became another.
/// Floats come near. Distinct values stay, and what a backend draws.
fn change(
    spec: &KernelSpec,
    (seed, axes): (u64, &[i64]),
    contents: &mut Contents,
    others: &Contents,
) -> Result<bool, Error> {
    let mut has_changed = false;
    for (t, (tensor, (content, other))) in
        spec.tensors.iter().zip(contents.iter_mut().zip(others)).enumerate()
    {
        let (Some(Content::Bytes(bytes)), Some(Content::Bytes(other))) = (content, other) else { continue };
        if tensor.unique {
            continue;
        }
        let (placed, dtype) = (Placed::new(tensor, axes)?, tensor.dtype);
        for element in one_of_each_part(placed.elements(), mix(seed ^ mix(t as u64))) {
            let offset = placed.offset(element);
            let before = element::bits(dtype, bytes, offset);
            element::put_bits(dtype, bytes, offset, element::bits(dtype, other, offset));
            if dtype.is_float() {
                let large = element::read(dtype, bytes, offset);
                element::write(dtype, bytes, offset, FAR.copysign(large) + large / 64.0);
            }
            has_changed |= before != element::bits(dtype, bytes, offset);
        }
    }
    Ok(has_changed)
}

/// Of so many elements one in each part.
fn one_of_each_part(elements: usize, seed: u64) -> impl Iterator<Item = usize> {
    let parts = (elements / PART).clamp(1, PARTS).min(elements);
    (0..parts).map(move |part| {
        let [start, end] = [part, part + 1].map(|part| part * elements / parts);
        start + (mix(seed ^ part as u64) % (end - start) as u64) as usize
    })
}

/// What every tensor of `spec` holds before a launch, by position.
pub fn contents(
    spec: &KernelSpec,
    seed: u64,
    axes: &[i64],
    distribution: Distribution,
) -> Result<Vec<Option<Vec<u8>>>, Error> {
    prepared(spec, (seed, distribution), axes, None).map(content::drawn)
}

/// The same, where floats of so many elements and more, without gaps, are left for a backend to draw.
pub(in crate::evaluate) fn prepared(
    spec: &KernelSpec,
    (seed, distribution): (u64, Distribution),
    axes: &[i64],
    draws: Option<usize>,
) -> Result<Contents, Error> {
    let inputs = spec.tensors.iter().filter(|t| t.role != Role::Output).count();
    let limits = Limits { terms: terms(spec, axes), most: magnitude::integers(spec, axes) };
    let drawn = spec.tensors.iter().enumerate().map(|(position, tensor)| match tensor.role {
        Role::Output => Ok(None),
        Role::Input | Role::Inout => {
            let placed = Placed::new(tensor, axes)?;
            let request = request((tensor, &placed), (seed, position, inputs), axes, limits)?;
            content((tensor, &placed), (request, distribution), axes, draws).map(Some)
        }
    });
    drawn.collect()
}

/// Terms of an output's sums, at most: all axes but those that the assignment with the fewest points runs over. An
/// `inout` may hold more elements than are assigned.
fn terms(spec: &KernelSpec, axes: &[i64]) -> u64 {
    let product = |extents: &mut dyn Iterator<Item = i64>| {
        extents.fold(1_u64, |n, extent| n.saturating_mul(extent.unsigned_abs()))
    };
    let results = spec.math.assigns.iter().filter(|assign| matches!(assign.dst, Place::Tensor(_)));
    let points = results.map(|a| product(&mut a.vars.iter().map(|var| axes[spec.math.vars[*var]]))).min();
    product(&mut axes.iter().copied()) / points.unwrap_or(1).max(1)
}

/// What a spec's math allows of the values of its inputs.
#[derive(Clone, Copy)]
struct Limits {
    /// Terms of an output's sums, at most.
    terms: u64,
    /// The largest integer.
    most: i64,
}

/// What is to be drawn of one input.
fn request(
    (tensor, placed): (&Tensor, &Placed),
    (seed, position, inputs): (u64, usize, usize),
    axes: &[i64],
    Limits { terms, most }: Limits,
) -> Result<Request, Error> {
    let ends = |range: &ValueRange| Some((range.from.eval_axes(axes)?, range.to.eval_axes(axes)?));
    let range = tensor.range.as_ref().map(|range| {
        ends(range)
            .ok_or_else(|| Error::Shape(format!("the range of `{}` has no value at {axes:?}", tensor.name)))
    });
    Ok(Request {
        seed,
        position,
        inputs,
        dtype: tensor.dtype,
        elements: placed.elements(),
        row: placed.row(),
        terms,
        most,
        range: range.transpose()?,
        is_unique: tensor.unique,
    })
}

/// One input, gaps poisoned.
fn content(
    (tensor, placed): (&Tensor, &Placed),
    (request, distribution): (Request, Distribution),
    axes: &[i64],
    draws: Option<usize>,
) -> Result<Content, Error> {
    let is_large = draws.is_some_and(|least| request.elements >= least);
    if is_large && tensor.dtype.is_float() && placed.is_dense {
        return Ok(Content::Drawn(distribution, request));
    }
    let dense = draw(distribution, &request);
    let dense = dense.map_err(|reason| Error::Shape(format!("`{}` at {axes:?} {reason}", tensor.name)))?;
    Ok(Content::Bytes(placed.scatter(dense)))
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;

    use crate::evaluate::judge::content::{Content, drawn};
    use crate::outcome::Distribution;

    #[test]
    fn large_floats_without_gaps_are_left_to_draw_and_are_the_same_bytes() {
        let text = "edition = 1\n[kernels.one]\naxes = { m = '1..=64', n = '1..=64' }\n\
                    outputs = { z = 'f32[m, n]' }\nmath = 'z[m, n] = x[m, n] * y[n] * w[m, n] + i[m, n]'\n\
                    inputs = { x = 'bf16[m, n]', y = 'f32[n]', i = 'i32[m, n]', \
                    w = { type = 'f32[m, n]', strides = ['n + 3', 1] } }";
        let spec = spec_file(text, &Settings::default()).into_kernels().expect("a right spec").remove(0);
        for distribution in Distribution::ALL {
            let prepared = |draws| super::prepared(&spec, (7, distribution), &[8, 40], draws).expect("drawn");
            let left = prepared(Some(320));
            for (tensor, content) in spec.tensors.iter().zip(&left) {
                let is_left = matches!(content, Some(Content::Drawn(..)));
                assert_eq!(is_left, tensor.name == "x", "{}", tensor.name);
            }
            let bytes = left.iter().flatten().map(Content::len).collect::<Vec<_>>();
            let whole = drawn(prepared(None));
            assert_eq!(bytes, whole.iter().flatten().map(Vec::len).collect::<Vec<_>>());
            assert_eq!(drawn(left), whole, "{distribution}");
        }
    }

    #[test]
    fn each_part_has_one_element_and_a_small_input_is_one_part() {
        let of = |elements| super::one_of_each_part(elements, 7).collect::<Vec<_>>();
        assert_eq!([0, 1, 511, 512, 5000, 1 << 20].map(|n| of(n).len()), [0, 1, 1, 2, 16, 16]);
        let parts = |n: usize| of(n).into_iter().map(|e| e * 16 / n).collect::<Vec<_>>();
        assert_eq!([1 << 12, 1 << 20].map(parts), [0, 1].map(|_| (0..16).collect::<Vec<_>>()));
        assert!(of(300)[0] < 300 && of(1 << 20) != super::one_of_each_part(1 << 20, 8).collect::<Vec<_>>());
    }

    #[test]
    fn what_changes_is_an_element_of_each_part_and_goes_beyond_what_is_normal() {
        let text = "edition = 1\n[kernels.one]\naxes = { m = '1..=64', n = '1..=64' }\n\
                    outputs = { z = 'f32[m, n]' }\nmath = 'z[m, n] = x[m, n] + i[m, n] + w[m, n]'\n\
                    inputs = { x = 'bf16[m, n]', i = 'i32[m, n]', w = { type = 'f32[m, n]', strides = ['n + 3', 1] } }";
        let spec = spec_file(text, &Settings::default()).into_kernels().expect("a right spec").remove(0);
        let of = |distribution| super::prepared(&spec, (7, distribution), &[64, 64], None).expect("drawn");
        let (mut contents, others) = (of(Distribution::Normal), of(Distribution::Large));
        assert!(super::change(&spec, (9, &[64, 64]), &mut contents, &others).expect("changed"));
        let [before, after, others] = [of(Distribution::Normal), contents, others].map(drawn);
        for (t, tensor) in spec.tensors.iter().enumerate() {
            let (Some(before), Some(after), Some(others)) = (&before[t], &after[t], &others[t]) else {
                continue;
            };
            let bits = |bytes: &[u8], e| super::element::bits(tensor.dtype, bytes, e);
            let elements = before.len() / tensor.dtype.bytes();
            let changed: Vec<usize> = (0..elements).filter(|e| bits(before, *e) != bits(after, *e)).collect();
            assert_eq!(changed.len(), 16, "{}: {changed:?}", tensor.name);
            let value = |e: &usize| super::element::read(tensor.dtype, after, *e).abs();
            if tensor.dtype.is_float() {
                assert!(changed.iter().all(|e| (4.0..9.0).contains(&value(e))), "{}", tensor.name);
            } else {
                assert!(changed.iter().all(|e| bits(after, *e) == bits(others, *e)), "{}", tensor.name);
            }
        }
    }

    #[test]
    fn an_inout_that_is_assigned_in_part_has_as_many_terms_as_its_sums() {
        let terms = |results: &str| {
            let text = format!(
                "edition = 1\n[kernels.one]\naxes = {{ m = '1..=64', n = '1..=64', k = '1..=4096' }}\n\
                 inputs = {{ x = 'f32[m, k]', w = 'f32[n, k]' }}\n{results}\nmath = 'y[m, n] = sum(k, x[m, k] * w[n, k])'"
            );
            let specs = spec_file(&text, &Settings::default()).into_kernels().expect("a right spec");
            super::terms(&specs[0], &[4, 8, 4096])
        };
        assert_eq!(terms("outputs = { y = 'f32[m, n]' }"), 4096);
        assert_eq!(terms("inout = { y = 'f32[4096, n]' }"), 4096);
    }
}
