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

use crate::Test;
use crate::bench::Bench;
use crate::kernels::Kernel;
use row::Row;

pub(crate) const TESTS: &[Test] = &[("hostile::each_falls_to_its_check", each_falls_to_its_check)];

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
