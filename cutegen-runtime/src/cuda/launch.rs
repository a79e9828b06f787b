//! The one audited module that calls cudarc's raw driver interface (`driver::sys`): launches with attributes,
//! which cudarc's safe layer lacks, and what goes with them. Plain functions over raw handles, so that
//! emitted wrappers, raw entries and the search's own launcher share every line.
//!
//! All functions need the driver library ([`super::context`] has looked for it) and, unless they say
//! otherwise, the context of their handles to be current on this thread.

use cudarc::driver::{CudaContext, DriverError, result, sys};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use super::tma::{TensorMap, TiledTensor, TiledView};

/// A driver stream; null is the legacy default stream.
pub type CUstream = sys::CUstream;
/// An address in device memory.
pub type CUdeviceptr = sys::CUdeviceptr;
/// A driver function; valid while its module is loaded.
pub type CUfunction = sys::CUfunction;

/// The shape and attributes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster; all ones for none.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_smem: u32,
    /// Programmatic dependent launch: the kernel may begin before its predecessor in the stream ends.
    pub pdl: bool,
    /// All blocks must be resident together, and may synchronise as one grid.
    pub cooperative: bool,
}

impl Default for LaunchConfig {
    /// One block of one thread, no attributes.
    fn default() -> Self {
        let one = [1; 3];
        Self { grid: one, block: one, cluster: one, dynamic_smem: 0, pdl: false, cooperative: false }
    }
}

impl LaunchConfig {
    /// Threads of a block; as many as can be counted where there are more.
    #[must_use]
    #[inline]
    pub const fn threads(&self) -> u32 {
        self.block[0].saturating_mul(self.block[1]).saturating_mul(self.block[2])
    }
}

/// Attributes of one launch, in place: a launch allocates nothing, and writes only those that it asks for.
type Attributes = [MaybeUninit<sys::CUlaunchAttribute>; 3];

/// None of them yet.
const NONE: Attributes = [MaybeUninit::uninit(); 3];

impl LaunchConfig {
    /// Writes the attributes that this asks for, and says how many those are.
    #[inline]
    fn attributes(&self, list: &mut Attributes) -> u32 {
        use sys::CUlaunchAttributeID_enum as Id;
        let mut count = 0;
        if self.cluster != [1; 3] {
            let [x, y, z] = self.cluster;
            next(list, &mut count, Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim =
                sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
        }
        if self.pdl {
            let id = Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            next(list, &mut count, id).programmaticStreamSerializationAllowed = 1;
        }
        if self.cooperative {
            next(list, &mut count, Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
        }
        count as u32
    }

    /// This as the driver takes it; what it points at is `list`.
    #[inline]
    fn raw(&self, list: &mut Attributes, stream: CUstream) -> sys::CUlaunchConfig {
        sys::CUlaunchConfig {
            gridDimX: self.grid[0],
            gridDimY: self.grid[1],
            gridDimZ: self.grid[2],
            blockDimX: self.block[0],
            blockDimY: self.block[1],
            blockDimZ: self.block[2],
            sharedMemBytes: self.dynamic_smem,
            hStream: stream,
            numAttrs: self.attributes(list),
            attrs: list.as_mut_ptr().cast(),
        }
    }
}

/// One more attribute, all zeros.
#[inline]
fn next<'a>(
    list: &'a mut Attributes,
    count: &mut usize,
    id: sys::CUlaunchAttributeID,
) -> &'a mut sys::CUlaunchAttributeValue {
    let value = sys::CUlaunchAttributeValue { pad: [0; 64] };
    *count += 1;
    &mut list[*count - 1].write(sys::CUlaunchAttribute { id, pad: [0; 4], value }).value
}

/// Launches a kernel. Asynchronous: what goes wrong on the device is reported by a later call.
///
/// # Errors
/// The driver's: a shape or attribute that the device or the function doesn't take, or an earlier failure.
///
/// # Safety
/// `function` and `stream` are live and of the current context. `params[i]` points at a value of the type of
/// the kernel's i-th parameter, and there is one for each. Memory that the kernel touches through them stays
/// allocated until it ends, and nothing else uses it in a conflicting way.
#[inline]
pub unsafe fn launch(
    function: CUfunction,
    stream: CUstream,
    config: &LaunchConfig,
    params: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let mut attributes = NONE;
    let config = config.raw(&mut attributes, stream);
    // SAFETY: the caller vouches for handles and parameters; the driver copies configuration, attributes and
    // parameter values before it returns.
    unsafe { sys::cuLaunchKernelEx(&raw const config, function, params.as_mut_ptr(), std::ptr::null_mut()) }
        .result()
}

/// Makes a context current on this thread. Where it already is, the driver is only asked: cudarc's own
/// `bind_to_thread` also takes what could not be reported earlier, and its locked exchange waits until all that the last
/// launch wrote, the device's doorbell among it, has left the core. That error then waits for cudarc's next call.
///
/// # Errors
/// The driver's.
#[inline]
pub fn make_current(context: &CudaContext) -> Result<(), DriverError> {
    if result::ctx::get_current()? == Some(context.cu_ctx()) {
        return Ok(());
    }
    context.bind_to_thread()
}

/// Fills device memory with a byte, in stream order; capturable.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// `stream` is live and of the current context; `bytes` bytes at `address` are allocated and not in
/// conflicting use.
pub unsafe fn memset_d8_async(
    address: CUdeviceptr,
    value: u8,
    bytes: usize,
    stream: CUstream,
) -> Result<(), DriverError> {
    // SAFETY: as the caller promises.
    unsafe { result::memset_d8_async(address, value, bytes, stream) }
}

/// Shared memory that a block may have without asking: what its kernel declares and what it is launched with.
const UNASKED_SMEM: c_int = 48 << 10;

/// Lets a function use this much dynamic shared memory, which it must ask for above 48 KiB with its own; with
/// `nonportable_cluster`, also clusters of more than 8 blocks. Takes nothing back that it may use already.
///
/// # Errors
/// The driver's: more than the device has.
///
/// # Safety
/// `function` is live and of the current context.
pub unsafe fn prepare(
    function: CUfunction,
    dynamic_smem_max: u32,
    nonportable_cluster: bool,
) -> Result<(), DriverError> {
    use sys::CUfunction_attribute_enum as Attribute;
    let set = |attribute, value| {
        // SAFETY: as the caller promises.
        unsafe { result::function::set_function_attribute(function, attribute, value) }
    };
    let dynamic = c_int::try_from(dynamic_smem_max).unwrap_or(c_int::MAX);
    // SAFETY: as the caller promises.
    let own = unsafe {
        result::function::get_function_attribute(function, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
    }?;
    // SAFETY: as the caller promises.
    let asked = unsafe {
        result::function::get_function_attribute(
            function,
            Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        )
    }?;
    if dynamic > asked && dynamic.saturating_add(own) > UNASKED_SMEM {
        set(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)?;
    }
    if nonportable_cluster {
        set(Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
    }
    Ok(())
}

/// Blocks of this launch's size and shared memory that one multiprocessor holds at once.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// `function` is live and of the current context.
pub unsafe fn max_blocks_per_sm(function: CUfunction, config: &LaunchConfig) -> Result<u32, DriverError> {
    let mut blocks: c_int = 0;
    // SAFETY: as the caller promises; `blocks` outlives the call.
    unsafe {
        sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &raw mut blocks,
            function,
            c_int::try_from(config.threads()).unwrap_or(c_int::MAX),
            config.dynamic_smem as usize,
        )
    }
    .result()?;
    Ok(u32::try_from(blocks).unwrap_or(0))
}

/// Clusters of this launch that the device holds at once.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// `function` is live and of the current context.
pub unsafe fn max_active_clusters(function: CUfunction, config: &LaunchConfig) -> Result<u32, DriverError> {
    let mut clusters: c_int = 0;
    let mut attributes = NONE;
    let config = config.raw(&mut attributes, std::ptr::null_mut());
    // SAFETY: as the caller promises; all that is pointed at outlives the call.
    unsafe { sys::cuOccupancyMaxActiveClusters(&raw mut clusters, function, &raw const config) }.result()?;
    Ok(u32::try_from(clusters).unwrap_or(0))
}

/// The CUDA version of the driver, as in 13000 for 13.0. Needs no context and no initialisation.
///
/// # Errors
/// The driver's.
///
/// # Panics
/// When there is no driver library.
pub fn driver_cuda_version() -> Result<u32, DriverError> {
    let mut version: c_int = 0;
    // SAFETY: `version` outlives the call, which has no other precondition.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// Whether work put on this stream goes into a graph instead of to the device.
///
/// # Errors
/// The driver's, also when the capture has been invalidated.
///
/// # Safety
/// `stream` is live and of the current context.
pub unsafe fn is_capturing(stream: CUstream) -> Result<bool, DriverError> {
    use sys::CUstreamCaptureStatus_enum as Status;
    // SAFETY: as the caller promises.
    let status = unsafe { result::stream::is_capturing(stream) }?;
    Ok(status != Status::CU_STREAM_CAPTURE_STATUS_NONE)
}

/// While this lives, captures by other code forbid this thread nothing, and nothing that it does breaks them.
#[derive(Debug)]
pub(super) struct Relaxed(sys::CUstreamCaptureMode);

/// For loading modules, of which no graph holds anything.
pub(super) fn relaxed() -> Result<Relaxed, DriverError> {
    exchange(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).map(Relaxed)
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        let _ = exchange(self.0); // it has worked a moment ago
    }
}

/// Gives this thread a capture mode; the one that it had.
fn exchange(mut mode: sys::CUstreamCaptureMode) -> Result<sys::CUstreamCaptureMode, DriverError> {
    // SAFETY: the pointer is to a mode, which the call replaces by another.
    unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) }.result()?;
    Ok(mode)
}

/// Multiprocessors of a context's device.
///
/// # Errors
/// The driver's.
pub fn sm_count(context: &super::CudaContext) -> Result<u32, DriverError> {
    let count = context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    Ok(u32::try_from(count).unwrap_or(0))
}

/// Bytes of shared memory that a block may ask for.
///
/// # Errors
/// The driver's.
pub fn smem_per_block_max(context: &super::CudaContext) -> Result<u32, DriverError> {
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    Ok(u32::try_from(context.attribute(attribute)?).unwrap_or(0))
}

/// Encodes a TMA descriptor. The device isn't touched; the descriptor is passed as a kernel parameter by
/// value, so nothing outlives the launch.
///
/// # Errors
/// As [`encode_view`].
pub fn encode_tiled<const R: usize>(tensor: &TiledTensor<R>) -> Result<TensorMap, DriverError> {
    encode_view(&tensor.view())
}

/// Dimensions of a descriptor, at most.
const RANK_MAX: usize = 5;

/// The same of a tensor whose rank only this call knows.
///
/// # Errors
/// The driver's: an address, stride or box that TMA doesn't take; that of an invalid value also for a tensor of no or more
/// than five dimensions, for lists of different lengths, packed elements, and strides that overflow.
pub fn encode_view(tensor: &TiledView<'_>) -> Result<TensorMap, DriverError> {
    let invalid = DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    let rank = tensor.shape.len();
    let lengths = [tensor.strides.len(), tensor.tile.len(), tensor.every.len()];
    if rank == 0 || rank > RANK_MAX || lengths != [rank; 3] || tensor.dtype.bits() < 8 {
        return Err(invalid);
    }
    let mut map = TensorMap(sys::CUtensorMap { opaque: [0; 16] });
    let size = tensor.dtype.bits() as u64 / 8;
    let (mut extents, mut bytes) = ([0_u64; RANK_MAX], [0_u64; RANK_MAX]);
    let (mut tile, mut every) = ([1_u32; RANK_MAX], [1_u32; RANK_MAX]);
    // TMA counts dimensions from the innermost, and leaves out the innermost stride, which is 1
    for (inward, outward) in (0..rank).zip((0..rank).rev()) {
        extents[inward] = tensor.shape[outward] as u64;
        bytes[inward] = (tensor.strides[outward] as u64).checked_mul(size).ok_or(invalid)?;
        (tile[inward], every[inward]) = (tensor.tile[outward], tensor.every[outward]);
    }
    // SAFETY: the arrays have at least `rank` elements each (rank - 1 strides are read) and outlive the call, which writes
    // `map` and nothing else; the address is encoded, not read.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut map.0,
            tensor.data_type(),
            rank as u32,
            tensor.address as *mut c_void,
            extents.as_ptr(),
            bytes[1..].as_ptr(),
            tile.as_ptr(),
            every.as_ptr(),
            sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
            tensor.swizzle.raw(),
            tensor.promotion.raw(),
            tensor.fill.raw(),
        )
    }
    .result()?;
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_hold_what_is_asked_and_no_more() {
        let plain = LaunchConfig { grid: [4, 1, 1], block: [8, 4, 1], ..LaunchConfig::default() };
        let mut attributes = NONE;
        assert_eq!((plain.attributes(&mut attributes), plain.threads()), (0, 32));
        let all = LaunchConfig { cluster: [2, 1, 1], pdl: true, cooperative: true, ..plain };
        let raw = all.raw(&mut attributes, std::ptr::null_mut());
        // SAFETY: all three have been written, and the first of them is the cluster's.
        let cluster = unsafe { attributes[0].assume_init().value.clusterDim };
        assert_eq!((cluster.x, cluster.y, cluster.z), (2, 1, 1));
        assert_eq!((raw.gridDimX, raw.blockDimY, raw.numAttrs), (4, 4, 3));
    }

    #[test]
    fn threads_that_overflow_are_many() {
        let block = [1 << 16, 1 << 16, 1]; // 2^32
        assert_eq!(LaunchConfig { block, ..LaunchConfig::default() }.threads(), u32::MAX);
    }

    /// Refused before the driver is asked, so without one too.
    #[test]
    fn descriptors_of_no_tensor_are_refused() {
        use super::super::tma::{Fill, L2Promotion, Swizzle};
        fn tensor<const R: usize>(strides: [usize; R]) -> TiledTensor<R> {
            let (swizzle, promotion, fill) = (Swizzle::None, L2Promotion::None, Fill::Zero);
            let dtype = crate::DType::F64;
            let (tile, every) = ([1; R], [1; R]);
            TiledTensor { dtype, address: 0, shape: [1; R], strides, tile, every, swizzle, promotion, fill }
        }
        let invalid = Some(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE));
        assert_eq!(encode_tiled(&tensor([1; 6])).err(), invalid);
        let whole = tensor([1; 2]);
        let short = TiledView { every: &[], ..whole.view() };
        assert_eq!(encode_view(&short).err(), invalid);
        let packed = TiledTensor { dtype: crate::DType::I4, ..tensor([1; 2]) };
        assert_eq!(encode_tiled(&packed).err(), invalid);
        assert_eq!((size_of::<TensorMap>(), align_of::<TensorMap>()), (128, 128)); // as kernels take it
        assert_eq!(encode_tiled(&tensor([])).err(), invalid);
        assert_eq!(encode_tiled(&tensor([1 << 61, 1])).err(), invalid); // 2^64 bytes
    }
}
