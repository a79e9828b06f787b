//! The templates of sm_90a on the device: their candidates as the search would propose them, judged and timed. A file
//! for each group of families; what they compile is compiled beforehand by `--prepare`.

mod flat;

use std::path::Path;
use std::sync::Mutex;

use cutegen_build::evaluate;
use cutegen_build::generate::template::Templates;
use cutegen_build::generate::{Candidate, Feedback, Generator as _};
use cutegen_build::plan::Plan;

use crate::{Test, fixtures};

pub(crate) const TESTS: &[Test] = flat::TESTS;

/// Plans that `kernel-specs` does not have: their naive kernels and references are needed, too.
pub(crate) fn more() -> Vec<Plan> {
    flat::more()
}

/// Every candidate of a plan, named without a compiler.
fn proposed(plan: &Plan) -> Vec<Candidate> {
    Templates { toolchain: String::new() }.propose(plan, &Feedback::default())
}

/// A candidate as the gate takes it.
fn for_gate(candidate: &Candidate) -> evaluate::Candidate {
    evaluate::Candidate {
        artifact: fixtures::cubin(&candidate.source, &entries(candidate)),
        contract: candidate.contract.clone(),
        eligibility: candidate.eligibility.clone(),
        prefer: Default::default(),
    }
}

fn entries(candidate: &Candidate) -> Vec<&str> {
    candidate.contract.steps.iter().map(|step| step.entry.as_str()).collect()
}

/// Compiles all that the tests take into `folder`, in `lanes`.
pub(crate) fn prepare(folder: &Path, lanes: usize) {
    let queue = Mutex::new(flat::all().into_iter().flat_map(|(_, candidates)| candidates));
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(candidate) = { queue.lock().expect("not poisoned").next() } {
                    let path = fixtures::cubin_in(folder, &candidate.source, &entries(&candidate));
                    println!("{}", path.display());
                }
            });
        }
    });
}
