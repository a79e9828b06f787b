//! What is drawn for a spec, and what its reference says of it.

use cutegen_build::evaluate::judge::inputs::draw_scalar;
use cutegen_build::evaluate::wire::protocol::ScalarValue;
use cutegen_build::evaluate::{Call, Distribution, Expected, Reference, contents};
use cutegen_build::plan::Plan;
use cutegen_build::plan::sums::{ExactIntegers, exact_integers};
use cutegen_spec::tensor::Role;

/// Inputs and what they must give.
pub(crate) struct Drawn {
    pub(crate) axes: Vec<i64>,
    pub(crate) distribution: Distribution,
    pub(crate) contents: Vec<Option<Vec<u8>>>,
    pub(crate) scalars: Vec<f64>,
    /// By position among the spec's tensors.
    pub(crate) expected: Vec<Option<Expected>>,
}

/// The distributions that the gate draws for a plan.
pub(crate) fn distributions(plan: &Plan) -> impl Iterator<Item = Distribution> + use<> {
    let sums = exact_integers(plan) == ExactIntegers::Wide;
    Distribution::ALL.into_iter().filter(move |d| sums || *d != Distribution::WideIntegers)
}

/// Draws inputs and asks the reference.
pub(crate) fn draw(
    plan: &Plan,
    reference: &Reference,
    axes: &[i64],
    distribution: Distribution,
    seed: u64,
) -> Drawn {
    let spec = &plan.spec;
    let contents = contents(spec, seed, axes, distribution).expect("inputs can be drawn");
    let scalar = |(i, s)| draw_scalar(distribution, seed, i, s);
    let scalars: Vec<ScalarValue> = spec.scalars.iter().enumerate().map(scalar).collect();
    let results: Vec<usize> =
        (0..spec.tensors.len()).filter(|t| spec.tensors[*t].role != Role::Input).collect();
    let spans: Vec<usize> =
        results.iter().map(|t| spec.tensors[*t].span(axes).expect("it has a size") as usize).collect();
    let inputs: Vec<Vec<u8>> = contents.iter().flatten().cloned().collect();
    let small = spec.tensors.iter().all(|t| t.range.is_none() && !t.unique);
    let integers = matches!(distribution, Distribution::Integers | Distribution::WideIntegers);
    let exact = small && exact_integers(plan) != ExactIntegers::None && integers;
    let call = Call { inputs: &inputs, axes, scalars: &scalars, outputs: &spans, exact, sampled: None };
    let mut expected = vec![None; spec.tensors.len()];
    results.iter().zip(reference.call(&call)).for_each(|(t, e)| expected[*t] = Some(e));
    let scalars = scalars.iter().map(number).collect();
    Drawn { axes: axes.to_vec(), distribution, contents, scalars, expected }
}

fn number(value: &ScalarValue) -> f64 {
    match value {
        ScalarValue::F32(bits) => f64::from(f32::from_bits(*bits)),
        ScalarValue::F64(bits) => f64::from_bits(*bits),
    }
}
