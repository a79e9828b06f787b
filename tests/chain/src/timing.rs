//! Times of two chains, by turns: replays of a graph, and launches on a stream.

use std::sync::Arc;

use cutegen_runtime::cuda::CudaStream;
use cutegen_runtime::cuda::cudarc::driver::{CudaGraph, sys};
use serde_json::{Value, json};

use crate::Fail;

/// Times of each, by turns.
const ROUNDS: usize = 60;
/// Chains of one time. They follow each other, as the steps of a decoder do.
const CHAINS: usize = 10;

/// Both in a graph, and both on a stream: microseconds of a chain, and the ratio of theirs to ours, round by round.
pub fn beside<E: Into<Fail>>(
    stream: &Arc<CudaStream>,
    mut ours: impl FnMut() -> Result<(), E>,
    theirs: impl Fn() -> Result<(), Fail>,
) -> Result<Value, Fail> {
    let mut ours = || ours().map_err(Into::into);
    let graphs = [capture(stream, &mut ours)?, capture(stream, &mut || theirs())?];
    let mut times = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for round in 0..ROUNDS {
        for turn in 0..2 {
            let who = (round + turn) % 2;
            times[0][who].push(timed(stream, &mut || Ok(graphs[who].launch()?))?);
            times[1][who].push(timed(stream, &mut || if who == 0 { ours() } else { theirs() })?);
        }
    }
    let of = |[ours, theirs]: &[Vec<f64>; 2]| {
        let ratios = ours.iter().zip(theirs).map(|(a, b)| b / a).collect();
        json!({ "ours-us": quartiles(ours.clone()), "theirs-us": quartiles(theirs.clone()), "speedup": quartiles(ratios) })
    };
    Ok(json!({ "graph": of(&times[0]), "stream": of(&times[1]), "rounds": ROUNDS, "chains": CHAINS }))
}

/// Lower quartile, median, upper quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|part| values[(values.len() - 1) * part / 4])
}

fn capture(
    stream: &Arc<CudaStream>,
    launches: &mut dyn FnMut() -> Result<(), Fail>,
) -> Result<CudaGraph, Fail> {
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let launched = launches();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0))?;
    launched?;
    graph.ok_or_else(|| "an empty graph".into())
}

/// Microseconds of one of several in a row, by the device's events; one before them is not counted.
fn timed(stream: &Arc<CudaStream>, launches: &mut dyn FnMut() -> Result<(), Fail>) -> Result<f64, Fail> {
    let event = || stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
    launches()?;
    let start = event()?;
    for _ in 0..CHAINS {
        launches()?;
    }
    let end = event()?;
    Ok(f64::from(start.elapsed_ms(&end)?) * 1e3 / CHAINS as f64)
}
