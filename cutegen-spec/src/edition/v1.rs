//! Edition 1 of one kernel table. Field by field to the internal form; every error found is reported.

use std::collections::BTreeMap;

use super::axes::{axes, bad_name};
use super::fields::{accept, peers, precision, scalars, tolerance, workloads};
use super::search::search;
use super::tensors::tensors;
use super::value::{Key, Table, Value};
use super::{keys, uses};
use crate::diagnostic::{Diagnostic, NAME, SCHEMA};
use crate::dtype::DType;
use crate::hint;
use crate::math::Math;
use crate::math::resolve::{Scope, resolve};
use crate::name::KernelName;
use crate::printable::printable;
use crate::settings::Settings;
use crate::spec::KernelSpec;
use crate::target::Target;
use crate::tensor::Role;

/// Characters of `instructions`.
pub const MAX_INSTRUCTIONS: usize = 2000;

/// Reads one kernel. `None` when anything is wrong with it; then `errors` says what.
pub(super) fn kernel(
    key: &Key<'_>,
    value: &Value<'_>,
    settings: &Settings,
    errors: &mut Vec<Diagnostic>,
) -> Option<KernelSpec> {
    let before = errors.len();
    let name = KernelName::new(key.text());
    if name.is_err() {
        errors.push(bad_name(key, "a kernel").help("the name is also the emitted function's"));
    }
    let Some(table) = value.table() else {
        errors.push(value.expected("a kernel table"));
        return None;
    };
    table.only(&keys::KERNEL, errors);
    let axes = axes(&table, errors)?;
    let settled = errors.len() == before;
    let tensors: Vec<_> = [Role::Input, Role::Inout, Role::Output]
        .into_iter()
        .flat_map(|role| tensors(&table, role, &axes, errors))
        .collect();
    let scalars = scalars(&table, errors);
    unique_names(&table, errors);
    let intermediates = intermediates(&table, errors);
    let mut spec = KernelSpec {
        math_text: String::new(),
        math: Math::default(),
        precision: precision(&table, &tensors, errors),
        // an axis that is wrong is not known to be a run-time one
        workloads: if settled { workloads(&table, &axes, errors) } else { Vec::new() },
        targets: targets(&table, &settings.targets, errors),
        tolerance: tolerance(&table, errors),
        deterministic: flag(&table, "deterministic", errors).unwrap_or(true),
        min_speedup: accept(&table, errors),
        family: family(&table, errors),
        peers: peers(&table, errors),
        instructions: instructions(&table, errors),
        generators: search(&table, errors).unwrap_or_else(|| settings.generators.clone()),
        name: name.ok()?,
        axes,
        tensors,
        scalars,
        intermediates,
    };
    let (value, text) = math_text(key, &table, errors)?;
    if errors.len() > before {
        return None; // names are not settled: the math's errors would only repeat these
    }
    spec.math_text = text.trim().to_owned();
    spec.math = math(&table, &value, text, &spec, errors)?;
    Some(spec)
}

fn targets(table: &Table<'_>, default: &[Target], errors: &mut Vec<Diagnostic>) -> Vec<Target> {
    match table.get("targets") {
        Some((_, value)) => super::targets(&value, errors),
        None => default.to_vec(),
    }
}

fn math_text<'a>(
    key: &Key<'_>,
    table: &Table<'a>,
    errors: &mut Vec<Diagnostic>,
) -> Option<(Value<'a>, &'a str)> {
    const WANTED: &str = "a string of assignments";
    let Some((_, value)) = table.get("math") else {
        let message = format!("kernel `{}` has no `math`", key.text());
        let slip = table.entries().iter().any(|(key, _)| is_slip(key.text(), "math"));
        if !slip {
            errors.push(Diagnostic::new(SCHEMA, key.span(), message, format!("expected {WANTED}")));
        }
        return None;
    };
    let text = value.string();
    if text.is_none() {
        errors.push(value.expected(WANTED));
    }
    text.map(|text| (value, text))
}

/// Whether an unknown key was meant to be `word`: then it is not missing, too.
pub(super) fn is_slip(key: &str, word: &str) -> bool {
    let meant = || hint::key(key, &keys::KERNEL).is_some_and(|help| help.contains(&format!("`{word}`")));
    !keys::KERNEL.contains(&key) && meant()
}

fn math(
    table: &Table<'_>,
    value: &Value<'_>,
    text: &str,
    spec: &KernelSpec,
    errors: &mut Vec<Diagnostic>,
) -> Option<Math> {
    let scope = Scope {
        axes: &spec.axes,
        tensors: &spec.tensors,
        scalars: &spec.scalars,
        intermediates: &spec.intermediates,
        accumulate: spec.precision.accumulate,
    };
    let found = match resolve(text, scope) {
        Ok(math) => {
            let unused = uses::check(table, spec, &math);
            if unused.is_empty() {
                return Some(math);
            }
            unused
        }
        Err(found) => {
            found.into_iter().map(|e| Diagnostic { span: value.inside(e.span.clone()), ..e }).collect()
        }
    };
    errors.extend(found);
    None
}

/// Axes, tensors and scalars share one name space: the second of two is wrong.
fn unique_names(table: &Table<'_>, errors: &mut Vec<Diagnostic>) {
    let mut seen = BTreeMap::new();
    for group in ["axes", "inputs", "inout", "outputs", "scalars"] {
        let entries = table.get(group).and_then(|(_, value)| value.table()).map(|table| table.entries());
        for (key, _) in entries.into_iter().flatten() {
            if let Some(first) = seen.insert(key.text(), group) {
                let message = format!("`{}` is declared twice", key.text());
                errors.push(
                    Diagnostic::new(NAME, key.span(), message, format!("already declared in `{first}`"))
                        .help("axes, tensors and scalars share one name space"),
                );
            }
        }
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
            None => {
                let what = format!("a floating-point dtype: {}", hint::dtypes(DType::is_float));
                let help = value.string().and_then(|word| hint::dtype(word, DType::is_float));
                errors.push(Diagnostic { help, ..value.expected(&what) });
            }
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
            errors
                .push(value.expected_word(&format!("one of {}", keys::FAMILIES.join(", ")), keys::FAMILIES));
            None
        }
    }
}

/// Reads `instructions`; blanks alone are none.
fn instructions(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Option<String> {
    let (_, value) = table.get("instructions")?;
    let is_plain = |text: &&str| text.chars().count() <= MAX_INSTRUCTIONS && printable(text) == *text;
    let text = value.string().filter(is_plain).map(str::trim);
    if text.is_none() {
        let what = format!("plain text of at most {MAX_INSTRUCTIONS} characters, without control characters");
        errors.push(value.expected(&what));
    }
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}
