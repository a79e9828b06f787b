//! What timing across processes adds: one cubin in two peer workers, and in our own runner against a peer worker, as the
//! judge times PyTorch.

use cutegen_build::evaluate::timing::peer::compare;
use cutegen_build::evaluate::wire::protocol::Regime;
use cutegen_build::evaluate::{Comparison, Incumbent};

use super::{Equal, apart, keep};
use crate::{bench, incumbents};

/// From 264 KB to 67 MB of traffic: smaller ones do not fill the cache three times with the slots that a rotation may
/// have, so what they find there depends on where each side's memory lies.
const SIZES: [[i64; 2]; 4] = [[2731, 4096], [1366, 2048], [683, 1024], [43, 1024]];
const SEEDS: u64 = 5;
const PAIRS: usize = 50;
const APART: f64 = 0.01;

/// One comparison: of `peers`, in two peer workers, or of `paths`, in our runner and in a peer worker.
fn row(path: &'static str, axes: [i64; 2], seed: u64, comparison: Comparison) -> Equal {
    println!("    {path} at {axes:?}, seed {seed}: {:.4}", comparison.speedup);
    Equal::new(path, axes, seed, comparison)
}

pub(super) fn a_cubin_is_itself_in_another_worker() {
    let mut rows = between_peers();
    keep("peer_a_a", &rows);
    for seed in 0..SEEDS {
        rows.extend(across_paths(seed));
        keep("peer_a_a", &rows);
    }
    for path in ["peers", "paths"] {
        let of_path: Vec<&Equal> = rows.iter().filter(|row| row.path == path).collect();
        let apart = apart(&SIZES, &of_path);
        println!("    {path}: {} comparisons, medians within {apart:.4}", of_path.len());
        assert!(of_path.len() >= 20 && apart <= APART, "{path}: {apart:.4}");
    }
}

fn between_peers() -> Vec<Equal> {
    let (mut workers, mut rows) = (incumbents::two_workers(), Vec::new());
    for axes in SIZES {
        incumbents::prepare_cubin(&mut workers, &axes);
        let [one, other] = &mut workers;
        for seed in 0..SEEDS {
            let compared = compare(one, other, PAIRS, seed).expect("timed");
            rows.push(row("peers", axes, seed, compared));
        }
    }
    rows
}

/// One session, with a peer worker of its own.
fn across_paths(seed: u64) -> Vec<Equal> {
    let mut judge = bench::judge_of(bench::spec(), None, |settings| {
        (settings.seed, settings.pairs, settings.drawn_slots) = (0x9ee_a000 + seed, PAIRS, 1);
        settings.python = Some(incumbents::python());
    });
    let there = Incumbent::InPeer(bench::honest());
    let compared = |axes: [i64; 2]| {
        let measured = judge.measure(&bench::honest(), &there, &axes, Regime::Burst);
        let measured = measured.expect("the machine works").expect("both are timed");
        assert_eq!(measured.differs, None, "{:?}", measured.about);
        row("paths", axes, seed, measured.comparison)
    };
    SIZES.map(compared).into()
}
