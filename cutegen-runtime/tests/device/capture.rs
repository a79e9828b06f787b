//! Captures: refused on every stream that can be captured while event tracking is on, however they began, and afterwards
//! the stream serves; with tracking off they are recorded and replay right numbers.

use cutegen_runtime::Error;
use cutegen_runtime::cuda::cudarc::driver::{CudaGraph, sys};
use cutegen_runtime::cuda::{CudaContext, CudaStream, LoadedKernel, Order, Workspace};
use std::sync::Arc;

use super::{Check, Loaded, loaded, twice};

const MODE: sys::CUstreamCaptureMode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

/// Where the test allocates meanwhile, which the other modes forbid its thread.
const RELAXED: sys::CUstreamCaptureMode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

fn end(stream: &Arc<CudaStream>) -> Result<Option<CudaGraph>, Box<dyn std::error::Error>> {
    Ok(stream.end_capture(sys::CUgraphInstantiate_flags(0))?)
}

fn is_active(stream: &CudaStream) -> Result<bool, Box<dyn std::error::Error>> {
    Ok(stream.capture_status()? == sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE)
}

/// A call on `stream` is refused for being captured, and leaves the capture as it was.
fn refused(kernel: &LoadedKernel, stream: &Arc<CudaStream>, outside: &Arc<CudaStream>) -> Check {
    let (x, mut y) = (outside.alloc_zeros::<f32>(64)?, outside.alloc_zeros::<f32>(64)?);
    let refused = twice(kernel, stream, &mut Workspace::new(stream), 0, &x, &mut y);
    assert!(matches!(refused, Err(Error::CaptureNeedsTrackingOff { kernel: "probe" })), "{refused:?}");
    assert!(is_active(stream)?);
    Ok(())
}

/// A call on `stream` computes.
fn serves(kernel: &LoadedKernel, stream: &Arc<CudaStream>) -> Check {
    let (x, mut y) = (stream.clone_htod(&[1.5_f32; 64])?, stream.alloc_zeros::<f32>(64)?);
    twice(kernel, stream, &mut Workspace::new(stream), 256, &x, &mut y)?;
    assert_eq!(stream.clone_dtoh(&y)?, [3.0; 64]);
    Ok(())
}

#[test]
fn the_legacy_stream_is_never_captured() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let stream = context.default_stream();
    assert!(stream.begin_capture(MODE).is_err());
    serves(&kernel, &stream)
}

/// cudarc counts streams by `new_stream`, and manages no events where there is none: the stream that a thread has by itself
/// can be captured all the same.
#[test]
fn with_tracking_on_the_per_thread_stream_is_refused() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let stream = context.per_thread_stream();
    serves(&kernel, &stream)?;
    assert!(context.is_event_tracking() && !context.is_managing_stream_synchronization());
    let (x, mut y) = (stream.alloc_zeros::<f32>(64)?, stream.alloc_zeros::<f32>(64)?);
    let mut workspace = Workspace::with_bytes(&stream, 256)?;
    stream.begin_capture(MODE)?;
    let refused = twice(&kernel, &stream, &mut workspace, 256, &x, &mut y);
    assert!(matches!(refused, Err(Error::CaptureNeedsTrackingOff { kernel: "probe" })), "{refused:?}");
    let grown = workspace.reserve(512);
    assert!(matches!(grown, Err(Error::WorkspaceTooSmallInCapture { .. })), "{grown:?}");
    assert!(is_active(&stream)?);
    end(&stream)?;
    serves(&kernel, &stream)
}

#[test]
fn with_tracking_on_created_streams_are_refused() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let (stream, outside) = (context.new_stream()?, context.new_stream()?);
    serves(&kernel, &outside)?;
    stream.begin_capture(RELAXED)?;
    refused(&kernel, &stream, &outside)?;
    serves(&kernel, &outside)?; // no part of the capture
    end(&stream)?;
    serves(&kernel, &stream)
}

/// Neither has begun a capture; both are part of one.
#[test]
fn with_tracking_on_forked_and_joined_streams_are_refused() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let (origin, joined, outside) = (context.new_stream()?, context.new_stream()?, context.new_stream()?);
    origin.begin_capture(RELAXED)?;
    let forked = origin.fork()?;
    joined.join(&origin)?;
    for stream in [&forked, &joined] {
        refused(&kernel, stream, &outside)?;
        origin.join(stream)?;
    }
    end(&origin)?;
    for stream in [&origin, &forked, &joined] {
        serves(&kernel, stream)?;
    }
    Ok(())
}

/// No part of a capture when the call begins; waiting for an argument that a capture wrote makes it one.
#[test]
fn with_tracking_on_an_argument_does_not_take_a_stream_into_a_capture() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let (origin, other) = (context.new_stream()?, context.new_stream()?);
    // SAFETY: never read; no event of it is recorded, so that waiting for it breaks no capture.
    let mut y = unsafe { origin.alloc::<f32>(64)? };
    origin.begin_capture(RELAXED)?;
    let x = origin.alloc_zeros::<f32>(64)?; // its memory is the graph's
    assert!(!is_active(&other)?);
    let refused = twice(&kernel, &other, &mut Workspace::new(&other), 0, &x, &mut y);
    assert!(matches!(refused, Err(Error::CaptureNeedsTrackingOff { kernel: "probe" })), "{refused:?}");
    std::mem::forget((x, y)); // their events were captured, and cudarc would wait for them
    origin.join(&other)?;
    drop(end(&origin));
    let _ = context.check_err(); // of what the capture broke off
    serves(&kernel, &origin)?;
    serves(&kernel, &other)
}

#[test]
fn streams_of_other_contexts_are_refused_captured_or_not() -> Check {
    let Some(Loaded { kernel, _alone, .. }) = loaded()? else { return Ok(()) };
    let foreign = CudaContext::new_non_primary(0, 0)?;
    for stream in [foreign.per_thread_stream(), foreign.new_stream()?] {
        stream.begin_capture(MODE)?;
        let refused = Order::begin(&kernel, &stream).map(|_| ());
        end(&stream)?;
        assert!(matches!(refused, Err(Error::WrongDevice { argument: "stream", .. })), "{refused:?}");
    }
    Ok(())
}

/// The same on a stream that begins a capture, on one that joins it, and on one forked from it.
#[test]
fn with_tracking_off_graphs_replay_right_numbers() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    // SAFETY: the test synchronises, and keeps what its graphs point at.
    unsafe { context.disable_event_tracking() };
    let created = context.new_stream()?;
    for origin in [context.per_thread_stream(), created] {
        let joined = context.new_stream()?;
        let mut x = origin.clone_htod(&[0.0_f32; 64])?;
        let mut outputs: Vec<_> = (0..3).map(|_| origin.alloc_zeros::<f32>(64)).collect::<Result<_, _>>()?;
        let mut workspaces: Vec<_> =
            vec![Workspace::with_bytes(&origin, 256)?, Workspace::with_bytes(&joined, 256)?];
        context.synchronize()?;

        origin.begin_capture(MODE)?;
        let forked = origin.fork()?;
        joined.join(&origin)?;
        let [first, second, third] = outputs.as_mut_slice() else { return Err("three outputs".into()) };
        twice(&kernel, &origin, &mut workspaces[0], 256, &x, first)?;
        twice(&kernel, &joined, &mut workspaces[1], 256, &x, second)?;
        twice(&kernel, &forked, &mut Workspace::new(&forked), 0, &x, third)?;
        origin.join(&joined)?;
        origin.join(&forked)?;
        let graph = end(&origin)?.ok_or("an empty graph")?;
        for value in [1.5_f32, -2.0] {
            origin.memcpy_htod(&[value; 64], &mut x)?;
            graph.launch()?;
            for y in &outputs {
                assert_eq!(origin.clone_dtoh(y)?, [2.0 * value; 64]);
            }
        }
        origin.synchronize()?;
    }
    Ok(())
}

/// Waiting for the capture's stream would take the other one into the capture.
#[test]
fn a_workspace_in_a_capture_takes_no_other_stream_into_it() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    // SAFETY: one stream is used at a time, and the test synchronises.
    unsafe { context.disable_event_tracking() };
    let (origin, other) = (context.new_stream()?, context.new_stream()?);
    let (x, mut y) = (origin.alloc_zeros::<f32>(64)?, origin.alloc_zeros::<f32>(64)?);
    let mut workspace = Workspace::with_bytes(&origin, 256)?;
    origin.synchronize()?;
    origin.begin_capture(MODE)?;
    let refused = twice(&kernel, &other, &mut workspace, 256, &x, &mut y);
    assert!(matches!(refused, Err(Error::WorkspaceOfOtherStreamInCapture { .. })), "{refused:?}");
    assert!(is_active(&origin)? && !is_active(&other)?);
    end(&origin)?;
    twice(&kernel, &other, &mut workspace, 256, &x, &mut y)?;
    other.synchronize()?;
    Ok(())
}

#[test]
fn graphs_replay_and_keep_their_workspace() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    // SAFETY: one stream is used at a time, and the test synchronises.
    unsafe { context.disable_event_tracking() };
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let mut workspace = Workspace::with_bytes(&stream, 256)?;
    let (mut x, mut y) = (stream.alloc_zeros::<f32>(64)?, stream.alloc_zeros::<f32>(64)?);
    stream.synchronize()?;

    stream.begin_capture(MODE)?;
    let too_small = twice(&kernel, &stream, &mut workspace, 512, &x, &mut y);
    let captured = twice(&kernel, &stream, &mut workspace, 256, &x, &mut y);
    let graph = end(&stream)?;
    let expected = "needs 512 bytes of workspace and has 256";
    assert!(too_small.is_err_and(|error| error.to_string().contains(expected)));
    captured?;

    other.begin_capture(MODE)?;
    let elsewhere = twice(&kernel, &other, &mut workspace, 256, &x, &mut y);
    end(&other)?;
    assert!(matches!(elsewhere, Err(Error::WorkspaceOfOtherStreamInCapture { .. })), "{elsewhere:?}");

    workspace.reserve(1 << 20)?; // the graph keeps the old memory
    stream.memcpy_htod(&[1.5_f32; 64], &mut x)?;
    graph.ok_or("an empty graph")?.launch()?;
    assert_eq!(stream.clone_dtoh(&y)?, [3.0; 64]);
    Ok(())
}
