//! Accepted bytes, and loading them. What is loaded is what was judged: bytes are inflated, measured and hashed
//! before the driver sees them.

use cudarc::driver::{CudaContext, DriverError, result};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::ffi::{CString, c_void};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use super::device::{Device, arch_runs_on};
use super::launch::{self, CUfunction, CUstream, LaunchConfig};
use crate::check::Check;
use crate::dispatch::{Explain, Variant};
use crate::error::Error;

/// The most bytes that a cubin has: no store holds a larger one, and no more room is made for one.
const BYTES_MAX: usize = 64 << 20;

/// A cubin as it is linked.
#[derive(Clone, Copy, Debug)]
pub struct Artifact {
    /// The stored file, one zstd frame where `compressed`; empty in a stub build.
    pub stored: &'static [u8],
    /// Whether `stored` is compressed.
    pub compressed: bool,
    /// SHA-256 of the uncompressed bytes, in hex.
    pub sha256: &'static str,
    /// Their number.
    pub len: usize,
}

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
    /// Its targets, the preferred one first.
    pub targets: &'static [TargetEntry],
}

/// A kernel's variants, loaded into a context. Dropping it unloads them: keep it while graphs that captured
/// its launches live.
#[derive(Debug)]
pub struct LoadedKernel {
    entry: &'static KernelEntry,
    target: &'static TargetEntry,
    device: Device,
    modules: Vec<Module>,
    occupancy: Mutex<Vec<(OccupancyKey, u32)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupancy {
    BlocksPerSm,
    ActiveClusters,
}

/// Question, variant and step; threads, shared memory and cluster.
type OccupancyKey = (Occupancy, usize, usize, [u32; 5]);

#[derive(Debug)]
struct Module {
    module: cudarc::driver::sys::CUmodule,
    functions: Vec<CUfunction>,
    context: Arc<CudaContext>,
}

// SAFETY: driver handles may be used from any thread on which their context is current, and every use here
// makes it current first.
unsafe impl Send for Module {}
// SAFETY: as above; the driver synchronises calls on shared handles.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        let earlier = self.context.check_err(); // taken, or binding would report it and not bind
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: the module was loaded by this value and is unloaded once.
        self.context.record_err(unsafe { result::module::unload(self.module) });
        self.context.record_err(earlier);
    }
}

impl LoadedKernel {
    /// Loads the variants for a device's architecture.
    ///
    /// # Errors
    /// [`Error::NoEntryForDevice`], [`Error::Stub`], [`Error::DriverTooOld`], [`Error::CorruptArtifact`], or
    /// what the driver says of the module.
    pub fn load(device: &Device, entry: &'static KernelEntry) -> Result<Self, Error> {
        let target = select(device, entry)?;
        let load = |variant| Module::load(device, entry.kernel, variant);
        let modules = target.variants.iter().map(load).collect::<Result<_, _>>()?;
        Ok(Self { entry, target, device: device.clone(), modules, occupancy: Mutex::default() })
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
        Explain {
            kernel: self.entry.kernel,
            target: self.target.arch,
            device: self.device.name.clone(),
            variants: self.target.variants.iter().map(|variant| variant.about).collect(),
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

    /// Launches a step of a variant. An empty grid has nothing to do, and the driver would refuse it.
    ///
    /// # Errors
    /// [`Error::Cuda`] with the kernel's name.
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
        let function = self.modules[variant].functions[step];
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
        self.bind()?;
        let function = self.modules[variant].functions[step];
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
    let fits = |target: &&TargetEntry| runs_on(target.arch, &device.name, device.capability);
    entry.targets.iter().find(fits).ok_or_else(|| {
        let targets: Vec<_> = entry.targets.iter().map(|target| target.arch).collect();
        let targets = if targets.is_empty() { "none".to_owned() } else { targets.join(", ") };
        let (kernel, arch) = (entry.kernel, device.arch());
        Error::NoEntryForDevice { kernel, device: device.name.clone(), arch, targets }
    })
}

/// Whether a target's cubins run on, and are meant for, a device.
fn runs_on(target: &str, name: &str, capability: (u32, u32)) -> bool {
    let (arch, device) = target.split_once(':').unwrap_or((target, ""));
    arch_runs_on(arch, capability) && name.to_lowercase().contains(&device.to_lowercase())
}

impl Module {
    fn load(device: &Device, kernel: &'static str, variant: &'static VariantEntry) -> Result<Self, Error> {
        device.driver.at_least(variant.min_driver)?;
        let image = variant.artifact.open(kernel, variant.about.name)?;
        device.context.bind_to_thread().map_err(Error::cuda(kernel, "cuCtxSetCurrent"))?;
        // SAFETY: `image` is the cubin that was judged, by its digest, and outlives the call.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }
            .map_err(Error::cuda(kernel, "cuModuleLoadData"))?;
        let mut loaded = Self { module, functions: Vec::new(), context: Arc::clone(&device.context) };
        for step in variant.steps {
            loaded.add(kernel, step)?;
        }
        Ok(loaded)
    }

    fn add(&mut self, kernel: &'static str, step: &Step) -> Result<(), Error> {
        let name = CString::new(step.entry).unwrap_or_default(); // a name with a zero byte isn't found
        // SAFETY: the module is loaded, and the context current.
        let function = unsafe { result::module::get_function(self.module, name) }
            .map_err(Error::cuda(kernel, "cuModuleGetFunction"))?;
        // SAFETY: as above.
        unsafe { launch::prepare(function, step.dynamic_smem_max, step.nonportable_cluster) }
            .map_err(Error::cuda(kernel, "cuFuncSetAttribute"))?;
        self.functions.push(function);
        Ok(())
    }
}

impl Artifact {
    /// The uncompressed bytes, checked against length and digest.
    ///
    /// # Errors
    /// [`Error::CorruptArtifact`], [`Error::Stub`].
    pub fn open(&self, kernel: &'static str, variant: &'static str) -> Result<Cow<'static, [u8]>, Error> {
        if self.stored.is_empty() {
            return Err(Error::Stub { kernel });
        }
        let corrupt = |found| Error::CorruptArtifact { kernel, variant, expected: self.sha256, found };
        if self.len > BYTES_MAX {
            return Err(corrupt(format!("a length of {} bytes, more than {BYTES_MAX}", self.len)));
        }
        let bytes = if self.compressed {
            Cow::Owned(inflate(self.stored, self.len).map_err(corrupt)?)
        } else {
            Cow::Borrowed(self.stored)
        };
        let found = hex(&Sha256::digest(&bytes));
        if bytes.len() != self.len || found != self.sha256 {
            return Err(corrupt(format!("{found} over {} bytes of {}", bytes.len(), self.len)));
        }
        Ok(bytes)
    }
}

/// Inflates into exactly `len` bytes: a frame that holds more fails before it is written out.
fn inflate(stored: &[u8], len: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; len];
    let written = ruzstd::decoding::FrameDecoder::new()
        .decode_all(stored, &mut bytes)
        .map_err(|error| format!("bytes that don't inflate to {len} ({error})"))?;
    bytes.truncate(written);
    Ok(bytes)
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::with_capacity(2 * digest.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// SHA-256 of "abc", as published.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn compressed(bytes: &[u8]) -> &'static [u8] {
        compress_to_vec(bytes, CompressionLevel::Fastest).leak()
    }

    fn message(artifact: Artifact) -> String {
        artifact.open("k", "v").map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn opens_what_was_judged_and_nothing_else() {
        let bytes = vec![7_u8; 1000];
        let sha256: &'static str = hex(&Sha256::digest(&bytes)).leak();
        let good = Artifact { stored: compressed(&bytes), compressed: true, sha256, len: 1000 };
        assert!(good.open("k", "v").is_ok_and(|opened| *opened == *bytes));
        let raw = Artifact { stored: bytes.clone().leak(), compressed: false, ..good };
        assert!(raw.open("k", "v").is_ok());

        let other = Artifact { sha256: ABC, ..good };
        assert!(message(other).contains(&format!("should have sha256 {ABC}, found {sha256}")));
        assert!(message(Artifact { len: 999, ..good }).contains("don't inflate to 999"));
        assert!(message(Artifact { len: 1001, ..good }).contains("over 1000 bytes of 1001"));
        // room for them would be made first
        let endless = Artifact { len: usize::MAX / 2, ..good };
        assert!(message(endless).contains("more than 67108864"));
        let torn = Artifact { stored: &good.stored[..good.stored.len() - 1], ..good };
        assert!(message(torn).contains("don't inflate"));
        let stub = Artifact { stored: &[], ..good };
        assert!(message(stub).contains("CUTEGEN_MODE=stub"));
    }

    #[test]
    fn a_narrowed_target_asks_for_the_device_too() {
        assert!(runs_on("sm_90a", "NVIDIA H200", (9, 0)) && runs_on("sm_90a:h200", "NVIDIA H200", (9, 0)));
        assert!(!runs_on("sm_90a:h200", "NVIDIA H100 80GB HBM3", (9, 0)));
    }

    #[test]
    fn hex_matches_a_published_digest() {
        assert_eq!(hex(&Sha256::digest(b"abc")), ABC);
    }
}
