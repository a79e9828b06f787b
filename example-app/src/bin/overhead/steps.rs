//! The parts of a wrapper that need no driver, one by one, at the shapes of two of the example's kernels: what the
//! emitted text calls, on values that the compiler can't see through.

use std::hint::black_box;
use std::time::Instant;

use cutegen_runtime::check::{Check, Extent, all_aligned};
use cutegen_runtime::cuda::LaunchConfig;
use cutegen_runtime::{Error, Int, Layout, params};

use crate::quartiles;

const CALLS: usize = 20_000;
const BLOCKS: usize = 101;

/// Where tensors lie, apart and aligned.
const AT: [u64; 5] =
    [0x7f00_0000_0000, 0x7f00_1000_0000, 0x7f00_2000_0000, 0x7f00_3000_0000, 0x7f00_4000_0000];

/// Every step, a line each.
pub fn print() {
    elementwise();
    rows();
}

/// `silu_mul`: three tensors of one axis.
fn elementwise() {
    let check = Check::new("silu_mul");
    let n = 4096;
    let view = || Layout::row_major([black_box(n)], black_box(n));
    step("silu_mul: three views", || Ok(black_box([view(), view(), view()])));
    let layouts = [view(), view(), view()];
    step("silu_mul: one axis, three shapes, three strides", || {
        let n = black_box(n);
        check.axis("n", n, 1, 1_073_741_824, 1)?;
        shapes(check, black_box(&layouts), [n])
    });
    overlap("silu_mul: overlap of one output with two inputs", check, [view(), view()], [view()]);
    step("silu_mul: the choice of a variant", || {
        let [g, u, y, ..] = black_box(AT);
        Ok(all_aligned(16, &[g]) && all_aligned(16, &[u]) && all_aligned(16, &[y]))
    });
    step("silu_mul: grid, configuration and parameters", || {
        let (n, [g, u, y, ..]) = (black_box(n), black_box(AT));
        let param_n = n as i64;
        let blocks = [Int::ceil_div(Int::from(n), Int::new(2048)), Int::new(1), Int::new(1)];
        let config =
            LaunchConfig { grid: check.blocks(blocks)?, block: [256, 1, 1], ..LaunchConfig::default() };
        black_box((&config, params![g, u, y, param_n]));
        Ok(())
    });
}

/// `llama_norm`: five tensors, four of them of two axes.
fn rows() {
    let check = Check::new("llama_norm");
    let (m, d) = (1, 4096);
    let view = || Layout::row_major([black_box(m), d], black_box(m * d));
    step("llama_norm: five views", || {
        Ok(black_box(([view(), view(), view(), view()], Layout::row_major([d], black_box(d)))))
    });
    let (layouts, weights) = ([view(), view(), view(), view()], [Layout::row_major([d], d)]);
    step("llama_norm: one axis, five shapes, five strides", || {
        let m = black_box(m);
        check.axis("m", m, 1, 8192, 1)?;
        shapes(check, black_box(&layouts), [m, d])?;
        shapes(check, black_box(&weights), [d])
    });
    let written = [view(), view()];
    overlap("llama_norm: overlap of two outputs and three inputs", check, [view(), view(), view()], written);
    step("llama_norm: the choice of a variant", || {
        Ok(black_box(AT).iter().all(|address| all_aligned(16, &[*address])))
    });
    step("llama_norm: grid, configuration and parameters", || {
        let (m, [x, r, w, s, y]) = (black_box(m), black_box(AT));
        let (param_m, param_d, eps) = (m as i64, 4096_i64, 1e-5_f32);
        let blocks = [Int::ceil_div(Int::from(m), Int::new(1)) * 1, Int::new(1), Int::new(1)];
        let config = LaunchConfig {
            grid: check.blocks(blocks)?,
            block: [512, 1, 1],
            pdl: true,
            ..LaunchConfig::default()
        };
        black_box((&config, params![x, r, w, s, y, param_m, param_d, eps]));
        Ok(())
    });
}

fn shapes<const R: usize>(check: Check, layouts: &[Layout<R>], extents: [usize; R]) -> Result<(), Error> {
    for layout in layouts {
        check.shape("x", layout, extents)?;
        check.row_major("x", layout)?;
    }
    Ok(())
}

/// The bytes that each tensor may touch, and that no output's are another's.
fn overlap<const R: usize, const I: usize, const O: usize>(
    name: &str,
    check: Check,
    inputs: [Layout<R>; I],
    outputs: [Layout<R>; O],
) {
    let extent = |at: usize, layout| ("x", Extent::of(black_box(AT[at]), black_box(layout), 2));
    step(name, || {
        let read: [_; I] = std::array::from_fn(|i| extent(i, &inputs[i]));
        let written: [_; O] = std::array::from_fn(|i| extent(I + i, &outputs[i]));
        check.disjoint(written, read)
    });
}

/// Times a step and prints it.
fn step<T>(name: &str, mut work: impl FnMut() -> Result<T, Error>) {
    let mut block = || {
        let start = Instant::now();
        for _ in 0..CALLS {
            let _ = black_box(work());
        }
        start.elapsed().as_nanos() as f64 / CALLS as f64
    };
    let times: Vec<f64> = (0..BLOCKS).map(|_| block()).collect();
    let [low, median, high] = quartiles(&times);
    println!("{{\"step\": \"{name}\", \"ns\": {median:.1}, \"low\": {low:.1}, \"high\": {high:.1}}}");
}
