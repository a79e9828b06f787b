//! The module `host`: checked calls over slices. Each runs a linked kernel where the CPU has its level and a variant
//! is eligible, and the math itself where not.

use std::collections::BTreeSet;

use cutegen_spec::target::{CpuLevel, Target};
use cutegen_spec::tensor::Role;
use proc_macro2::TokenStream;
use quote::quote;

use super::args::{self, Module, doc, math};
use super::dispatch::{self, Ahead};
use super::expr::number;
use super::kernel::{Answer, Kernel, Name, Side, ident, once};
use super::raw::arms;
use super::{Pieces, entry, fallback, launch, stub};
use crate::emit::Error;

/// What all kernels share: imports, their workspace, what is linked.
pub(super) fn shared(kernels: &[&Kernel<'_>]) -> TokenStream {
    let elements = args::element_imports(kernels);
    let imports = quote! {
        use super::cutegen_runtime::check::{Check, all_aligned, any_zero};
        use super::cutegen_runtime::dispatch::{Explain, Origin, Variant};
        #elements
        use super::cutegen_runtime::host::{Workspace, call, cpu};
        use super::cutegen_runtime::{Error, Int, View, ViewMut, fallback as math, params};
        use super::cutegen_runtime::{unsafe_block, unsafe_extern, unsafe_fn};
    };
    if kernels.iter().any(|kernel| matches!(kernel.host, Side::Stub)) {
        let body = stub::host_shared();
        return quote!(#imports #body);
    }
    let (docs, bytes) = workspace(kernels);
    let explained = kernels.iter().map(|kernel| explained(kernel));
    let entries = entries(kernels);
    quote! {
        #imports

        #docs
        pub fn workspace() -> Workspace { Workspace::with_bytes(#bytes) }

        /// What is linked, and in which order it is tried.
        pub fn explain() -> Vec<Explain> { Vec::from([#(#explained),*]) }

        #entries
    }
}

/// One kernel's arguments, call, variants and fallback.
pub(super) fn kernel(kernel: &Kernel<'_>) -> Result<Pieces, Error> {
    let mut items = vec![args::argument_struct(kernel, Module::Host, kernel.spec.name.as_str())];
    if matches!(kernel.host, Side::Stub) {
        items.push(stub::host_kernel(kernel));
        return Ok(Pieces { items, methods: Vec::new() });
    }
    items.extend([call(kernel), variant(kernel)]);
    items.extend(launch::variants(kernel, Module::Host)?);
    items.extend([fallback::function(kernel)?, listed(kernel)]);
    Ok(Pieces { items, methods: Vec::new() })
}

fn workspace(kernels: &[&Kernel<'_>]) -> (TokenStream, TokenStream) {
    let answers =
        kernels.iter().flat_map(|k| k.host.answers().iter().map(|a| dispatch::ahead(a.record, k.spec)));
    let Ahead { bytes, grows } = answers.fold(Ahead::default(), Ahead::and);
    let line = if grows {
        format!("Workspace for every call of every kernel: {bytes} bytes, and more when a call needs it.")
    } else {
        format!("Workspace for every call of every kernel: none needs more than these {bytes} bytes.")
    };
    (doc(&[&line]), number(bytes))
}

/// Entry points of the linked objects; equal names are equal code.
fn entries(kernels: &[&Kernel<'_>]) -> TokenStream {
    let variants = kernels.iter().flat_map(|k| k.host.answers()).flat_map(|answer| &answer.record.variants);
    let names: BTreeSet<&str> =
        variants.flat_map(|v| v.contract.steps.iter().map(|step| step.entry.as_str())).collect();
    if names.is_empty() {
        return TokenStream::new();
    }
    let functions = names.into_iter().map(|name| {
        let name = ident(name);
        quote!(fn #name(params: *mut *mut ::core::ffi::c_void);)
    });
    quote!(unsafe_extern! { #(#functions)* })
}

fn level(answer: &Answer<'_>) -> Option<CpuLevel> {
    match answer.target {
        Target::Host { level, .. } => Some(*level),
        Target::Cuda { .. } => None,
    }
}

/// The kernel's line of `explain`.
fn explained(kernel: &Kernel<'_>) -> TokenStream {
    let (title, listed) = (kernel.spec.name.as_str(), &kernel.names.entry);
    let answer = kernel.host.answers().first();
    let target = answer.and_then(level).map_or("math", CpuLevel::name);
    let linked = number(answer.map_or(0, |answer| answer.record.variants.len()) as i64);
    let variants = match answer {
        Some(_) => {
            quote!(if cpu::supports(#target) { #listed.to_vec() } else { #listed[#linked..].to_vec() })
        }
        None => quote!(#listed.to_vec()),
    };
    quote!(Explain { kernel: #title, target: #target, device: cpu::level().to_owned(), variants: #variants, left_out: Vec::new(), passed_over: Vec::new() })
}

/// `static NAME: [Variant; N]`, the fallback last.
fn listed(kernel: &Kernel<'_>) -> TokenStream {
    let name = &kernel.names.entry;
    let variants: Vec<TokenStream> = kernel
        .host
        .answers()
        .iter()
        .take(1)
        .flat_map(|answer| &answer.record.variants)
        .map(|variant| entry::about(kernel.spec, variant, ""))
        .collect();
    let count = number(variants.len() as i64 + 1);
    quote! {
        static #name: [Variant; #count] = [
            #(#variants,)*
            Variant { name: "math", origin: Origin::Fallback, eligible: "", preferred: "", tuned_on: "" },
        ];
    }
}

/// The checked call.
fn call(kernel: &Kernel<'_>) -> TokenStream {
    let (spec, names) = (kernel.spec, &kernel.names);
    let (function, arguments) = (&names.function, &names.arguments);
    let docs = doc(&[
        &math(spec),
        "",
        "Returns when done. Nothing is done where no output has an element.",
        "",
        "# Errors",
        "What is wrong with the call, by the argument's name; nothing has been written then.",
    ]);
    let (checks, values) = (args::checks(kernel), args::value_checks(kernel));
    let extents = (0..spec.axes.len()).map(|i| {
        let local = &names.local_axes[i];
        let known = args::scope(kernel).constant(&cutegen_spec::int_expr::IntExpr::Axis(i));
        known.map_or_else(|| quote!(#local), number)
    });
    let fallback = &names.fallback;
    let by_math = quote!(#fallback(&mut args, [#(#extents),*]));
    let body = match kernel.host.answers().first() {
        None => by_math,
        Some(answer) => linked(kernel, answer, &by_math),
    };
    quote! {
        #docs
        pub fn #function(workspace: &mut Workspace, mut args: #arguments<'_>) -> Result<(), Error> {
            #checks
            #values
            #body
        }
    }
}

fn linked(kernel: &Kernel<'_>, answer: &Answer<'_>, by_math: &TokenStream) -> TokenStream {
    let (spec, names, title) = (kernel.spec, &kernel.names, kernel.spec.name.as_str());
    let choose = &names.variant;
    let pointers =
        spec.tensors.iter().zip(&names.tensors).zip(&names.local_tensors).map(|((tensor, field), local)| {
            match tensor.role {
                Role::Input => quote!(let #local = args.#field.as_ptr();),
                Role::Inout | Role::Output => quote!(let #local = args.#field.as_mut_ptr();),
            }
        });
    let scope = args::scope(kernel);
    let open: Vec<&Name> = kernel.open_axes().map(|i| &names.local_axes[i]).collect();
    let (tensors, scalars) = (&names.local_tensors, &names.scalars);
    let kept_zero = dispatch::kept_zero(&kernel.host, spec);
    let taken = |bytes: i64| {
        let bytes = number(bytes);
        once(quote!(let kept_zero = workspace.kept_zero(#title, #bytes)?;))
    };
    let bodies = answer.variants().map(|(i, variant)| {
        let run = &answer.functions[i];
        let bytes = match dispatch::workspace(&variant.contract, &scope) {
            Some(bytes) => quote!(check.count("workspace", #bytes)?),
            None => quote!(0),
        };
        let (taken, passed) = (kept_zero.map(taken), kept_zero.map(|_| quote!(kept_zero,)));
        quote! {{
            let scratch = workspace.ready(#title, #bytes)?;
            #taken
            #[doc = " SAFETY: arguments and the CPU's level are checked; borrows keep outputs apart."]
            unsafe_block! { #run(scratch, #passed #(#open,)* #(#tensors,)* #(args.#scalars,)*) }
        }}
    });
    let naive = number(answer.record.variants.len() as i64 - 1);
    let arms = arms(bodies.chain([quote!(#by_math)]).collect::<Vec<_>>().into_iter());
    quote! {
        #(#pointers)*
        match workspace.choose(#choose(#(#open,)* #(#tensors.addr() as u64,)*), #naive) { #arms }
    }
}

/// The choice of a variant; one past the last is the math.
fn variant(kernel: &Kernel<'_>) -> TokenStream {
    let Some(answer) = kernel.host.answers().first() else { return TokenStream::new() };
    let names = &kernel.names;
    let name = &names.variant;
    let level = level(answer).map_or("", CpuLevel::name);
    let otherwise = answer.record.variants.len();
    let position = number(otherwise as i64);
    let choice = dispatch::choose(answer.record, &args::scope(kernel), (0, otherwise), &|_| None);
    let open = kernel.open_axes().map(|i| &names.local_axes[i]);
    let tensors = &names.local_tensors;
    quote! {
        /// The variant that these arguments get; one past the last is the math.
        fn #name(#(#open: usize,)* #(#tensors: u64,)*) -> usize {
            if !cpu::supports(#level) { return #position; }
            #choice
        }
    }
}
