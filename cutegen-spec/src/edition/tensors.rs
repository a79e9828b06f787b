//! `inputs`, `inout` and `outputs`: `"dtype[axis, ...]"`, or a table around it.

use super::axes::{Wrong, bad_name, expression, too_many};
use super::keys;
use super::v1::is_slip;
use super::value::{Key, Table, Value};
use crate::axis::Axis;
use crate::diagnostic::{Diagnostic, RESERVED, TENSOR};
use crate::dtype::DType;
use crate::hint;
use crate::int_expr::{IntExpr, IntOp};
use crate::math::Kind;
use crate::tensor::{Role, Tensor, ValueRange};

/// Reads the tensors of one role, in document order.
pub(super) fn tensors(
    table: &Table<'_>,
    role: Role,
    axes: &[Axis],
    errors: &mut Vec<Diagnostic>,
) -> Vec<Tensor> {
    let Some((_, value)) = table.get(role.table()) else {
        let slip = |key: &Key<'_>| is_slip(key.text(), "outputs") || is_slip(key.text(), "inout");
        let slipped = table.entries().iter().any(|(key, _)| slip(key));
        if role == Role::Output && table.get("inout").is_none() && !slipped {
            errors.push(no_output(table));
        }
        return Vec::new();
    };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table of `name = \"dtype[axis, ...]\"`"));
        return Vec::new();
    };
    let entries = inner.entries();
    if let Some(error) = too_many(role.table(), &entries) {
        errors.push(error);
        return Vec::new();
    }
    if entries.is_empty() && role == Role::Output && table.get("inout").is_none() {
        errors.push(value.expected("at least one tensor"));
    }
    entries.iter().filter_map(|(key, value)| tensor(key, value, role, axes, errors)).collect()
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
    key: &Key<'_>,
    value: &Value<'_>,
    role: Role,
    axes: &[Axis],
    errors: &mut Vec<Diagnostic>,
) -> Option<Tensor> {
    if !is_identifier(key.text()) {
        errors.push(bad_name(key, "a tensor"));
        return None;
    }
    let long = value.table();
    let declared = match &long {
        None => *value,
        Some(table) => {
            table.only(&keys::TENSOR, errors);
            let Some((_, declared)) = table.get("type") else {
                errors.push(value.expected("a key `type = \"dtype[axis, ...]\"`"));
                return None;
            };
            declared
        }
    };
    let Some(text) = declared.string() else {
        errors.push(declared.expected("`\"dtype[axis, ...]\"`"));
        return None;
    };
    let (dtype, dims) = match shape(text, axes) {
        Ok(found) => found,
        Err(wrong) => {
            errors.push(wrong.diagnostic(TENSOR, &declared, "expected `\"dtype[axis, ...]\"`"));
            return None;
        }
    };
    let name = key.text().to_owned();
    let mut found =
        Tensor { name, role, dtype, dims, constant: false, strides: None, range: None, unique: false };
    if role == Role::Inout && dtype.bits() < 8 {
        let message =
            format!("an inout of {dtype} is reserved by edition 1 and not computed by this version yet");
        errors.push(Diagnostic::new(RESERVED, declared.span(), message, "expected a type of whole bytes"));
        return None;
    }
    match long {
        None => Some(found),
        Some(table) => attributes(&table, &mut found, axes, errors).map(|()| found),
    }
}

/// The keys beside `type`.
fn attributes(
    table: &Table<'_>,
    tensor: &mut Tensor,
    axes: &[Axis],
    errors: &mut Vec<Diagnostic>,
) -> Option<()> {
    let before = errors.len();
    let mut flag = |word: &str| match table.get(word) {
        None => false,
        Some((_, value)) => value.boolean().unwrap_or_else(|| {
            errors.push(value.expected("`true` or `false`"));
            false
        }),
    };
    (tensor.constant, tensor.unique) = (flag("constant"), flag("unique"));
    if let Some((key, value)) = table.get("range") {
        match value.string().map(|text| value_range(text, axes)) {
            Some(Ok(range)) => tensor.range = Some(range),
            Some(Err(wrong)) => {
                errors.push(wrong.diagnostic(TENSOR, &value, "expected a range such as \"0..n\""));
            }
            None => errors.push(value.expected("a range such as `\"0..n\"`")),
        }
        if Kind::of(tensor.dtype) != Kind::Int || tensor.role != Role::Input {
            errors.push(only_integer_inputs(&key, "range"));
        }
    }
    if let Some((key, _)) = table.get("unique").filter(|_| tensor.unique)
        && (Kind::of(tensor.dtype) != Kind::Int || tensor.role != Role::Input)
    {
        errors.push(only_integer_inputs(&key, "unique"));
    }
    if let Some((_, value)) = table.get("strides") {
        match strides(&value, tensor, axes) {
            Ok(found) => tensor.strides = Some(found),
            Err(error) => errors.push(error),
        }
    }
    (errors.len() == before).then_some(())
}

fn only_integer_inputs(key: &Key<'_>, word: &str) -> Diagnostic {
    let message = format!("`{word}` is for inputs of integers");
    Diagnostic::new(TENSOR, key.span(), message, "the tensor holds none, or is no input")
}

/// `"from..to"`, half-open, or `"from..=to"`; both ends are integer expressions of axes.
fn value_range(text: &str, axes: &[Axis]) -> Result<ValueRange, Wrong> {
    let (from, to) = text.split_once("..").ok_or_else(|| Wrong::whole(format!("`{text}` is no range")))?;
    // both ends are at the end of what is left of the text, so their lengths say where they are
    let parse =
        |part: &str, end: usize| expression(part, axes).map_err(|wrong| wrong.moved(end - part.len()));
    let from_end = text.len() - to.len() - "..".len();
    let to = match to.strip_prefix('=') {
        Some(last) => IntExpr::op(IntOp::Add, parse(last, text.len())?, IntExpr::Const(1)),
        None => parse(to, text.len())?,
    };
    Ok(ValueRange { from: parse(from, from_end)?, to })
}

/// One stride a dimension, in elements; each an integer or an expression of axes.
fn strides(value: &Value<'_>, tensor: &Tensor, axes: &[Axis]) -> Result<Vec<IntExpr>, Diagnostic> {
    let items = value.array().ok_or_else(|| value.expected("a list with one stride a dimension"))?;
    if items.len() != tensor.dims.len() {
        let message =
            format!("`{}` has {} dimensions and {} strides", tensor.name, tensor.dims.len(), items.len());
        return Err(Diagnostic::new(TENSOR, value.span(), message, "expected one stride a dimension"));
    }
    if tensor.dtype.bits() < 8 {
        let message = format!("{} is packed and has no strides", tensor.dtype);
        return Err(Diagnostic::new(TENSOR, value.span(), message, "expected a type of whole bytes"));
    }
    items
        .iter()
        .map(|item| match (item.integer(), item.string()) {
            (Some(stride), _) if stride >= 0 => Ok(IntExpr::Const(stride)),
            (_, Some(text)) => expression(text, axes).map_err(|wrong| no_stride(item, text, wrong)),
            _ => Err(item.expected("a stride in elements: an integer, or an expression of axes")),
        })
        .collect()
}

fn no_stride(item: &Value<'_>, text: &str, wrong: Wrong) -> Diagnostic {
    let error = wrong.diagnostic(TENSOR, item, "expected an expression of axes");
    if error.help.as_ref().is_some_and(|help| help.starts_with("did you mean")) {
        return error;
    }
    let name = if is_identifier(text) { text } else { "ldw" };
    error.help(format!("a run-time stride is an axis of its own: `axes = {{ {name} = \"4096..=65536\" }}`"))
}

/// `"dtype[axis, ...]"`; each dimension is an integer expression of axes.
fn shape(text: &str, axes: &[Axis]) -> Result<(DType, Vec<IntExpr>), Wrong> {
    let (word, rest) = text.split_once('[').ok_or_else(|| no_brackets(text))?;
    let inner = rest
        .trim_end()
        .strip_suffix(']')
        .ok_or_else(|| Wrong::whole(format!("`{text}` does not end in `]`")))?;
    let dtype = DType::parse(word.trim()).ok_or_else(|| no_dtype(word))?;
    if inner.trim().is_empty() {
        return Ok((dtype, Vec::new()));
    }
    let dims = split(inner);
    if dims.len() > 8 {
        return Err(Wrong::whole(format!("a tensor has at most 8 dimensions, found {}", dims.len())));
    }
    let mut offset = word.len() + 1;
    let one = |dim: &str| {
        let found = expression(dim, axes).map_err(|wrong| wrong.moved(offset));
        offset += dim.len() + 1;
        found
    };
    Ok((dtype, dims.into_iter().map(one).collect::<Result<_, _>>()?))
}

fn no_brackets(text: &str) -> Wrong {
    let help = DType::parse(text.trim()).map(|dtype| format!("one value is `\"{dtype}[]\"`"));
    Wrong { help, ..Wrong::whole(format!("`{text}` has no `[`")) }
}

/// `word` as it stands before the bracket, where a dtype should.
fn no_dtype(word: &str) -> Wrong {
    let start = word.len() - word.trim_start().len();
    let word = word.trim();
    Wrong {
        place: (!word.is_empty()).then(|| start..start + word.len()),
        message: format!("unknown dtype `{word}`"),
        label: Some(format!("expected one of {}", hint::dtypes(|_| true))),
        help: hint::dtype(word, |_| true),
    }
}

/// Splits at commas outside parentheses: `max(m, n), k` is two dimensions.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// Whether `name` can be a field of the emitted argument struct.
pub(super) fn is_identifier(name: &str) -> bool {
    crate::name::KernelName::new(name).is_ok()
}
