//! A variant's launch contract as plain Rust: the same steps, numbers and arguments that the launcher interprets
//! while searching. One function for each variant; what differs between CUDA and the CPU is said side by side.

use std::collections::BTreeSet;

use cutegen_spec::contract::tensor_map::{Base, Fill, TensorMap};
use cutegen_spec::contract::{Arg, Contract, Initial, Region, Step};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};
use cutegen_spec::record::Variant;
use cutegen_spec::tensor::Role;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::args::{Module, doc, element, runtime_dtype, scope};
use super::dispatch;
use super::expr::{Scope, number};
use super::kernel::{Answer, Kernel, Side, ident, once, short_target};
use super::raw::scalar_params;
use crate::emit::Error;

/// The functions of every variant of one of the modules.
pub(super) fn variants(kernel: &Kernel<'_>, module: Module) -> Result<Vec<TokenStream>, Error> {
    let every = side(kernel, module)
        .answers()
        .iter()
        .flat_map(|answer| answer.variants().map(move |variant| (answer, variant)));
    every.map(|(answer, variant)| function(kernel, answer, variant, module)).collect()
}

fn side<'a>(kernel: &'a Kernel<'a>, module: Module) -> &'a Side<'a> {
    match module {
        Module::Cuda => &kernel.cuda,
        Module::Host => &kernel.host,
    }
}

fn function(
    kernel: &Kernel<'_>,
    answer: &Answer<'_>,
    (position, variant): (usize, &Variant),
    module: Module,
) -> Result<TokenStream, Error> {
    check(kernel, variant, module)?;
    let names = &kernel.names;
    let (name, title) = (&answer.functions[position], kernel.spec.name.as_str());
    let target = short_target(answer.target);
    let docs = doc(&[&format!("Launch contract of variant {position} for `{target}`, `{}`.", variant.name)]);
    let axes = kernel.open_axes().map(|i| &names.local_axes[i]);
    let scalars = scalar_params(kernel);
    let keeps_zero = dispatch::kept_zero(side(kernel, module), kernel.spec).is_some();
    let opening = match module {
        Module::Cuda => {
            let kept = keeps_zero.then(|| quote!(kept_zero: CUdeviceptr,));
            quote!(&self, stream: CUstream, workspace: CUdeviceptr, #kept)
        }
        Module::Host => {
            let kept = keeps_zero.then(|| quote!(kept_zero: *mut u8,));
            quote!(workspace: *mut u8, #kept)
        }
    };
    let addresses = kernel.spec.tensors.iter().zip(&names.local_tensors).map(|(tensor, name)| {
        let element = element(tensor.dtype);
        match (module, tensor.role) {
            (Module::Cuda, _) => quote!(#name: CUdeviceptr,),
            (Module::Host, Role::Input) => quote!(#name: *const #element,),
            (Module::Host, Role::Inout | Role::Output) => quote!(#name: *mut #element,),
        }
    });
    let params = axis_params(kernel, &variant.contract);
    let parts = parts(kernel, &variant.contract, module);
    let steps = variant.contract.steps.iter().enumerate().map(|(i, step)| match module {
        Module::Cuda => cuda_step(kernel, (position, i), step),
        Module::Host => host_step(kernel, step),
    });
    let device = device_properties(kernel, &variant.contract);
    let [docs, opening, scalars, device, params, parts] =
        [docs, opening, scalars, device, params, parts].map(once);
    let steps = steps.map(once);
    Ok(quote! {
        unsafe_fn! {
            #docs
            fn #name(#opening #(#axes: usize,)* #(#addresses)* #scalars) -> Result<(), Error> {
                let check = Check::new(#title);
                #device #params #parts #(#steps)*
                Ok(())
            }
        }
    })
}

pub(super) fn device_properties(kernel: &Kernel<'_>, contract: &Contract) -> TokenStream {
    let function = &kernel.names.function;
    let used = |prop| contract.steps.iter().any(|step| numbers(step).any(|expr| uses(expr, prop)));
    let mut tokens = TokenStream::new();
    if used(DeviceProp::SmCount) {
        tokens.extend(quote!(let sm_count = Int::from(self.#function.device().sm_count);));
    }
    if used(DeviceProp::DeviceSmem) {
        tokens.extend(quote!(let device_smem = Int::from(self.#function.device().smem_max);));
    }
    tokens
}

/// Axes that are passed to a kernel, as the 64-bit integers that they are there.
fn axis_params(kernel: &Kernel<'_>, contract: &Contract) -> TokenStream {
    let args = contract.steps.iter().flat_map(|step| &step.args);
    let axes: BTreeSet<usize> =
        args.filter_map(|arg| if let Arg::Axis(axis) = arg { Some(*axis) } else { None }).collect();
    let scope = scope(kernel);
    let lets = axes.into_iter().map(|axis| {
        let (name, local) = (param_name(kernel, axis), &kernel.names.local_axes[axis]);
        match scope.constant(&IntExpr::Axis(axis)) {
            Some(value) => {
                let value = number(value);
                quote!(let #name: i64 = #value;)
            }
            None => quote!(let #name = #local as i64;),
        }
    });
    quote!(#(#lets)*)
}

fn param_name(kernel: &Kernel<'_>, axis: usize) -> Ident {
    format_ident!("param_{}", kernel.spec.axes[axis].name)
}

/// Addresses of the workspace parts that are used, and the zeroing of those that begin as zeros.
fn parts(kernel: &Kernel<'_>, contract: &Contract, module: Module) -> TokenStream {
    let function = &kernel.names.function;
    let scope = scope(kernel);
    let [mut scratch, mut kept_zero]: [Option<TokenStream>; 2] = [None, None];
    let mut tokens = TokenStream::new();
    for (i, part) in contract.workspace.iter().enumerate() {
        let name = part_name(i);
        let (region, offset) = match part.initial.region() {
            Region::Scratch => (ident("workspace"), &mut scratch),
            Region::KeptZero => (ident("kept_zero"), &mut kept_zero),
        };
        tokens.extend(match (&offset, module) {
            (None, Module::Cuda | Module::Host) => quote!(let #name = #region;),
            (Some(offset), Module::Cuda) => {
                quote!(let #name = #region + check.count("workspace", #offset)? as u64;)
            }
            (Some(offset), Module::Host) => {
                quote!(let #name = #region.wrapping_add(check.count("workspace", #offset)?);)
            }
        });
        let bytes = scope.int(&part.bytes);
        if part.initial == Initial::Zeroed {
            let zero = match module {
                Module::Cuda => {
                    quote!(self.#function.zero(stream, #name, check.count("workspace", #bytes)?)?)
                }
                Module::Host => quote!(#name.write_bytes(0, check.count("workspace", #bytes)?)),
            };
            tokens.extend(quote! {
                #[doc = " SAFETY: the part lies in the workspace, which nothing else uses now."]
                unsafe_block! { #zero };
            });
        }
        let size = quote!(Int::padded(#bytes));
        *offset = Some(offset.take().map_or_else(|| size.clone(), |before| quote!(#before + #size)));
    }
    tokens
}

fn cuda_step(kernel: &Kernel<'_>, (variant, position): (usize, usize), step: &Step) -> TokenStream {
    let function = &kernel.names.function;
    let config = once(config(kernel, (variant, position), step));
    let (variant, position) = (number(variant as i64), number(position as i64));
    let resident =
        step.co_resident.then(|| quote!(self.#function.all_resident(#variant, #position, &config)?;));
    let args = step.args.iter().enumerate().map(|(at, arg)| argument(kernel, (at, arg)));
    let computed = computed(kernel, step);
    let launch = quote! {
        #computed
        let mut params = params![#(#args),*];
        #[doc = " SAFETY: the parameters are the contract's, checked against the cubin's own layout."]
        unsafe_block! { self.#function.launch(#variant, #position, stream, &config, &mut params)? };
    };
    if computed.is_empty() {
        return quote!(#config #resident #launch);
    }
    // a launch of nothing computes nothing, as in the launcher of the search
    quote!(#config #resident if !config.grid.contains(&0) { #launch })
}

/// Locals for the arguments that a launch computes: numbers, and descriptors of tensors.
fn computed(kernel: &Kernel<'_>, step: &Step) -> TokenStream {
    let scope = scope(kernel);
    let lets = step.args.iter().enumerate().map(|(at, arg)| {
        let name = computed_name(at);
        match arg {
            Arg::Int(number) => {
                let number = scope.int(number);
                quote!(let #name = check.int("argument", #number)?;)
            }
            Arg::Map(map) => {
                let map = tensor_map(kernel, map);
                quote!(let #name = #map;)
            }
            Arg::Ptr(_) | Arg::Axis(_) | Arg::Scalar(_) | Arg::Workspace(_) => TokenStream::new(),
        }
    });
    quote!(#(#lets)*)
}

fn computed_name(argument: usize) -> Ident {
    format_ident!("cutegen_arg_{argument}")
}

/// What encodes a descriptor.
fn tensor_map(kernel: &Kernel<'_>, map: &TensorMap) -> TokenStream {
    let (function, scope) = (&kernel.names.function, scope(kernel));
    let count = |number: &IntExpr| match scope.constant(number) {
        Some(value) if value >= 0 => {
            let value = self::number(value);
            quote!(#value)
        }
        Some(_) | None => {
            let number = scope.int(number);
            quote!(check.count("tensor map", #number)?)
        }
    };
    let base = match map.base {
        Base::Tensor(tensor) => kernel.names.local_tensors[tensor].ident(),
        Base::Workspace(part) => part_name(part),
    };
    let size = IntExpr::Const(map.dtype.bytes() as i64);
    let bytes = IntExpr::op(IntOp::Mul, map.offset.clone(), size);
    let address = match scope.constant(&bytes) {
        Some(0) => quote!(#base),
        Some(_) | None => {
            let bytes = count(&bytes);
            quote!(check.address("tensor map", #base, #bytes)?)
        }
    };
    let (shape, strides) = (map.dims.iter().map(count), map.strides.iter().map(count));
    let numbers = |list: &[u32]| list.iter().map(|n| number(i64::from(*n))).collect::<Vec<_>>();
    let (tile, every) = (numbers(&map.tile), numbers(&map.every));
    let dtype = ident(runtime_dtype(map.dtype));
    let [swizzle, promotion] = [map.swizzle, map.promotion].map(|bytes| match bytes {
        0 => ident("None"),
        bytes => format_ident!("B{bytes}"),
    });
    let fill = ident(match map.fill {
        Fill::Zero => "Zero",
        Fill::Nan => "Nan",
    });
    // paths, as an import's name would be taken from kernels
    let cuda = quote!(super::cutegen_runtime::cuda);
    quote! {
        self.#function.encode_tiled(&#cuda::TiledTensor {
            dtype: super::cutegen_runtime::DType::#dtype,
            address: #address,
            shape: [#(#shape),*],
            strides: [#(#strides),*],
            tile: [#(#tile),*],
            every: [#(#every),*],
            swizzle: #cuda::Swizzle::#swizzle,
            promotion: #cuda::L2Promotion::#promotion,
            fill: #cuda::Fill::#fill,
        })?
    }
}

/// Whether a launch of any of these needs descriptors.
fn has_maps(contract: &Contract) -> bool {
    contract.steps.iter().flat_map(|step| &step.args).any(|arg| matches!(arg, Arg::Map(_)))
}

/// Statements that make the local `config` of a step's launch.
pub(super) fn config(kernel: &Kernel<'_>, (variant, position): (usize, usize), step: &Step) -> TokenStream {
    let scope = scope(kernel);
    let (variant, position) = (number(variant as i64), number(position as i64));
    let (grid, block) = (blocks(&scope, &step.grid), blocks(&scope, &step.block));
    let mut fields = quote!(block: #block,);
    if step.cluster != cutegen_spec::contract::ones() {
        let cluster = blocks(&scope, &step.cluster);
        fields.extend(quote!(cluster: #cluster,));
    }
    match scope.constant(&step.smem) {
        Some(0) => {}
        Some(bytes) if u32::try_from(bytes).is_ok() => {
            let bytes = number(bytes);
            fields.extend(quote!(dynamic_smem: #bytes,));
        }
        Some(_) | None => {
            let bytes = scope.int(&step.smem);
            fields.extend(quote!(dynamic_smem: check.smem(#bytes)?,));
        }
    }
    for (asked, name) in [(step.pdl, "pdl"), (step.co_resident, "cooperative")] {
        let name = ident(name);
        fields.extend(asked.then(|| quote!(#name: true,)));
    }
    let occupancy = occupancy(kernel, &variant, &position, step);
    let (is_plain, [grid, fields, occupancy]) = (occupancy.is_empty(), [grid, fields, occupancy].map(once));
    if is_plain {
        quote!(let config = LaunchConfig { grid: #grid, #fields ..LaunchConfig::default() };)
    } else {
        quote! {
            let mut config = LaunchConfig { #fields ..LaunchConfig::default() };
            #occupancy
            config.grid = #grid;
        }
    }
}

/// Locals for what only the occupancy of this launch tells.
fn occupancy(kernel: &Kernel<'_>, variant: &TokenStream, position: &TokenStream, step: &Step) -> TokenStream {
    let function = &kernel.names.function;
    let args = || step.args.iter().flat_map(Arg::numbers);
    let used = |prop| step.grid.iter().chain(args()).any(|expr| uses(expr, prop));
    let mut tokens = TokenStream::new();
    for prop in [DeviceProp::MaxActiveClusters, DeviceProp::MaxBlocksPerSm] {
        if used(prop) {
            let name = ident(prop.name());
            tokens
                .extend(quote!(let #name = Int::from(self.#function.#name(#variant, #position, &config)?);));
        }
    }
    tokens
}

fn host_step(kernel: &Kernel<'_>, step: &Step) -> TokenStream {
    let entry = ident(&step.entry);
    let args = step.args.iter().enumerate().map(|(at, arg)| argument(kernel, (at, arg)));
    let computed = once(computed(kernel, step));
    quote! {
        #computed
        #[doc = " SAFETY: the parameters are the contract's; the caller vouches for the memory."]
        unsafe_block! { call(#entry, &mut params![#(#args),*]) };
    }
}

fn argument(kernel: &Kernel<'_>, (at, arg): (usize, &Arg)) -> Ident {
    match arg {
        Arg::Ptr(tensor) => kernel.names.local_tensors[*tensor].ident(),
        Arg::Axis(axis) => param_name(kernel, *axis),
        Arg::Scalar(scalar) => kernel.names.local_scalars[*scalar].ident(),
        Arg::Workspace(part) => part_name(*part),
        Arg::Int(_) | Arg::Map(_) => computed_name(at),
    }
}

fn part_name(part: usize) -> Ident {
    format_ident!("part_{part}")
}

/// `[256, 1, 1]` where all three are known, else what computes and checks them.
fn blocks(scope: &Scope<'_>, counts: &[IntExpr; 3]) -> TokenStream {
    let known = counts.each_ref().map(|count| scope.constant(count).filter(|c| (0..=0xffff).contains(c)));
    if let [Some(x), Some(y), Some(z)] = known {
        let [x, y, z] = [number(x), number(y), number(z)];
        return quote!([#x, #y, #z]);
    }
    let [x, y, z] = counts.each_ref().map(|count| scope.int(count));
    quote!(check.blocks([#x, #y, #z])?)
}

fn numbers(step: &Step) -> impl Iterator<Item = &IntExpr> {
    step.grid.iter().chain(fixed(step)).chain(step.args.iter().flat_map(Arg::numbers))
}

/// Numbers that occupancy depends on, and that can't depend on it.
fn fixed(step: &Step) -> impl Iterator<Item = &IntExpr> {
    step.block.iter().chain(&step.cluster).chain([&step.smem])
}

fn uses(expr: &IntExpr, prop: DeviceProp) -> bool {
    match expr {
        IntExpr::Device(other) => *other == prop,
        IntExpr::Const(_) | IntExpr::Axis(_) => false,
        IntExpr::Op(_, a, b) => uses(a, prop) || uses(b, prop),
    }
}

fn highest_axis(expr: &IntExpr) -> Option<usize> {
    match expr {
        IntExpr::Axis(axis) => Some(*axis),
        IntExpr::Const(_) | IntExpr::Device(_) => None,
        IntExpr::Op(_, a, b) => highest_axis(a).max(highest_axis(b)),
    }
}

/// An argument whose position is there.
fn checked(kernel: &Kernel<'_>, contract: &Contract, arg: &Arg) -> Result<(), String> {
    let spec = kernel.spec;
    let (position, count) = match arg {
        Arg::Ptr(i) => (*i, spec.tensors.len()),
        Arg::Axis(i) => (*i, spec.axes.len()),
        Arg::Scalar(i) => (*i, spec.scalars.len()),
        Arg::Workspace(i) => (*i, contract.workspace.len()),
        Arg::Int(_) => return Ok(()),
        Arg::Map(map) => match map.base {
            Base::Tensor(i) => (i, spec.tensors.len()),
            Base::Workspace(i) => (i, contract.workspace.len()),
        },
    };
    if position < count { Ok(()) } else { Err(format!("there is no {arg}")) }
}

/// What can't be printed: positions that aren't there, and a circle through occupancy.
fn check(kernel: &Kernel<'_>, variant: &Variant, module: Module) -> Result<(), Error> {
    let (spec, contract) = (kernel.spec, &variant.contract);
    let refuse = |why: String| Error::Contract { kernel: format!("{}/{}", spec.name, variant.name), why };
    if module == Module::Host && has_maps(contract) {
        return Err(refuse("a CPU has no tensor maps".to_owned()));
    }
    for step in &contract.steps {
        for arg in &step.args {
            checked(kernel, contract, arg).map_err(refuse)?;
        }
        let circular = [DeviceProp::MaxActiveClusters, DeviceProp::MaxBlocksPerSm];
        if fixed(step).any(|expr| circular.iter().any(|prop| uses(expr, *prop))) {
            return Err(refuse(
                "block, cluster or shared memory asks for the occupancy it decides".to_owned(),
            ));
        }
    }
    let properties = [
        DeviceProp::SmCount,
        DeviceProp::DeviceSmem,
        DeviceProp::MaxActiveClusters,
        DeviceProp::MaxBlocksPerSm,
    ];
    if contract.workspace.iter().any(|part| properties.iter().any(|prop| uses(&part.bytes, *prop))) {
        return Err(refuse("a workspace part asks for the device, which is sized without one".to_owned()));
    }
    dispatch::variant_kept_zero(variant, spec).map_err(refuse)?;
    let expressions =
        contract.steps.iter().flat_map(numbers).chain(contract.workspace.iter().map(|p| &p.bytes));
    match expressions.filter_map(highest_axis).max() {
        Some(axis) if axis >= spec.axes.len() => Err(refuse(format!("there is no axis a{axis}"))),
        Some(_) | None => Ok(()),
    }
}
