//! What a kernel takes, in words, for those who gave something else. Each text ends with what to do. Pure.

use std::path::PathBuf;

use cutegen_build::plan::Plan;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor};

use super::axes::range;
use super::tensors::View;

/// `f32[16, 4096]`, or where extents are not known `f32[m, 4096]`.
pub(super) fn shape(spec: &KernelSpec, tensor: &Tensor, axes: Option<&[i64]>) -> String {
    let name = |at: usize| spec.axes.get(at).map_or_else(|| format!("a{at}"), |axis| axis.name.clone());
    let dim = |dim: &cutegen_spec::int_expr::IntExpr| match axes.and_then(|axes| dim.eval_axes(axes)) {
        Some(extent) => extent.to_string(),
        None => dim.text(&name),
    };
    let dims: Vec<String> = tensor.dims.iter().map(dim).collect();
    format!("{}[{}]", tensor.dtype, dims.join(", "))
}

/// Tensors that nothing was given for.
pub(super) fn missing(
    plan: &Plan,
    axes: Option<&[i64]>,
    missing: &[usize],
    (files, views): (&[PathBuf], &[View<'_>]),
) -> String {
    let spec = &plan.spec;
    let names: Vec<String> = missing.iter().map(|t| format!("`{}`", spec.tensors[*t].name)).collect();
    let from = match files {
        [] => "no file was given".to_owned(),
        files => {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            format!("not in {}, where {}", files.join(", "), found(views))
        }
    };
    format!(
        "{}: missing {}: {from}\nit takes:\n{}\nput them into a safetensors file under these names and give it with \
         --in FILE, or have them drawn: --random 1",
        plan.title(),
        names.join(", "),
        tensors(spec, axes).join("\n")
    )
}

/// Which tensors were brought.
pub(super) fn found(views: &[View<'_>]) -> String {
    let names: Vec<String> = views.iter().map(|view| format!("`{}`", view.name)).collect();
    match names.as_slice() {
        [] => "no tensors are".to_owned(),
        [name] => format!("{name} is"),
        names => format!("{} are", names.join(", ")),
    }
}

/// A line for each tensor that is read.
pub(super) fn tensors(spec: &KernelSpec, axes: Option<&[i64]>) -> Vec<String> {
    let read = spec.tensors.iter().filter(|tensor| tensor.role != Role::Output);
    let width = spec.tensors.iter().map(|tensor| tensor.name.len()).max().unwrap_or(0);
    let line = |tensor: &Tensor| {
        let (now, declared) = (shape(spec, tensor, axes), shape(spec, tensor, None));
        let declared = if now == declared { String::new() } else { format!("   ({declared})") };
        format!("   {:width$}  {now}{declared}", tensor.name)
    };
    read.map(line).collect()
}

/// Which axes there are to give.
pub(super) fn axes(spec: &KernelSpec) -> String {
    let open: Vec<&cutegen_spec::axis::Axis> = spec.run_time_axes().map(|i| &spec.axes[i]).collect();
    if open.is_empty() {
        return format!("kernel `{}` has no run-time axes: leave --axes out", spec.name);
    }
    let ranges: Vec<String> = open.iter().map(|a| format!("{} = {}", a.name, range(&a.extent))).collect();
    let like: Vec<String> = open.iter().map(|a| format!("{}={}", a.name, example(spec, &a.name))).collect();
    format!("its run-time axes: {}\ngive them: --axes {}", ranges.join(", "), like.join(","))
}

/// An extent from the first workload, else the letter N.
fn example(spec: &KernelSpec, axis: &str) -> String {
    let found = spec.workloads.iter().find_map(|workload| workload.axes.get(axis));
    found.map_or_else(|| "N".to_owned(), ToString::to_string)
}

/// Which scalars there are to give.
pub(super) fn scalars(spec: &KernelSpec) -> String {
    let like: Vec<String> = spec.scalars.iter().map(|s| format!("--scalar {}=VALUE", s.name)).collect();
    if like.is_empty() {
        format!("kernel `{}` has no scalars: leave --scalar out", spec.name)
    } else {
        format!("give them: {}", like.join(" "))
    }
}
