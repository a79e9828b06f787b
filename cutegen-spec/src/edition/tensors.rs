//! `inputs`, `inout` and `outputs`: `"dtype[axis, ...]"`, or a table around it.

use super::value::{Key, Table, Value};
use crate::axis::Axis;
use crate::diagnostic::{self, Diagnostic, NAME, TENSOR, nearest};
use crate::dtype::DType;
use crate::int_expr::IntExpr;
use crate::tensor::{Role, Tensor};

/// Reads the tensors of one role, in document order.
pub(super) fn tensors(
    table: &Table<'_>,
    role: Role,
    axes: &[Axis],
    errors: &mut Vec<Diagnostic>,
) -> Vec<Tensor> {
    let Some((key, value)) = table.get(role.table()) else {
        if role == Role::Output && table.get("inout").is_none() {
            errors.push(no_output(table));
        }
        return Vec::new();
    };
    if role == Role::Inout {
        let message = "`inout` is reserved by edition 1 and not computed by this version yet";
        errors.push(Diagnostic::new(diagnostic::RESERVED, key.span(), message, "not supported yet"));
    }
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table of `name = \"dtype[axis, ...]\"`"));
        return Vec::new();
    };
    inner.entries().iter().filter_map(|(key, value)| tensor(key, value, role, axes, errors)).collect()
}

fn no_output(table: &Table<'_>) -> Diagnostic {
    let span = table.entries().first().map_or(0..1, |(key, _)| key.span());
    Diagnostic::new(
        TENSOR,
        span,
        "the kernel has no outputs",
        "expected `outputs = { y = \"dtype[axis, ...]\" }`",
    )
}

fn tensor(
    key: &Key,
    value: &Value<'_>,
    role: Role,
    axes: &[Axis],
    errors: &mut Vec<Diagnostic>,
) -> Option<Tensor> {
    if !is_identifier(key.text()) {
        let message = format!("`{}` cannot name a tensor", key.text());
        errors.push(Diagnostic::new(NAME, key.span(), message, "expected [a-z][a-z0-9_]*, no Rust keyword"));
        return None;
    }
    let (declared, constant) = match value.table() {
        None => (value.clone(), false),
        Some(table) => long_form(value, &table, errors)?,
    };
    let Some(text) = declared.string() else {
        errors.push(declared.expected("`\"dtype[axis, ...]\"`"));
        return None;
    };
    match shape(text, axes) {
        Ok((dtype, dims)) => {
            supported(dtype, &declared, errors)?;
            Some(Tensor { name: key.text().to_owned(), role, dtype, dims, constant, strides: None, range: None, unique: false })
        }
        Err((message, help)) => {
            let error = Diagnostic::new(TENSOR, declared.span(), message, "expected `\"dtype[axis, ...]\"`");
            errors.push(Diagnostic { help, ..error });
            None
        }
    }
}

/// Only floating-point tensors of two bytes and more are computed by this version.
fn supported(dtype: DType, value: &Value<'_>, errors: &mut Vec<Diagnostic>) -> Option<()> {
    if dtype.is_float() && dtype.bits() >= 16 {
        return Some(());
    }
    let message = format!("dtype `{dtype}` is reserved by edition 1 and not computed by this version yet");
    errors.push(Diagnostic::new(
        diagnostic::RESERVED,
        value.span(),
        message,
        "expected f64, f32, f16 or bf16",
    ));
    None
}

fn long_form<'a>(
    value: &Value<'a>,
    table: &Table<'a>,
    errors: &mut Vec<Diagnostic>,
) -> Option<(Value<'a>, bool)> {
    table.only(&["type", "constant", "strides", "range", "unique"], errors);
    for word in ["strides", "range", "unique"] {
        if let Some((key, _)) = table.get(word) {
            let message = format!("`{word}` is reserved by edition 1 and not computed by this version yet");
            errors.push(Diagnostic::new(diagnostic::RESERVED, key.span(), message, "not supported yet"));
        }
    }
    let constant = table.get("constant").map(|(_, value)| value);
    if let Some(value) = constant.as_ref().filter(|value| value.boolean().is_none()) {
        errors.push(value.expected("`true` or `false`"));
    }
    match table.get("type") {
        Some((_, declared)) => Some((declared, constant.and_then(|v| v.boolean()).unwrap_or(false))),
        None => {
            errors.push(value.expected("a key `type = \"dtype[axis, ...]\"`"));
            None
        }
    }
}

type ShapeError = (String, Option<String>);

/// `"dtype[axis, ...]"`; each dimension is an integer expression of axes.
fn shape(text: &str, axes: &[Axis]) -> Result<(DType, Vec<IntExpr>), ShapeError> {
    let plain = |message: String| (message, None);
    let (word, rest) = text.trim().split_once('[').ok_or_else(|| plain(format!("`{text}` has no `[`")))?;
    let inner = rest.strip_suffix(']').ok_or_else(|| plain(format!("`{text}` does not end in `]`")))?;
    let dtype = DType::parse(word.trim()).ok_or_else(|| {
        let known = nearest(word.trim(), DType::ALL.iter().map(|d| d.name()));
        (format!("unknown dtype `{}`", word.trim()), known.map(|d| format!("did you mean `{d}`?")))
    })?;
    if inner.trim().is_empty() {
        return Ok((dtype, Vec::new()));
    }
    let position = |name: &str| axes.iter().position(|axis| axis.name == name);
    let dims = inner.split(',').map(|dim| IntExpr::parse(dim, &position)).collect::<Result<Vec<_>, _>>();
    let dims = dims.map_err(|message| plain(format!("{message} (in `{text}`)")))?;
    if dims.len() > 8 {
        return Err(plain(format!("`{text}` has {} dimensions, at most 8 are allowed", dims.len())));
    }
    Ok((dtype, dims))
}

/// Whether `name` can be a field of the emitted argument struct.
pub(super) fn is_identifier(name: &str) -> bool {
    crate::name::KernelName::new(name).is_ok()
}
