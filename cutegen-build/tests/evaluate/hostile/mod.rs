//! The corpus of candidates that are wrong on purpose. Each names the one check that catches it, and is accepted with
//! that check off. `docs/hostile.md` says which class of the catalogue each stands for.

mod bounds;
mod numbers;
mod outputs;
mod rarely;
mod row;
mod state;
mod subjects;
mod weaker;

use std::sync::Mutex;

use cutegen_build::evaluate::{Checks, Fault, Outcome};

use crate::Test;
use crate::bench::Bench;
use crate::kernels::{self, Kernel};
use row::Row;

pub(crate) const TESTS: &[Test] = &[
    ("hostile::each_falls_to_its_check", each_falls_to_its_check),
    ("hostile::exact_sums_hold_what_their_bound_forgives", exact_sums_hold_what_their_bound_forgives),
];

const CORPUS: &[&[Row]] =
    &[outputs::ROWS, state::ROWS, bounds::ROWS, numbers::ROWS, weaker::ROWS, rarely::ROWS];

/// Rows at a time.
const LANES: usize = 2;

fn each_falls_to_its_check() {
    let rows: Vec<&Row> = CORPUS.iter().copied().flatten().collect();
    let benches = benches(&rows);
    let queue = Mutex::new(rows.iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(row) = { queue.lock().expect("not poisoned").next() } {
                    match row.falls(of(&benches, (row.kernel)())) {
                        Ok(told) => println!("    {}: {}: {told}", row.class, row.name),
                        Err(why) => failed.lock().expect("not poisoned").push(format!("{}: {why}", row.name)),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("not poisoned");
    failed.iter().for_each(|line| println!("    NOT {line}"));
    println!("    {} of {} fall to their check alone", rows.len() - failed.len(), rows.len());
    assert!(failed.is_empty() && rows.len() >= 50, "{} of {}", failed.len(), rows.len());
}

/// What falls to integers under an epilogue passes where the sum of integers has the bound of any other sum.
fn exact_sums_hold_what_their_bound_forgives() {
    let outcome = |kernel: &'static Kernel| {
        let bench = Bench::new(kernel);
        bench.passes(&bench.candidate(kernel.honest), Checks::default());
        bench.full(&bench.candidate(weaker::DROPS_A_SMALL_TERM), Checks::default())
    };
    let (exact, loose) = (outcome(&kernels::GEMM_BIAS), outcome(&kernels::GEMM_BIAS_LOOSE));
    assert!(matches!(exact, Outcome::Incorrect(Fault::Value { .. })), "{exact:?}");
    assert!(matches!(loose, Outcome::Passed { .. }), "{loose:?}");
}

/// One bench for each kernel: its reference is compiled once.
fn benches(rows: &[&Row]) -> Vec<(&'static Kernel, Bench)> {
    let mut benches: Vec<(&'static Kernel, Bench)> = Vec::new();
    for kernel in rows.iter().map(|row| (row.kernel)()) {
        if !benches.iter().any(|(known, _)| std::ptr::eq(*known, kernel)) {
            benches.push((kernel, Bench::new(kernel)));
        }
    }
    benches
}

fn of<'a>(benches: &'a [(&'static Kernel, Bench)], kernel: &Kernel) -> &'a Bench {
    let found = benches.iter().find(|(known, _)| std::ptr::eq(*known, kernel));
    &found.expect("a bench for every kernel").1
}
