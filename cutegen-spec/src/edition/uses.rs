//! What is declared and not used: outputs that nothing assigns, inputs that nothing reads, axes that nothing has,
//! intermediates that are no value of the math. Asked only of math that resolved, and shown where the name is declared.

use super::value::{Key, Table};
use crate::axis::{Axis, Extent};
use crate::diagnostic::{ASSIGN, Diagnostic, SETTING};
use crate::hint;
use crate::math::{Math, Place};
use crate::spec::KernelSpec;
use crate::tensor::{Role, Tensor};

/// Every declaration that the math leaves unused.
pub(super) fn check(table: &Table<'_>, spec: &KernelSpec, math: &Math) -> Vec<Diagnostic> {
    let read = math.reads();
    let tensors = spec.tensors.iter().enumerate();
    let tensors = tensors.filter_map(|(t, tensor)| {
        let place = Place::Tensor(t);
        let used = match tensor.role {
            Role::Input => read.contains(&place),
            Role::Inout | Role::Output => math.assigns.iter().any(|assign| assign.dst == place),
        };
        if used { None } else { unused(table, tensor) }
    });
    tensors.chain(unknown_intermediates(table, spec, math)).collect()
}

/// A warning for each axis that no tensor, no loop and no expression has. One that another is computed from is used by
/// that one. Such a kernel is right, and its entries stay good: only its callers fill a field for nothing.
pub(super) fn unused_axes(table: &Table<'_>, spec: &KernelSpec) -> Vec<Diagnostic> {
    let mut used = spec.math.axes();
    for tensor in &spec.tensors {
        let range = tensor.range.iter().flat_map(|range| [&range.from, &range.to]);
        let expressions = tensor.dims.iter().chain(tensor.strides.iter().flatten()).chain(range);
        expressions.for_each(|expression| expression.axes(&mut used));
    }
    // an axis is computed from those before it
    for (position, axis) in spec.axes.iter().enumerate().rev() {
        if let (Extent::Derived(expression), true) = (&axis.extent, used.contains(&position)) {
            expression.axes(&mut used);
        }
    }
    let Some(declared) = table.get("axes").and_then(|(_, value)| value.table()) else { return Vec::new() };
    let unused = spec.axes.iter().enumerate().filter(|(position, _)| !used.contains(position));
    unused.filter_map(|(_, axis)| Some(unused_axis(&declared.get(&axis.name)?.0, axis))).collect()
}

fn unused_axis(key: &Key<'_>, axis: &Axis) -> Diagnostic {
    let message = format!("axis `{}` is never used", axis.name);
    let error =
        Diagnostic::new(ASSIGN, key.span(), message, "no tensor, no reduction and no other axis has it");
    error.help(if axis.is_run_time() {
        "leave it out: every caller and every workload would have to give it"
    } else {
        "leave it out"
    })
}

fn unused(table: &Table<'_>, tensor: &Tensor) -> Option<Diagnostic> {
    let (_, group) = table.get(tensor.role.table())?;
    let (key, _) = group.table()?.get(&tensor.name)?;
    let name = &tensor.name;
    let (message, label) = match tensor.role {
        Role::Input => {
            (format!("input `{name}` is never read"), "expected a use of it in the math".to_owned())
        }
        Role::Inout => (format!("inout `{name}` is never assigned"), assignment(name)),
        Role::Output => (format!("output `{name}` is never assigned"), assignment(name)),
    };
    Some(Diagnostic::new(ASSIGN, key.span(), message, label))
}

fn assignment(name: &str) -> String {
    format!("expected `{name}[...] = ...` in the math")
}

fn unknown_intermediates(table: &Table<'_>, spec: &KernelSpec, math: &Math) -> Vec<Diagnostic> {
    let Some(inner) = table.get("intermediates").and_then(|(_, value)| value.table()) else {
        return Vec::new();
    };
    let entries = inner.entries().into_iter();
    let unknown = entries.filter(|(key, _)| !math.temps.iter().any(|temp| temp.name == key.text()));
    unknown
        .map(|(key, _)| {
            let declared = spec.tensors.iter().any(|tensor| tensor.name == key.text());
            let message = if declared {
                format!("`{}` is a tensor and no intermediate", key.text())
            } else {
                format!("intermediate `{}` is never assigned", key.text())
            };
            let error = Diagnostic::new(SETTING, key.span(), message, assignment(key.text()));
            let near = hint::meant(key.text(), math.temps.iter().map(|temp| temp.name.as_str()));
            Diagnostic { help: near.filter(|_| !declared), ..error }
        })
        .collect()
}
