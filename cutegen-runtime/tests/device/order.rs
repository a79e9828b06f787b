//! Order of a workspace's uses and of its end, where cudarc tracks none: by streams, and by threads whose own streams have
//! one name.

use cutegen_runtime::cuda::cudarc::driver::{DevicePtr, sys};
use cutegen_runtime::cuda::{CudaStream, Workspace};
use std::sync::Arc;
use std::time::Duration;

use super::{Check, Loaded, loaded, twice};

/// A stream held up until a number in memory is 1.
fn hold(stream: &CudaStream, flag: u64) -> Check {
    let at_least = sys::CUstreamWaitValue_flags_enum::CU_STREAM_WAIT_VALUE_GEQ as u32;
    // SAFETY: the stream is live, and the flag is kept until it has passed.
    unsafe { sys::cuStreamWaitValue32_v2(stream.cu_stream(), flag, 1, at_least) }.result()?;
    Ok(())
}

/// Whether all work that a stream has now is done, some time later: never while it waits for one that is held up.
fn passes(stream: &Arc<CudaStream>) -> Result<bool, Box<dyn std::error::Error>> {
    let event = stream.record_event(None)?;
    std::thread::sleep(Duration::from_millis(50));
    Ok(event.is_complete())
}

/// Memory goes back to the stream that it was allocated on, which must not hand it out before the last use has ended.
#[test]
fn memory_is_freed_after_its_last_use_on_any_stream() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    // SAFETY: nothing else is shared by streams before they are synchronised.
    unsafe { context.disable_event_tracking() };
    for is_grown in [true, false] {
        let (first, second, third) = (context.new_stream()?, context.new_stream()?, context.new_stream()?);
        let mut flag = third.alloc_zeros::<u32>(1)?;
        let (x, mut y) = (second.alloc_zeros::<f32>(64)?, second.alloc_zeros::<f32>(64)?);
        let mut workspace = Workspace::with_bytes(&first, 256)?;
        context.synchronize()?;
        assert!(passes(&first)?);
        hold(&second, flag.device_ptr(&third).0)?;
        twice(&kernel, &second, &mut workspace, 256, &x, &mut y)?;
        assert!(passes(&first)?);
        if is_grown {
            workspace.reserve(512)?;
        } else {
            drop(workspace);
        }
        let waits = !passes(&first)?;
        third.memcpy_htod(&[1], &mut flag)?;
        context.synchronize()?;
        assert!(waits, "freed before the last use has ended, grown: {is_grown}");
    }
    Ok(())
}

/// Both threads call it stream 2, and neither waits for the other by itself.
#[test]
fn the_per_thread_stream_is_another_one_on_each_thread() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let (mine, third) = (context.per_thread_stream(), context.new_stream()?);
    let mut flag = third.alloc_zeros::<u32>(1)?;
    let (x, mut y) = (mine.clone_htod(&[1.5_f32; 64])?, mine.alloc_zeros::<f32>(64)?);
    let mut workspace = Workspace::with_bytes(&mine, 256)?;
    third.synchronize()?;
    mine.synchronize()?;
    // SAFETY: nothing but the workspace is shared by streams before they are synchronised.
    unsafe { context.disable_event_tracking() };
    hold(&mine, flag.device_ptr(&third).0)?;
    twice(&kernel, &mine, &mut workspace, 256, &x, &mut y)?;
    let waited = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| -> Result<(), String> {
            let stream = context.per_thread_stream();
            let z = stream.clone_htod(&[2.5_f32; 64]).map_err(|error| error.to_string())?;
            let mut out = stream.alloc_zeros::<f32>(64).map_err(|error| error.to_string())?;
            twice(&kernel, &stream, &mut workspace, 256, &z, &mut out).map_err(|error| error.to_string())?;
            let out = stream.clone_dtoh(&out).map_err(|error| error.to_string())?;
            if out == [5.0; 64] { Ok(()) } else { Err(format!("{out:?}")) }
        });
        std::thread::sleep(Duration::from_millis(50));
        let waits = !theirs.is_finished();
        third.memcpy_htod(&[1], &mut flag).map_err(|error| error.to_string())?;
        theirs.join().map_err(|_| "a panic".to_owned())?.map(|()| waits)
    })?;
    assert!(waited, "used by two threads at once");
    assert_eq!(mine.clone_dtoh(&y)?, [3.0; 64]);
    Ok(())
}
