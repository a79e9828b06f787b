//! A transformer's MLP block on replayed kernels: rms norm, gate and up with SwiGLU in one kernel, down and residual.
//!
//! Each kernel's result is compared with f64, element by element, on the inputs that the kernel got. Prints what runs,
//! how fast, how much faster than the naive kernel, and the largest error as a share of the bound. Exits with 1 when
//! an error exceeds its bound.

mod bound;

use std::process::ExitCode;
use std::time::Instant;

use bound::Running;
use cutegen_runtime::host::Workspace;
use cutegen_runtime::{AsView as _, AsViewMut as _, Error};
use half::bf16;

cutegen_runtime::include_kernels!();
use kernels::host;

/// Tokens, width, hidden width.
const M: usize = 128;
const D: usize = 512;
const F: usize = 1408;
const EPS: f32 = 1e-5;

/// The block's weights.
struct Weights {
    norm: Vec<bf16>,
    gate: Vec<bf16>,
    up: Vec<bf16>,
    down: Vec<bf16>,
}

/// One line of the table.
struct Line {
    kernel: &'static str,
    micros: f64,
    naive_micros: f64,
    worst: f64,
}

fn main() -> ExitCode {
    match run() {
        Ok(lines) => print(&lines),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Vec<Line>, Error> {
    let weights = Weights {
        norm: draw(1, D, 1.0).iter().map(|w| bf16::from_f32(1.0 + w.to_f32() / 8.0)).collect(),
        gate: draw(2, F * D, 0.05),
        up: draw(3, F * D, 0.05),
        down: draw(4, D * F, 0.05),
    };
    let x = draw(5, M * D, 1.0);
    let (mut n, mut h) = (vec![bf16::NAN; M * D], vec![bf16::NAN; M * F]);
    let (mut y, mut z) = (vec![bf16::NAN; M * D], vec![bf16::NAN; M * F]);
    let mut workspace = host::workspace();
    let lines = vec![
        line("rms_norm", &mut workspace, &mut |ws| {
            let (x, w, y) = (x.view([M, D]), weights.norm.view([D]), n.view_mut([M, D]));
            host::rms_norm(ws, host::RmsNorm { m: M, eps: EPS, x, w, y })
        })?,
        line("gate_up", &mut workspace, &mut |ws| {
            let (wg, wu) = (weights.gate.view([F, D]), weights.up.view([F, D]));
            host::gate_up(ws, host::GateUp { m: M, x: n.view([M, D]), wg, wu, h: h.view_mut([M, F]) })
        })?,
        line("down_residual", &mut workspace, &mut |ws| {
            let (w, r) = (weights.down.view([D, F]), x.view([M, D]));
            let args = host::DownResidual { m: M, h: h.view([M, F]), w, r, y: y.view_mut([M, D]) };
            host::down_residual(ws, args)
        })?,
        line("silu_mul", &mut workspace, &mut |ws| {
            let args =
                host::SiluMul { n: M * F, g: h.view([M * F]), u: h.view([M * F]), y: z.view_mut([M * F]) };
            host::silu_mul(ws, args)
        })?,
    ];
    let worst = [
        norm_error(&x, &weights.norm, &n),
        gate_up_error(&n, &weights, &h),
        down_error(&h, &weights.down, &x, &y),
        worst(&z, |i| silu_mul(h[i])),
    ];
    Ok(lines.into_iter().zip(worst).map(|(line, worst)| Line { worst, ..line }).collect())
}

/// Runs a kernel and times it, then the naive one, then leaves the tuned kernel's result behind.
fn line(
    kernel: &'static str,
    workspace: &mut Workspace,
    call: &mut dyn FnMut(&mut Workspace) -> Result<(), Error>,
) -> Result<Line, Error> {
    workspace.run_naive(true);
    let naive_micros = median_micros(workspace, call, 5)?;
    workspace.run_naive(false);
    let micros = median_micros(workspace, call, 25)?;
    Ok(Line { kernel, micros, naive_micros, worst: f64::NAN })
}

fn median_micros(
    workspace: &mut Workspace,
    call: &mut dyn FnMut(&mut Workspace) -> Result<(), Error>,
    runs: usize,
) -> Result<f64, Error> {
    call(workspace)?;
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        call(workspace)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[runs / 2])
}

fn print(lines: &[Line]) -> ExitCode {
    println!(
        "MLP block, {M} tokens, width {D}, hidden {F}, bf16, on {}",
        cutegen_runtime::host::cpu::level()
    );
    println!("{:14} {:30} {:>10} {:>9} {:>12}", "kernel", "runs", "time", "vs naive", "error/bound");
    for line in lines {
        let explained = host::explain().into_iter().find(|e| e.kernel == line.kernel);
        let runs = explained.and_then(|e| e.variants.first().map(|v| v.name)).unwrap_or("?");
        let speedup = line.naive_micros / line.micros;
        println!(
            "{:14} {runs:30} {:7.1} us {speedup:8.1}x {:11.1}%",
            line.kernel,
            line.micros,
            line.worst * 100.0
        );
    }
    // not a number is not right either
    if lines.iter().all(|line| line.worst <= 1.0) {
        println!("every element is within its bound");
        return ExitCode::SUCCESS;
    }
    eprintln!("an element is out of its bound");
    ExitCode::FAILURE
}

fn f(x: bf16) -> f64 {
    x.to_f64()
}

fn norm_error(x: &[bf16], w: &[bf16], y: &[bf16]) -> f64 {
    worst(y, |i| {
        let row = &x[i / D * D..(i / D + 1) * D];
        let square = Running::dot(row.iter().map(|v| (f(*v), f(*v)))).over(D as f64);
        let scale = square.plus(Running::exact(f64::from(EPS))).rsqrt();
        Running::exact(f(x[i])).times(scale).times(Running::exact(f(w[i % D])))
    })
}

fn gate_up_error(n: &[bf16], weights: &Weights, h: &[bf16]) -> f64 {
    worst(h, |i| {
        let dot = |w: &[bf16]| row_by_row(&n[i / F * D..], &w[i % F * D..], D);
        dot(&weights.gate).silu().times(dot(&weights.up))
    })
}

fn down_error(h: &[bf16], w: &[bf16], r: &[bf16], y: &[bf16]) -> f64 {
    worst(y, |i| row_by_row(&h[i / D * F..], &w[i % D * F..], F).plus(Running::exact(f(r[i]))))
}

fn silu_mul(h: bf16) -> Running {
    Running::exact(f(h)).silu().times(Running::exact(f(h)))
}

fn row_by_row(a: &[bf16], b: &[bf16], k: usize) -> Running {
    Running::dot(a[..k].iter().zip(&b[..k]).map(|(a, b)| (f(*a), f(*b))))
}

/// The largest error of `found` as a share of the bound; NaN if any is.
fn worst(found: &[bf16], expected: impl Fn(usize) -> Running) -> f64 {
    let shares = found.iter().enumerate().map(|(i, y)| expected(i).share(f(*y)));
    shares
        .fold(0.0, |worst, share| if share.is_nan() || worst.is_nan() { f64::NAN } else { share.max(worst) })
}

/// Values in [-scale, scale), from a seed.
fn draw(seed: u64, n: usize, scale: f32) -> Vec<bf16> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| bf16::from_f32(next() * scale)).collect()
}
