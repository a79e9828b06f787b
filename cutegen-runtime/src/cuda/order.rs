//! Stream order around a launch: every argument is taken through cudarc's guards, which make the stream wait for
//! what touched the memory before and record the use after. Guards are held past the launch.

use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut, SyncOnDrop};
use std::cell::Cell;
use std::sync::Arc;

use super::launch::CUdeviceptr;
use super::module::LoadedKernel;
use super::view::{CudaView, CudaViewMut};
use super::workspace::{Workspace, capturing};
use crate::check::Extent;
use crate::error::Error;

/// One call of a wrapper, between its checks and its return.
#[derive(Debug)]
pub struct Order<'s> {
    kernel: &'static str,
    context: &'s Arc<CudaContext>,
    stream: &'s Arc<CudaStream>,
    /// Whether the stream is being captured, once something had to know.
    captured: Cell<Option<bool>>,
}

/// An argument taken for a launch. Dropping it, after the launch, records the use.
#[derive(Debug)]
#[must_use = "the launch must come before the argument is dropped"]
pub struct Bound<'a> {
    address: CUdeviceptr,
    extent: Extent,
    _guard: SyncOnDrop<'a>,
}

impl Bound<'_> {
    /// Where the tensor begins.
    #[must_use]
    #[inline]
    pub const fn address(&self) -> CUdeviceptr {
        self.address
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
    #[inline]
    pub fn begin(loaded: &'s LoadedKernel, stream: &'s Arc<CudaStream>) -> Result<Self, Error> {
        let (kernel, context) = (loaded.kernel(), &loaded.device().context);
        let order = Self { kernel, context, stream, captured: Cell::new(None) };
        stream.context().bind_to_thread().map_err(Error::cuda(order.kernel, "cuCtxSetCurrent"))?;
        order.admit("stream", stream.context())?;
        Ok(order)
    }

    /// Takes an input.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::CaptureNeedsTrackingOff`], or what the driver says.
    #[inline]
    pub fn read<'a, T, const R: usize>(
        &self,
        argument: &'static str,
        view: CudaView<'a, T, R>,
    ) -> Result<Bound<'a>, Error>
    where
        's: 'a,
    {
        self.admit(argument, view.context())?;
        let layout = *view.layout();
        let stream: &'a CudaStream = self.stream;
        let (address, guard) = view.memory.view_ptr(stream);
        Ok(Bound { address, extent: Extent::of(address, &layout, size_of::<T>()), _guard: guard })
    }

    /// Takes an output, or an `inout`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::CaptureNeedsTrackingOff`], or what the driver says.
    #[inline]
    pub fn write<'a, T, const R: usize>(
        &self,
        argument: &'static str,
        view: CudaViewMut<'a, T, R>,
    ) -> Result<Bound<'a>, Error>
    where
        's: 'a,
    {
        self.admit(argument, view.context())?;
        let layout = *view.layout();
        let stream: &'a CudaStream = self.stream;
        let (address, guard) = view.memory.view_ptr_mut(stream);
        Ok(Bound { address, extent: Extent::of(address, &layout, size_of::<T>()), _guard: guard })
    }

    /// Takes `bytes` of the workspace; none is a null address.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::WorkspaceTooSmallInCapture`],
    /// [`Error::WorkspaceOfOtherStreamInCapture`], or what the driver says.
    #[inline]
    pub fn workspace<'a>(&self, workspace: &'a mut Workspace, bytes: usize) -> Result<Bound<'a>, Error>
    where
        's: 'a,
    {
        self.admit("workspace", workspace.stream().context())?;
        let ready = workspace.ready(self.kernel, self.stream, bytes, || self.capturing())?;
        let Some(memory) = ready else {
            let nothing = Extent { start: 0, end: 0 };
            return Ok(Bound { address: 0, extent: nothing, _guard: SyncOnDrop::Record(None) });
        };
        let stream: &'a CudaStream = self.stream;
        let (address, guard) = memory.device_ptr_mut(stream);
        let extent = Extent { start: address, end: address.saturating_add(bytes as u64) };
        Ok(Bound { address, extent, _guard: guard })
    }

    /// Ends the call: drops the arguments, which records their uses, and reports what the launch or the
    /// recording said.
    ///
    /// # Errors
    /// `launched`'s, or what the driver says.
    #[inline]
    pub fn finish<B>(self, launched: Result<(), Error>, arguments: B) -> Result<(), Error> {
        drop(arguments);
        if !self.stream.context().is_managing_stream_synchronization() {
            return launched; // then no use was recorded
        }
        let recorded = self.stream.context().check_err();
        launched.and(recorded.map_err(Error::cuda(self.kernel, "cuEventRecord")))
    }

    /// An argument's context is the kernels', and doesn't track events into a graph being captured.
    #[inline]
    fn admit(&self, argument: &'static str, context: &Arc<CudaContext>) -> Result<(), Error> {
        let kernel = self.kernel;
        if context != self.context {
            let (expected, found) = (self.context.ordinal(), context.ordinal());
            return Err(Error::WrongDevice { kernel, argument, expected, found });
        }
        if context.is_managing_stream_synchronization() && self.capturing()? {
            return Err(Error::CaptureNeedsTrackingOff { kernel });
        }
        Ok(())
    }

    /// Whether the stream is being captured: the driver is asked once a call.
    #[inline]
    fn capturing(&self) -> Result<bool, Error> {
        if let Some(known) = self.captured.get() {
            return Ok(known);
        }
        let found = capturing(self.kernel, self.stream)?;
        self.captured.set(Some(found));
        Ok(found)
    }
}
