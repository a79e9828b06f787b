//! Stream order around a launch: every argument is taken through cudarc's guards, which make the stream wait for
//! what touched the memory before and record the use after. Guards are held past the launch.

use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut, SyncOnDrop};
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
    pub const fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// The bytes that the kernel may touch.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        self.extent
    }
}

impl<'s> Order<'s> {
    /// Begins a call on a stream: it must be of the kernels' context, which is made current.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::CaptureNeedsTrackingOff`], or what the driver says.
    pub fn begin(loaded: &'s LoadedKernel, stream: &'s Arc<CudaStream>) -> Result<Self, Error> {
        let order = Self { kernel: loaded.kernel(), context: &loaded.device().context, stream };
        stream.context().bind_to_thread().map_err(Error::cuda(order.kernel, "cuCtxSetCurrent"))?;
        order.admit("stream", stream.context())?;
        Ok(order)
    }

    /// Takes an input.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::CaptureNeedsTrackingOff`], or what the driver says.
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
    pub fn workspace<'a>(&self, workspace: &'a mut Workspace, bytes: usize) -> Result<Bound<'a>, Error>
    where
        's: 'a,
    {
        self.admit("workspace", workspace.stream().context())?;
        let Some(memory) = workspace.ready(self.kernel, self.stream, bytes)? else {
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
    pub fn finish<B>(self, launched: Result<(), Error>, arguments: B) -> Result<(), Error> {
        drop(arguments);
        let recorded = self.stream.context().check_err();
        launched.and(recorded.map_err(Error::cuda(self.kernel, "cuEventRecord")))
    }

    /// An argument's context is the kernels', and doesn't track events into a graph being captured.
    fn admit(&self, argument: &'static str, context: &Arc<CudaContext>) -> Result<(), Error> {
        let kernel = self.kernel;
        if context != self.context {
            let (expected, found) = (self.context.ordinal(), context.ordinal());
            return Err(Error::WrongDevice { kernel, argument, expected, found });
        }
        if context.is_managing_stream_synchronization() && capturing(kernel, self.stream)? {
            return Err(Error::CaptureNeedsTrackingOff { kernel });
        }
        Ok(())
    }
}
