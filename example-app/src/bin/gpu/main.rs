//! The example on a GPU: committed cubins through the emitted wrappers, compared with f64. By part, or all of them:
//!
//! - `lengths`: the elementwise kernel at lengths around its tile, aligned and not.
//! - `order`: two streams that share memory, ordered by cudarc's guards, and without them.
//! - `block`: the MLP block of Llama 3 8B in a CUDA graph, at 1, 16 and 512 tokens.
//! - `replays`: 1,000 replays of that graph on new inputs, each result compared.
//!
//! Exits with 1 where a part is not right, and with 3 where there is no driver or no such device.

mod block;
#[path = "../../bound.rs"]
mod bound;
mod capture;
#[path = "../../draw.rs"]
mod draw;
mod graph;
mod judge;
mod lengths;
mod order;
#[path = "../../reference.rs"]
mod reference;
mod replays;

use std::process::ExitCode;
use std::sync::Arc;

use block::{D, EPS, F};
use cutegen_runtime::Error;
use cutegen_runtime::cuda::{CudaContext, context};

cutegen_runtime::include_kernels!();
use kernels::cuda::Kernels;

/// What ends a part early.
type Fail = Box<dyn std::error::Error>;
/// Says what it sees, and whether all of it is right.
type Part = fn() -> Result<bool, Fail>;

const PARTS: [(&str, Part); 4] =
    [("lengths", lengths::run), ("order", order::run), ("block", block::run), ("replays", replays::run)];

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = asked.iter().find(|name| PARTS.iter().all(|(part, _)| part != name)) {
        eprintln!("no part `{unknown}`: there are lengths, order, block and replays");
        return ExitCode::from(2);
    }
    // held until the end, or each part would make the device's context anew
    let (_context, kernels) = match device() {
        Ok(ready) => ready,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
    };
    for explained in kernels.explain() {
        println!("{explained}");
    }
    let chosen = PARTS.iter().filter(|(part, _)| asked.is_empty() || asked.iter().any(|name| name == part));
    let wrong = chosen.filter(|(name, part)| !is_right(name, *part)).count();
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The device's context and its kernels. Each part has its own, and so event tracking of its own.
fn device() -> Result<(Arc<CudaContext>, Kernels), Error> {
    let context = context(0)?;
    let kernels = kernels::cuda::load(&context)?;
    kernels.warm()?; // captures below load none
    Ok((context, kernels))
}

fn is_right(name: &str, part: Part) -> bool {
    match part() {
        Ok(right) => {
            println!("{name}: {}\n", if right { "right" } else { "NOT right" });
            right
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            false
        }
    }
}
