//! Edition 1 of one kernel table. Field by field to the internal form; every error found is reported.

use std::collections::BTreeMap;

use super::fields::{accept, axes, peers, precision, scalars, tolerance, workloads};
use super::keys;
use super::tensors::tensors;
use super::value::{Key, Table, Value};
use crate::diagnostic::{Diagnostic, NAME, SCHEMA, SETTING};
use crate::dtype::DType;
use crate::math::resolve::{Scope, resolve};
use crate::name::KernelName;
use crate::spec::KernelSpec;
use crate::target::Target;
use crate::tensor::Role;

/// Reads one kernel. `None` when anything is wrong with it; then `errors` says what.
pub(super) fn kernel(
    key: &Key,
    value: &Value<'_>,
    default_targets: &[Target],
    errors: &mut Vec<Diagnostic>,
) -> Option<KernelSpec> {
    let before = errors.len();
    let name = KernelName::new(key.text());
    if let Err(message) = &name {
        errors.push(Diagnostic::new(NAME, key.span(), message.clone(), "not a kernel name"));
    }
    let Some(table) = value.table() else {
        errors.push(value.expected("a kernel table"));
        return None;
    };
    table.only(&keys::KERNEL, errors);
    let axes = axes(&table, errors);
    let tensors: Vec<_> = [Role::Input, Role::Inout, Role::Output]
        .into_iter()
        .flat_map(|role| tensors(&table, role, &axes, errors))
        .collect();
    let scalars = scalars(&table, errors);
    unique_names(
        key,
        &[
            axes.iter().map(|a| a.name.as_str()).collect(),
            tensors.iter().map(|t| t.name.as_str()).collect(),
            scalars.iter().map(|s| s.name.as_str()).collect(),
        ],
        errors,
    );
    let intermediates = intermediates(&table, errors);
    let precision = precision(&table, &tensors, errors);
    let workloads = workloads(&table, &axes, errors);
    let targets = match table.get("targets") {
        Some((_, value)) => super::targets(&value, errors),
        None => default_targets.to_vec(),
    };
    let math_value = table.get("math").map(|(_, value)| value);
    let Some(math_text) = math_value.as_ref().and_then(Value::string) else {
        errors.push(missing(key, &math_value, "math", "expected a string of assignments"));
        return None;
    };
    if errors.len() > before {
        return None; // names are not settled: the math's errors would only repeat these
    }
    let scope = Scope { axes: &axes, tensors: &tensors, scalars: &scalars, intermediates: &intermediates };
    let math = match (resolve(math_text, scope), &math_value) {
        (Ok(math), _) => math,
        (Err(found), Some(value)) => {
            errors.extend(
                found.into_iter().map(|error| Diagnostic { span: value.inside(error.span.clone()), ..error }),
            );
            return None;
        }
        (Err(_), None) => return None,
    };
    unknown_intermediates(key, &intermediates, &math, errors);
    let spec = KernelSpec {
        name: name.ok()?,
        math_text: math_text.trim().to_owned(),
        math,
        precision,
        tolerance: tolerance(&table, errors),
        deterministic: flag(&table, "deterministic", errors).unwrap_or(true),
        workloads,
        min_speedup: accept(&table, errors),
        family: family(&table, errors),
        peers: peers(&table, errors),
        targets,
        axes,
        tensors,
        scalars,
        intermediates,
    };
    (errors.len() == before).then_some(spec)
}

fn missing(key: &Key, value: &Option<Value<'_>>, field: &str, label: &str) -> Diagnostic {
    match value {
        Some(value) => value.expected(label),
        None => {
            let message = format!("kernel `{}` has no `{field}`", key.text());
            Diagnostic::new(SCHEMA, key.span(), message, label)
        }
    }
}

fn unique_names(key: &Key, groups: &[Vec<&str>; 3], errors: &mut Vec<Diagnostic>) {
    let mut seen = BTreeMap::new();
    for name in groups.iter().flatten() {
        let count = seen.entry(*name).or_insert(0);
        *count += 1;
        if *count == 2 {
            let message = format!("`{name}` is declared twice in kernel `{}`", key.text());
            errors.push(
                Diagnostic::new(NAME, key.span(), message, "in this kernel")
                    .help("axes, tensors and scalars share one name space"),
            );
        }
    }
}

fn unknown_intermediates(
    key: &Key,
    declared: &BTreeMap<String, DType>,
    math: &crate::math::Math,
    errors: &mut Vec<Diagnostic>,
) {
    for name in declared.keys().filter(|name| !math.temps.iter().any(|temp| temp.name == **name)) {
        let message = format!("intermediate `{name}` of kernel `{}` is never assigned", key.text());
        errors.push(Diagnostic::new(SETTING, key.span(), message, "expected `name[...] = ...` in the math"));
    }
}

fn intermediates(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> BTreeMap<String, DType> {
    let mut found = BTreeMap::new();
    let Some((_, value)) = table.get("intermediates") else { return found };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table of `name = \"dtype\"`"));
        return found;
    };
    for (key, value) in inner.entries() {
        match value.string().and_then(DType::parse).filter(|d| d.is_float()) {
            Some(dtype) => {
                found.insert(key.text().to_owned(), dtype);
            }
            None => errors.push(value.expected("a floating-point dtype")),
        }
    }
    found
}

fn flag(table: &Table<'_>, key: &str, errors: &mut Vec<Diagnostic>) -> Option<bool> {
    let (_, value) = table.get(key)?;
    if value.boolean().is_none() {
        errors.push(value.expected("`true` or `false`"));
    }
    value.boolean()
}

fn family(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Option<String> {
    let (_, value) = table.get("family")?;
    match value.string() {
        Some(word) if keys::FAMILIES.contains(&word) => Some(word.to_owned()),
        _ => {
            errors.push(value.expected(&format!("one of {}", keys::FAMILIES.join(", "))));
            None
        }
    }
}
