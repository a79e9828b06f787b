//! [`Case`]: one shape and distribution with its drawn inputs and what they must give. Cases do not depend on a
//! candidate, so screening many draws and computes each once.

use std::collections::BTreeMap;
use std::rc::Rc;

use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor};

use super::compare::is_telling;
use super::element;
use super::error::Error;
use super::inputs::{Distribution, Request, draw, draw_scalar, mix, scalar_value};
use super::protocol::ScalarValue;
use super::reference::{Call, Expected, Reference};

/// Chooses a scalar's value from a seed and its position; `None` leaves it to [`draw_scalar`].
pub type ScalarChoice = Box<dyn Fn(u64, usize) -> Option<f64>>;

/// One shape and distribution.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) axes: Vec<i64>,
    pub(crate) distribution: Distribution,
    pub(crate) scalars: Vec<ScalarValue>,
    /// What each tensor holds before a launch, by position; none for outputs.
    pub(crate) contents: Vec<Option<Vec<u8>>>,
    /// What each tensor must hold after it; none for inputs.
    pub(crate) expected: Vec<Option<Expected>>,
    /// Positions of outputs for which the bound is too loose to tell anything.
    pub(crate) loose: Vec<usize>,
}

/// Draws cases and keeps them while they fit.
pub(crate) struct Cases {
    reference: Reference,
    seed: u64,
    exact_integers: bool,
    scalar: Option<ScalarChoice>,
    kept: BTreeMap<(usize, Distribution), Rc<Case>>,
    room: usize,
}

impl Cases {
    pub(crate) fn new(
        reference: Reference,
        seed: u64,
        exact_integers: bool,
        scalar: Option<ScalarChoice>,
        room: usize,
    ) -> Self {
        Self { reference, seed, exact_integers, scalar, kept: BTreeMap::new(), room }
    }

    /// The case of shape number `shape`, whose extents are `axes`.
    pub(crate) fn get(
        &mut self,
        spec: &KernelSpec,
        shape: usize,
        axes: &[i64],
        distribution: Distribution,
    ) -> Result<Rc<Case>, Error> {
        if let Some(case) = self.kept.get(&(shape, distribution)) {
            return Ok(Rc::clone(case));
        }
        let case = Rc::new(self.draw(spec, mix(self.seed ^ shape as u64), axes, distribution)?);
        if let Some(room) = self.room.checked_sub(case.bytes()) {
            self.room = room;
            self.kept.insert((shape, distribution), Rc::clone(&case));
        }
        Ok(case)
    }

    fn draw(
        &self,
        spec: &KernelSpec,
        seed: u64,
        axes: &[i64],
        distribution: Distribution,
    ) -> Result<Case, Error> {
        let contents = contents(spec, seed, axes, distribution)?;
        let scalars = self.scalars(spec, seed);
        let inputs: Vec<Vec<u8>> = contents.iter().flatten().cloned().collect();
        let outputs: Vec<usize> = spec
            .tensors_with_results()
            .map(|t| elements(&spec.tensors[t], axes))
            .collect::<Result<_, _>>()?;
        let exact = self.exact_integers && distribution == Distribution::Integers;
        let call = Call { inputs: &inputs, axes, scalars: &scalars, outputs: &outputs, exact };
        let mut expected: Vec<Option<Expected>> = vec![None; spec.tensors.len()];
        for (t, result) in spec.tensors_with_results().zip(self.reference.call(&call)) {
            expected[t] = Some(result);
        }
        let loose = |t: &usize| expected[*t].as_ref().is_some_and(|e| !is_telling(spec.tensors[*t].dtype, e));
        let loose = (0..spec.tensors.len()).filter(loose).collect();
        Ok(Case { axes: axes.to_vec(), distribution, scalars, contents, expected, loose })
    }

    /// The scalars of a launch.
    pub(crate) fn scalars(&self, spec: &KernelSpec, seed: u64) -> Vec<ScalarValue> {
        let chosen = |position: usize| self.scalar.as_ref().and_then(|choose| choose(seed, position));
        let value = |(position, scalar): (usize, &cutegen_spec::tensor::Scalar)| match chosen(position) {
            Some(value) => scalar_value(scalar.dtype, value),
            None => draw_scalar(seed, position, scalar),
        };
        spec.scalars.iter().enumerate().map(value).collect()
    }
}

/// What every tensor of `spec` holds before a launch, by position.
pub(crate) fn contents(
    spec: &KernelSpec,
    seed: u64,
    axes: &[i64],
    distribution: Distribution,
) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let inputs = spec.tensors.iter().filter(|t| t.role != Role::Output).count();
    let drawn = spec.tensors.iter().enumerate().map(|(position, tensor)| match tensor.role {
        Role::Output => Ok(None),
        Role::Input | Role::Inout => {
            let (dtype, elements) = (tensor.dtype, elements(tensor, axes)?);
            let request = Request { seed, position, inputs, dtype, elements, row: row(tensor, axes) };
            Ok(Some(draw(distribution, request)))
        }
    });
    drawn.collect()
}

/// Elements of `tensor`; an error for extents or a dtype that this form cannot judge.
pub(crate) fn elements(tensor: &Tensor, axes: &[i64]) -> Result<usize, Error> {
    if !element::is_supported(tensor.dtype) {
        return Err(Error::Shape(format!("`{}`: {} is not judged yet", tensor.name, tensor.dtype)));
    }
    let count = tensor.elements(axes).and_then(|n| usize::try_from(n).ok());
    count.ok_or_else(|| Error::Shape(format!("`{}` has no size at {axes:?}", tensor.name)))
}

fn row(tensor: &Tensor, axes: &[i64]) -> usize {
    let last = tensor.dims.last().and_then(|dim| dim.eval_axes(axes));
    last.and_then(|n| usize::try_from(n).ok()).unwrap_or(1)
}

/// Tensors with a result to be judged: inouts and outputs.
trait Results {
    fn tensors_with_results(&self) -> impl Iterator<Item = usize>;
}

impl Results for KernelSpec {
    fn tensors_with_results(&self) -> impl Iterator<Item = usize> {
        (0..self.tensors.len()).filter(|t| self.tensors[*t].role != Role::Input)
    }
}

impl Case {
    fn bytes(&self) -> usize {
        let held: usize = self.contents.iter().flatten().map(Vec::len).sum();
        let wanted: usize = self.expected.iter().flatten().map(|e| 16 * e.value.len()).sum();
        held + wanted
    }
}
