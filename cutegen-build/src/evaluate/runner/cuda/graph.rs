//! [`Graph`]: captured launches, and [`Event`]: a point in the stream's time.

use std::rc::Rc;

use cutegen_runtime::cuda::cudarc::driver::{result, sys};

use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::session::{Session, candidate, machine};

/// An instantiated graph.
pub(super) struct Graph {
    session: Rc<Session>,
    exec: sys::CUgraphExec,
}

impl Graph {
    /// Captures what `record` puts into the session's stream.
    pub(super) fn capture(
        session: &Rc<Session>,
        record: &dyn Fn() -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the session's stream, on which nothing is being captured.
        unsafe { result::stream::begin_capture(session.stream, mode) }
            .map_err(machine("beginning a capture"))?;
        let recorded = record();
        // SAFETY: ends the capture that was just begun, whatever came of it.
        let graph = unsafe { result::stream::end_capture(session.stream) };
        recorded?;
        let graph = graph.map_err(candidate("capturing it"))?;
        // SAFETY: the graph was just captured; it is destroyed once, after instantiation.
        let exec = unsafe {
            let exec = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let _ = result::graph::destroy(graph);
            exec
        };
        let graph =
            Self { session: Rc::clone(session), exec: exec.map_err(candidate("instantiating its graph"))? };
        // SAFETY: graph and stream are live.
        unsafe { result::graph::upload(graph.exec, session.stream) }.map_err(machine("uploading a graph"))?;
        Ok(graph)
    }

    /// Puts all of its launches into the stream.
    pub(super) fn go(&self) -> Result<(), DeviceError> {
        // SAFETY: graph and stream are live, and so is the memory that its launches use.
        unsafe { result::graph::launch(self.exec, self.session.stream) }
            .map_err(machine("launching a graph"))
            .map_err(|stop| self.session.lose(stop))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.session.is_lost() {
            // SAFETY: instantiated by `capture`, destroyed once.
            let _ = unsafe { result::graph::exec_destroy(self.exec) };
        }
    }
}

/// A timed event of the driver.
pub(super) struct Event {
    session: Rc<Session>,
    event: sys::CUevent,
}

impl Event {
    pub(super) fn new(session: &Rc<Session>) -> Result<Self, DeviceError> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let event = result::event::create(flags).map_err(machine("cuEventCreate"))?;
        Ok(Self { session: Rc::clone(session), event })
    }

    /// Marks this point of the stream.
    pub(super) fn record(&self) -> Result<(), DeviceError> {
        // SAFETY: event and stream are live.
        unsafe { result::event::record(self.event, self.session.stream) }.map_err(machine("cuEventRecord"))
    }

    /// Nanoseconds from `self` to `later`, both of which the device has passed.
    pub(super) fn until(&self, later: &Event) -> Result<u64, DeviceError> {
        // SAFETY: both events are live and recorded on one stream.
        let ms = unsafe { result::event::elapsed(self.event, later.event) };
        let ms = f64::from(ms.map_err(machine("cuEventElapsedTime"))?);
        Ok((ms * 1e6).round().max(0.0) as u64)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if !self.session.is_lost() {
            // SAFETY: created by `new`, destroyed once.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}
