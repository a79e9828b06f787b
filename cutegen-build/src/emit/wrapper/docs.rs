//! What the emitted documentation says of axes and tensors: kinds, shapes, and what a caller must see to. Text alone.

use cutegen_spec::axis::Extent;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor};

use super::domain::fold;
use super::expr::text;
use crate::print::c::is_packed;

/// The field of an axis.
pub(super) fn axis(spec: &KernelSpec, position: usize) -> String {
    match &spec.axes[position].extent {
        Extent::Range { lo, hi, multiple_of: 1, .. } => format!("Axis, {lo}..={hi}."),
        Extent::Range { lo, hi, multiple_of, .. } => format!("Axis, {lo}..={hi} in steps of {multiple_of}."),
        Extent::Const(value) => format!("Axis, {value}."),
        Extent::Derived(expr) => format!("Axis, {}.", text(expr, spec)),
    }
}

/// The field of a tensor, in lines.
pub(super) fn tensor(spec: &KernelSpec, tensor: &Tensor) -> String {
    let shape = format!("`{}[{}]`{}", tensor.dtype, list(&tensor.dims, spec), known_extents(spec, tensor));
    let kind = match (tensor.role, tensor.constant) {
        (Role::Input, false) => format!("Input, {shape}."),
        (Role::Input, true) => format!("Weights, {shape}: the same values at every launch."),
        (Role::Inout, _) => format!("Read and partly written, {shape}."),
        (Role::Output, _) => format!("Output, {shape}."),
    };
    let strides = tensor.strides.as_ref().map(|strides| strides_line(strides, spec));
    let packed = is_packed(tensor.dtype).then(|| packed_line(tensor, spec));
    let lines = [Some(kind), strides, packed, values(tensor, spec).map(sentence)];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// What a caller answers for where no check reaches the values: a line for each tensor with a range.
pub(super) fn promises(spec: &KernelSpec) -> Vec<String> {
    let line = |tensor: &Tensor| Some(format!("- `{}`: {}.", tensor.name, values(tensor, spec)?));
    spec.tensors.iter().filter_map(line).collect()
}

/// `Strides [ldw, 1], in elements.`
fn strides_line(strides: &[IntExpr], spec: &KernelSpec) -> String {
    format!("Strides `[{}]`, in elements.", list(strides, spec))
}

/// The shape that a view of a packed tensor has.
fn packed_line(tensor: &Tensor, spec: &KernelSpec) -> String {
    let Some((last, outer)) = tensor.dims.split_last() else {
        return "One value, in the lower half of a byte.".to_owned();
    };
    let halved = |op| text(&IntExpr::op(op, last.clone(), IntExpr::Const(2)), spec);
    let (bytes, condition) = match (fold(last, &spec.axes), outer) {
        (IntExpr::Const(values), _) => ((values / 2 + values % 2).to_string(), String::new()),
        (_, []) => (halved(IntOp::CeilDiv), String::new()),
        _ => (halved(IntOp::Div), format!("; of several rows each has an even `{}`", text(last, spec))),
    };
    let shape: Vec<String> = outer.iter().map(|dim| text(dim, spec)).chain([bytes]).collect();
    let shape = shape.join(", ");
    format!("Two values to a byte, the first in its lower half: a view of `[{shape}]` bytes{condition}.")
}

/// What the values of an integer input hold to.
fn values(tensor: &Tensor, spec: &KernelSpec) -> Option<String> {
    let range = tensor.range.as_ref().map(|range| {
        let to = match &range.to {
            IntExpr::Op(IntOp::Add, last, one) if **one == IntExpr::Const(1) => {
                format!("={}", text(last, spec))
            }
            to => text(to, spec),
        };
        format!("every value lies in `{}..{to}`", text(&range.from, spec))
    });
    let unique = tensor.unique.then(|| "no two values are equal".to_owned());
    [range, unique].into_iter().flatten().reduce(|range, unique| format!("{range}, and {unique}"))
}

/// The first letter of a sentence.
fn sentence(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text + "."
}

fn list(exprs: &[IntExpr], spec: &KernelSpec) -> String {
    let texts: Vec<String> = exprs.iter().map(|expr| text(expr, spec)).collect();
    texts.join(", ")
}

/// ` with k = 4096, p = h - 2` for the axes of a tensor that the caller doesn't pass.
fn known_extents(spec: &KernelSpec, tensor: &Tensor) -> String {
    let known = tensor.dims.iter().filter_map(|dim| {
        let IntExpr::Axis(axis) = dim else { return None };
        let axis = spec.axes.get(*axis)?;
        match &axis.extent {
            Extent::Const(value) => Some(format!("{} = {value}", axis.name)),
            Extent::Derived(expr) => Some(format!("{} = {}", axis.name, text(expr, spec))),
            Extent::Range { .. } => None,
        }
    });
    let known: Vec<String> = known.collect();
    if known.is_empty() { String::new() } else { format!(" with {}", known.join(", ")) }
}
