//! The time of a CUDA graph's replays.

use std::sync::Arc;

use cutegen_runtime::cuda::CudaStream;
use cutegen_runtime::cuda::cudarc::driver::{CudaGraph, sys};

use crate::Fail;

/// Each figure is the median of so many rounds, and of one where a replay takes longer than a round should.
const ROUNDS: usize = 5;
/// A round replays for about so long.
const ROUND_MICROS: f64 = 10_000.0;

/// Microseconds of a replay, by the device's events. Replays use the same memory, so what fits into L2 comes from there.
pub fn micros(stream: &Arc<CudaStream>, graph: &CudaGraph) -> Result<f64, Fail> {
    round(stream, graph, 1)?; // warm
    let once = round(stream, graph, 1)?;
    let replays = (ROUND_MICROS / once).clamp(1.0, 500.0) as usize;
    let rounds = if replays == 1 { 1 } else { ROUNDS };
    let mut times = (0..rounds).map(|_| round(stream, graph, replays)).collect::<Result<Vec<_>, _>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[rounds / 2])
}

fn round(stream: &Arc<CudaStream>, graph: &CudaGraph, replays: usize) -> Result<f64, Fail> {
    let event = || stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
    let start = event()?;
    for _ in 0..replays {
        graph.launch()?;
    }
    let end = event()?;
    Ok(f64::from(start.elapsed_ms(&end)?) * 1e3 / replays as f64)
}
