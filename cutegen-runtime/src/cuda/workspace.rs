//! Scratch memory on the device, owned by the caller and reused from call to call.

use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use std::sync::Arc;
use std::thread::{self, ThreadId};

use super::launch::{self, CUstream};
use crate::error::Error;

/// Scratch memory for the kernels of one stream, aligned to 256 bytes.
///
/// Every wrapper takes one, whether or not today's variants use it, so that tuning anew changes no signature.
/// It grows outside of captures. Used on another stream than last, it makes that stream wait for the last one:
/// right, but better is one workspace for each stream. The per-thread stream is another one on each thread.
///
/// It has two regions. What is in scratch counts for nothing between calls. The other is zero between them: it is zeroed
/// when it is allocated, and every kernel leaves zeros there, so that all share it.
///
/// A captured graph points into this memory, and into the modules of the kernels that it launches: keep the workspace
/// and `Kernels` until the graph is gone.
#[derive(Debug)]
pub struct Workspace {
    scratch: Region,
    kept_zero: Region,
    stream: Arc<CudaStream>,
    /// Of the last use, where that was on a per-thread stream.
    thread: Option<ThreadId>,
    /// Memory that captured graphs may point at, kept until the workspace goes.
    captured: Vec<CudaSlice<u8>>,
}

/// Memory that grows.
#[derive(Debug, Default)]
struct Region {
    memory: Option<CudaSlice<u8>>,
    /// Whether a captured graph may point at it.
    in_graph: bool,
}

impl Region {
    fn bytes(&self) -> usize {
        self.memory.as_ref().map_or(0, CudaSlice::len)
    }

    /// The memory for a launch that needs so many bytes of it.
    fn lend(&mut self, bytes: usize, is_captured: bool) -> Option<&mut CudaSlice<u8>> {
        if bytes == 0 {
            return None;
        }
        self.in_graph |= is_captured;
        self.memory.as_mut()
    }
}

impl Workspace {
    /// An empty workspace for a stream.
    #[must_use]
    pub fn new(stream: &Arc<CudaStream>) -> Self {
        let (stream, thread) = (Arc::clone(stream), thread_of(stream));
        let (scratch, kept_zero) = (Region::default(), Region::default());
        Self { scratch, kept_zero, stream, thread, captured: Vec::new() }
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

    /// A workspace of `bytes` for a stream, and `kept_zero` more that are zero between calls.
    ///
    /// # Errors
    /// The driver's, out of memory above all.
    pub fn with_regions(stream: &Arc<CudaStream>, bytes: usize, kept_zero: usize) -> Result<Self, Error> {
        let mut workspace = Self::with_bytes(stream, bytes)?;
        workspace.reserve_regions(Needs { bytes: 0, kept_zero })?;
        Ok(workspace)
    }

    /// Bytes of scratch there.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.scratch.bytes()
    }

    /// Bytes there that are zero between calls.
    #[must_use]
    pub fn kept_zero_bytes(&self) -> usize {
        self.kept_zero.bytes()
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
        self.reserve_regions(Needs { bytes, kept_zero: 0 })
    }

    fn reserve_regions(&mut self, needs: Needs) -> Result<(), Error> {
        let stream = Arc::clone(&self.stream);
        launch::make_current(stream.context()).map_err(Error::cuda("workspace", "cuCtxSetCurrent"))?;
        self.ready("workspace", &stream, needs, || capturing("workspace", &stream)).map(|_| ())
    }

    /// Makes the workspace large enough for a launch on `stream`, whose context is current, and ordered after its last
    /// use.
    pub(super) fn ready(
        &mut self,
        kernel: &'static str,
        stream: &Arc<CudaStream>,
        needs: Needs,
        capturing: impl FnOnce() -> Result<bool, Error>,
    ) -> Result<Regions<'_>, Error> {
        if needs == Needs::default() {
            return Ok(Regions { scratch: None, kept_zero: None });
        }
        needs.check(kernel)?;
        let is_captured = capturing()?;
        let there = [(needs.bytes, self.bytes()), (needs.kept_zero, self.kept_zero_bytes())];
        if let Some((needed, found)) = there.into_iter().find(|(needed, found)| is_captured && needed > found)
        {
            return Err(Error::WorkspaceTooSmallInCapture { kernel, needed, found });
        }
        if !self.was_used_on(stream) {
            self.move_to(kernel, stream, is_captured)?;
        }
        self.grow(kernel, needs)?;
        Ok(Regions {
            scratch: self.scratch.lend(needs.bytes, is_captured),
            kept_zero: self.kept_zero.lend(needs.kept_zero, is_captured),
        })
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

    fn grow(&mut self, kernel: &'static str, needs: Needs) -> Result<(), Error> {
        if needs.bytes > self.scratch.bytes() {
            // SAFETY: bytes have no invalid values; contracts call these undefined, or zero them.
            let memory = unsafe { self.stream.alloc::<u8>(needs.bytes) };
            let memory = Some(memory.map_err(Error::cuda(kernel, "cuMemAllocAsync"))?);
            let old = std::mem::replace(&mut self.scratch, Region { memory, in_graph: false });
            self.replaced(old);
        }
        if needs.kept_zero > self.kept_zero.bytes() {
            // what was there is zero as well
            let zeros = self.stream.alloc_zeros::<u8>(needs.kept_zero);
            let memory = Some(zeros.map_err(Error::cuda(kernel, "cuMemsetD8Async"))?);
            let old = std::mem::replace(&mut self.kept_zero, Region { memory, in_graph: false });
            self.replaced(old);
        }
        Ok(())
    }

    /// Frees memory that a larger one took the place of, where no graph points at it.
    fn replaced(&mut self, Region { memory, in_graph }: Region) {
        if in_graph {
            self.captured.extend(memory);
        } else if let Some(memory) = memory {
            self.free(memory);
        }
    }
}

/// What a launch needs of a workspace, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) bytes: usize,
    pub(super) kept_zero: usize,
}

impl Needs {
    fn check(self, kernel: &'static str) -> Result<(), Error> {
        if isize::try_from(self.bytes.max(self.kept_zero)).is_err() {
            return Err(Error::Overflow { kernel, what: "workspace" });
        }
        Ok(())
    }
}

/// The regions of a workspace that a launch asked for.
#[derive(Debug)]
pub(super) struct Regions<'a> {
    pub(super) scratch: Option<&'a mut CudaSlice<u8>>,
    pub(super) kept_zero: Option<&'a mut CudaSlice<u8>>,
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let present = [self.scratch.memory.take(), self.kept_zero.memory.take()].into_iter().flatten();
        let memory = self.captured.drain(..).chain(present).collect::<Vec<_>>();
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
    // SAFETY: the stream is live, and its context current: wrappers bind it first, and so does what else asks here.
    unsafe { capturing_raw(kernel, stream.cu_stream()) }
}

/// The same by a handle.
///
/// # Safety
/// The stream is live and of the current context.
pub(super) unsafe fn capturing_raw(kernel: &'static str, stream: CUstream) -> Result<bool, Error> {
    const LEGACY: usize = 1; // its other handle
    if stream as usize <= LEGACY {
        return Ok(false);
    }
    // SAFETY: the caller's promise.
    unsafe { launch::is_capturing(stream) }.map_err(Error::cuda(kernel, "cuStreamIsCapturing"))
}
