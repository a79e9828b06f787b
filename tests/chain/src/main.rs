//! A decoding step's products, twice qkv, o, gate-up and down of Llama 3 8B, on emitted wrappers and on cuBLASLt: the same
//! weights and inputs, in one process, by turns. Weights are distinct, so none comes from L2.
//!
//! `decode-chain [ROWS..]` prints a line of JSON for each number of rows: times of both, in a graph and on a stream, and how
//! far products are from f64. Exits with 1 where one is wrong, and with 3 without a device.

#[expect(dead_code, reason = "the example's block has more than products")]
#[path = "../../../example-app/src/bound.rs"]
mod bound;
#[path = "../../../example-app/src/bin/gpu/capture.rs"]
mod capture;
mod chain;
mod check;
#[path = "../../../example-app/src/draw.rs"]
mod draw;
#[cfg_attr(not(test), expect(dead_code, reason = "the example compares some results whole"))]
#[path = "../../../example-app/src/bin/gpu/judge.rs"]
mod judge;
mod library;
mod timing;

use std::process::ExitCode;

use chain::Chain;
use library::Theirs;

cutegen_runtime::include_kernels!();

/// What ends the program early.
type Fail = Box<dyn std::error::Error>;

/// Rows of a decoding step: one sequence, and sixteen.
const ROWS: [usize; 2] = [1, 16];

fn main() -> ExitCode {
    let asked: Result<Vec<usize>, _> = std::env::args().skip(1).map(|rows| rows.parse()).collect();
    let Ok(asked) = asked else {
        eprintln!("decode-chain [ROWS..]: rows are numbers");
        return ExitCode::from(2);
    };
    match run(if asked.is_empty() { &ROWS } else { &asked }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

/// Whether every product of both is right.
fn run(rows: &[usize]) -> Result<bool, Fail> {
    let context = cutegen_runtime::cuda::context(0)?;
    let kernels = kernels::cuda::load(&context)?;
    kernels.warm()?; // captures load none
    // SAFETY: all is used on one stream. Capture needs it.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let weights = chain::weights(&stream)?;
    let mut right = true;
    for m in rows {
        let mut chain = Chain::new(&stream, &kernels, &weights, *m)?;
        let theirs = Theirs::new(&stream, &chain)?;
        let found = [chain.checked()?, theirs.checked(&weights)?];
        let [graph, stream] = timing::beside(&stream, || chain.launch(), || theirs.launch())?;
        right &= found.iter().all(|found| found.wrong == 0);
        println!(
            "{}",
            serde_json::json!({
                "rows": m, "device": context.name()?, "variants": chain.variants(), "library": theirs.about,
                "compared": found[0].compared, "wrong": found.map(|found| found.wrong),
                "worst-of-bound": found.map(|found| found.worst), "graph": graph, "stream": stream,
            })
        );
    }
    Ok(right)
}
