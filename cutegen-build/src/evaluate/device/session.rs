//! [`Session`]: context, stream and device of a judge or runner, the wait for the stream, and what a driver's error
//! means.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cutegen_runtime::cuda::cudarc::driver::sys::{CUdevice_attribute, CUresult};
use cutegen_runtime::cuda::cudarc::driver::{CudaContext, DriverError, result};
use cutegen_runtime::cuda::{CUstream, Device, context};

use super::error::DeviceError;
use crate::evaluate::device::clocks::CardId;

/// An open device. Nothing that belongs to it may be freed once it is lost: the driver would wait for a kernel that
/// never ends.
pub(crate) struct Session {
    /// What launches need to know.
    pub(crate) device: Device,
    /// All work is in this stream's order.
    pub(crate) stream: CUstream,
    context: Arc<CudaContext>,
    wall: Duration,
    lost: Cell<bool>,
}

impl Session {
    /// Device 0 of those that are visible; a stream that takes longer than `wall` has hung.
    pub(crate) fn open(wall: Duration) -> Result<Self, DeviceError> {
        let failed = |error: cutegen_runtime::Error| DeviceError::Failed(error.to_string());
        let context = context(0).map_err(failed)?;
        let device = Device::of(&context).map_err(failed)?;
        context.bind_to_thread().map_err(machine("cuCtxSetCurrent"))?;
        let kind = result::stream::StreamKind::NonBlocking;
        let stream = result::stream::create(kind).map_err(machine("cuStreamCreate"))?;
        Ok(Self { device, stream, context, wall, lost: Cell::new(false) })
    }

    /// In words, with its driver.
    pub(crate) fn describe(&self) -> String {
        format!("{}, {}, driver {}", self.device.name, self.device.arch(), self.device.driver)
    }

    /// What names the card beyond this process, where the driver says it.
    pub(crate) fn card(&self) -> Option<CardId> {
        let uuid = self.context.uuid().ok()?;
        Some(CardId::from_uuid(uuid.bytes.map(|byte| byte.cast_unsigned())))
    }

    /// Bytes of the L2 cache.
    pub(crate) fn cache_bytes(&self) -> Result<u64, DeviceError> {
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
        let bytes = self.context.attribute(attribute).map_err(machine("cuDeviceGetAttribute"))?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// Bytes of the device that are free.
    pub(crate) fn free_bytes(&self) -> Result<u64, DeviceError> {
        let (free, _) = self.context.mem_get_info().map_err(machine("cuMemGetInfo"))?;
        Ok(free as u64)
    }

    /// Whether its resources must be left alone.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// Until all work of the stream is done; a kernel that takes too long has hung.
    pub(crate) fn wait(&self) -> Result<(), DeviceError> {
        let start = Instant::now();
        loop {
            // SAFETY: the stream is this session's, and its context is current on the runner's only thread.
            match unsafe { cutegen_runtime::cuda::cudarc::driver::sys::cuStreamQuery(self.stream) }.result() {
                Ok(()) => return Ok(()),
                Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => {}
                Err(error) => return Err(self.lose(candidate("running it")(error))),
            }
            if start.elapsed() > self.wall {
                let reason = format!("did not finish within {} s", self.wall.as_secs());
                return Err(self.lose(DeviceError::Faulted(reason)));
            }
            pause(start.elapsed());
        }
    }

    /// Notes that a fault has taken the context with it.
    pub(crate) fn lose(&self, stop: DeviceError) -> DeviceError {
        if let DeviceError::Faulted(_) = stop {
            self.lost.set(true);
        }
        stop
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_lost() {
            // The context must not be released either.
            std::mem::forget(Arc::clone(&self.context));
            std::mem::forget(Arc::clone(&self.device.context));
        } else {
            // SAFETY: made by `open`, destroyed once; what ran on it has been waited for.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
    }
}

/// Short waits are spun, so that small kernels are not slowed; long ones sleep.
fn pause(waited: Duration) {
    if waited < Duration::from_millis(2) {
        std::thread::yield_now();
    } else {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// An error of a call that concerns the candidate: what it cannot do is its own fault.
pub(crate) fn candidate(doing: &str) -> impl Fn(DriverError) -> DeviceError + '_ {
    move |error| match meaning(error.0) {
        Meaning::Fault => DeviceError::Faulted(told(doing, error)),
        Meaning::Unfit => DeviceError::Refused(told(doing, error)),
        Meaning::Machine => DeviceError::Failed(told(doing, error)),
    }
}

/// An error of a call that would work for any candidate, unless an earlier one has faulted.
pub(crate) fn machine(doing: &str) -> impl Fn(DriverError) -> DeviceError + '_ {
    move |error| match meaning(error.0) {
        Meaning::Fault => DeviceError::Faulted(told(doing, error)),
        Meaning::Unfit | Meaning::Machine => DeviceError::Failed(told(doing, error)),
    }
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// A kernel broke the context.
    Fault,
    /// A module or launch that this device does not take.
    Unfit,
    /// Anything else.
    Machine,
}

fn meaning(code: CUresult) -> Meaning {
    use CUresult as C;
    match code {
        C::CUDA_ERROR_ILLEGAL_ADDRESS
        | C::CUDA_ERROR_MISALIGNED_ADDRESS
        | C::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | C::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | C::CUDA_ERROR_INVALID_PC
        | C::CUDA_ERROR_HARDWARE_STACK_ERROR
        | C::CUDA_ERROR_LAUNCH_FAILED
        | C::CUDA_ERROR_LAUNCH_TIMEOUT
        | C::CUDA_ERROR_ASSERT => Meaning::Fault,
        C::CUDA_ERROR_INVALID_VALUE
        | C::CUDA_ERROR_OUT_OF_MEMORY
        | C::CUDA_ERROR_INVALID_IMAGE
        | C::CUDA_ERROR_INVALID_SOURCE
        | C::CUDA_ERROR_INVALID_PTX
        | C::CUDA_ERROR_NO_BINARY_FOR_GPU
        | C::CUDA_ERROR_NOT_FOUND
        | C::CUDA_ERROR_NOT_SUPPORTED
        | C::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
        | C::CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING
        | C::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        | C::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
        | C::CUDA_ERROR_INVALID_CLUSTER_SIZE => Meaning::Unfit,
        _ => Meaning::Machine,
    }
}

/// The driver's own name for it: constant strings of the library, so no device is touched.
fn told(doing: &str, error: DriverError) -> String {
    let name = error.error_name().map(|name| name.to_string_lossy().into_owned());
    format!("{doing}: {}", name.unwrap_or_else(|_| format!("{:?}", error.0)))
}

#[cfg(test)]
mod tests {
    use super::{CUresult, Meaning, meaning};

    #[test]
    fn errors_have_an_owner() {
        assert_eq!(meaning(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), Meaning::Fault);
        assert_eq!(meaning(CUresult::CUDA_ERROR_INVALID_VALUE), Meaning::Unfit);
        assert_eq!(meaning(CUresult::CUDA_ERROR_ECC_UNCORRECTABLE), Meaning::Machine);
    }
}
