//! The gate's rule as a whole, in a model of kernels on the CPU: the real distributions, references, bounds and
//! baseline, with randomised honest evaluations that it must accept and numeric mutants that it must reject. A mutant
//! of a contraction is judged at one size, and where it passes there, at three of the gate's up to 14 shapes. Needs c++.
//!
//! `CUTEGEN_MODEL_SEED` draws other problems; `CUTEGEN_MODEL=1` lists mutants that changed no bit;
//! `CUTEGEN_MODEL_ONLY` takes the subjects whose names contain it, too few for the tests' totals.

mod contraction;
mod gate;
mod kernels;
mod mutants;
mod tally;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::bound::{faults, library, machine, specs, style, values};
use crate::sample;
use contraction::Kind;
use cutegen_build::plan::Plan;
use tally::Tally;

/// What a thread takes at a time.
enum Subject {
    Contraction(Kind),
    Kernel(Box<Plan>),
}

impl Subject {
    fn name(&self) -> String {
        match self {
            Subject::Contraction(Kind { input, output }) => format!("{input} to {output}"),
            Subject::Kernel(plan) => plan.spec.name.to_string(),
        }
    }
}

/// Everything, once.
fn tally() -> &'static Tally {
    static TALLY: OnceLock<Tally> = OnceLock::new();
    TALLY.get_or_init(run)
}

fn seed() -> u64 {
    let given = std::env::var("CUTEGEN_MODEL_SEED").ok();
    given.map_or(1, |seed| seed.parse().expect("CUTEGEN_MODEL_SEED is a number"))
}

fn run() -> Tally {
    let kernels = kernels::chosen().map(|plan| Subject::Kernel(Box::new(plan)));
    let contractions = Kind::ALL.into_iter().map(Subject::Contraction);
    let only = std::env::var("CUTEGEN_MODEL_ONLY").ok();
    let mut subjects: Vec<Subject> = kernels.chain(contractions).collect();
    subjects.retain(|subject| only.as_ref().is_none_or(|only| subject.name().contains(only)));
    let subjects = sample::of(subjects, Subject::name);
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let work = || {
        while let Some(subject) = subjects.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tally = match subject {
                Subject::Contraction(kind) => contraction::run(*kind, seed()),
                Subject::Kernel(plan) => kernels::run(plan, seed()),
            };
            all.lock().expect("no subject panicked").add(tally);
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    all.into_inner().expect("no subject panicked")
}

#[test]
fn honest_evaluations_pass() {
    let tally = tally();
    assert!(tally.rejected.is_empty(), "{} rejected\n{}", tally.rejected.len(), tally.rejected.join("\n"));
    assert!(tally.honest >= if sample::is_whole() { 500 } else { 1 }, "only {} evaluations", tally.honest);
}

#[test]
fn mutants_are_rejected() {
    let tally = tally();
    assert!(tally.accepted.is_empty(), "{} accepted\n{}", tally.accepted.len(), tally.accepted.join("\n"));
    assert!(tally.mutants >= if sample::is_whole() { 2000 } else { 1 }, "only {} mutants", tally.mutants);
}

#[test]
fn summary() {
    let tally = tally();
    println!("model, seed {}: {}", seed(), tally.words());
    if std::env::var("CUTEGEN_MODEL").is_ok() {
        tally.unchanged.iter().for_each(|mutant| println!("no bit changed: {mutant}"));
    }
}
