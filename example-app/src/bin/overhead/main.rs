//! What a wrapper costs beside the driver's own launch. Prints lines of JSON, which `tests/bench/wrapper.py` makes rows
//! of results of:
//!
//! - `step`: what a wrapper computes before a launch, timed here; needs no device.
//! - `call`: what it may ask of the driver besides the launch.
//! - `case`: a tiny kernel through the emitted wrapper against `cuLaunchKernelEx` with the same function, grid, block
//!   and parameters, in blocks of launches that alternate in one process.
//!
//! Exits with 3 where there is no driver or no such device, after the steps.

mod cases;
mod raw;
mod steps;

use std::process::ExitCode;

cutegen_runtime::include_kernels!();

/// What ends a measurement early.
type Fail = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    steps::print();
    let device = match cases::device() {
        Ok(device) => device,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
    };
    match cases::print(&device) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The three quartiles.
fn quartiles(samples: &[f64]) -> [f64; 3] {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}
