//! Scratch memory on the device, owned by the caller and reused from call to call.

use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use std::sync::Arc;
use std::thread::{self, ThreadId};

use super::launch;
use crate::error::Error;

/// Scratch memory for the kernels of one stream, aligned to 256 bytes.
///
/// Every wrapper takes one, whether or not today's variants use it, so that tuning anew changes no signature.
/// It grows outside of captures. Used on another stream than last, it makes that stream wait for the last one:
/// right, but better is one workspace for each stream. The per-thread stream is another one on each thread.
///
/// A captured graph points into this memory, and into the modules of the kernels that it launches: keep the workspace
/// and `Kernels` until the graph is gone.
#[derive(Debug)]
pub struct Workspace {
    memory: Option<CudaSlice<u8>>,
    stream: Arc<CudaStream>,
    /// Of the last use, where that was on a per-thread stream.
    thread: Option<ThreadId>,
    /// Memory that captured graphs may point at, kept until the workspace goes.
    captured: Vec<CudaSlice<u8>>,
    in_graph: bool,
}

impl Workspace {
    /// An empty workspace for a stream.
    #[must_use]
    pub fn new(stream: &Arc<CudaStream>) -> Self {
        let (stream, thread) = (Arc::clone(stream), thread_of(stream));
        Self { memory: None, stream, thread, captured: Vec::new(), in_graph: false }
    }

    /// A workspace of `bytes` for a stream.
    ///
    /// # Errors
    /// The driver's, out of memory above all.
    pub fn with_bytes(stream: &Arc<CudaStream>, bytes: usize) -> Result<Self, Error> {
        let mut workspace = Self::new(stream);
        workspace.reserve(bytes)?;
        Ok(workspace)
    }

    /// Bytes there.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.memory.as_ref().map_or(0, CudaSlice::len)
    }

    /// The stream last used.
    #[must_use]
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Grows to at least `bytes`, on the stream last used. Graphs that were captured with the old memory keep
    /// it.
    ///
    /// # Errors
    /// The driver's; [`Error::WorkspaceTooSmallInCapture`] while that stream is being captured.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        let stream = Arc::clone(&self.stream);
        launch::make_current(stream.context()).map_err(Error::cuda("workspace", "cuCtxSetCurrent"))?;
        self.ready("workspace", &stream, bytes, || capturing("workspace", &stream)).map(|_| ())
    }

    /// Makes the workspace large enough for a launch on `stream`, whose context is current, and ordered after its last
    /// use.
    pub(super) fn ready(
        &mut self,
        kernel: &'static str,
        stream: &Arc<CudaStream>,
        bytes: usize,
        capturing: impl FnOnce() -> Result<bool, Error>,
    ) -> Result<Option<&mut CudaSlice<u8>>, Error> {
        if bytes == 0 {
            return Ok(None);
        }
        if isize::try_from(bytes).is_err() {
            return Err(Error::Overflow { kernel, what: "workspace" });
        }
        let found = self.bytes();
        let is_captured = capturing()?;
        if is_captured && bytes > found {
            return Err(Error::WorkspaceTooSmallInCapture { kernel, needed: bytes, found });
        }
        if !self.was_used_on(stream) {
            self.move_to(kernel, stream, is_captured)?;
        }
        self.in_graph |= is_captured;
        if bytes > found {
            self.grow(kernel, bytes)?;
        }
        Ok(self.memory.as_mut())
    }

    /// Makes `stream` the last used. Waiting for a stream that is being captured would make it part of the capture.
    fn move_to(
        &mut self,
        kernel: &'static str,
        stream: &Arc<CudaStream>,
        is_captured: bool,
    ) -> Result<(), Error> {
        if is_captured || capturing(kernel, &self.stream)? {
            return Err(Error::WorkspaceOfOtherStreamInCapture { kernel });
        }
        self.finish_before(stream).map_err(Error::cuda(kernel, "cuStreamWaitEvent"))?;
        (self.stream, self.thread) = (Arc::clone(stream), thread_of(stream));
        Ok(())
    }

    fn was_used_on(&self, stream: &CudaStream) -> bool {
        *self.stream == *stream && self.thread == thread_of(stream)
    }

    /// Makes `stream` wait for the last use. The per-thread stream of another thread has no name on this one, so that
    /// all streams are waited for.
    fn finish_before(&self, stream: &CudaStream) -> Result<(), DriverError> {
        if self.thread == thread_of(&self.stream) {
            stream.join(&self.stream)
        } else {
            self.stream.context().synchronize()
        }
    }

    /// Frees memory in the order of the stream that it was allocated on, which need not be the one last used.
    fn free(&self, memory: CudaSlice<u8>) {
        let context = self.stream.context();
        let is_last = self.was_used_on(memory.stream());
        let is_captured = || capturing("workspace", &self.stream).unwrap_or(true);
        if !is_last && launch::make_current(context).is_ok() && !is_captured() {
            context.record_err(self.finish_before(memory.stream()));
        }
        drop(memory);
    }

    fn grow(&mut self, kernel: &'static str, bytes: usize) -> Result<(), Error> {
        // SAFETY: bytes have no invalid values; contracts call these undefined, or zero them.
        let memory =
            unsafe { self.stream.alloc::<u8>(bytes) }.map_err(Error::cuda(kernel, "cuMemAllocAsync"))?;
        let old = self.memory.replace(memory);
        if std::mem::take(&mut self.in_graph) {
            self.captured.extend(old);
        } else if let Some(old) = old {
            self.free(old);
        }
        Ok(())
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let memory = self.captured.drain(..).chain(self.memory.take()).collect::<Vec<_>>();
        memory.into_iter().for_each(|memory| self.free(memory));
    }
}

/// The handle of whichever stream is the calling thread's own.
const PER_THREAD: usize = 2;

/// The calling thread, where the stream is that thread's own.
fn thread_of(stream: &CudaStream) -> Option<ThreadId> {
    (stream.cu_stream() as usize == PER_THREAD).then(|| thread::current().id())
}

/// Whether a stream is being captured. The legacy default stream never is, and must not be asked while
/// another stream is.
pub(super) fn capturing(kernel: &'static str, stream: &CudaStream) -> Result<bool, Error> {
    const LEGACY: usize = 1; // its other handle
    if stream.cu_stream() as usize <= LEGACY {
        return Ok(false);
    }
    // SAFETY: the stream is live, and its context current: wrappers bind it first, and so does what else asks here.
    unsafe { launch::is_capturing(stream.cu_stream()) }.map_err(Error::cuda(kernel, "cuStreamIsCapturing"))
}
