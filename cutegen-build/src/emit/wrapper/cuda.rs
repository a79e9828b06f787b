//! The module `cuda`: kernels loaded into a context, a checked call for each over views and streams of cudarc, and an
//! unsafe one over raw handles.

use std::collections::BTreeMap;

use cutegen_spec::tensor::Role;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::args::{self, Module, doc, math};
use super::dispatch::{self, Ahead};
use super::expr::number;
use super::kernel::{Kernel, Name, Side, ident, once};
use super::{Pieces, docs, entry, launch, raw, stub};
use crate::emit::Error;

/// What all kernels share: imports, the loaded kernels, their workspace, the linked symbols.
pub(super) fn shared(kernels: &[&Kernel<'_>]) -> TokenStream {
    let imports = imports(kernels);
    if kernels.iter().any(|kernel| matches!(kernel.cuda, Side::Stub)) {
        let body = stub::cuda_shared(kernels);
        return quote!(#imports #body);
    }
    let names: Vec<&Name> = kernels.iter().map(|kernel| &kernel.names.function).collect();
    let entries = kernels.iter().map(|kernel| &kernel.names.entry);
    let (workspace_doc, workspace) = workspace(kernels);
    let symbols = symbols(kernels);
    let kept_zero =
        number(kernels.iter().filter_map(|k| dispatch::kept_zero(&k.cuda, k.spec)).max().unwrap_or(0));
    quote! {
        #imports

        /// All kernels of this package, on the device of one context. A captured graph points into them and into its
        /// workspace: keep both for as long as it lives.
        #[derive(Debug)]
        pub struct Kernels { #(#names: LoadedKernel,)* }

        /// Checks device and driver. A kernel is loaded, and its digest checked, when it is first called; by
        /// [`Kernels::warm`] before a capture, which loads none.
        ///
        /// # Errors
        /// No entry for the device, a driver that is too old, or what the driver says.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, Error> {
            let device = Device::of(context)?;
            Ok(Kernels { #(#names: LoadedKernel::load(&device, &#entries)?,)* })
        }

        impl Kernels {
            /// Bytes that every raw entry finds zero and leaves so: the most that any kernel keeps.
            pub const KEPT_ZERO_BYTES: usize = #kept_zero;

            /// Loads every kernel that has not been called yet.
            ///
            /// # Errors
            /// Other bytes than were judged, or what the driver says; by the kernel's name.
            pub fn warm(&self) -> Result<(), Error> {
                #(self.#names.warm()?;)*
                Ok(())
            }

            #workspace_doc
            pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace, Error> {
                #workspace
            }

            /// What is linked for this device, and in which order it is tried.
            pub fn explain(&self) -> Vec<Explain> {
                Vec::from([#(self.#names.explain()),*])
            }
        }

        #symbols
    }
}

/// One kernel's arguments, calls, variants and entry.
pub(super) fn kernel(kernel: &Kernel<'_>) -> Result<Pieces, Error> {
    let arguments =
        args::argument_struct(kernel, Module::Cuda, &format!("Kernels::{}", kernel.names.function));
    if matches!(kernel.cuda, Side::Stub) {
        return Ok(Pieces { items: vec![arguments, stub::cuda_kernel(kernel)], methods: Vec::new() });
    }
    let mut methods = vec![call(kernel)];
    methods.extend(raw::methods(kernel));
    methods.extend(launch::variants(kernel, Module::Cuda)?);
    Ok(Pieces { items: vec![arguments, entry::kernel_entry(kernel)], methods })
}

fn imports(kernels: &[&Kernel<'_>]) -> TokenStream {
    let elements = args::element_imports(kernels);
    quote! {
        use super::cutegen_runtime::check::{Check, all_aligned, any_zero};
        use super::cutegen_runtime::cuda::{
            Artifact, CUdeviceptr, CUstream, CudaContext, CudaStream, CudaView, CudaViewMut, Device, KernelEntry,
            LaunchConfig, LoadedKernel, Order, Step, TargetEntry, VariantEntry, Workspace,
        };
        use super::cutegen_runtime::dispatch::{Explain, Origin, Variant};
        #elements
        use super::cutegen_runtime::{Error, Int, params, unsafe_block, unsafe_extern, unsafe_fn};
        use ::std::sync::Arc;
    }
}

fn workspace(kernels: &[&Kernel<'_>]) -> (TokenStream, TokenStream) {
    let answers =
        kernels.iter().flat_map(|k| k.cuda.answers().iter().map(|a| dispatch::ahead(a.record, k.spec)));
    let Ahead { bytes, grows } = answers.fold(Ahead::default(), Ahead::and);
    let lines = if grows {
        [
            "Workspace for the calls of every kernel on this stream. The axes' ranges allow calls that need more".to_owned(),
            format!("than a GiB: it begins with {bytes} bytes, and grows for those, which it cannot within a capture."),
        ]
    } else {
        [
            "Workspace for the calls of every kernel on this stream: with memory aligned as allocators"
                .to_owned(),
            format!("align it, none needs more than these {bytes} bytes."),
        ]
    };
    let bytes = number(bytes);
    let workspace = if kernels.iter().any(|kernel| raw::kept_zero(kernel).is_some()) {
        quote!(Workspace::with_regions(stream, #bytes, Self::KEPT_ZERO_BYTES))
    } else {
        quote!(Workspace::with_bytes(stream, #bytes))
    };
    (doc(&lines.each_ref().map(String::as_str)), workspace)
}

fn symbols(kernels: &[&Kernel<'_>]) -> TokenStream {
    let mut symbols = BTreeMap::new();
    for answer in kernels.iter().flat_map(|kernel| kernel.cuda.answers()) {
        for (symbol, bytes) in answer.symbols.iter().zip(answer.artifacts) {
            symbols.insert(symbol, bytes.len());
        }
    }
    let statics = symbols.iter().map(|(symbol, len)| {
        let (symbol, len) = (ident(symbol), number(*len as i64));
        quote!(static #symbol: [u8; #len];)
    });
    quote!(unsafe_extern! { #(#statics)* })
}

/// The checked call.
fn call(kernel: &Kernel<'_>) -> TokenStream {
    let (spec, names) = (kernel.spec, &kernel.names);
    let (function, arguments) = (&names.function, &names.arguments);
    let docs = doc(&[
        &math(spec),
        "",
        "Launches on `stream` and returns. Nothing is launched where no output has an element.",
        "",
        "# Errors",
        "What is wrong with the call, by the argument's name, before anything is launched; or what the driver says.",
        "What goes wrong on the device later is reported by a later call.",
    ]);
    let checks = args::checks(kernel);
    let bounds: Vec<Ident> = names.local_tensors.iter().map(|local| format_ident!("bound_{local}")).collect();
    let binds = spec.tensors.iter().zip(&names.tensors).zip(&bounds).map(|((tensor, field), bound)| {
        let text = &tensor.name;
        match tensor.role {
            Role::Input => quote!(let #bound = order.read(#text, args.#field)?;),
            Role::Inout | Role::Output => quote!(let #bound = order.write(#text, args.#field)?;),
        }
    });
    let extents = |output: bool| {
        let tensors = spec.tensors.iter().zip(&bounds);
        let those = tensors.filter(move |(tensor, _)| (tensor.role != Role::Input) == output);
        those.map(|(tensor, bound)| {
            let text = &tensor.name;
            quote!((#text, #bound.extent()))
        })
    };
    let (outputs, inputs) = (extents(true), extents(false));
    let axes: Vec<&Name> = spec.run_time_axes().map(|i| &names.local_axes[i]).collect();
    let scalars = names.scalars.iter().map(|field| quote!(args.#field));
    let (choose, dispatch) = (&names.variant, &names.dispatch);
    let (bytes, open) = (raw::bytes_of(kernel), raw::open_axes(kernel));
    let (taken, kept_zero) = workspace_taken(kernel, &bytes);
    let [docs, checks, taken] = [docs, checks, taken].map(once);
    qualified(kernel, |promises| {
        quote! {
            #docs
            #promises
            pub fn #function(
                &self,
                stream: &Arc<CudaStream>,
                workspace: &mut Workspace,
                args: #arguments<'_>,
            ) -> Result<(), Error> {
                #checks
                let order = Order::begin(&self.#function, stream)?;
                let launched = {
                    #(#binds)*
                    check.disjoint([#(#outputs),*], [#(#inputs),*])?;
                    let variant = self.#choose(#(#axes,)* #(#bounds.address()),*);
                    #taken
                    #[doc = " SAFETY: arguments are checked above; what is bound keeps the memory past the launch."]
                    unsafe_block! {
                        self.#dispatch(
                            variant,
                            stream.cu_stream(),
                            bound_workspace.address(),
                            #kept_zero
                            #open #(#bounds.address(),)* #(#scalars,)*
                        )
                    }
                };
                order.finish(launched)
            }
        }
    })
}

/// Statements that take the workspace of a call, and the argument that its region that is kept zero adds to the launch.
fn workspace_taken(kernel: &Kernel<'_>, bytes: &TokenStream) -> (TokenStream, TokenStream) {
    match raw::kept_zero(kernel) {
        None => (quote!(let bound_workspace = order.workspace(workspace, #bytes)?;), TokenStream::new()),
        Some(kept_zero) => (
            quote! {
                let [bound_workspace, bound_kept_zero] =
                    order.workspace_and_kept_zero(workspace, #bytes, #kept_zero)?;
            },
            quote!(bound_kept_zero.address(),),
        ),
    }
}

/// A checked call, given the section of its documentation that says what it doesn't check. Where a kernel finds its
/// positions in memory, on the device, no check reaches them: that section says so, and the call is `unsafe`. Neither for
/// all other kernels.
pub(super) fn qualified(kernel: &Kernel<'_>, method: impl FnOnce(TokenStream) -> TokenStream) -> TokenStream {
    let lines = docs::promises(kernel.spec);
    if lines.is_empty() {
        return method(TokenStream::new());
    }
    let lines = lines.join("\n");
    let docs = doc(&[
        "",
        "# Safety",
        "The kernel takes positions from memory of the device, which is not looked at here:",
        &lines,
    ]);
    let method = method(docs);
    quote!(unsafe_fn! { #method })
}
