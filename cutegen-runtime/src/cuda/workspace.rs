//! Scratch memory on the device, owned by the caller and reused from call to call.

use cudarc::driver::{CudaSlice, CudaStream};
use std::sync::Arc;

use super::launch;
use crate::error::Error;

/// Scratch memory for the kernels of one stream, aligned to 256 bytes.
///
/// Every wrapper takes one, whether or not today's variants use it, so that tuning anew changes no signature.
/// It grows outside of captures. Used on another stream than last, it makes that stream wait for the last one:
/// right, but better is one workspace for each stream.
///
/// A captured graph points into this memory, and into the modules of the kernels that it launches: keep the workspace
/// and `Kernels` until the graph is gone.
#[derive(Debug)]
pub struct Workspace {
    memory: Option<CudaSlice<u8>>,
    stream: Arc<CudaStream>,
    /// Memory that captured graphs may point at, kept until the workspace goes.
    captured: Vec<CudaSlice<u8>>,
    in_graph: bool,
}

impl Workspace {
    /// An empty workspace for a stream.
    #[must_use]
    pub fn new(stream: &Arc<CudaStream>) -> Self {
        Self { memory: None, stream: Arc::clone(stream), captured: Vec::new(), in_graph: false }
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
        self.ready("workspace", &stream, bytes, || capturing("workspace", &stream)).map(|_| ())
    }

    /// Makes the workspace large enough for a launch on `stream` and ordered after its last use.
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
        let found = self.bytes();
        let moved = *self.stream != **stream;
        let capturing = capturing()?;
        if capturing && bytes > found {
            return Err(Error::WorkspaceTooSmallInCapture { kernel, needed: bytes, found });
        }
        if capturing && moved {
            return Err(Error::WorkspaceOfOtherStreamInCapture { kernel });
        }
        if moved {
            stream.join(&self.stream).map_err(Error::cuda(kernel, "cuStreamWaitEvent"))?;
            self.stream = Arc::clone(stream);
        }
        self.in_graph |= capturing;
        if bytes > found {
            self.grow(kernel, bytes)?;
        }
        Ok(self.memory.as_mut())
    }

    fn grow(&mut self, kernel: &'static str, bytes: usize) -> Result<(), Error> {
        // SAFETY: bytes have no invalid values; contracts call these undefined, or zero them.
        let memory =
            unsafe { self.stream.alloc::<u8>(bytes) }.map_err(Error::cuda(kernel, "cuMemAllocAsync"))?;
        let old = self.memory.replace(memory);
        if std::mem::take(&mut self.in_graph) {
            self.captured.extend(old);
        }
        Ok(())
    }
}

/// Whether a stream is being captured. The legacy default stream never is, and must not be asked while
/// another stream is.
pub(super) fn capturing(kernel: &'static str, stream: &CudaStream) -> Result<bool, Error> {
    const LEGACY: usize = 1; // its other handle
    if stream.cu_stream() as usize <= LEGACY {
        return Ok(false);
    }
    // SAFETY: the stream is live, and its context current: every wrapper binds it first.
    unsafe { launch::is_capturing(stream.cu_stream()) }.map_err(Error::cuda(kernel, "cuStreamIsCapturing"))
}
