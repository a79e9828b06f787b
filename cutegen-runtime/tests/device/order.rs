//! Order of a workspace's uses and of its end, where cudarc tracks none: by streams, and by threads whose own streams have
//! one name.

use cutegen_runtime::cuda::cudarc::driver::{result, sys};
use cutegen_runtime::cuda::{CudaContext, CudaStream, Workspace};
use std::sync::Arc;
use std::time::Duration;

use super::{Check, Loaded, loaded, twice};

/// A number in page-locked memory of the host, 0 until it is raised. Streams do not wait for memory of a pool.
struct Flag(*mut u32);

// SAFETY: the number is written and read as a whole, and freed by its owner alone.
unsafe impl Sync for Flag {}

impl Flag {
    fn new(context: &Arc<CudaContext>) -> Result<Self, Box<dyn std::error::Error>> {
        context.bind_to_thread()?;
        // SAFETY: the context is current; the memory has room for the number, and is aligned to a page.
        let flag = unsafe {
            let flag = result::malloc_host(4096, 0)?.cast::<u32>();
            flag.write_volatile(0);
            flag
        };
        Ok(Self(flag))
    }

    /// Holds a stream up until the number is 1.
    fn hold(&self, stream: &CudaStream) -> Check {
        let at_least = sys::CUstreamWaitValue_flags_enum::CU_STREAM_WAIT_VALUE_GEQ as u32;
        // SAFETY: the stream is live, and the number is kept until the stream has passed it.
        unsafe { sys::cuStreamWaitValue32_v2(stream.cu_stream(), self.0 as u64, 1, at_least) }.result()?;
        Ok(())
    }

    fn raise(&self) {
        // SAFETY: the memory is live.
        unsafe { self.0.write_volatile(1) };
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        self.raise(); // a failed test leaves no stream held up
        // SAFETY: it is of `malloc_host`, and freed once; the driver waits for what uses it.
        let _ = unsafe { result::free_host(self.0.cast()) };
    }
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
        let (first, second) = (context.new_stream()?, context.new_stream()?);
        let flag = Flag::new(&context)?;
        let (x, mut y) = (second.alloc_zeros::<f32>(64)?, second.alloc_zeros::<f32>(64)?);
        let mut workspace = Workspace::with_bytes(&first, 256)?;
        context.synchronize()?;
        assert!(passes(&first)?);
        flag.hold(&second)?;
        twice(&kernel, &second, &mut workspace, 256, &x, &mut y)?;
        assert!(passes(&first)?);
        if is_grown {
            workspace.reserve(512)?;
        } else {
            drop(workspace);
        }
        let waits = !passes(&first)?;
        flag.raise();
        context.synchronize()?;
        assert!(waits, "freed before the last use has ended, grown: {is_grown}");
    }
    Ok(())
}

/// Both threads call it stream 2, and neither waits for the other by itself.
#[test]
fn the_per_thread_stream_is_another_one_on_each_thread() -> Check {
    let Some(Loaded { context, kernel, _alone }) = loaded()? else { return Ok(()) };
    let (mine, flag) = (context.per_thread_stream(), Flag::new(&context)?);
    let (x, mut y) = (mine.clone_htod(&[1.5_f32; 64])?, mine.alloc_zeros::<f32>(64)?);
    let mut workspace = Workspace::with_bytes(&mine, 256)?;
    mine.synchronize()?;
    // SAFETY: nothing but the workspace is shared by streams before they are synchronised.
    unsafe { context.disable_event_tracking() };
    flag.hold(&mine)?;
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
        flag.raise();
        theirs.join().map_err(|_| "a panic".to_owned())?.map(|()| waits)
    })?;
    assert!(waited, "used by two threads at once");
    assert_eq!(mine.clone_dtoh(&y)?, [3.0; 64]);
    Ok(())
}
