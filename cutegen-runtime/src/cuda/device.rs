//! Finding the driver and a device without a panic, and what the device is.

use cudarc::driver::CudaContext;
use std::fmt;
use std::sync::Arc;

use super::launch;
use super::modules::Modules;
use crate::error::Error;

/// The oldest CUDA that has every driver function this crate calls.
const CUDA_MIN: u32 = 12_000;

/// File names of the driver library. Each is one that cudarc tries too, so that what is found here is found
/// there, where not finding it is a panic.
const LIBRARIES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so", "libcuda.so.1"] };

/// CUDA versions and the driver branch that came with each.
const BRANCHES: &[(u32, u32)] = &[
    (11_040, 470),
    (11_050, 495),
    (11_060, 510),
    (11_070, 515),
    (11_080, 520),
    (12_000, 525),
    (12_010, 530),
    (12_020, 535),
    (12_030, 545),
    (12_040, 550),
    (12_050, 555),
    (12_060, 560),
    (12_080, 570),
    (12_090, 575),
    (13_000, 580),
    (13_010, 590),
];

/// The primary context of a device: `CudaContext::new` that reports a missing driver, a driver too old and
/// a missing device instead of panicking.
///
/// # Errors
/// [`Error::DriverMissing`], [`Error::DriverTooOld`], [`Error::NoDevice`], or what the driver says.
///
/// ```no_run
/// let ctx = cutegen_runtime::cuda::context(0)?;
/// # Ok::<(), cutegen_runtime::Error>(())
/// ```
pub fn context(ordinal: usize) -> Result<Arc<CudaContext>, Error> {
    let driver = DriverVersion::found()?;
    driver.at_least(DriverVersion { cuda: CUDA_MIN }.branch())?;
    let found = match CudaContext::device_count() {
        Ok(count) => usize::try_from(count).unwrap_or(0),
        Err(cudarc::driver::DriverError(code)) if code as u32 == NO_DEVICE => 0,
        Err(source) => return Err(Error::Cuda { kernel: "context", call: "cuInit", source }),
    };
    if ordinal >= found {
        return Err(Error::NoDevice { ordinal, found });
    }
    CudaContext::new(ordinal).map_err(Error::cuda("context", "cuDevicePrimaryCtxRetain"))
}

/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: u32 = 100;

/// The driver's version, as the CUDA version that it brings (13000 for 13.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverVersion {
    /// The CUDA version.
    pub cuda: u32,
}

impl DriverVersion {
    /// Of the driver on this machine.
    ///
    /// # Errors
    /// [`Error::DriverMissing`], or what the driver says.
    pub fn found() -> Result<Self, Error> {
        if !library_present() {
            return Err(Error::DriverMissing { tried: LIBRARIES.join(", ") });
        }
        let cuda = launch::driver_cuda_version().map_err(Error::cuda("driver", "cuDriverGetVersion"))?;
        Ok(Self { cuda })
    }

    /// The driver branch, as in 580: the newest known whose CUDA this driver brings.
    #[must_use]
    pub fn branch(self) -> u32 {
        let brought = BRANCHES.iter().take_while(|(cuda, _)| *cuda <= self.cuda);
        brought.last().map_or(0, |(_, branch)| *branch)
    }

    /// Checks against the branch that a binary needs.
    ///
    /// # Errors
    /// [`Error::DriverTooOld`].
    pub fn at_least(self, needed: u32) -> Result<(), Error> {
        let found = self.branch();
        if found < needed { Err(Error::DriverTooOld { needed, found }) } else { Ok(()) }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (CUDA {}.{})", self.branch(), self.cuda / 1000, self.cuda % 1000 / 10)
    }
}

fn library_present() -> bool {
    // SAFETY: loading the driver's library runs its initialisers, which every CUDA program runs.
    LIBRARIES.iter().any(|&name| unsafe { libloading::Library::new(name) }.is_ok())
}

/// A device, as launches need to know it.
#[derive(Clone, Debug)]
pub struct Device {
    /// The context that all is loaded into.
    pub context: Arc<CudaContext>,
    /// The name, as in `NVIDIA H200`.
    pub name: String,
    /// The compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub sm_count: u32,
    /// Bytes of shared memory that a block may ask for.
    pub smem_max: u32,
    /// The driver.
    pub driver: DriverVersion,
    /// What is loaded into the context through this value and its clones.
    pub(super) modules: Arc<Modules>,
}

impl Device {
    /// The device of a context.
    ///
    /// # Errors
    /// What the driver says.
    pub fn of(context: &Arc<CudaContext>) -> Result<Self, Error> {
        let driver = DriverVersion::found()?;
        let failed = Error::cuda("device", "cuDeviceGetAttribute");
        let (major, minor) = context.compute_capability().map_err(failed)?;
        Ok(Self {
            context: Arc::clone(context),
            name: context.name().map_err(Error::cuda("device", "cuDeviceGetName"))?,
            capability: (u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0)),
            sm_count: launch::sm_count(context).map_err(failed)?,
            smem_max: launch::smem_per_block_max(context).map_err(failed)?,
            driver,
            modules: Arc::default(),
        })
    }

    /// The architecture, as in `sm_90`.
    #[must_use]
    pub fn arch(&self) -> String {
        format!("sm_{}{}", self.capability.0, self.capability.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_branches_follow_cuda_versions() {
        let branch = |cuda| DriverVersion { cuda }.branch();
        assert_eq!((branch(12_080), branch(13_000), branch(13_999), branch(11_000)), (570, 580, 590, 0));
        let error = DriverVersion { cuda: 12_080 }.at_least(580).map_err(|error| error.to_string());
        assert_eq!(error, Err("needs driver >= 580, as all that NVRTC 13.0 compiles does, found 570; update the NVIDIA driver".to_owned()));
        assert_eq!(DriverVersion { cuda: 13_000 }.to_string(), "580 (CUDA 13.0)");
    }

    #[test]
    fn no_driver_is_an_error_and_no_panic() {
        match context(usize::MAX) {
            Err(Error::DriverMissing { tried }) => {
                assert!(!library_present());
                assert!(tried.contains("libcuda.so") || cfg!(windows), "{tried}");
            }
            Err(Error::NoDevice { ordinal: usize::MAX, .. }) => assert!(library_present()),
            other => panic!("{other:?}"),
        }
    }
}
