//! What both modules say alike: the argument struct, its documentation, and the checks that open a call.

use cutegen_spec::axis::Extent;
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::docs;
use super::expr::{Scope, number};
use super::kernel::{Kernel, Name, ident};
use crate::print::c::is_packed;

/// Which module is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Module {
    Cuda,
    Host,
}

impl Module {
    fn view(self, role: Role) -> Ident {
        ident(match (self, role) {
            (Module::Cuda, Role::Input) => "CudaView",
            (Module::Cuda, Role::Inout | Role::Output) => "CudaViewMut",
            (Module::Host, Role::Input) => "View",
            (Module::Host, Role::Inout | Role::Output) => "ViewMut",
        })
    }
}

/// The argument struct, documented; `of` is the path of the function that takes it.
pub(super) fn argument_struct(kernel: &Kernel<'_>, module: Module, of: &str) -> TokenStream {
    let spec = kernel.spec;
    let name = &kernel.names.arguments;
    let docs = doc(&[&format!("Arguments of [`{of}`]."), "", &math(spec)]);
    let axes = spec.run_time_axes().map(|i| {
        let (doc, field) = (doc(&[&docs::axis(spec, i)]), &kernel.names.axes[i]);
        quote!(#doc pub #field: usize,)
    });
    let tensors = spec.tensors.iter().zip(&kernel.names.tensors).map(|(tensor, field)| {
        let (doc, view) = (doc(&[&docs::tensor(spec, tensor)]), module.view(tensor.role));
        let element = element(tensor.dtype);
        let rank = number(tensor.dims.len() as i64);
        quote!(#doc pub #field: #view<'a, #element, #rank>,)
    });
    let scalars = spec.scalars.iter().zip(&kernel.names.scalars).map(|(scalar, field)| {
        let (doc, ty) = (doc(&[&format!("Scalar, `{}`.", scalar.dtype)]), element(scalar.dtype));
        quote!(#doc pub #field: #ty,)
    });
    quote! {
        #docs
        #[derive(Debug)]
        pub struct #name<'a> { #(#axes)* #(#tensors)* #(#scalars)* }
    }
}

/// Checks axes and shapes of `args`, and leaves every axis that isn't constant in a local of its name. Returns early
/// where no output has an element.
pub(super) fn checks(kernel: &Kernel<'_>) -> TokenStream {
    let (spec, names) = (kernel.spec, &kernel.names);
    let title = spec.name.as_str();
    let bind = spec.run_time_axes().map(|i| {
        let (local, field) = (&names.local_axes[i], &names.axes[i]);
        quote!(let #local = args.#field;)
    });
    let ranges = spec.run_time_axes().map(|i| axis_check(kernel, i));
    let derived = derived(kernel);
    let tensors = spec.tensors.iter().zip(&names.tensors);
    let shapes = tensors.map(|(tensor, field)| layout_checks(kernel, tensor, field));
    let empty = nothing_to_do(kernel, |field| quote!(args.#field.layout().is_empty()));
    quote! {
        let check = Check::new(#title);
        #(#bind)* #(#ranges)* #derived #(#shapes)* #empty
    }
}

/// A view's shape, strides and, where it is written through strides, that it meets no element twice.
fn layout_checks(kernel: &Kernel<'_>, tensor: &Tensor, field: &Name) -> TokenStream {
    let (text, dims) = (&tensor.name, dims(kernel, tensor));
    let shape = if is_packed(tensor.dtype) { ident("packed") } else { ident("shape") };
    let mut checks = quote!(check.#shape(#text, args.#field.layout(), [#(#dims),*])?;);
    let Some(strides) = &tensor.strides else {
        checks.extend(quote!(check.row_major(#text, args.#field.layout())?;));
        return checks;
    };
    let strides = counts(kernel, tensor, strides);
    checks.extend(quote!(check.strides(#text, args.#field.layout(), [#(#strides),*])?;));
    if tensor.role != Role::Input {
        checks.extend(quote!(check.injective(#text, args.#field.layout())?;));
    }
    checks
}

/// Checks of what integer inputs hold, for memory that can be looked at.
pub(super) fn value_checks(kernel: &Kernel<'_>) -> TokenStream {
    let scope = scope(kernel);
    let tensors = kernel.spec.tensors.iter().zip(&kernel.names.tensors);
    let checks = tensors.map(|(tensor, field)| {
        let (text, dims) = (&tensor.name, dims(kernel, tensor));
        let within = tensor.range.as_ref().map(|range| {
            let (from, to) = (scope.int(&range.from), scope.int(&range.to));
            quote!(check.within(#text, args.#field.integers([#(#dims),*]), #from, #to)?;)
        });
        let distinct =
            tensor.unique.then(|| quote!(check.distinct(#text, args.#field.integers([#(#dims),*]))?;));
        quote!(#within #distinct)
    });
    quote!(#(#checks)*)
}

/// Locals for the axes that are computed from others; `check` is in scope.
pub(super) fn derived(kernel: &Kernel<'_>) -> TokenStream {
    let scope = scope(kernel);
    let lets = kernel.derived_axes().map(|i| {
        let Extent::Derived(expr) = &kernel.spec.axes[i].extent else { return TokenStream::new() };
        let (text, local, value) = (&kernel.spec.axes[i].name, &kernel.names.local_axes[i], scope.int(expr));
        quote!(let #local = check.count(#text, #value)?;)
    });
    quote!(#(#lets)*)
}

/// `if .. { return Ok(()); }` where every output is empty, which none is that has constant extents only.
fn nothing_to_do(kernel: &Kernel<'_>, is_empty: impl Fn(&Name) -> TokenStream) -> TokenStream {
    let outputs =
        kernel.spec.tensors.iter().zip(&kernel.names.tensors).filter(|(t, _)| t.role != Role::Input);
    let empty = outputs.map(|(_, field)| is_empty(field)).reduce(|all, one| quote!(#all && #one));
    empty.map_or_else(TokenStream::new, |empty| quote!(if #empty { return Ok(()); }))
}

/// `if .. { return Ok(()); }` as above, for a raw entry that has axes and no views.
pub(super) fn nothing_to_do_raw(kernel: &Kernel<'_>) -> TokenStream {
    let outputs = kernel.spec.tensors.iter().filter(|tensor| tensor.role != Role::Input);
    let empty = outputs.map(|tensor| {
        let dims = dims(kernel, tensor);
        quote!(any_zero(&[#(#dims),*]))
    });
    let empty = empty.reduce(|all, one| quote!(#all && #one));
    empty.map_or_else(TokenStream::new, |empty| quote!(if #empty { return Ok(()); }))
}

/// Expressions over the locals that [`checks`] and raw entries leave.
pub(super) fn scope<'a>(kernel: &'a Kernel<'_>) -> Scope<'a> {
    Scope { spec: kernel.spec, axes: &kernel.names.local_axes, addresses: &kernel.names.local_tensors }
}

fn axis_check(kernel: &Kernel<'_>, position: usize) -> TokenStream {
    let axis = &kernel.spec.axes[position];
    let Extent::Range { lo, hi, multiple_of, .. } = &axis.extent else { return TokenStream::new() };
    let (text, local) = (&axis.name, &kernel.names.local_axes[position]);
    let (lo, hi, step) = (number(*lo), number(*hi), number(*multiple_of));
    quote!(check.axis(#text, #local, #lo, #hi, #step)?;)
}

/// Extents of a tensor as `usize` expressions.
fn dims(kernel: &Kernel<'_>, tensor: &Tensor) -> Vec<TokenStream> {
    counts(kernel, tensor, &tensor.dims)
}

/// Extents or strides of a tensor as `usize` expressions.
fn counts(kernel: &Kernel<'_>, tensor: &Tensor, exprs: &[IntExpr]) -> Vec<TokenStream> {
    let scope = scope(kernel);
    let count = |expr: &IntExpr| match (scope.constant(expr), expr) {
        (Some(value), _) if value >= 0 => number(value),
        (None, IntExpr::Axis(axis)) => {
            let local = &kernel.names.local_axes[*axis];
            quote!(#local)
        }
        _ => {
            let (name, value) = (&tensor.name, scope.int(expr));
            quote!(check.count(#name, #value)?)
        }
    };
    exprs.iter().map(count).collect()
}

/// The Rust type of an element or scalar; packed types count bytes.
pub(super) fn element(dtype: DType) -> Ident {
    ident(match dtype {
        DType::F64 => "f64",
        DType::F32 => "f32",
        DType::F16 => "f16",
        DType::Bf16 => "bf16",
        DType::F8e4m3 => "F8E4M3",
        DType::F8e5m2 => "F8E5M2",
        DType::I8 => "i8",
        DType::U8 => "u8",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::Bool => "bool",
        DType::I4 => "I4x2",
        DType::U4 => "U4x2",
    })
}

/// The runtime's variant for a dtype.
pub(super) fn runtime_dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "F64",
        DType::F32 => "F32",
        DType::F16 => "F16",
        DType::Bf16 => "Bf16",
        DType::F8e4m3 => "F8E4M3",
        DType::F8e5m2 => "F8E5M2",
        DType::I8 => "I8",
        DType::U8 => "U8",
        DType::I32 => "I32",
        DType::I64 => "I64",
        DType::Bool => "Bool",
        DType::I4 => "I4",
        DType::U4 => "U4",
    }
}

/// Imports of the element types that `kernels` use and Rust lacks.
pub(super) fn element_imports(kernels: &[&Kernel<'_>]) -> TokenStream {
    let used = |dtype: DType| kernels.iter().any(|k| k.spec.tensors.iter().any(|t| t.dtype == dtype));
    let import = |dtype: DType, path: TokenStream| {
        let name = element(dtype);
        if used(dtype) { quote!(use super::cutegen_runtime::#path::#name;) } else { TokenStream::new() }
    };
    let half = [DType::Bf16, DType::F16].map(|dtype| import(dtype, quote!(half)));
    let own =
        [DType::F8e4m3, DType::F8e5m2, DType::I4, DType::U4].map(|dtype| import(dtype, quote!(element)));
    quote!(#(#half)* #(#own)*)
}

/// Doc attributes, one for each line.
pub(super) fn doc(lines: &[&str]) -> TokenStream {
    let lines = lines.iter().flat_map(|line| line.split('\n')).map(|line| {
        let line = if line.is_empty() { String::new() } else { format!(" {line}") };
        quote!(#[doc = #line])
    });
    quote!(#(#lines)*)
}

/// The math as Markdown: a code span, or a block where it has several lines.
pub(super) fn math(spec: &KernelSpec) -> String {
    let lines: Vec<&str> = spec.math_text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [one] if !one.contains('`') => format!("`{one}`"),
        many => format!("```text\n{}\n```", many.join("\n")),
    }
}
