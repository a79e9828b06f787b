//! The templates of sm_90a on the device: their candidates as the search would propose them, judged and timed. A file
//! for each group of families.

mod flat;
mod parts;

use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;

use crate::Test;

pub(crate) const TESTS: &[Test] = flat::TESTS;
pub(crate) const PARTS: &[Test] = parts::TESTS;

/// Plans that `kernel-specs` does not have: their naive kernels and references are needed, too.
pub(crate) fn more() -> Vec<Plan> {
    [flat::more(), parts::plans()].concat()
}

/// What is judged of kernels in parts.
pub(crate) fn in_parts() -> Vec<Candidate> {
    parts::plans().iter().flat_map(flat::chosen).collect()
}

/// Every candidate of a plan, named without a compiler.
fn proposed(plan: &Plan) -> Vec<Candidate> {
    Templates::new("").space(plan)
}
