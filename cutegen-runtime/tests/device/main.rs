//! The CUDA half on a real device of compute capability 9.x: load, launch with attributes, order, capture.
//!
//! Without a device each test says so and passes; `CUTEGEN_REQUIRE_GPU=1` makes that a failure.
#![cfg(feature = "cuda")]

mod capture;
mod first_use;
mod order;

use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use cutegen_runtime::cuda::{
    Artifact, CudaContext, CudaStream, Device, Fill, KernelEntry, L2Promotion, LaunchConfig, LoadedKernel,
    Order, Step, Swizzle, TargetEntry, TiledTensor, VariantEntry, Workspace, context, launch,
};
use cutegen_runtime::dispatch::{Origin, Variant};
use cutegen_runtime::{AsView, AsViewMut, DType, Error, params};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The driver takes PTX where it takes a cubin, ended by a zero.
const IMAGE: &[u8] = concat!(include_str!("device.ptx"), "\0").as_bytes();
const BIG_SMEM: u32 = 100 * 1024;

static ENTRY: KernelEntry = KernelEntry {
    kernel: "probe",
    targets: &[TargetEntry {
        arch: "sm_90",
        variants: &[VariantEntry {
            about: Variant {
                name: "ptx",
                origin: Origin::Untuned,
                eligible: "",
                preferred: "",
                tuned_on: "",
            },
            artifact: Artifact {
                stored: IMAGE,
                compressed: false,
                sha256: "f226d6a1db5ea3fe57c80ff2aafb9d637faed6bb360c974e4888b031205cb533",
                len: IMAGE.len(),
            },
            min_driver: 525,
            shared_memory: BIG_SMEM,
            steps: &[
                Step { entry: "twice", dynamic_smem_max: 0, nonportable_cluster: false },
                Step { entry: "shape", dynamic_smem_max: BIG_SMEM, nonportable_cluster: true },
            ],
        }],
    }],
};

type Check = Result<(), Box<dyn std::error::Error>>;

/// What a test works with: a context object of its own, so that event tracking is its own too, and the device alone, for a
/// capture forbids other tests' calls.
struct Loaded {
    context: Arc<CudaContext>,
    kernel: LoadedKernel,
    _alone: MutexGuard<'static, ()>,
}

fn loaded() -> Result<Option<Loaded>, Error> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = context(0).and_then(|context| {
        let kernel = LoadedKernel::load(&Device::of(&context)?, &ENTRY)?;
        kernel.warm()?;
        Ok(Loaded { context, kernel, _alone: alone })
    });
    match found {
        Ok(found) => Ok(Some(found)),
        Err(
            error @ (Error::DriverMissing { .. } | Error::NoDevice { .. } | Error::NoEntryForDevice { .. }),
        ) => {
            assert!(std::env::var_os("CUTEGEN_REQUIRE_GPU").is_none(), "{error}");
            eprintln!("skipped: {error}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A wrapper as the emitter prints it, with `workspace_bytes` that it doesn't use.
fn twice(
    kernel: &LoadedKernel,
    stream: &Arc<CudaStream>,
    workspace: &mut Workspace,
    workspace_bytes: usize,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), Error> {
    let n = x.len();
    let order = Order::begin(kernel, stream)?;
    let bound_x = order.read("x", x.view([n]))?;
    let bound_y = order.write("y", y.view_mut([n]))?;
    let bound_workspace = order.workspace(workspace, workspace_bytes)?;
    let (param_n, x, y) = (n as i32, bound_x.address(), bound_y.address());
    let grid = [n.div_ceil(256) as u32, 1, 1];
    let config = LaunchConfig { grid, block: [256, 1, 1], ..LaunchConfig::default() };
    // SAFETY: the parameters are those of `twice`, the tensors have n elements and are bound.
    let launched = unsafe { kernel.launch(0, 0, stream.cu_stream(), &config, &mut params![param_n, x, y]) };
    drop((bound_workspace, bound_x, bound_y));
    order.finish(launched)
}

#[test]
fn the_digest_is_of_the_file() {
    // Without a device nothing is opened, and a stale digest would wait for one.
    assert!(ENTRY.targets[0].variants[0].artifact.open("probe", "ptx").is_ok());
}

#[test]
fn launches_compute() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let stream = context.new_stream()?;
    let mut workspace = Workspace::new(&stream);
    let x: Vec<f32> = (0_u16..1000).map(f32::from).collect();
    let (device_x, mut device_y) = (stream.clone_htod(&x)?, stream.alloc_zeros::<f32>(x.len())?);
    twice(&kernel, &stream, &mut workspace, 4096, &device_x, &mut device_y)?;
    assert_eq!(workspace.bytes(), 4096);
    let other = context.new_stream()?; // ordered after, by events and by the workspace
    let mut z = other.alloc_zeros::<f32>(x.len())?;
    twice(&kernel, &other, &mut workspace, 8192, &device_y, &mut z)?;
    assert_eq!(other.clone_dtoh(&z)?, x.iter().map(|v| 4.0 * v).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn attributes_reach_the_kernel() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let stream = context.new_stream()?;
    let plain = LaunchConfig { grid: [32, 1, 1], block: [32, 1, 1], ..LaunchConfig::default() };
    let cases = [
        (plain, [1, 0]),
        (LaunchConfig { cluster: [2, 1, 1], dynamic_smem: BIG_SMEM, ..plain }, [2, BIG_SMEM]),
        (LaunchConfig { cluster: [16, 1, 1], pdl: true, ..plain }, [16, 0]),
        (LaunchConfig { cooperative: true, pdl: false, ..plain }, [1, 0]),
    ];
    for (config, expected) in cases {
        let mut out = stream.alloc_zeros::<u32>(64)?;
        for _ in 0..2 {
            let order = Order::begin(&kernel, &stream)?;
            let bound = order.write("out", out.view_mut([32, 2]))?;
            let address = bound.address();
            // SAFETY: the parameter is that of `shape`; the tensor has two values for each block.
            let launched = unsafe { kernel.launch(0, 1, stream.cu_stream(), &config, &mut params![address]) };
            drop(bound);
            order.finish(launched)?;
        }
        let out = stream.clone_dtoh(&out)?;
        assert!(out.chunks(2).all(|found| found == expected), "{config:?}: {out:?}");
        let clustered = LaunchConfig { pdl: false, cooperative: false, ..config };
        assert!(kernel.max_blocks_per_sm(0, 1, &clustered)? > 0);
        if config.cluster != [1; 3] {
            let clusters = kernel.max_active_clusters(0, 1, &clustered)?;
            assert!(clusters > 0 && clusters <= 32 * kernel.device().sm_count, "{clusters}");
        }
    }
    Ok(())
}

#[test]
fn other_contexts_are_refused() -> Check {
    let Some(Loaded { kernel, _alone, .. }) = loaded()? else { return Ok(()) };
    let foreign = CudaContext::new_non_primary(0, 0)?;
    let stream = foreign.new_stream()?;
    let refused = Order::begin(&kernel, &stream).map(|_| ()).map_err(|error| error.to_string());
    let expected = "probe: `stream` belongs to another context (device 0) than the kernels (device 0)";
    assert!(refused.as_ref().is_err_and(|text| text.starts_with(expected)), "{refused:?}");
    Ok(())
}

#[test]
fn descriptors_encode_and_memory_is_zeroed() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let stream = context.new_stream()?;
    let mut x = stream.clone_htod(&[7_u32; 128 * 64])?;
    let order = Order::begin(&kernel, &stream)?;
    let bound = order.write("x", x.view_mut([128, 64]))?;
    let tensor = TiledTensor {
        dtype: DType::F32,
        address: bound.address(),
        shape: [128, 64],
        strides: [64, 1],
        tile: [64, 32],
        every: [1, 1],
        swizzle: Swizzle::B128,
        promotion: L2Promotion::B128,
        fill: Fill::Zero,
    };
    assert!(kernel.encode_tiled(&tensor).is_ok());
    let crooked = TiledTensor { address: tensor.address + 4, ..tensor };
    let refused = kernel.encode_tiled(&crooked).map_err(|error| error.to_string());
    assert!(refused.is_err_and(|text| text.starts_with("probe: cuTensorMapEncodeTiled failed")));
    // SAFETY: 256 bytes of the tensor, which is bound.
    let zeroed = unsafe { kernel.zero(stream.cu_stream(), bound.address(), 256) };
    drop(bound);
    order.finish(zeroed)?;
    let x = stream.clone_dtoh(&x)?;
    assert!(x[..64].iter().all(|v| *v == 0) && x[64..].iter().all(|v| *v == 7));
    assert!(launch::driver_cuda_version()? >= 12_000);
    Ok(())
}
