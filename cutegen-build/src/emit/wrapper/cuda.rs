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
use super::{Pieces, entry, launch, says, stub};
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
    quote! {
        #imports

        /// All kernels of this package, loaded into one context by [`load`].
        #[derive(Debug)]
        pub struct Kernels { #(#names: LoadedKernel,)* }

        /// Checks device, driver and digests, and loads every kernel.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, Error> {
            let device = Device::of(context)?;
            Ok(Kernels { #(#names: LoadedKernel::load(&device, &#entries)?,)* })
        }

        impl Kernels {
            #workspace_doc
            pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace, Error> {
                Workspace::with_bytes(stream, #workspace)
            }

            /// What is loaded, and in which order it is tried.
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
    let mut methods = vec![call(kernel), raw(kernel), variant(kernel)];
    methods.extend(launch::variants(kernel, Module::Cuda)?);
    Ok(Pieces { items: vec![arguments, entry::kernel_entry(kernel)], methods })
}

fn imports(kernels: &[&Kernel<'_>]) -> TokenStream {
    let elements = args::element_imports(kernels);
    quote! {
        use ::cutegen_runtime::check::{Check, all_aligned, any_zero};
        use ::cutegen_runtime::cuda::{
            Artifact, CUdeviceptr, CUstream, CudaContext, CudaStream, CudaView, CudaViewMut, Device, KernelEntry,
            LaunchConfig, LoadedKernel, Order, Step, TargetEntry, VariantEntry, Workspace,
        };
        use ::cutegen_runtime::dispatch::{Explain, Origin, Variant};
        #elements
        use ::cutegen_runtime::{Error, Int, params};
        use ::std::sync::Arc;
    }
}

fn workspace(kernels: &[&Kernel<'_>]) -> (TokenStream, TokenStream) {
    let answers =
        kernels.iter().flat_map(|k| k.cuda.answers().iter().map(|a| dispatch::ahead(a.record, k.spec)));
    match answers.fold(Ahead::Bytes(0), Ahead::and) {
        Ahead::Bytes(bytes) => (
            doc(&[
                "Workspace for the calls of every kernel on this stream: with memory aligned as allocators",
                &format!("align it, none needs more than these {bytes} bytes."),
            ]),
            number(bytes),
        ),
        Ahead::Grows => (
            doc(&[
                "Workspace for the calls of every kernel on this stream. The axes' ranges allow more than a",
                "GiB, so it begins empty and grows when a call needs it, which none can within a capture.",
            ]),
            number(0),
        ),
    }
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
    quote!(unsafe extern "C" { #(#statics)* })
}

/// The checked call.
fn call(kernel: &Kernel<'_>) -> TokenStream {
    let (spec, names) = (kernel.spec, &kernel.names);
    let (function, arguments) = (&names.function, &names.arguments);
    let docs = doc(&[
        &math(spec),
        "",
        "Launches on `stream` and returns. Nothing is launched where no output has an element.",
    ]);
    let (promises, qualifier) = promises(kernel);
    let checks = args::checks(kernel);
    let bounds: Vec<Ident> =
        spec.tensors.iter().map(|tensor| format_ident!("bound_{}", tensor.name)).collect();
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
    let (raw, bytes) = (format_ident!("{function}_raw"), format_ident!("{function}_workspace_bytes"));
    let [docs, checks] = [docs, checks].map(once);
    quote! {
        #docs
        #promises
        pub #qualifier fn #function(
            &self,
            stream: &Arc<CudaStream>,
            workspace: &mut Workspace,
            args: #arguments<'_>,
        ) -> Result<(), Error> {
            #checks
            let order = Order::begin(&self.#function, stream)?;
            #(#binds)*
            check.disjoint(&[#(#outputs),*], &[#(#inputs),*])?;
            let bytes = self.#bytes(#(#axes,)* #(#bounds.address()),*);
            let bound_workspace = order.workspace(workspace, bytes)?;
            #[doc = " SAFETY: arguments are checked above; what is bound keeps the memory past the launch."]
            let launched = unsafe {
                self.#raw(
                    stream.cu_stream(),
                    bound_workspace.address(),
                    #(#axes,)* #(#bounds.address(),)* #(#scalars,)*
                )
            };
            order.finish(launched, (bound_workspace, #(#bounds),*))
        }
    }
}

/// Where a kernel finds its positions in memory, on the device, no check of this call reaches them: the section that
/// says so, and `unsafe`. Neither for all other kernels.
pub(super) fn promises(kernel: &Kernel<'_>) -> (TokenStream, TokenStream) {
    let lines = says::promises(kernel.spec);
    if lines.is_empty() {
        return (TokenStream::new(), TokenStream::new());
    }
    let lines = lines.join("\n");
    let docs = doc(&[
        "",
        "# Safety",
        "The kernel takes positions from memory of the device, which is not looked at here:",
        &lines,
    ]);
    (docs, quote!(unsafe))
}

/// The unchecked call, and the workspace that it needs.
fn raw(kernel: &Kernel<'_>) -> TokenStream {
    let (spec, names) = (kernel.spec, &kernel.names);
    let (function, arguments, title) = (&names.function, &names.arguments, spec.name.as_str());
    let (raw, choose) = (format_ident!("{function}_raw"), format_ident!("{function}_variant"));
    let docs = doc(&[
        &format!("[`Self::{function}`] over raw handles, for memory and streams that another library owns."),
        "",
        "# Safety",
        "`stream` belongs to the context given to [`load`]. Axes lie in their ranges. Each address is",
        &format!(
            "that of a tensor as [`{arguments}`] describes it, dense and row-major where no strides are"
        ),
        "said, aligned to its element, alive until the stream has passed the launch; what is written",
        "overlaps nothing.",
        &format!(
            "`workspace` is aligned to 256 bytes and has [`Self::{function}_workspace_bytes`]. Order is"
        ),
        "the caller's.",
    ]);
    let (declared, passed) = (raw_params(kernel), addressed(kernel));
    let scalars = scalar_params(kernel);
    let derived = args::derived(kernel);
    let empty = args::nothing_to_do_raw(kernel);
    let open = kernel.open_axes().map(|i| &names.local_axes[i]);
    let (tensors, scalar_names) = (&names.local_tensors, &names.local_scalars);
    let all = quote!(stream, workspace, #(#open,)* #(#tensors,)* #(#scalar_names,)*);
    let functions: Vec<&Name> = kernel.cuda.answers().iter().flat_map(|answer| &answer.functions).collect();
    let arms = arms(functions.iter().map(|function| quote!(self.#function(#all))));
    let bytes = workspace_bytes(kernel);
    let [docs, declared, scalars, derived, empty, passed, arms, bytes] =
        [docs, declared, scalars, derived, empty, passed, arms, bytes].map(once);
    quote! {
        #docs
        pub unsafe fn #raw(
            &self,
            stream: CUstream,
            workspace: CUdeviceptr,
            #declared
            #scalars
        ) -> Result<(), Error> {
            let check = Check::new(#title);
            #derived
            #empty
            self.#function.bind()?;
            let variant = self.#choose(#passed);
            #[doc = " SAFETY: the chosen variant is eligible; the rest is the caller's promise."]
            unsafe { match variant { #arms } }
        }
        #bytes
    }
}

fn workspace_bytes(kernel: &Kernel<'_>) -> TokenStream {
    let function = &kernel.names.function;
    let (name, choose) = (format_ident!("{function}_workspace_bytes"), format_ident!("{function}_variant"));
    let docs = doc(&[&format!(
        "Bytes of workspace that [`Self::{function}_raw`] needs for these axes and addresses."
    )]);
    let (declared, passed, scope) = (raw_params(kernel), addressed(kernel), args::scope(kernel));
    let variants = kernel.cuda.answers().iter().flat_map(|answer| &answer.record.variants);
    let sizes: Vec<Option<TokenStream>> =
        variants.map(|v| dispatch::workspace(&v.contract, &scope)).collect();
    if sizes.iter().all(Option::is_none) {
        return quote!(#docs pub fn #name(&self, #declared) -> usize { 0 });
    }
    let derived = derived_or_none(kernel);
    let arms = arms(sizes.into_iter().map(|size| size.unwrap_or_else(|| quote!(Int::new(0)))));
    quote! {
        #docs
        pub fn #name(&self, #declared) -> usize {
            #derived
            let bytes = match self.#choose(#passed) { #arms };
            Int::bytes(bytes)
        }
    }
}

/// The choice of a variant, counted through all targets.
fn variant(kernel: &Kernel<'_>) -> TokenStream {
    let (function, declared, scope) = (&kernel.names.function, raw_params(kernel), args::scope(kernel));
    let name = format_ident!("{function}_variant");
    let derived = derived_or_none(kernel);
    let mut first = 0;
    let mut choices = kernel.cuda.answers().iter().map(|answer| {
        let last = first + answer.record.variants.len().saturating_sub(1);
        let choice = dispatch::choose(answer.record, &scope, first, last);
        first = last + 1;
        (super::kernel::short_target(answer.target), choice)
    });
    let (_, mut body) = choices.next().unwrap_or_default();
    let others: Vec<(String, TokenStream)> = choices.collect();
    if !others.is_empty() {
        let arms = others.iter().map(|(target, choice)| quote!(#target => { #choice }));
        body = quote!(match self.#function.arch() { #(#arms)* _ => { #body } });
    }
    quote! {
        /// The variant that these arguments get, counted through all targets.
        fn #name(&self, #declared) -> usize { #derived #body }
    }
}

/// Derived axes where there is no way to report that one has no value: as large as can be, so that whatever is
/// computed from it has none either.
fn derived_or_none(kernel: &Kernel<'_>) -> TokenStream {
    let scope = args::scope(kernel);
    let lets = kernel.derived_axes().map(|i| {
        let cutegen_spec::axis::Extent::Derived(expr) = &kernel.spec.axes[i].extent else {
            return TokenStream::new();
        };
        let (local, value) = (&kernel.names.local_axes[i], scope.int(expr));
        quote!(let #local = Int::bytes(#value);)
    });
    quote!(#(#lets)*)
}

/// `m: usize, x: CUdeviceptr,`
fn raw_params(kernel: &Kernel<'_>) -> TokenStream {
    let axes = kernel.spec.run_time_axes().map(|i| &kernel.names.local_axes[i]);
    let tensors = &kernel.names.local_tensors;
    quote!(#(#axes: usize,)* #(#tensors: CUdeviceptr,)*)
}

/// `m, x,`
fn addressed(kernel: &Kernel<'_>) -> TokenStream {
    let axes = kernel.spec.run_time_axes().map(|i| &kernel.names.local_axes[i]);
    let tensors = &kernel.names.local_tensors;
    quote!(#(#axes,)* #(#tensors,)*)
}

pub(super) fn scalar_params(kernel: &Kernel<'_>) -> TokenStream {
    let scalars = kernel.spec.scalars.iter().zip(&kernel.names.local_scalars).map(|(scalar, name)| {
        let ty = args::element(scalar.dtype);
        quote!(#name: #ty,)
    });
    quote!(#(#scalars)*)
}

/// Match arms for 0, 1, ..; the last one takes all that is left.
pub(super) fn arms(bodies: impl ExactSizeIterator<Item = TokenStream>) -> TokenStream {
    let last = bodies.len().saturating_sub(1);
    let arms = bodies.enumerate().map(|(i, body)| {
        let position = number(i as i64);
        if i == last { quote!(_ => #body,) } else { quote!(#position => #body,) }
    });
    quote!(#(#arms)*)
}
