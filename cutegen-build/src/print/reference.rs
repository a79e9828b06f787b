//! The f64 reference of a schedule as C++, with the running error bound of every element.
//!
//! Every node carries a value and the error that an honest kernel at the spec's precision may have there (Higham,
//! *Accuracy and Stability of Numerical Algorithms*, section 3.3, running error analysis). The rules per operation
//! are in `reference.hpp` and the headers in `reference/`, one text for both places where a reference runs: [`print()`]
//! makes a function for the host, whose entry is `cutegen_reference(void** params)` with the parameters described where
//! the judge calls it; [`print_cuda`] makes kernels.

mod cuda;
mod host;
mod others;
mod products;
mod running;
mod sampled;

use cutegen_spec::dtype::DType;

use super::c::element;
use crate::plan::Plan;

pub use cuda::{DeviceReference, Large, Parts, ResultParts, print_cuda};
pub use host::print;
pub use others::{OTHERS_MAX, Other, Overflow, others};

/// The rules that host and device share.
macro_rules! rules {
    () => {
        concat!(
            include_str!("reference.hpp"),
            include_str!("reference/elements.hpp"),
            include_str!("reference/integers.hpp"),
            include_str!("reference/functions.hpp"),
            include_str!("reference/steps.hpp"),
            include_str!("reference/reductions.hpp"),
            include_str!("reference/sample.hpp"),
        )
    };
}

/// What every reference for the host starts with, after the definitions of the spec's precision.
pub const PRELUDE: &str = concat!(rules!(), include_str!("reference/collected.hpp"));

/// What every reference for a device starts with, after the names and the definitions.
const DEVICE_PRELUDE: &str = concat!(rules!(), include_str!("reference/repeated.cuh"));

/// The symbol of the host's reference; those of a device's kernels start with it.
pub const ENTRY: &str = "cutegen_reference";

/// The longest chain of additions that the bound of a long sum allows outside contractions. In committed templates a thread adds
/// at most 128 terms or partial sums one after another, as `rowwise-read-x1t1024` over 131,072 columns and the parts of
/// `rowwise-split` do; four times that is left to kernels with fewer threads, and to the levels of the naive one.
pub const CHAIN: u32 = 512;

/// Terms of a row that one thread may have for itself: loops over a few thousand columns are what people write.
const LONGEST: u32 = 4096;

/// Products behind which a tensor core's truncation drifts no further: it then adds to partial sums of as many.
const DRIFTING: u32 = 131_072;

/// The definitions of the spec's precision.
fn definitions(plan: &Plan) -> String {
    let acc = plan.spec.precision.accumulate;
    let real = if acc == DType::F64 { "long double" } else { "double" };
    format!(
        "using real = {real};\nusing scalar_t = {};\n\
         static constexpr double U_ACC = {:?}, ETA_ACC = {:?}, ACC_MAX = {:?};\n\
         static constexpr int CHAIN = {CHAIN}, LONGEST = {LONGEST}, DRIFTING = {DRIFTING};\n\
         static constexpr bool FAST_MATH = {};\n\n",
        element(acc),
        acc.unit_roundoff(),
        acc.underflow(),
        acc.max_finite(),
        plan.spec.precision.fast_math,
    )
}
