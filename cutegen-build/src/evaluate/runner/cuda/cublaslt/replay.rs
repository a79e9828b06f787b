//! [`Replay`]: launches captured in a graph, and the time of its replays. For ranking algorithms only: what is reported
//! is timed by the runner's own blocks.

use cutegen_runtime::cuda::CUstream;
use cutegen_runtime::cuda::cudarc::driver::{DriverError, result, sys};

/// An instantiated graph with the two events of its timing.
pub(super) struct Replay {
    stream: CUstream,
    exec: sys::CUgraphExec,
    start: sys::CUevent,
    end: sys::CUevent,
}

impl Replay {
    /// Captures what `record` puts into the stream.
    pub(super) fn capture(stream: CUstream, record: &dyn Fn() -> Result<(), String>) -> Result<Self, String> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the caller's stream, on which nothing is being captured.
        unsafe { result::stream::begin_capture(stream, mode) }.map_err(told("beginning a capture"))?;
        let recorded = record();
        // SAFETY: ends the capture that was just begun, whatever came of it.
        let graph = unsafe { result::stream::end_capture(stream) };
        recorded?;
        let graph = graph.map_err(told("capturing a product"))?;
        // SAFETY: the graph was just captured; it is destroyed once, after instantiation.
        let exec = unsafe {
            let exec = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let _ = result::graph::destroy(graph);
            exec.map_err(told("instantiating a graph"))?
        };
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let event = || result::event::create(flags).map_err(told("cuEventCreate"));
        Ok(Self { stream, exec, start: event()?, end: event()? })
    }

    /// Nanoseconds of `repeats` replays one after another.
    pub(super) fn ns(&self, repeats: u32) -> Result<f64, String> {
        // SAFETY: graph, events and stream are live; the last event is waited for before its time is read.
        let ms = unsafe {
            result::event::record(self.start, self.stream).map_err(told("cuEventRecord"))?;
            for _ in 0..repeats {
                result::graph::launch(self.exec, self.stream).map_err(told("launching a graph"))?;
            }
            result::event::record(self.end, self.stream).map_err(told("cuEventRecord"))?;
            result::event::synchronize(self.end).map_err(told("running a product"))?;
            result::event::elapsed(self.start, self.end).map_err(told("cuEventElapsedTime"))?
        };
        Ok(f64::from(ms) * 1e6)
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        // SAFETY: made by `capture`, destroyed once; its replays have been waited for.
        unsafe {
            let _ = result::graph::exec_destroy(self.exec);
            let _ = result::event::destroy(self.start);
            let _ = result::event::destroy(self.end);
        }
    }
}

fn told(doing: &str) -> impl Fn(DriverError) -> String + '_ {
    move |error| format!("{doing}: {:?}", error.0)
}
