//! Bodies without anything behind them, for builds that only document: same names, same types, and every call
//! reports that this is a stub. They mention no symbol, so nothing is linked.

use proc_macro2::TokenStream;
use quote::quote;

use super::args::{self, doc, math};
use super::cuda;
use super::kernel::Kernel;

/// `Kernels`, `load`, `workspace` and `explain` for CUDA.
pub(super) fn cuda_shared(kernels: &[&Kernel<'_>]) -> TokenStream {
    let first = kernels.first().map_or("kernels", |kernel| kernel.spec.name.as_str());
    quote! {
        /// All kernels of this package, on the device of one context.
        #[derive(Debug)]
        pub struct Kernels(());

        /// Checks device and driver.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, Error> {
            Err(Error::Stub { kernel: #first })
        }

        impl Kernels {
            /// Bytes that every raw entry finds zero and leaves so.
            pub const KEPT_ZERO_BYTES: usize = 0;

            /// Loads every kernel that has not been called yet.
            pub fn warm(&self) -> Result<(), Error> { Ok(()) }

            /// Workspace for the calls of every kernel on this stream.
            pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace, Error> {
                Workspace::with_bytes(stream, 0)
            }

            /// What is linked for this device, and in which order it is tried.
            pub fn explain(&self) -> Vec<Explain> { Vec::new() }
        }
    }
}

/// One kernel's calls for CUDA.
pub(super) fn cuda_kernel(kernel: &Kernel<'_>) -> TokenStream {
    let (names, title) = (&kernel.names, kernel.spec.name.as_str());
    let (function, arguments) = (&names.function, &names.arguments);
    let (raw, bytes) = (&names.raw, &names.workspace_bytes);
    let docs = doc(&[&math(kernel.spec), "", "Launches on `stream` and returns."]);
    let checked = cuda::qualified(kernel, |promises| {
        quote! {
            #docs
            #promises
            pub fn #function(
                &self,
                stream: &Arc<CudaStream>,
                workspace: &mut Workspace,
                args: #arguments<'_>,
            ) -> Result<(), Error> {
                Err(Error::Stub { kernel: #title })
            }
        }
    });
    let raw_docs = doc(&[
        &format!("[`Self::{function}`] over raw handles, for memory and streams that another library owns."),
        "",
        "# Safety",
        "As the build that carries kernels says.",
    ]);
    let axes: Vec<_> = kernel.spec.run_time_axes().map(|i| &names.local_axes[i]).collect();
    let tensors = &names.local_tensors;
    let scalars = kernel.spec.scalars.iter().zip(&names.local_scalars).map(|(scalar, name)| {
        let ty = args::element(scalar.dtype);
        quote!(#name: #ty,)
    });
    let bytes_docs =
        doc(&[&format!("Bytes of workspace that [`Self::{raw}`] needs for these axes and addresses.")]);
    quote! {
        impl Kernels {
            #checked

            unsafe_fn! {
                #raw_docs
                pub fn #raw(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    #(#axes: usize,)* #(#tensors: CUdeviceptr,)* #(#scalars)*
                ) -> Result<(), Error> {
                    Err(Error::Stub { kernel: #title })
                }
            }

            #bytes_docs
            pub fn #bytes(&self, #(#axes: usize,)* #(#tensors: CUdeviceptr,)*) -> usize { 0 }
        }
    }
}

/// `workspace` and `explain` for the CPU.
pub(super) fn host_shared() -> TokenStream {
    quote! {
        /// Workspace for every call of every kernel.
        pub fn workspace() -> Workspace { Workspace::new() }

        /// What is linked, and in which order it is tried.
        pub fn explain() -> Vec<Explain> { Vec::new() }
    }
}

/// One kernel's call for the CPU.
pub(super) fn host_kernel(kernel: &Kernel<'_>) -> TokenStream {
    let (function, arguments) = (&kernel.names.function, &kernel.names.arguments);
    let title = kernel.spec.name.as_str();
    let docs = doc(&[&math(kernel.spec), "", "Returns when done."]);
    quote! {
        #docs
        pub fn #function(workspace: &mut Workspace, args: #arguments<'_>) -> Result<(), Error> {
            Err(Error::Stub { kernel: #title })
        }
    }
}
