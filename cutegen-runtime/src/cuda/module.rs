//! What the build carries for a kernel, and the kernel on a device: its target there, and its launches. A variant's module
//! is loaded when it is first used, outside of captures. Must not know which variant a call gets.

use cudarc::driver::DriverError;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use super::artifact::Artifact;
use super::device::Device;
use super::launch::{self, CUfunction, CUstream, LaunchConfig};
use super::modules::{OnFirstUse, Wanted};
use super::target::{passed_over, serving};
use super::workspace::capturing_raw;
use crate::check::Check;
use crate::dispatch::{Explain, LeftOut, Variant};
use crate::error::Error;

/// One kernel launch of a variant, as loading needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The function's name in the cubin.
    pub entry: &'static str,
    /// The most dynamic shared memory that a launch asks for.
    pub dynamic_smem_max: u32,
    /// Whether its clusters have more than 8 blocks.
    pub nonportable_cluster: bool,
}

/// One variant for one target.
#[derive(Clone, Copy, Debug)]
pub struct VariantEntry {
    /// What `explain` says of it.
    pub about: Variant,
    /// Its cubin.
    pub artifact: Artifact,
    /// The driver branch that its binary format needs, as in 580.
    pub min_driver: u32,
    /// The most shared memory that a block of it needs, in bytes; 0 where that isn't known.
    pub shared_memory: u32,
    /// Its kernel launches, in the order of the contract; memsets aren't listed.
    pub steps: &'static [Step],
}

/// The variants for one target, in dispatch order.
#[derive(Clone, Copy, Debug)]
pub struct TargetEntry {
    /// The architecture, as in `sm_90a`; narrowed to devices of a name, as in `sm_90a:h200`.
    pub arch: &'static str,
    /// The variants.
    pub variants: &'static [VariantEntry],
}

/// All that the build carries for one kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    /// Its name.
    pub kernel: &'static str,
    /// Its targets.
    pub targets: &'static [TargetEntry],
}

/// A kernel on a device. Each of its variants is loaded when it is first used, and unloaded when this is dropped: keep it
/// while graphs that captured its launches live.
#[derive(Debug)]
pub struct LoadedKernel {
    entry: &'static KernelEntry,
    target: &'static TargetEntry,
    device: Device,
    variants: Vec<OnFirstUse>,
    occupancy: Mutex<Vec<(OccupancyKey, u32)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupancy {
    BlocksPerSm,
    ActiveClusters,
}

/// Question, variant and step; threads, shared memory and cluster.
type OccupancyKey = (Occupancy, usize, usize, [u32; 5]);

impl VariantEntry {
    pub(super) const fn fits(&self, shared_memory: u32) -> bool {
        self.shared_memory <= shared_memory
    }
}

impl LoadedKernel {
    /// Finds the variants for a device's architecture; none is loaded yet.
    ///
    /// # Errors
    /// [`Error::NoEntryForDevice`], [`Error::Stub`], [`Error::DriverTooOld`].
    pub fn load(device: &Device, entry: &'static KernelEntry) -> Result<Self, Error> {
        let target = select(device, entry)?;
        for variant in target.variants.iter().filter(|variant| variant.fits(device.smem_max)) {
            device.driver.at_least(variant.min_driver)?;
            variant.artifact.is_linked(entry.kernel)?;
        }
        let variants = target.variants.iter().map(|_| OnFirstUse::default()).collect();
        Ok(Self { entry, target, device: device.clone(), variants, occupancy: Mutex::default() })
    }

    /// Whether a block of a variant finds the shared memory that it needs on this device. Dispatch passes over those of
    /// which none does, and nothing loads them.
    #[must_use]
    #[inline]
    pub fn fits(&self, variant: usize) -> bool {
        self.target.variants[variant].fits(self.device.smem_max)
    }

    /// Loads every variant that has not been used yet. Before a capture, which loads none.
    ///
    /// # Errors
    /// [`Error::CorruptArtifact`], or what the driver says of the module.
    pub fn warm(&self) -> Result<(), Error> {
        let mut all = (0..self.variants.len()).filter(|variant| self.fits(*variant));
        all.try_for_each(|variant| self.load_variant(variant).map(|_| ()))
    }

    /// The kernel's name.
    #[must_use]
    #[inline]
    pub fn kernel(&self) -> &'static str {
        self.entry.kernel
    }

    /// The target that was loaded, as in `sm_90a`: an emitted wrapper dispatches on it where it has several.
    #[must_use]
    pub fn arch(&self) -> &'static str {
        self.target.arch
    }

    /// The device that it was loaded on.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its variants, in dispatch order.
    #[must_use]
    pub fn explain(&self) -> Explain {
        let found = self.device.smem_max;
        let (fit, others): (Vec<&VariantEntry>, Vec<&VariantEntry>) =
            self.target.variants.iter().partition(|variant| variant.fits(found));
        let left_out = others.into_iter().map(|variant| LeftOut {
            name: variant.about.name,
            needed: variant.shared_memory,
            found,
        });
        Explain {
            left_out: left_out.collect(),
            passed_over: passed_over(
                self.entry.targets,
                self.target,
                (&self.device.name, self.device.capability, found),
            ),
            kernel: self.entry.kernel,
            target: self.target.arch,
            device: self.device.name.clone(),
            variants: fit.into_iter().map(|variant| variant.about).collect(),
        }
    }

    /// Makes the kernels' context current on this thread, as raw entries need.
    ///
    /// # Errors
    /// What the driver says.
    #[inline]
    pub fn bind(&self) -> Result<(), Error> {
        launch::make_current(&self.device.context).map_err(self.failed("cuCtxSetCurrent"))
    }

    /// Launches a step of a variant. An empty grid has nothing to do, and the driver would refuse it. The first launch loads
    /// the variant.
    ///
    /// # Errors
    /// [`Error::Cuda`] with the kernel's name; [`Error::NotLoadedInCapture`] where the first launch is in a capture;
    /// [`Error::CorruptArtifact`].
    ///
    /// # Safety
    /// As for [`launch::launch`].
    #[inline]
    pub unsafe fn launch(
        &self,
        variant: usize,
        step: usize,
        stream: CUstream,
        config: &LaunchConfig,
        params: &mut [*mut c_void],
    ) -> Result<(), Error> {
        if config.grid.contains(&0) {
            return Ok(());
        }
        let functions = match self.variants[variant].get() {
            Some(functions) => functions,
            // SAFETY: the caller's promise.
            None => unsafe { self.first_use(variant, stream) }?,
        };
        let function = functions[step];
        // SAFETY: the function lives as long as `self`; the rest is the caller's promise.
        unsafe { launch::launch(function, stream, config, params) }.map_err(self.failed("cuLaunchKernelEx"))
    }

    /// Zeroes a part of the workspace, in stream order.
    ///
    /// # Errors
    /// [`Error::Cuda`] with the kernel's name.
    ///
    /// # Safety
    /// As for [`launch::memset_d8_async`].
    pub unsafe fn zero(
        &self,
        stream: CUstream,
        address: launch::CUdeviceptr,
        bytes: usize,
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { launch::memset_d8_async(address, 0, bytes, stream) }.map_err(self.failed("cuMemsetD8Async"))
    }

    /// Encodes a TMA descriptor, for a parameter of the launch that follows.
    ///
    /// # Errors
    /// [`Error::Cuda`] with the kernel's name.
    pub fn encode_tiled<const R: usize>(
        &self,
        tensor: &super::TiledTensor<R>,
    ) -> Result<super::TensorMap, Error> {
        launch::encode_tiled(tensor).map_err(self.failed("cuTensorMapEncodeTiled"))
    }

    /// Blocks of a launch that one multiprocessor holds at once; asked once for each shape of launch.
    ///
    /// # Errors
    /// [`Error::Cuda`] with the kernel's name.
    pub fn max_blocks_per_sm(
        &self,
        variant: usize,
        step: usize,
        config: &LaunchConfig,
    ) -> Result<u32, Error> {
        self.occupancy(Occupancy::BlocksPerSm, variant, step, config)
    }

    /// Clusters of a launch that the device holds at once; asked once for each shape of launch.
    ///
    /// # Errors
    /// [`Error::Cuda`] with the kernel's name.
    pub fn max_active_clusters(
        &self,
        variant: usize,
        step: usize,
        config: &LaunchConfig,
    ) -> Result<u32, Error> {
        self.occupancy(Occupancy::ActiveClusters, variant, step, config)
    }

    /// Checks that the device holds all blocks of a launch at once: with clusters by clusters, else by
    /// multiprocessors.
    ///
    /// # Errors
    /// [`Error::NotCoResident`], [`Error::Cuda`] with the kernel's name.
    pub fn all_resident(&self, variant: usize, step: usize, config: &LaunchConfig) -> Result<(), Error> {
        let check = Check::new(self.entry.kernel);
        if config.cluster == [1; 3] {
            let per_sm = self.max_blocks_per_sm(variant, step, config)?;
            return check.co_resident(config.grid, per_sm, self.device.sm_count);
        }
        let clusters = self.max_active_clusters(variant, step, config)?;
        let blocks = config.cluster.iter().fold(1, |blocks: u32, count| blocks.saturating_mul(*count));
        check.co_resident(config.grid, blocks, clusters)
    }

    /// The functions of a variant that a launch on `stream` is the first to use.
    ///
    /// # Safety
    /// The stream is live and of the current context.
    #[cold]
    unsafe fn first_use(&self, variant: usize, stream: CUstream) -> Result<&[CUfunction], Error> {
        let kernel = self.entry.kernel;
        // SAFETY: the caller's promise.
        if unsafe { capturing_raw(kernel, stream) }? {
            let variant = self.target.variants[variant].about.name;
            return Err(Error::NotLoadedInCapture { kernel, variant });
        }
        self.load_variant(variant)
    }

    fn load_variant(&self, variant: usize) -> Result<&[CUfunction], Error> {
        let (kernel, entry) = (self.entry.kernel, &self.target.variants[variant]);
        self.variants[variant].load(Wanted { device: &self.device, kernel, variant: entry })
    }

    fn occupancy(
        &self,
        asked: Occupancy,
        variant: usize,
        step: usize,
        config: &LaunchConfig,
    ) -> Result<u32, Error> {
        let config = &LaunchConfig { grid: config.cluster, ..*config }; // any whole number of clusters will do
        let [x, y, z] = config.cluster;
        let key = (asked, variant, step, [config.threads(), config.dynamic_smem, x, y, z]);
        let mut known = self.occupancy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = known.iter().find(|(other, _)| *other == key) {
            return Ok(*answer);
        }
        let functions = match self.variants[variant].get() {
            Some(functions) => functions,
            None => self.load_variant(variant)?,
        };
        let function: CUfunction = functions[step];
        self.bind()?;
        // SAFETY: the function lives as long as `self`, and its context has just been made current.
        let answer = unsafe {
            match asked {
                Occupancy::BlocksPerSm => launch::max_blocks_per_sm(function, config),
                Occupancy::ActiveClusters => launch::max_active_clusters(function, config),
            }
        };
        let answer = answer.map_err(self.failed("cuOccupancy"))?;
        known.push((key, answer));
        Ok(answer)
    }

    #[inline]
    fn failed(&self, call: &'static str) -> impl FnOnce(DriverError) -> Error + use<> {
        Error::cuda(self.entry.kernel, call)
    }
}

impl Error {
    /// Wraps what the driver said of a call.
    pub(super) fn cuda(kernel: &'static str, call: &'static str) -> impl Fn(DriverError) -> Self + Copy {
        move |source| Self::Cuda { kernel, call, source }
    }
}

fn select(device: &Device, entry: &'static KernelEntry) -> Result<&'static TargetEntry, Error> {
    let found = serving(entry.targets, &device.name, device.capability, device.smem_max);
    found.ok_or_else(|| {
        let targets: Vec<_> = entry.targets.iter().map(|target| target.arch).collect();
        let targets = if targets.is_empty() { "none".to_owned() } else { targets.join(", ") };
        let (kernel, arch) = (entry.kernel, device.arch());
        Error::NoEntryForDevice { kernel, device: device.name.clone(), arch, targets }
    })
}
