//! The launch that a wrapper made, taken back from a graph: function, grid, block and parameters are the driver's own
//! record of it. Launched again by nothing but `cuLaunchKernelEx`.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

use cutegen_runtime::Error;
use cutegen_runtime::cuda::cudarc::driver::{CudaGraph, DriverError, sys};
use cutegen_runtime::cuda::{CUstream, CudaStream};

use crate::Fail;

/// A launch of one kernel. Its parameters lie in the graph that it was taken from.
pub struct Raw {
    function: sys::CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    params: *mut *mut c_void,
    _graph: CudaGraph,
}

impl Raw {
    /// The one launch that `launches` puts on the stream.
    pub fn of(stream: &Arc<CudaStream>, launches: impl FnOnce() -> Result<(), Error>) -> Result<Self, Fail> {
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let launched = launches();
        let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0))?;
        launched?;
        let graph = graph.ok_or("an empty graph")?;
        let node = only_node(&graph)?;
        let mut found = MaybeUninit::<sys::CUDA_KERNEL_NODE_PARAMS>::zeroed();
        // SAFETY: the node is of a live graph; what is written to outlives the call.
        unsafe { sys::cuGraphKernelNodeGetParams_v2(node, found.as_mut_ptr()) }.result()?;
        // SAFETY: the call has written all of it, and zeros are values of its pointers and numbers.
        let found = unsafe { found.assume_init() };
        Ok(Self {
            function: function(&found)?,
            grid: [found.gridDimX, found.gridDimY, found.gridDimZ],
            block: [found.blockDimX, found.blockDimY, found.blockDimZ],
            shared: found.sharedMemBytes,
            params: found.kernelParams,
            _graph: graph,
        })
    }

    /// The launch; `programmatic`, it may begin before its predecessor ends.
    pub fn launch(&self, stream: CUstream, programmatic: bool) -> Result<(), DriverError> {
        let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
        value.programmaticStreamSerializationAllowed = 1;
        let id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        let mut attribute = sys::CUlaunchAttribute { id, pad: [0; 4], value };
        let config = sys::CUlaunchConfig {
            gridDimX: self.grid[0],
            gridDimY: self.grid[1],
            gridDimZ: self.grid[2],
            blockDimX: self.block[0],
            blockDimY: self.block[1],
            blockDimZ: self.block[2],
            sharedMemBytes: self.shared,
            hStream: stream,
            attrs: &raw mut attribute,
            numAttrs: u32::from(programmatic),
        };
        // SAFETY: function and parameters are of a launch that the driver took, whose tensors the caller keeps.
        unsafe { sys::cuLaunchKernelEx(&raw const config, self.function, self.params, null_mut()) }.result()
    }
}

fn only_node(graph: &CudaGraph) -> Result<sys::CUgraphNode, Fail> {
    let mut count = 0;
    // SAFETY: the graph is live, and without an array only the number is written.
    unsafe { sys::cuGraphGetNodes(graph.cu_graph(), null_mut(), &raw mut count) }.result()?;
    if count != 1 {
        return Err(format!("the wrapper made {count} launches, where one is measured").into());
    }
    let mut node = null_mut();
    // SAFETY: as above, with room for the one node there is.
    unsafe { sys::cuGraphGetNodes(graph.cu_graph(), &raw mut node, &raw mut count) }.result()?;
    Ok(node)
}

/// The function of a node, which may know it as a kernel only.
fn function(node: &sys::CUDA_KERNEL_NODE_PARAMS) -> Result<sys::CUfunction, DriverError> {
    if !node.func.is_null() {
        return Ok(node.func);
    }
    let mut function = null_mut();
    // SAFETY: a node without a function has a kernel; what is written to outlives the call.
    unsafe { sys::cuKernelGetFunction(&raw mut function, node.kern) }.result()?;
    Ok(function)
}
