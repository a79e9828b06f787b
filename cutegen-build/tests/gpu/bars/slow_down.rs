//! A planted slow-down of 2 %: the last block counts on for a while, for so long that the kernel takes 2 % more, which
//! is found out beforehand with other seeds and more pairs.

use std::cell::Cell;
use std::rc::Rc;

use cutegen_build::evaluate::{Candidate, Comparison, Judge};

use super::a_a::SIZES;
use super::keep;
use crate::bench::{self, PRELUDE, STEP};

/// A scalar says how long the planted kernel counts.
const SPEC: &str = r#"
edition = 1
[kernels.k]
axes = { m = "1..=8192", n = "1..=8192" }
inputs = { x = "bf16[m, n]", g = "bf16[m, n]" }
outputs = { y = "bf16[m, n]" }
scalars = { spin = "f32" }
math = "y[m, n] = silu(g[m, n]) * x[m, n] * spin"
"#;

const PLAIN: &str = "
extern \"C\" __global__ void candidate(PARAMETERS, float spin) {
  const long long i = INDEX;
  if (i < m * n) y[i] = one(x[i], g[i]);
}";

/// The sum is used once in 2^32, so that it must be computed.
const SLOWED: &str = "
extern \"C\" __global__ void candidate(PARAMETERS, float spin) {
  const long long i = INDEX;
  if (i < m * n) y[i] = one(x[i], g[i]);
  if (blockIdx.x != gridDim.x - 1) return;
  unsigned h = threadIdx.x;
  #pragma unroll 1
  for (int k = 0; k < (int)spin; ++k) h = (h ^ h >> 15) * 1664525u + 1013904223u;
  if (h == 0x9e3779b9u && i < m * n) y[i] = x[i];
}";

const SEEDS: u64 = 25;
/// All but 1 KB: 2 % of an empty launch are fewer nanoseconds than two counts take.
const AT: usize = 4;
const PLANTED: f64 = 1.02;
/// What passes for 2 % when it is measured.
const NEAR: std::ops::RangeInclusive<f64> = 1.0175..=1.0225;

/// One comparison of the two kernels.
#[derive(serde::Serialize)]
struct Row {
    axes: [i64; 2],
    traffic_bytes: i64,
    /// Slow over plain, when it was planted.
    planted: f64,
    /// Whether the candidate is the slow one.
    slow_is_candidate: bool,
    seed: u64,
    speedup: f64,
    low: f64,
    high: f64,
    seen: bool,
}

pub(super) fn sources() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    [PLAIN, SLOWED].map(|kernel| (format!("{PRELUDE}{kernel}"), vec!["candidate"])).into_iter()
}

fn candidate(kernel: &str) -> Candidate {
    let step = STEP.replace("\"axis(a1)\"]", "\"axis(a1)\", \"scalar(s0)\"]");
    bench::candidate(&format!("{PRELUDE}{kernel}"), &["candidate"], &step)
}

/// A session with both kernels, and how long the slow one counts in it.
struct Pair {
    judge: Judge,
    spin: Rc<Cell<f64>>,
    plain: Candidate,
    slowed: Candidate,
}

impl Pair {
    fn new(seed: u64, pairs: usize) -> Self {
        let spin = Rc::new(Cell::new(0.0));
        let chosen = Rc::clone(&spin);
        let judge = bench::judge_of(
            bench::spec_of(SPEC),
            Some(Box::new(move |_, _| Some(chosen.get()))),
            |settings| {
                (settings.seed, settings.pairs) = (seed, pairs);
            },
        );
        Self { judge, spin, plain: candidate(PLAIN), slowed: candidate(SLOWED) }
    }

    fn compare(&mut self, spin: f64, slow_is_candidate: bool, axes: [i64; 2]) -> Comparison {
        self.spin.set(spin);
        let (candidate, incumbent) =
            if slow_is_candidate { (&self.slowed, &self.plain) } else { (&self.plain, &self.slowed) };
        let compared = self.judge.compare(candidate, incumbent, &axes).expect("the machine works");
        compared.expect("both are timed")
    }

    /// The time of the slow kernel over that of the plain one.
    fn slower(&mut self, spin: f64, axes: [i64; 2]) -> f64 {
        self.compare(spin, false, axes).speedup
    }

    /// The least count that makes it slow enough.
    fn calibrate(&mut self, axes: [i64; 2]) -> f64 {
        let (mut low, mut high) = (0.0, 8.0);
        while self.slower(high, axes) < PLANTED {
            (low, high) = (high, 2.0 * high);
            assert!(high < 1e6, "counting does not slow it down");
        }
        while high - low > 1.0 && high - low > 0.005 * high {
            let middle = f64::midpoint(low, high).round();
            *(if self.slower(middle, axes) < PLANTED { &mut low } else { &mut high }) = middle;
        }
        high
    }
}

pub(super) fn two_percent_are_seen() {
    let mut planting = Pair::new(0x51_0000, 100);
    let planted: Vec<([i64; 2], f64, f64)> = SIZES[..AT]
        .iter()
        .map(|axes| {
            let spin = planting.calibrate(*axes);
            let slower = planting.slower(spin, *axes);
            println!("    {axes:?}: counting to {spin} takes {:.2} % more", 100.0 * (slower - 1.0));
            (*axes, spin, slower)
        })
        .collect();
    drop(planting);
    let mut rows = Vec::new();
    for seed in 0..SEEDS {
        let mut pair = Pair::new(0x52_0000 + seed, 30);
        rows.extend(planted.iter().map(|planted| compared(&mut pair, *planted, seed)));
        keep("slow_down", &rows);
    }
    let seen = rows.iter().filter(|row| row.seen).count();
    println!("    seen in {seen} of {}", rows.len());
    assert!(planted.iter().all(|(.., slower)| NEAR.contains(slower)), "not 2 %: {planted:?}");
    assert!(rows.len() >= 100 && seen * 100 >= 95 * rows.len(), "seen in {seen} of {}", rows.len());
}

fn compared(pair: &mut Pair, (axes, spin, planted): ([i64; 2], f64, f64), seed: u64) -> Row {
    let slow_is_candidate = seed.is_multiple_of(2);
    let Comparison { speedup, low, high, .. } = pair.compare(spin, slow_is_candidate, axes);
    let seen = if slow_is_candidate { high < 1.0 } else { low > 1.0 };
    let traffic_bytes = 6 * axes[0] * axes[1];
    Row { axes, traffic_bytes, planted, slow_is_candidate, seed, speedup, low, high, seen }
}
