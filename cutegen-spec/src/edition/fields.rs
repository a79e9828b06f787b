//! The smaller fields of edition 1: axes, scalars, precision, tolerance, workloads, accept, peers.

use std::collections::BTreeMap;

use super::keys;
use super::tensors::is_identifier;
use super::value::{Key, Table, Value};
use crate::axis::{Axis, Extent};
use crate::diagnostic::{AXIS, Diagnostic, NAME, SETTING};
use crate::dtype::DType;
use crate::int_expr::IntExpr;
use crate::spec::{Multiply, Precision, Tolerance};
use crate::tensor::{Scalar, Tensor};
use crate::workload::Workload;

/// Largest extent of an axis.
pub const MAX_EXTENT: i64 = 1 << 40;

/// Reads `axes`, each seeing those declared before it.
pub(super) fn axes(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Vec<Axis> {
    let Some((_, value)) = table.get("axes") else { return Vec::new() };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table of `name = extent`"));
        return Vec::new();
    };
    let mut found: Vec<Axis> = Vec::new();
    for (key, value) in inner.entries() {
        if !is_identifier(key.text()) {
            let message = format!("`{}` cannot name an axis", key.text());
            errors.push(Diagnostic::new(
                NAME,
                key.span(),
                message,
                "expected [a-z][a-z0-9_]*, no Rust keyword",
            ));
            continue;
        }
        let extent = extent(&value, &found, errors).unwrap_or_else(|message| {
            errors.push(Diagnostic::new(AXIS, value.span(), message, "expected an extent"));
            any_extent() // the kernel is refused; its other errors should not repeat this one
        });
        found.push(Axis { name: key.text().to_owned(), extent });
    }
    found
}

fn any_extent() -> Extent {
    Extent::Range { lo: 0, hi: MAX_EXTENT, multiple_of: 1, buckets: Vec::new() }
}

fn extent(value: &Value<'_>, before: &[Axis], errors: &mut Vec<Diagnostic>) -> Result<Extent, String> {
    if let Some(table) = value.table() {
        table.only(&keys::AXIS, errors);
        let (_, range) = table.get("range").ok_or("an axis table needs a key `range`")?;
        let text = range.string().ok_or("`range` is a string such as \"1..=8192\"")?;
        let multiple_of = match table.get("multiple-of") {
            None => 1,
            Some((_, value)) => {
                value.integer().filter(|m| *m > 0).ok_or("`multiple-of` is a positive integer")?
            }
        };
        let buckets = buckets(&table)?;
        return range_of(text, multiple_of, buckets);
    }
    if let Some(constant) = value.integer() {
        return in_bounds(constant).map(Extent::Const);
    }
    let text = value.string().ok_or("an extent is an integer, a range \"lo..=hi\" or an expression")?;
    if text.contains("..") {
        return range_of(text, 1, Vec::new());
    }
    let position = |name: &str| before.iter().position(|axis| axis.name == name);
    IntExpr::parse(text, &position).map(Extent::Derived)
}

fn buckets(table: &Table<'_>) -> Result<Vec<i64>, String> {
    let Some((_, value)) = table.get("buckets") else { return Ok(Vec::new()) };
    let items = value.array().ok_or("`buckets` is a list of integers")?;
    let ends = items
        .iter()
        .map(Value::integer)
        .collect::<Option<Vec<_>>>()
        .ok_or("`buckets` is a list of integers")?;
    if ends.windows(2).all(|pair| pair[0] < pair[1]) {
        Ok(ends)
    } else {
        Err("`buckets` must ascend".to_owned())
    }
}

fn range_of(text: &str, multiple_of: i64, buckets: Vec<i64>) -> Result<Extent, String> {
    let (lo, hi) = text.split_once("..=").ok_or_else(|| format!("range `{text}` must read \"lo..=hi\""))?;
    let number =
        |t: &str| t.trim().replace('_', "").parse::<i64>().map_err(|_| format!("`{t}` is no integer"));
    let (lo, hi) = (in_bounds(number(lo)?)?, in_bounds(number(hi)?)?);
    if lo > hi {
        return Err(format!("range `{text}` is empty"));
    }
    if lo % multiple_of != 0 || hi % multiple_of != 0 {
        return Err(format!("the ends of `{text}` are no multiples of {multiple_of}"));
    }
    Ok(Extent::Range { lo, hi, multiple_of, buckets })
}

fn in_bounds(value: i64) -> Result<i64, String> {
    if (0..=MAX_EXTENT).contains(&value) {
        Ok(value)
    } else {
        Err(format!("extent {value} is outside 0..=2^40"))
    }
}

/// Reads `scalars`.
pub(super) fn scalars(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Vec<Scalar> {
    let Some((_, value)) = table.get("scalars") else { return Vec::new() };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table of `name = \"f32\"`"));
        return Vec::new();
    };
    inner.entries().iter().filter_map(|(key, value)| scalar(key, value, errors)).collect()
}

fn scalar(key: &Key, value: &Value<'_>, errors: &mut Vec<Diagnostic>) -> Option<Scalar> {
    if !is_identifier(key.text()) {
        let message = format!("`{}` cannot name a scalar", key.text());
        errors.push(Diagnostic::new(NAME, key.span(), message, "expected [a-z][a-z0-9_]*, no Rust keyword"));
        return None;
    }
    match value.string().and_then(DType::parse).filter(|d| matches!(d, DType::F32 | DType::F64)) {
        Some(dtype) => Some(Scalar { name: key.text().to_owned(), dtype }),
        None => {
            errors.push(value.expected("`\"f32\"` or `\"f64\"`"));
            None
        }
    }
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
            _ => errors.push(value.expected(if wide { "`\"f64\"`" } else { "`\"f32\"` or `\"f64\"`" })),
        }
    }
    if let Some((_, value)) = inner.get("multiply") {
        match value.string() {
            Some("native") => {}
            Some("tf32") => precision.multiply = Multiply::Tf32,
            _ => errors.push(value.expected("`\"native\"` or `\"tf32\"`")),
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
    let reason = inner.get("reason").and_then(|(_, v)| v.string().map(str::to_owned));
    match reason.filter(|r| !r.trim().is_empty()) {
        Some(reason) => Some(Tolerance { relative, absolute, reason }),
        None => {
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
    Workload { axes: bound.collect(), weight: 1.0 }
}

fn workload(item: &Value<'_>, axes: &[Axis], errors: &mut Vec<Diagnostic>) -> Option<Workload> {
    let Some(table) = item.table() else {
        errors.push(item.expected("a table `{ axis = extent }`"));
        return None;
    };
    let mut found = Workload { axes: BTreeMap::new(), weight: 1.0 };
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
                errors.push(Diagnostic::new(SETTING, value.span(), message, "outside its declared range"));
            }
            (Some(_), None) => errors.push(value.expected("an extent")),
            (None, _) => {
                let message = format!("`{}` is no axis", key.text());
                errors.push(Diagnostic::new(
                    SETTING,
                    key.span(),
                    message,
                    "expected a run-time axis or `weight`",
                ));
            }
        }
    }
    for axis in axes.iter().filter(|a| a.is_run_time() && !found.axes.contains_key(&a.name)) {
        let message = format!("the workload does not bind axis `{}`", axis.name);
        errors.push(Diagnostic::new(SETTING, item.span(), message, "expected every run-time axis"));
    }
    Some(found)
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
