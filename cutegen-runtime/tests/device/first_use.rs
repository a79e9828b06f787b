//! Variants are loaded at their first use: outside of captures, once for each digest, after a look at it. And what a
//! workspace keeps zero is zero, however it grows.

use cutegen_runtime::Error;
use cutegen_runtime::cuda::cudarc::driver::sys;
use cutegen_runtime::cuda::{
    Artifact, Device, KernelEntry, LoadedKernel, Order, TargetEntry, VariantEntry, Workspace,
};

use super::{Check, ENTRY, Loaded, loaded, twice};

const MODE: sys::CUstreamCaptureMode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

#[test]
fn a_capture_loads_nothing_and_says_what_to_call() -> Check {
    let Some(Loaded { context, _alone, .. }) = loaded()? else { return Ok(()) };
    // SAFETY: one stream is used at a time, and the test synchronises.
    unsafe { context.disable_event_tracking() };
    let cold = LoadedKernel::load(&Device::of(&context)?, &ENTRY)?;
    let stream = context.new_stream()?;
    let (x, mut y) = (stream.clone_htod(&[1.5_f32; 64])?, stream.alloc_zeros::<f32>(64)?);
    let mut workspace = Workspace::new(&stream);
    stream.synchronize()?;

    stream.begin_capture(MODE)?;
    let missed = twice(&cold, &stream, &mut workspace, 0, &x, &mut y);
    assert!(
        matches!(missed, Err(Error::NotLoadedInCapture { kernel: "probe", variant: "ptx" })),
        "{missed:?}"
    );
    cold.warm()?; // no work that a graph holds
    twice(&cold, &stream, &mut workspace, 0, &x, &mut y)?;
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0))?.ok_or("an empty graph")?;
    graph.launch()?;
    assert_eq!(stream.clone_dtoh(&y)?, [3.0; 64]);
    Ok(())
}

#[test]
fn a_first_call_loads_and_other_bytes_are_refused_then() -> Check {
    let Some(Loaded { context, _alone, .. }) = loaded()? else { return Ok(()) };
    let device = Device::of(&context)?;
    let good = ENTRY.targets[0].variants[0];
    let bad = VariantEntry { artifact: Artifact { sha256: "00", ..good.artifact }, ..good };
    let targets = vec![TargetEntry { arch: "sm_90", variants: vec![good, bad].leak() }].leak();
    let entry: &'static KernelEntry = Box::leak(Box::new(KernelEntry { kernel: "probe", targets }));
    let kernel = LoadedKernel::load(&device, entry)?;
    let stream = context.new_stream()?;
    let (x, mut y) = (stream.clone_htod(&[1.5_f32; 64])?, stream.alloc_zeros::<f32>(64)?);
    twice(&kernel, &stream, &mut Workspace::new(&stream), 0, &x, &mut y)?;
    assert_eq!(stream.clone_dtoh(&y)?, [3.0; 64]);
    let refused = kernel.warm();
    assert!(matches!(refused, Err(Error::CorruptArtifact { kernel: "probe", .. })), "{refused:?}");
    Ok(())
}

#[test]
fn what_a_workspace_keeps_zero_is_zero() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let stream = context.new_stream()?;
    let mut workspace = Workspace::with_regions(&stream, 256, 512)?;
    assert_eq!((workspace.bytes(), workspace.kept_zero_bytes()), (256, 512));
    for (bytes, kept_zero) in [(256, 512), (0, 4096), (1 << 16, 1 << 20)] {
        let order = Order::begin(&kernel, &stream)?;
        let [scratch, zeros] = order.workspace_and_kept_zero(&mut workspace, bytes, kept_zero)?;
        assert_eq!(scratch.address() == 0, bytes == 0);
        assert!(zeros.address() % 256 == 0 && zeros.extent().end - zeros.address() == kept_zero as u64);
        // SAFETY: bytes of the workspace, which is bound.
        let read = unsafe { stream.upgrade_device_ptr::<u8>(zeros.address(), kept_zero) };
        assert!(stream.clone_dtoh(&read)?.iter().all(|byte| *byte == 0), "{kept_zero}");
        let _ = read.leak();
        drop((scratch, zeros));
        order.finish(Ok(()))?;
    }
    assert_eq!((workspace.bytes(), workspace.kept_zero_bytes()), (1 << 16, 1 << 20));
    Ok(())
}
