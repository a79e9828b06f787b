//! Values of the scalars: as given, else as the gate would draw them. Pure.

use cutegen_build::evaluate::Distribution;
use cutegen_build::evaluate::judge::inputs::{draw_scalar, scalar_value};
use cutegen_build::evaluate::wire::protocol::ScalarValue;
use cutegen_spec::spec::KernelSpec;

use super::expected;
use crate::args::Run;
use crate::bindings::by_name;
use crate::failure::Failure;

/// A value for each scalar of the spec.
pub(super) fn bind(spec: &KernelSpec, verb: &Run) -> Result<Vec<ScalarValue>, Failure> {
    let usage = |text: String| Failure::Usage(format!("{text}\n{}", expected::scalars(spec)));
    let given = by_name(&verb.scalar).map_err(|text| usage(format!("--scalar: {text}")))?;
    if let Some(alien) = given.keys().find(|name| !spec.scalars.iter().any(|s| s.name == **name)) {
        return Err(usage(format!("kernel `{}` has no scalar `{alien}`", spec.name)));
    }
    let one = |(position, scalar): (usize, &cutegen_spec::tensor::Scalar)| {
        let drawn = || verb.random.map(|seed| draw_scalar(Distribution::Normal, seed, position, scalar));
        let value = given.get(&scalar.name).map(|value| scalar_value(scalar.dtype, *value)).or_else(drawn);
        let (name, dtype) = (&scalar.name, scalar.dtype);
        value.ok_or_else(|| usage(format!("kernel `{}` takes a scalar `{name}` ({dtype})", spec.name)))
    };
    spec.scalars.iter().enumerate().map(one).collect()
}
