//! The gate's three corpora on the device: hostile candidates that fall to the check they name, honest ones that pass,
//! and mutants of the honest ones that must not. `docs/hostile.md` has the table of ideas.

mod honest;
mod hostile;
mod judged;
mod launch;
mod mutants;
mod products;
mod subjects;

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use cutegen_build::evaluate::wire::gemm::gemm_of;
use cutegen_build::evaluate::{Check, Outcome, Settings};

use crate::{Test, fixtures, incumbents};
use honest::{Honest, TEXTS};
use judged::{Line, Task, judge, line};
use mutants::Family;
use subjects::Subject;

/// These need a device.
pub(crate) const TESTS: &[Test] = &[
    ("corpora::honest_kernels_pass", honest_kernels_pass),
    ("corpora::mutants_do_not", mutants_do_not),
    ("corpora::hostile_candidates_fall_to_their_check", hostile::fall_to_their_check),
];

/// This one needs a compiler only.
pub(crate) const COMPILED: Test = ("corpora::every_source_compiles", every_source_compiles);

/// Every source of the corpora with its entries.
fn sources() -> Vec<(String, Vec<String>)> {
    let honest = TEXTS.iter().map(Honest::module);
    let mutants = mutants::families().into_iter().map(|family| family.module());
    let naive = subjects::ALL.iter().map(|subject| {
        let (source, entries, _) = crate::specs::printed(&subject.plan());
        (source, entries)
    });
    let mut all: Vec<_> = hostile::sources().chain(honest).chain(mutants).chain(naive).collect();
    all.sort();
    all.dedup();
    all
}

/// Compiles all of it into `folder`, in `lanes`.
pub(crate) fn prepare(folder: &Path, lanes: usize) {
    let queue = Mutex::new(sources().into_iter());
    let references = Mutex::new(subjects::ALL.iter());
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(subject) = { references.lock().expect("not poisoned").next() } {
                    println!("{}", fixtures::reference_in(folder, &subject.reference()).display());
                }
                while let Some((source, entries)) = { queue.lock().expect("not poisoned").next() } {
                    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
                    println!("{}", fixtures::cubin_in(folder, &source, &entries).display());
                }
            });
        }
    });
}

fn every_source_compiles() {
    let start = Instant::now();
    let folder = tempfile::tempdir().expect("a folder");
    prepare(folder.path(), 2);
    let (rows, mutants) =
        (hostile::count(), mutants::families().iter().map(|f| f.mutants.len()).sum::<usize>());
    let honest = TEXTS.len() + subjects::ALL.len();
    println!(
        "    {rows} hostile, {honest} honest, {mutants} mutants in {} modules, in {:.1?}",
        sources().len(),
        start.elapsed()
    );
    assert!(rows >= 45 && honest >= 40 && mutants >= 200, "the corpora have shrunk");
}

fn honest_kernels_pass() {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for subject in subjects::ALL {
        tasks.push(Box::new(move || honest_of(subject)));
    }
    judge("honest", tasks, 40);
}

/// Everything on. Where the spec is a product, cuBLASLt's algorithms are held to it as well.
fn honest_of(subject: &'static Subject) -> Vec<Line> {
    let mut judge = subject.judge(|settings| {
        settings.repeats = (20, 100);
        settings.libraries = incumbents::library_folders();
    });
    let mut lines = Vec::new();
    let mut full = |name: &str, candidate| {
        lines.push(line("honest", name, || passed(&judge.full(&[candidate]).expect("the machine works"))));
    };
    full(&format!("naive {}", subject.name), honest::naive(subject));
    for honest in TEXTS.iter().filter(|honest| std::ptr::eq(honest.subject, subject)) {
        full(&honest.name(), honest.candidate());
    }
    let plan = subject.plan();
    let product = |axes: &[i64]| gemm_of(&plan, axes);
    if judge.shapes().iter().any(|axes| product(axes).is_some()) {
        lines.push(line("honest", &format!("cuBLASLt {}", subject.name), || {
            passed(&judge.full_product(&product).expect("the machine works"))
        }));
    }
    lines
}

fn mutants_do_not() {
    mutants::equivalent().for_each(|told| println!("    equivalent, not counted: {told}"));
    let families = mutants::families();
    let tasks = families.iter().map(|family| Box::new(|| mutants_of(family)) as Task<'_>).collect();
    judge("mutants", tasks, 200);
}

fn mutants_of(family: &Family) -> Vec<Line> {
    let adjust = |settings: &mut Settings| {
        // one module has all of a family's kernels, and each mutant launches its own
        settings.checks = settings.checks.clone().without(Check::Content);
        settings.screening = (MUTANT_SHAPES, usize::MAX);
        settings.repeats = (2, 2);
    };
    let mut judge = family.honest.subject.judge(adjust);
    let module = family.module();
    let mutants = family.mutants.iter().map(|mutant| {
        let candidate = family.honest.candidate_in(&module, &mutant.prefix);
        line(&family.honest.name(), &mutant.name, || {
            caught(&judge.screen(&candidate).expect("the machine works"))
        })
    });
    mutants.collect()
}

/// Shapes that a mutant is judged at.
const MUTANT_SHAPES: usize = 6;

fn passed(outcome: &Outcome) -> Result<String, String> {
    match outcome {
        Outcome::Passed { correctness, .. } => {
            Ok(format!("{outcome}, {:.2} of the bound", correctness.worst_share))
        }
        other => Err(other.to_string()),
    }
}

/// What a launch showed. Whatever was never launched shows nothing of the numbers.
fn caught(outcome: &Outcome) -> Result<String, String> {
    match outcome {
        Outcome::Incorrect(_) | Outcome::Crashed(_) | Outcome::TimedOut(_) => Ok(outcome.to_string()),
        Outcome::Passed { .. } | Outcome::Blocked(_) | Outcome::CompileFailed(_) => Err(outcome.to_string()),
    }
}
