//! Extents of the axes: as given, else as the tensors have them. Pure.

use std::collections::BTreeMap;

use cutegen_spec::axis::Extent;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::spec::KernelSpec;

use super::expected;
use super::tensors::View;
use crate::args::Run;
use crate::bindings::by_name;
use crate::failure::Failure;

/// Extents of all axes.
pub(super) fn bind(spec: &KernelSpec, verb: &Run, views: &[View<'_>]) -> Result<Vec<i64>, Failure> {
    let given = by_name(&verb.axes).map_err(|text| Failure::Usage(format!("--axes: {text}")))?;
    all(spec, given, views).map_err(|text| Failure::Usage(format!("{text}\n{}", expected::axes(spec))))
}

fn all(spec: &KernelSpec, mut axes: BTreeMap<String, i64>, views: &[View<'_>]) -> Result<Vec<i64>, String> {
    for position in spec.run_time_axes() {
        let name = &spec.axes[position].name;
        if let (false, Some(extent)) = (axes.contains_key(name), infer(spec, position, views)?) {
            axes.insert(name.clone(), extent);
        }
    }
    let open: Vec<&str> = spec
        .run_time_axes()
        .map(|i| spec.axes[i].name.as_str())
        .filter(|name| !axes.contains_key(*name))
        .collect();
    let alien = axes.keys().any(|name| !spec.run_time_axes().any(|i| spec.axes[i].name == *name));
    if open.is_empty() || alien {
        return spec.bind(&axes);
    }
    let (name, open) = (&spec.name, open.join("`, `"));
    let takes = expected::tensors(spec, None).join("\n");
    let given = match views {
        [] => String::new(),
        views => format!("\nin what was given {}", expected::found(views)),
    };
    Err(format!("kernel `{name}`: nothing says how long axis `{open}` is{given}\nit takes:\n{takes}"))
}

/// The extent of an axis by the shapes of tensors that have it as a dimension.
fn infer(spec: &KernelSpec, axis: usize, views: &[View<'_>]) -> Result<Option<i64>, String> {
    let mut found: Option<(i64, &str)> = None;
    for tensor in &spec.tensors {
        let Some(view) = views.iter().find(|view| view.name == tensor.name) else { continue };
        // packed types have another shape in a file
        if view.shape.len() != tensor.dims.len() || tensor.dtype.bits() < 8 {
            continue;
        }
        for (dim, extent) in tensor.dims.iter().zip(&view.shape) {
            let extent = i64::try_from(*extent).unwrap_or(i64::MAX);
            match found {
                _ if *dim != IntExpr::Axis(axis) => {}
                None => found = Some((extent, &tensor.name)),
                Some((other, first)) if other != extent => {
                    let axis = &spec.axes[axis].name;
                    let second = &tensor.name;
                    return Err(format!("axis `{axis}` is {other} in `{first}` and {extent} in `{second}`"));
                }
                Some(_) => {}
            }
        }
    }
    Ok(found.map(|(extent, _)| extent))
}

/// An axis's declared extents, as a spec has them.
pub(super) fn range(extent: &Extent) -> String {
    match extent {
        Extent::Range { lo, hi, multiple_of: 1, .. } => format!("{lo}..={hi}"),
        Extent::Range { lo, hi, multiple_of, .. } => format!("{lo}..={hi} in steps of {multiple_of}"),
        Extent::Const(value) => value.to_string(),
        Extent::Derived(_) => "derived".to_owned(),
    }
}
