//! The reference's values against NumPy's, and its bounds for what they can tell.

use cutegen_build::evaluate::judge::compare::is_conclusive;
use cutegen_build::evaluate::judge::element;
use cutegen_build::evaluate::{Call, Expected, Reference};
use cutegen_build::print;
use cutegen_spec::dtype::DType;

use crate::cases::{Case, Kernel, Library, results};
use crate::{objects, parallel};

/// Of the larger of a value and what is typical of its tensor. Both sides compute in f64.
const RELATIVE: f64 = 1e-9;

/// Outputs whose bound may tell too little: kernel, tensor, reason.
const LOOSE: &[(&str, &str, &str)] =
    &[("gelu", "y", TAIL), ("gelu_bf16", "y", TAIL), ("new_gelu", "y", TAIL), ("gemm_geglu", "y", TAIL)];

const TAIL: &str =
    "one and nearly minus one cancel for arguments below -4, which a share of the inputs reaches";

/// Every element of every case.
pub(crate) fn values(library: &Library) -> Vec<String> {
    let found =
        parallel::each(&library.sampled(), |kernel| of_kernel(kernel).unwrap_or_else(|error| vec![error]));
    let mut wrong: Vec<String> = found.concat();
    let is_kernel = |name: &str| library.kernels.iter().any(|k| k.name() == name);
    let stale = LOOSE.iter().filter(|(name, ..)| !is_kernel(name));
    wrong.extend(stale.map(|(name, _, reason)| format!("{name}: no kernel has this name; {reason}")));
    wrong
}

fn of_kernel(kernel: &Kernel) -> Result<Vec<String>, String> {
    let reference = load(kernel.name(), &print::reference::print(&kernel.plan))?;
    let mut wrong = Vec::new();
    for case in kernel.cases() {
        let expected = call(&reference, &case);
        wrong.extend(differences(kernel, &case, &expected));
        wrong.extend(loose(kernel, &case, &expected));
    }
    Ok(wrong)
}

/// Compiles and loads the text of a reference.
pub(crate) fn load(name: &str, source: &str) -> Result<Reference, String> {
    let object = objects::shared(source, objects::REFERENCE).map_err(|error| format!("{name}: {error}"))?;
    Reference::load(&object).map_err(|error| format!("{name}: {error}"))
}

/// What the reference says of a case, by result.
pub(crate) fn call(reference: &Reference, case: &Case) -> Vec<Expected> {
    let (inputs, outputs) = case.call();
    let (axes, scalars) = (&case.axes, &case.scalars);
    reference.call(&Call { inputs: &inputs, axes, scalars, outputs: &outputs, exact: false, sampled: None })
}

/// The first element of each output that is not NumPy's.
pub(crate) fn differences(kernel: &Kernel, case: &Case, expected: &[Expected]) -> Vec<String> {
    let one = |(t, expected): (usize, &Expected)| {
        let tensor = &kernel.spec().tensors[t];
        let golden = case.golden[t].as_ref()?;
        let held = |element: usize| match expected.is_written(element) {
            true => expected.value[element],
            false if case.contents[t].is_empty() => f64::NAN,
            false => element::read(tensor.dtype, &case.contents[t], element),
        };
        let slack = slack(tensor.dtype, golden);
        let at = (0..golden.len()).find(|e| !is_near(held(*e), golden[*e], slack))?;
        let (found, numpy) = (held(at), golden[at]);
        Some(format!("{}: `{}`[{at}] is {found:e}, by NumPy {numpy:e}", case.label, tensor.name))
    };
    results(kernel.spec()).zip(expected).filter_map(one).collect()
}

/// What is typical of a tensor's values, times the tolerance; integers are exact.
pub(crate) fn slack(dtype: DType, golden: &[f64]) -> f64 {
    if !dtype.is_float() {
        return 0.0;
    }
    let squares: f64 = golden.iter().map(|v| v * v).sum();
    RELATIVE * (squares / golden.len().max(1) as f64).sqrt()
}

fn is_near(found: f64, numpy: f64, slack: f64) -> bool {
    let relative = if slack > 0.0 { RELATIVE * numpy.abs() } else { 0.0 };
    found == numpy || (found - numpy).abs() <= slack.max(relative)
}

fn loose(kernel: &Kernel, case: &Case, expected: &[Expected]) -> Vec<String> {
    let tells = |(t, expected): (usize, &Expected)| {
        let tensor = &kernel.spec().tensors[t];
        let is_listed = LOOSE.iter().any(|(k, name, _)| *k == kernel.name() && *name == tensor.name);
        let tells = is_conclusive(tensor.dtype, expected);
        (!tells && !is_listed).then(|| {
            let at = (0..expected.value.len())
                .find(|e| expected.bound[*e].is_nan() || expected.bound[*e] > expected.value[*e].abs());
            let at = at.unwrap_or(0);
            let (value, bound) = (expected.value[at], expected.bound[at]);
            format!("{}: the bound of `{}` tells little: {value:e} +- {bound:e}", case.label, tensor.name)
        })
    };
    results(kernel.spec()).zip(expected).filter_map(tells).collect()
}
