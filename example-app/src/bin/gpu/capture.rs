//! Launches captured into a CUDA graph.

use std::sync::Arc;

use cutegen_runtime::cuda::CudaStream;
use cutegen_runtime::cuda::cudarc::driver::{CudaGraph, sys};

use crate::Fail;

/// What `launches` puts on the stream, as a graph.
pub fn capture<E: Into<Fail>>(
    stream: &Arc<CudaStream>,
    launches: impl FnOnce() -> Result<(), E>,
) -> Result<CudaGraph, Fail> {
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let launched = launches();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0))?;
    launched.map_err(Into::into)?;
    graph.ok_or_else(|| "an empty graph".into())
}
