//! Times of two chains by turns, as the gate has its blocks: replays of a graph, and launches on a stream.

use std::sync::Arc;

use cutegen_build::evaluate::Comparison;
use cutegen_build::evaluate::stats::{compare, interleave};
use cutegen_runtime::cuda::CudaStream;
use cutegen_runtime::cuda::cudarc::driver::sys;

use crate::Fail;
use crate::capture::capture;

/// Times of each.
const ROUNDS: usize = 60;
/// Chains of one time. They follow each other, as the steps of a decoder do.
const CHAINS: u32 = 10;
const SEED: u64 = 31;

/// Ours against theirs in a graph, then on a stream; a launch is a chain.
pub fn beside<E: Into<Fail>>(
    stream: &Arc<CudaStream>,
    mut ours: impl FnMut() -> Result<(), E>,
    theirs: impl Fn() -> Result<(), Fail>,
) -> Result<[Comparison; 2], Fail> {
    let graphs = [capture(stream, &mut ours)?, capture(stream, &theirs)?];
    let in_graph = compared(stream, &mut |who| Ok(graphs[who].launch()?))?;
    let on_stream =
        compared(stream, &mut |who| if who == 0 { ours().map_err(Into::into) } else { theirs() })?;
    Ok([in_graph, on_stream])
}

/// Both by turns, as `launch` puts the one of that number on the stream.
fn compared(
    stream: &Arc<CudaStream>,
    launch: &mut dyn FnMut(usize) -> Result<(), Fail>,
) -> Result<Comparison, Fail> {
    let order = interleave(2, ROUNDS, SEED);
    let times = order.iter().map(|who| timed(stream, &mut || launch(*who))).collect::<Result<Vec<_>, _>>()?;
    compare(&order, CHAINS, &times, SEED).ok_or_else(|| "times that are no pairs".into())
}

/// Nanoseconds of several in a row, by the device's events; one before them is not counted.
fn timed(stream: &Arc<CudaStream>, launch: &mut dyn FnMut() -> Result<(), Fail>) -> Result<u64, Fail> {
    let event = || stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
    launch()?;
    let start = event()?;
    for _ in 0..CHAINS {
        launch()?;
    }
    let end = event()?;
    Ok((f64::from(start.elapsed_ms(&end)?) * 1e6) as u64)
}
