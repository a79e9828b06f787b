//! The smaller fields of edition 1: scalars, precision, tolerance, workloads, accept, peers.

use std::collections::BTreeMap;

use super::axes::{MAX_DECLARED, bad_name, too_many};
use super::keys;
use super::tensors::is_identifier;
use super::value::{Key, Table, Value};
use crate::axis::{Axis, Extent};
use crate::diagnostic::{Diagnostic, SETTING, SIZE};
use crate::dtype::DType;
use crate::hint;
use crate::spec::{Multiply, Precision, Tolerance};
use crate::tensor::{Scalar, Tensor};
use crate::workload::Workload;

/// Reads `scalars`.
pub(super) fn scalars(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Vec<Scalar> {
    let Some((_, value)) = table.get("scalars") else { return Vec::new() };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table of `name = \"f32\"`"));
        return Vec::new();
    };
    let entries = inner.entries();
    if let Some(error) = too_many("scalars", &entries) {
        errors.push(error);
        return Vec::new();
    }
    entries.iter().filter_map(|(key, value)| scalar(key, value, errors)).collect()
}

fn scalar(key: &Key<'_>, value: &Value<'_>, errors: &mut Vec<Diagnostic>) -> Option<Scalar> {
    if !is_identifier(key.text()) {
        errors.push(bad_name(key, "a scalar"));
        return None;
    }
    match value.string().and_then(DType::parse).filter(|d| matches!(d, DType::F32 | DType::F64)) {
        Some(dtype) => Some(Scalar { name: key.text().to_owned(), dtype }),
        None => {
            let help = value.string().and_then(|word| no_scalar(key.text(), word));
            errors.push(Diagnostic { help, ..value.expected("`\"f32\"` or `\"f64\"`") });
            None
        }
    }
}

/// What stands for a scalar of another type than f32 and f64.
fn no_scalar(name: &str, word: &str) -> Option<String> {
    let scalar = |dtype: DType| matches!(dtype, DType::F32 | DType::F64);
    Some(match hint::same_dtype(word) {
        Some(dtype) if scalar(dtype) => format!("did you mean `{dtype}`?"),
        Some(DType::Bool) => {
            format!("a condition is an input of one value: `inputs = {{ {name} = \"bool[]\" }}`")
        }
        Some(dtype) if dtype.is_float() => {
            "a scalar is passed as f32 or f64, whatever the tensors are".to_owned()
        }
        Some(dtype) => {
            let dtype = if dtype == DType::I64 { dtype } else { DType::I32 };
            format!(
                "an integer is an input of one value: `inputs = {{ {name} = \"{dtype}[]\" }}`, read as `{name}`"
            )
        }
        None => return hint::dtype(word, scalar),
    })
}

/// Reads `precision`. Accumulation defaults to f64 when a tensor is f64, else to f32.
pub(super) fn precision(table: &Table<'_>, tensors: &[Tensor], errors: &mut Vec<Diagnostic>) -> Precision {
    let wide = tensors.iter().any(|tensor| tensor.dtype == DType::F64);
    let accumulate = if wide { DType::F64 } else { DType::F32 };
    let mut precision = Precision { accumulate, multiply: Multiply::Native, fast_math: false };
    let Some((_, value)) = table.get("precision") else { return precision };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table"));
        return precision;
    };
    inner.only(&keys::PRECISION, errors);
    if let Some((_, value)) = inner.get("accumulate") {
        match value.string().and_then(DType::parse) {
            Some(dtype @ (DType::F32 | DType::F64)) if !wide || dtype == DType::F64 => {
                precision.accumulate = dtype
            }
            Some(DType::F32) => {
                let error = value.expected("`\"f64\"`");
                errors.push(error.help("a tensor is f64, and nothing narrower accumulates it"));
            }
            _ => {
                let fits = |dtype| matches!(dtype, DType::F32 | DType::F64);
                let help = value.string().and_then(|word| hint::dtype(word, fits));
                errors.push(Diagnostic { help, ..value.expected("`\"f32\"` or `\"f64\"`") });
            }
        }
    }
    if let Some((_, value)) = inner.get("multiply") {
        match value.string() {
            Some("native") => {}
            Some("tf32") => precision.multiply = Multiply::Tf32,
            _ => errors.push(value.expected_word("`\"native\"` or `\"tf32\"`", ["native", "tf32"])),
        }
    }
    if let Some((_, value)) = inner.get("fast-math") {
        match value.boolean() {
            Some(fast) => precision.fast_math = fast,
            None => errors.push(value.expected("`true` or `false`")),
        }
    }
    precision
}

/// Reads `tolerance`, which must say why it exists.
pub(super) fn tolerance(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Option<Tolerance> {
    let (_, value) = table.get("tolerance")?;
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table with `relative`, `absolute` and `reason`"));
        return None;
    };
    inner.only(&keys::TOLERANCE, errors);
    let mut number = |key: &str| {
        let (_, value) = inner.get(key)?;
        let number = value.number().filter(|n| n.is_finite() && *n >= 0.0);
        if number.is_none() {
            errors.push(value.expected("a finite number, not negative"));
        }
        number
    };
    let (relative, absolute) = (number("relative").unwrap_or(0.0), number("absolute").unwrap_or(0.0));
    let reason = inner.get("reason");
    match reason.as_ref().map(|(_, value)| value.string()) {
        Some(Some(reason)) if !reason.trim().is_empty() => {
            Some(Tolerance { relative, absolute, reason: reason.to_owned() })
        }
        Some(None) => {
            errors.extend(reason.map(|(_, value)| value.expected("a sentence")));
            None
        }
        Some(Some(_)) | None => {
            let message = "a tolerance needs a reason";
            errors.push(Diagnostic::new(SETTING, value.span(), message, "expected a key `reason`"));
            None
        }
    }
}

/// Reads `workloads`: a list of tables that bind every run-time axis.
pub(super) fn workloads(table: &Table<'_>, axes: &[Axis], errors: &mut Vec<Diagnostic>) -> Vec<Workload> {
    let Some((_, value)) = table.get("workloads") else { return vec![default_workload(axes)] };
    let Some(items) = value.array() else {
        errors.push(value.expected("a list of `{ axis = extent }`"));
        return Vec::new();
    };
    if items.is_empty() {
        errors.push(value.expected("at least one workload"));
    }
    if let Some(item) = items.get(MAX_DECLARED) {
        let message = format!("a kernel has at most {MAX_DECLARED} workloads, found {}", items.len());
        errors.push(Diagnostic::new(SIZE, item.span(), message, "one too many"));
        return Vec::new();
    }
    items.iter().filter_map(|item| workload(item, axes, errors)).collect()
}

/// Without workloads, every run-time axis is taken at its upper end, but at most 4096.
fn default_workload(axes: &[Axis]) -> Workload {
    let bound = axes.iter().filter_map(|axis| match axis.extent {
        Extent::Range { lo, hi, multiple_of, .. } => {
            Some((axis.name.clone(), (hi.min(4096) / multiple_of * multiple_of).max(lo)))
        }
        Extent::Const(_) | Extent::Derived(_) => None,
    });
    Workload { axes: bound.collect(), weight: 1.0, declared: false }
}

fn workload(item: &Value<'_>, axes: &[Axis], errors: &mut Vec<Diagnostic>) -> Option<Workload> {
    let Some(table) = item.table() else {
        errors.push(item.expected("a table `{ axis = extent }`"));
        return None;
    };
    let mut found = Workload { axes: BTreeMap::new(), weight: 1.0, declared: true };
    let mut misnamed = false;
    for (key, value) in table.entries() {
        if key.text() == "weight" {
            match value.number().filter(|w| *w > 0.0 && w.is_finite()) {
                Some(weight) => found.weight = weight,
                None => errors.push(value.expected("a positive number")),
            }
            continue;
        }
        match (axes.iter().find(|a| a.name == key.text()), value.integer()) {
            (Some(axis), Some(extent)) if allows(axis, extent) => {
                found.axes.insert(axis.name.clone(), extent);
            }
            (Some(axis), Some(extent)) => {
                found.axes.insert(axis.name.clone(), extent); // bound, if wrongly
                let message = format!("axis `{}` does not take extent {extent}", axis.name);
                errors.push(Diagnostic::new(SETTING, value.span(), message, taken(axis)));
            }
            (Some(axis), None) => {
                found.axes.insert(axis.name.clone(), 0); // bound, if wrongly
                errors.push(value.expected("an extent"));
            }
            (None, _) => {
                let message = format!("`{}` is no axis", key.text());
                let error =
                    Diagnostic::new(SETTING, key.span(), message, "expected a run-time axis or `weight`");
                let run_time = axes.iter().filter(|axis| axis.is_run_time());
                let words = run_time.map(|axis| axis.name.as_str()).chain(["weight"]);
                let help = hint::meant(key.text(), words);
                misnamed |= help.is_some();
                errors.push(Diagnostic { help, ..error });
            }
        }
    }
    if misnamed {
        return Some(found); // the axis that was meant is not missing, too
    }
    for axis in axes.iter().filter(|a| a.is_run_time() && !found.axes.contains_key(&a.name)) {
        let message = format!("the workload does not bind axis `{}`", axis.name);
        errors.push(Diagnostic::new(SETTING, item.span(), message, "expected every run-time axis"));
    }
    Some(found)
}

/// What extents an axis takes, for labels.
fn taken(axis: &Axis) -> String {
    match &axis.extent {
        Extent::Range { lo, hi, multiple_of: 1, .. } => format!("expected {lo}..={hi}"),
        Extent::Range { lo, hi, multiple_of, .. } => {
            format!("expected {lo}..={hi}, in steps of {multiple_of}")
        }
        Extent::Const(_) | Extent::Derived(_) => "only run-time axes are bound".to_owned(),
    }
}

fn allows(axis: &Axis, extent: i64) -> bool {
    match axis.extent {
        Extent::Range { lo, hi, multiple_of, .. } => {
            extent >= lo && extent <= hi && extent % multiple_of == 0
        }
        Extent::Const(_) | Extent::Derived(_) => false,
    }
}

/// Reads `accept.min-speedup`; 1 unless given.
pub(super) fn accept(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> f64 {
    let Some((_, value)) = table.get("accept") else { return 1.0 };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table with `min-speedup`"));
        return 1.0;
    };
    inner.only(&keys::ACCEPT, errors);
    let Some((_, value)) = inner.get("min-speedup") else { return 1.0 };
    match value.number().filter(|n| n.is_finite() && *n > 0.0) {
        Some(number) => number,
        None => {
            errors.push(value.expected("a positive number"));
            1.0
        }
    }
}

/// Reads `peers`: expressions in other libraries.
pub(super) fn peers(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let Some((_, value)) = table.get("peers") else { return found };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table of `library = \"expression\"`"));
        return found;
    };
    for (key, value) in inner.entries() {
        match value.string() {
            Some(text) => {
                found.insert(key.text().to_owned(), text.to_owned());
            }
            None => errors.push(value.expected("an expression")),
        }
    }
    found
}
