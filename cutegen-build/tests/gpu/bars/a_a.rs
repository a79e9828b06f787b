//! One kernel against itself, 200 times: as one cubin on both sides, and as two cubins that differ in the entry's name.

use cutegen_build::evaluate::Candidate;

use super::{Equal, apart, keep};
use crate::bench::{self, HONEST, PRELUDE, STEP};

/// From 1 KB to 64 MB of traffic, the largest first: the runner's arena then fits all of them.
pub(super) const SIZES: [[i64; 2]; 5] = [[2731, 4096], [683, 1024], [43, 1024], [4, 683], [1, 171]];
const SEEDS: u64 = 40;
/// What a candidate must exceed unless its spec says otherwise.
const MIN_SPEEDUP: f64 = 1.01;

pub(super) fn renamed_source() -> (String, Vec<&'static str>) {
    (format!("{PRELUDE}{HONEST}").replace("candidate", "renamed"), vec!["renamed"])
}

fn renamed() -> Candidate {
    let (source, entries) = renamed_source();
    bench::candidate(&source, &entries, &STEP.replace("candidate", "renamed"))
}

pub(super) fn equals_seldom_win() {
    let mut rows = Vec::new();
    for seed in 0..SEEDS {
        rows.extend(compared(seed));
        keep("a_a", &rows);
    }
    let wins = |above: f64| rows.iter().filter(|row| row.comparison.low > above).count();
    let apart = [false, true].map(|same| {
        let rows: Vec<&Equal> = rows.iter().filter(|row| (row.path == "same") == same).collect();
        apart(&SIZES, &rows)
    });
    println!(
        "    {} comparisons: {} false wins, {} intervals above 1; medians within {:.4} (two cubins), {:.4} (one)",
        rows.len(),
        wins(MIN_SPEEDUP),
        wins(1.0),
        apart[0],
        apart[1]
    );
    assert!(rows.len() >= 200 && wins(MIN_SPEEDUP) * 100 <= rows.len(), "too many false wins");
    assert!(apart.iter().all(|apart| *apart <= 0.005), "{apart:?}");
}

/// One session: every size once, on one of the paths. `same`: one cubin, one module. `renamed`: the candidate is another
/// cubin. `swapped`: the incumbent is.
fn compared(seed: u64) -> Vec<Equal> {
    let (path, candidate, incumbent) = match seed % 4 {
        0 | 2 => ("same", bench::honest(), bench::honest()),
        1 => ("renamed", renamed(), bench::honest()),
        _ => ("swapped", bench::honest(), renamed()),
    };
    let mut judge = bench::judge_of(bench::spec(), None, |settings| settings.seed = 0xa_a000 + seed);
    let mut row = |axes: [i64; 2]| {
        let compared = judge.compare(&candidate, &incumbent, &axes).expect("the machine works");
        Equal::new(path, axes, seed, compared.expect("both are timed"))
    };
    SIZES.map(&mut row).into()
}
