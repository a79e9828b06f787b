//! Under the checked call of the module `cuda`: the unsafe one over raw handles, the choice of a variant, what that one
//! needs of workspace, and its launch. The checked call goes through the same three, once each.

use proc_macro2::TokenStream;
use quote::quote;

use super::args::{self, doc};
use super::dispatch;
use super::expr::number;
use super::kernel::{Kernel, Name, Names, once};
use super::resident;

/// Everything but the checked call and the variants' own functions.
pub(super) fn methods(kernel: &Kernel<'_>) -> Vec<TokenStream> {
    let mut all = vec![raw(kernel), workspace_bytes(kernel), bytes(kernel), variant(kernel)];
    all.extend(resident::fits(kernel));
    all.push(dispatch(kernel));
    all
}

/// The workspace of the local `variant`, from the locals of the axes.
pub(super) fn bytes_of(kernel: &Kernel<'_>) -> TokenStream {
    if sizes(kernel).is_none() {
        return quote!(0);
    }
    let (name, open) = (&kernel.names.bytes, open_axes(kernel));
    quote!(self.#name(variant, #open))
}

/// Bytes that the kernel's launches keep zero; none where no variant keeps any.
pub(super) fn kept_zero(kernel: &Kernel<'_>) -> Option<TokenStream> {
    dispatch::kept_zero(&kernel.cuda, kernel.spec).map(number)
}

/// `m, p,`: axes whose extent isn't known before the launch.
pub(super) fn open_axes(kernel: &Kernel<'_>) -> TokenStream {
    let axes = kernel.open_axes().map(|i| &kernel.names.local_axes[i]);
    quote!(#(#axes,)*)
}

/// The unchecked call.
fn raw(kernel: &Kernel<'_>) -> TokenStream {
    let (function, arguments) = (&kernel.names.function, &kernel.names.arguments);
    let title = kernel.spec.name.as_str();
    let Names { raw, workspace_bytes, variant: choose, dispatch, .. } = &kernel.names;
    let docs = doc(&[
        &format!("[`Self::{function}`] over raw handles, for memory and streams that another library owns."),
        "",
        "# Errors",
        "What the driver says, or a grid that no device takes. Arguments are not looked at.",
        "",
        "# Safety",
        "`stream` belongs to the context given to [`load`]. Where it is being captured, this value, the workspace and the",
        "tensors live until the graph is gone. Axes lie in their ranges. Each address is",
        &format!(
            "that of a tensor as [`{arguments}`] describes it, dense and row-major where no strides are"
        ),
        "said, aligned to its element, alive until the stream has passed the launch; what is written",
        "overlaps nothing.",
        &format!("`workspace` is aligned to 256 bytes and has [`Self::{workspace_bytes}`]. Order is"),
        "the caller's. `kept_zero` is aligned to 256 bytes and has [`Self::KEPT_ZERO_BYTES`], zeroed before its first use.",
        "Every launch leaves them zero: all kernels share them, one launch behind the other. With no bytes it may be 0.",
    ]);
    let (declared, passed) = (raw_params(kernel), addressed(kernel));
    let (scalars, kept_zero) = (scalar_params(kernel), kept_zero(kernel).map(|_| quote!(kept_zero,)));
    let derived = args::derived(kernel);
    let empty = args::nothing_to_do_raw(kernel);
    let all = all(kernel);
    let [docs, declared, scalars, derived, empty, passed, all] =
        [docs, declared, scalars, derived, empty, passed, all].map(once);
    quote! {
        unsafe_fn! {
            #docs
            pub fn #raw(
                &self,
                stream: CUstream,
                workspace: CUdeviceptr,
                kept_zero: CUdeviceptr,
                #declared
                #scalars
            ) -> Result<(), Error> {
                let check = Check::new(#title);
                #derived
                #empty
                self.#function.bind()?;
                let variant = self.#choose(#passed);
                #[doc = " SAFETY: the caller's promise."]
                unsafe_block! { self.#dispatch(variant, stream, workspace, #kept_zero #all) }
            }
        }
    }
}

/// Bytes of workspace, for those who call the raw entry.
fn workspace_bytes(kernel: &Kernel<'_>) -> TokenStream {
    let Names { raw, workspace_bytes: name, variant: choose, .. } = &kernel.names;
    let docs =
        doc(&[&format!("Bytes of workspace that [`Self::{raw}`] needs for these axes and addresses.")]);
    let (declared, passed) = (raw_params(kernel), addressed(kernel));
    if sizes(kernel).is_none() {
        return quote!(#docs pub fn #name(&self, #declared) -> usize { 0 });
    }
    let (derived, bytes) = (derived_or_none(kernel), bytes_of(kernel));
    quote! {
        #docs
        pub fn #name(&self, #declared) -> usize {
            #derived
            let variant = self.#choose(#passed);
            #bytes
        }
    }
}

/// Bytes of workspace of one variant; nothing where none has any.
fn bytes(kernel: &Kernel<'_>) -> TokenStream {
    let Some(sizes) = sizes(kernel) else { return TokenStream::new() };
    let (name, open) = (&kernel.names.bytes, open_params(kernel));
    let arms = arms(sizes.into_iter());
    quote! {
        /// Bytes of workspace of a variant.
        fn #name(&self, variant: usize, #open) -> usize {
            let bytes = match variant { #arms };
            Int::bytes(bytes)
        }
    }
}

/// The workspace of each variant; none where none has any.
fn sizes(kernel: &Kernel<'_>) -> Option<Vec<TokenStream>> {
    let scope = args::scope(kernel);
    let variants = kernel.cuda.answers().iter().flat_map(|answer| &answer.record.variants);
    let sizes: Vec<Option<TokenStream>> =
        variants.map(|v| dispatch::workspace(&v.contract, &scope)).collect();
    let or_nothing = |size: Option<TokenStream>| size.unwrap_or_else(|| quote!(Int::new(0)));
    sizes.iter().any(Option::is_some).then(|| sizes.into_iter().map(or_nothing).collect())
}

/// The choice of a variant, counted through all targets.
fn variant(kernel: &Kernel<'_>) -> TokenStream {
    let (function, declared, scope) = (&kernel.names.function, raw_params(kernel), args::scope(kernel));
    let name = &kernel.names.variant;
    let derived = derived_or_none(kernel);
    let mut first = 0;
    let mut choices = kernel.cuda.answers().iter().map(|answer| {
        let last = first + answer.record.variants.len().saturating_sub(1);
        let open = open_axes(kernel);
        let fits = |position: usize| resident::condition(kernel, answer, position, &open);
        let choice = dispatch::choose(answer.record, &scope, (first, last), &fits);
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

/// The launch of a chosen variant.
fn dispatch(kernel: &Kernel<'_>) -> TokenStream {
    let (name, open) = (&kernel.names.dispatch, open_params(kernel));
    let (tensors, scalars, all) = (&kernel.names.local_tensors, scalar_params(kernel), all(kernel));
    let functions: Vec<&Name> = kernel.cuda.answers().iter().flat_map(|answer| &answer.functions).collect();
    let passed = kept_zero(kernel).map(|_| quote!(kept_zero,));
    let declared = kept_zero(kernel).map(|_| quote!(kept_zero: CUdeviceptr,));
    let arms = arms(functions.iter().map(|function| quote!(self.#function(stream, workspace, #passed #all))));
    let [open, scalars, arms] = [open, scalars, arms].map(once);
    quote! {
        unsafe_fn! {
            /// Launches a variant, counted through all targets. The context is current, and the variant eligible.
            fn #name(
                &self,
                variant: usize,
                stream: CUstream,
                workspace: CUdeviceptr,
                #declared
                #open #(#tensors: CUdeviceptr,)* #scalars
            ) -> Result<(), Error> {
                #[doc = " SAFETY: the caller's promise."]
                unsafe_block! { match variant { #arms } }
            }
        }
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

/// `m: usize, p: usize,`: axes whose extent isn't known before the launch.
fn open_params(kernel: &Kernel<'_>) -> TokenStream {
    let axes = kernel.open_axes().map(|i| &kernel.names.local_axes[i]);
    quote!(#(#axes: usize,)*)
}

/// `m, p, x, eps,`: all that a variant's function takes.
fn all(kernel: &Kernel<'_>) -> TokenStream {
    let (open, tensors, scalars) =
        (open_axes(kernel), &kernel.names.local_tensors, &kernel.names.local_scalars);
    quote!(#open #(#tensors,)* #(#scalars,)*)
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
