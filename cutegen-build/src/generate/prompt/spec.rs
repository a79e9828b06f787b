//! What a prompt says of a spec and of its device: axes, tensors, math, workloads and roofs, in lines.

use cutegen_spec::axis::{Axis, Extent};
use cutegen_spec::figures::{scaled, short};
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use cutegen_spec::tensor::{Role, Tensor};

use super::expr::{always, named};
use super::functions;
use crate::plan::device_model::DeviceModel;
use crate::plan::{Plan, cost, roofline};

/// What is said of a floor that knows of no mask.
const MASKED: &str = " if every term is computed: a kernel that skips what a `where` hides may beat that";

/// Axes, tensors, scalars and the math.
pub(super) fn computation(spec: &KernelSpec) -> String {
    let axes = spec.axes.iter().map(|axis| axis_line(spec, axis));
    let tensors = spec.tensors.iter().map(|tensor| tensor_line(spec, tensor));
    let scalars = spec.scalars.iter().map(|s| format!("- scalar {}: {}, by value", s.name, s.dtype.name()));
    let rounded =
        spec.intermediates.iter().map(|(name, to)| format!("- {name} may be rounded to {}", to.name()));
    let lines: Vec<String> = axes.chain(tensors).chain(scalars).chain(rounded).collect();
    let math = math(&spec.math_text);
    let functions = match functions::told(&math) {
        none if none.is_empty() => String::new(),
        told => format!("\n\nIn it:\n- {}", told.join("\n- ")),
    };
    format!("{}\n\n```text\n{math}\n```{functions}", lines.join("\n"))
}

fn axis_line(spec: &KernelSpec, axis: &Axis) -> String {
    let extent = match &axis.extent {
        Extent::Const(value) => format!("{value}, always"),
        Extent::Range { lo, hi, .. } if lo == hi => format!("{lo}, always"),
        Extent::Range { lo, hi, multiple_of: 1, .. } => format!("{lo}..={hi}, at run time"),
        Extent::Range { lo, hi, multiple_of, .. } => {
            format!("{lo}..={hi} in steps of {multiple_of}, at run time")
        }
        Extent::Derived(expr) => match always(spec, expr) {
            Some(value) => format!("{value}, always"),
            None => format!("{}, derived", named(spec, expr)),
        },
    };
    format!("- axis {} = {extent}", axis.name)
}

fn tensor_line(spec: &KernelSpec, tensor: &Tensor) -> String {
    let list = |exprs: &[IntExpr]| exprs.iter().map(|e| named(spec, e)).collect::<Vec<_>>().join(", ");
    let role = match tensor.role {
        Role::Input => "input",
        Role::Inout => "read and written",
        Role::Output => "output",
    };
    let layout = match &tensor.strides {
        Some(strides) => format!("strides [{}] in elements", list(strides)),
        None => "row-major, dense".to_owned(),
    };
    let packed = if tensor.dtype.bits() == 4 { ", two to a byte, the first in the low half" } else { "" };
    let constant = if tensor.constant { ", constant" } else { "" };
    let (name, dtype, values) = (&tensor.name, tensor.dtype.name(), values(spec, tensor));
    format!("- {role} {name}: {dtype}[{}]{constant}, {layout}{packed}{values}", list(&tensor.dims))
}

/// What is known of a tensor's integers.
fn values(spec: &KernelSpec, tensor: &Tensor) -> String {
    let range = tensor.range.as_ref();
    let range =
        range.map(|range| format!(", values in {}..{}", named(spec, &range.from), named(spec, &range.to)));
    let unique = if tensor.unique { ", all different" } else { "" };
    range.unwrap_or_default() + unique
}

/// The math without empty lines; it has no comments.
fn math(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// Each workload with its extents, what it moves and computes, and its roof.
pub(super) fn workloads(plan: &Plan) -> String {
    let masked = if cost::has_mask(plan) { MASKED } else { "" };
    let lines = plan.spec.workloads.iter().filter_map(|workload| {
        let axes = plan.spec.bind(&workload.axes).ok()?;
        let work = cost::cost(&plan.spec, &plan.schedule, &axes);
        let at: Vec<String> =
            workload.axes.iter().map(|(axis, extent)| format!("{axis} = {extent}")).collect();
        let roof =
            roofline::micros(plan, &axes).map(|us| format!("; not faster than {} us{masked}", short(us, 3)));
        Some(format!(
            "- {}: moves at least {}, computes {}{}",
            at.join(", "),
            scaled(work.bytes, "B"),
            scaled(work.flops, "FLOP"),
            roof.unwrap_or_default()
        ))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Facts of the target.
pub(super) fn device(plan: &Plan) -> String {
    match &plan.target {
        Target::Host { level, .. } => {
            format!("One thread of an {} CPU: vectors of 8 floats, 32 KB of L1, 1 MB of L2.", level.name())
        }
        Target::Cuda { arch, .. } => {
            let smem = arch.shared_memory_max() >> 10;
            DeviceModel::of(&plan.target).map_or_else(
                || format!("{}: {smem} KB of shared memory for a block.", arch.name()),
                |device| of_model(device, arch.name(), smem),
            )
        }
    }
}

fn of_model(device: &DeviceModel, arch: &str, smem: u32) -> String {
    let limits = &device.limits;
    format!(
        "{arch}, NVIDIA {}: {} multiprocessors, each with {} K registers, {} threads, {smem} KB of shared memory for a block, {} \
         blocks. Memory moves {:.1} TB/s where half is read; L2 has {:.0} MB.",
        device.generation,
        limits.multiprocessors,
        limits.registers >> 10,
        limits.threads,
        limits.blocks,
        device.bytes_per_s(0.5) / 1e12,
        limits.l2_bytes / 1e6,
    )
}
