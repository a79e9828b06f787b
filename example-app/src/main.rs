//! A transformer's MLP block on replayed kernels: rms norm, gate and up with SwiGLU in one kernel, down and residual.
//!
//! Each kernel's result is compared with f64, element by element, on the inputs that the kernel got. Prints what runs,
//! how fast, how much faster than the naive kernel, and the largest error as a share of the bound. Exits with 1 when
//! an error exceeds its bound.

mod bound;
mod draw;
mod reference;

use std::process::ExitCode;
use std::time::Instant;

use bound::Running;
use cutegen_runtime::host::Workspace;
use cutegen_runtime::{AsView as _, AsViewMut as _, Error};
use draw::Draw;
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
    let mut draw = Draw::new(1);
    let weights = Weights {
        norm: draw.values(D, 0.125).iter().map(|w| bf16::from_f32(1.0 + w.to_f32())).collect(),
        gate: draw.values(F * D, 0.05),
        up: draw.values(F * D, 0.05),
        down: draw.values(D * F, 0.05),
    };
    let x = draw.values(M * D, 1.0);
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
        worst(&n, reference::norm(&x, &weights.norm)),
        worst(&h, reference::gate_up(&n, &weights.gate, &weights.up)),
        worst(&y, reference::down(&h, &weights.down, &x)),
        worst(&z, reference::silu_mul(&h, &h)),
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

/// The largest error of `found` as a share of the bound; NaN if any is.
fn worst(found: &[bf16], expected: impl Fn(usize) -> Running) -> f64 {
    let shares = found.iter().enumerate().map(|(i, y)| expected(i).share(y.to_f64()));
    shares
        .fold(0.0, |worst, share| if share.is_nan() || worst.is_nan() { f64::NAN } else { share.max(worst) })
}
