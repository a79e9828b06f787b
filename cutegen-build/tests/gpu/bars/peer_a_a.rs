//! One cubin in two peer workers: what timing across processes adds.

use cutegen_build::evaluate::peer::compare;

use super::keep;
use crate::incumbents;

const SEEDS: u64 = 20;
const PAIRS: usize = 50;
const APART: f64 = 0.01;

pub(super) fn a_cubin_is_itself_in_another_worker() {
    let [mut one, mut other] = incumbents::two_workers();
    let mut rows = Vec::new();
    for seed in 0..SEEDS {
        rows.push(compare(&mut one, &mut other, PAIRS, seed).expect("timed"));
        keep("peer_a_a", &rows);
    }
    let apart = rows.iter().map(|row| (row.speedup - 1.0).abs()).fold(0.0, f64::max);
    println!("    {} comparisons: within {apart:.4}", rows.len());
    assert!(apart <= APART, "{apart:.4}");
}
