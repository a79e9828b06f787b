//! Stream order around a launch: every argument is taken through cudarc's guards, which make the stream wait for
//! what touched the memory before and record the use after. Guards are held past the launch.
//!
//! A capture is refused wherever event tracking is on, which only an `unsafe` call switches off: nothing else says that
//! what a graph points at outlives it. The stream is asked when a call begins, whichever stream it is and however many
//! there are; and once more when all arguments are taken, for waiting for what a capture wrote makes a stream part of it.
//!
//! A launch of a small kernel is bound by this side, so these methods are inlined into the wrapper: passed in memory, what
//! they return is read in other pieces than it was written in, which stalls a core for longer than all checks take.

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtrMut, SyncOnDrop};
use std::sync::Arc;

use super::launch::CUdeviceptr;
use super::module::LoadedKernel;
use super::view::{CudaView, CudaViewMut};
use super::workspace::{Needs, Workspace, capturing};
use crate::check::{Extent, cold};
use crate::error::Error;

/// One call of a wrapper, between its checks and its return.
#[derive(Debug)]
pub struct Order<'s> {
    loaded: &'s LoadedKernel,
    stream: &'s Arc<CudaStream>,
}

/// An argument taken for a launch. Dropping it, after the launch, records the use.
#[derive(Debug)]
#[must_use = "the launch must come before the argument is dropped"]
pub struct Bound<'a> {
    extent: Extent,
    _guard: Option<SyncOnDrop<'a>>,
}

impl<'a> Bound<'a> {
    /// `bytes` bytes at an address, and cudarc's guard of their memory. One that records nothing is let go at once: where
    /// no events are tracked, an argument costs no calls when it is dropped.
    #[inline]
    fn new((address, guard): (CUdeviceptr, SyncOnDrop<'a>), bytes: u64) -> Self {
        let extent = Extent { start: address, end: address.saturating_add(bytes) };
        let guard = if matches!(guard, SyncOnDrop::Record(None)) {
            std::mem::forget(guard);
            None
        } else {
            Some(guard)
        };
        Self { extent, _guard: guard }
    }

    /// Where the tensor begins.
    #[must_use]
    #[inline]
    pub const fn address(&self) -> CUdeviceptr {
        self.extent.start
    }

    /// The bytes that the kernel may touch.
    #[must_use]
    #[inline]
    pub const fn extent(&self) -> Extent {
        self.extent
    }
}

impl<'s> Order<'s> {
    /// Begins a call on a stream: it must be of the kernels' context, which is made current.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::CaptureNeedsTrackingOff`], or what the driver says.
    #[inline(always)]
    pub fn begin(loaded: &'s LoadedKernel, stream: &'s Arc<CudaStream>) -> Result<Self, Error> {
        let order = Self { loaded, stream };
        order.is_ours("stream", stream.context())?;
        loaded.bind()?;
        if stream.context().is_event_tracking() {
            order.check_tracked(stream.context())?;
        }
        Ok(order)
    }

    /// Takes an input.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::CaptureNeedsTrackingOff`], or what the driver says.
    #[inline(always)]
    pub fn read<'a, T, const R: usize>(
        &'a self,
        argument: &'static str,
        view: CudaView<'a, T, R>,
    ) -> Result<Bound<'a>, Error> {
        self.admit(argument, view.context())?;
        let bytes = view.layout().bytes(size_of::<T>());
        Ok(Bound::new(view.memory.view_ptr(self.stream), bytes))
    }

    /// Takes an output, or an `inout`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::CaptureNeedsTrackingOff`], or what the driver says.
    #[inline(always)]
    pub fn write<'a, T, const R: usize>(
        &'a self,
        argument: &'static str,
        view: CudaViewMut<'a, T, R>,
    ) -> Result<Bound<'a>, Error> {
        self.admit(argument, view.context())?;
        let bytes = view.layout().bytes(size_of::<T>());
        Ok(Bound::new(view.memory.view_ptr_mut(self.stream), bytes))
    }

    /// Takes `bytes` of the workspace; none is a null address. The last argument of a call: nothing is launched where the
    /// stream could not be made to wait for one of them.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::WorkspaceTooSmallInCapture`],
    /// [`Error::WorkspaceOfOtherStreamInCapture`], or what the driver says.
    #[inline(always)]
    pub fn workspace<'a>(&'a self, workspace: &'a mut Workspace, bytes: usize) -> Result<Bound<'a>, Error> {
        self.regions(workspace, Needs { bytes, kept_zero: 0 }).map(|[scratch, _]| scratch)
    }

    /// The same, and so many bytes that are zero between calls.
    ///
    /// # Errors
    /// As [`Self::workspace`]'s.
    pub fn workspace_and_kept_zero<'a>(
        &'a self,
        workspace: &'a mut Workspace,
        bytes: usize,
        kept_zero: usize,
    ) -> Result<[Bound<'a>; 2], Error> {
        self.regions(workspace, Needs { bytes, kept_zero })
    }

    #[inline(always)]
    fn regions<'a>(&'a self, workspace: &'a mut Workspace, needs: Needs) -> Result<[Bound<'a>; 2], Error> {
        self.admit("workspace", workspace.stream().context())?;
        let ready = workspace.ready(self.loaded.kernel(), self.stream, needs, || self.is_captured())?;
        let bound = |region: Option<&'a mut CudaSlice<u8>>, bytes: usize| match region {
            Some(memory) => Bound::new(memory.device_ptr_mut(self.stream), bytes as u64),
            None => Bound { extent: Extent { start: 0, end: 0 }, _guard: None },
        };
        let bound = [bound(ready.scratch, needs.bytes), bound(ready.kept_zero, needs.kept_zero)];
        if self.is_tracked() {
            self.refuse_capture()?;
            self.check_err("cuStreamWaitEvent")?;
        }
        Ok(bound)
    }

    /// Ends the call: what the launch said, or the recording of its arguments' uses. They borrow this, so they have been
    /// dropped by now.
    ///
    /// # Errors
    /// `launched`'s, or what the driver says.
    #[inline(always)]
    pub fn finish(self, launched: Result<(), Error>) -> Result<(), Error> {
        if !self.is_tracked() {
            return launched;
        }
        let recorded = self.check_err("cuEventRecord");
        launched.and(recorded)
    }

    /// An argument's context is the kernels'. An equal one may be another object than the stream's, and track for itself.
    #[inline(always)]
    fn admit(&self, argument: &'static str, context: &Arc<CudaContext>) -> Result<(), Error> {
        self.is_ours(argument, context)?;
        if Arc::ptr_eq(context, self.stream.context()) || !context.is_event_tracking() {
            return Ok(());
        }
        self.check_tracked(context)
    }

    #[inline(always)]
    fn is_ours(&self, argument: &'static str, context: &Arc<CudaContext>) -> Result<(), Error> {
        let (loaded, ours) = (self.loaded, &self.loaded.device().context);
        if context == ours {
            return Ok(());
        }
        let (expected, found) = (ours.ordinal(), context.ordinal());
        cold(move || Error::WrongDevice { kernel: loaded.kernel(), argument, expected, found })
    }

    /// Where event tracking is on, no call goes into a graph, and none of cudarc's calls waits or records before what it
    /// could not report has been taken.
    fn check_tracked(&self, context: &CudaContext) -> Result<(), Error> {
        self.refuse_capture()?;
        if !context.is_managing_stream_synchronization() {
            return Ok(());
        }
        context.check_err().map_err(Error::cuda(self.loaded.kernel(), "earlier work"))
    }

    /// Also where `is_tracked` says no: with one stream no events are recorded, and still no caller has promised anything.
    fn refuse_capture(&self) -> Result<(), Error> {
        let kernel = self.loaded.kernel();
        if capturing(kernel, self.stream)? { Err(Error::CaptureNeedsTrackingOff { kernel }) } else { Ok(()) }
    }

    /// What cudarc could not report, as of this call.
    fn check_err(&self, call: &'static str) -> Result<(), Error> {
        self.stream.context().check_err().map_err(Error::cuda(self.loaded.kernel(), call))
    }

    /// Whether uses of memory are recorded as events.
    #[inline]
    fn is_tracked(&self) -> bool {
        self.stream.context().is_managing_stream_synchronization()
    }

    /// Whether the stream is being captured; it isn't where event tracking is on, or the call had not begun.
    fn is_captured(&self) -> Result<bool, Error> {
        if self.stream.context().is_event_tracking() {
            return Ok(false);
        }
        capturing(self.loaded.kernel(), self.stream)
    }
}
