//! `axes`: constants, ranges and expressions of earlier axes; and the integer expressions that tensors are declared
//! with, which see all of them.

use std::cell::Cell;

use super::keys;
use super::tensors::is_identifier;
use super::value::{Key, Table, Value};
use crate::axis::{Axis, Extent};
use crate::diagnostic::{AXIS, Diagnostic, NAME, SIZE, nearest};
use crate::int_expr::IntExpr;

/// Largest extent of an axis.
pub const MAX_EXTENT: i64 = 1 << 40;
/// Most axes, and most tensors of a kind, of one kernel.
pub(super) const MAX_DECLARED: usize = 256;
/// Most operations of one expression: contracts multiply several, and what they print is read again.
const MAX_OPERATIONS: usize = 64;

const EXTENT: &str = "an integer, a range such as \"1..=8192\", or an expression of earlier axes";
const EXPRESSION: &str = "expected axes, integers, `+ - * / %`, `min`, `max` and `ceil_div`";

/// A message, and how to mend it.
pub(super) type Wrong = (String, Option<String>);

/// Reads `axes`, each seeing those declared before it. `None` where no names are known: whatever uses an axis would be
/// wrong, too.
pub(super) fn axes(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Option<Vec<Axis>> {
    let Some((_, value)) = table.get("axes") else { return Some(Vec::new()) };
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table of `name = extent`"));
        return None;
    };
    let entries = inner.entries();
    if let Some(error) = too_many("axes", &entries) {
        errors.push(error);
        return None;
    }
    let mut found: Vec<Axis> = Vec::new();
    for (position, (key, value)) in entries.iter().enumerate() {
        if !is_identifier(key.text()) {
            errors.push(bad_name(key, "an axis"));
        }
        let later = entries[position..].iter().map(|(key, _)| key.text());
        let extent = extent(value, &found, later, errors).unwrap_or_else(|error| {
            errors.push(error);
            any_extent() // the kernel is refused; its other errors should not repeat this one
        });
        found.push(Axis { name: key.text().to_owned(), extent });
    }
    Some(found)
}

/// A name that breaks the rule of names.
pub(super) fn bad_name(key: &Key<'_>, what: &str) -> Diagnostic {
    let message = format!("`{}` cannot name {what}", key.text());
    let label = "expected [a-z][a-z0-9_]*, at most 64 bytes, none of crate, self, super";
    Diagnostic::new(NAME, key.span(), message, label)
}

/// More entries of a table than any kernel has.
pub(super) fn too_many(what: &str, entries: &[(Key<'_>, Value<'_>)]) -> Option<Diagnostic> {
    let (key, _) = entries.get(MAX_DECLARED)?;
    let message = format!("a kernel has at most {MAX_DECLARED} {what}, found {}", entries.len());
    Some(Diagnostic::new(SIZE, key.span(), message, "one too many"))
}

/// An integer expression of `axes`.
pub(super) fn expression(text: &str, axes: &[Axis]) -> Result<IntExpr, Wrong> {
    let unknown = Cell::new(None);
    let position = |name: &str| {
        let found = axes.iter().position(|axis| axis.name == name);
        if found.is_none() {
            unknown.set(Some(name.to_owned()));
        }
        found
    };
    let parsed = IntExpr::parse(text, &position);
    match (unknown.into_inner(), parsed) {
        (Some(name), _) => {
            let near = nearest(&name, axes.iter().map(|axis| axis.name.as_str()));
            Err((format!("`{name}` is no axis"), near.map(|near| format!("did you mean `{near}`?"))))
        }
        (None, Ok(expr)) if expr.operations() > MAX_OPERATIONS => {
            let help = "name parts of it as axes of their own".to_owned();
            Err((format!("an expression has at most {MAX_OPERATIONS} operations"), Some(help)))
        }
        (None, parsed) => parsed.map_err(|message| (message, None)),
    }
}

fn any_extent() -> Extent {
    Extent::Range { lo: 0, hi: MAX_EXTENT, multiple_of: 1, buckets: Vec::new() }
}

fn extent<'k>(
    value: &Value<'_>,
    before: &[Axis],
    mut later: impl Iterator<Item = &'k str>,
    errors: &mut Vec<Diagnostic>,
) -> Result<Extent, Diagnostic> {
    if let Some(table) = value.table() {
        return long(value, &table, errors);
    }
    if let Some(constant) = value.integer() {
        return in_bounds(constant).map(Extent::Const).map_err(|message| wrong(value, message));
    }
    let text = value.string().ok_or_else(|| value.expected(EXTENT))?;
    if text.contains("..") {
        return range_of(value, text, 1, Vec::new());
    }
    let (message, help) = match expression(text, before) {
        Ok(expr) => return Ok(Extent::Derived(expr)),
        Err(error) => error,
    };
    let named = later.find(|name| message == format!("`{name}` is no axis"));
    Err(match (named, help) {
        (Some(name), _) => wrong(value, format!("axis `{name}` is not declared before this one"))
            .help("an axis is computed from those before it: reorder them"),
        (None, help) => Diagnostic { help, ..wrong(value, message) },
    })
}

/// `{ range = "1..=8192", multiple-of = 16, buckets = [64, 1024] }`
fn long(value: &Value<'_>, table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Result<Extent, Diagnostic> {
    table.only(&keys::AXIS, errors);
    let (_, range) = table.get("range").ok_or_else(|| value.expected("a key `range = \"1..=8192\"`"))?;
    let text = range.string().ok_or_else(|| range.expected("a range such as \"1..=8192\""))?;
    let multiple_of = match table.get("multiple-of") {
        None => 1,
        Some((_, value)) => {
            let positive = value.integer().filter(|m| *m > 0);
            positive.ok_or_else(|| value.expected("a positive integer"))?
        }
    };
    let buckets = buckets(table)?;
    range_of(&range, text, multiple_of, buckets)
}

fn buckets(table: &Table<'_>) -> Result<Vec<i64>, Diagnostic> {
    let Some((_, value)) = table.get("buckets") else { return Ok(Vec::new()) };
    let items = value.array().ok_or_else(|| value.expected("a list of integers"))?;
    let mut ends: Vec<i64> = Vec::new();
    for item in items {
        let end = item.integer().ok_or_else(|| item.expected("an integer"))?;
        if let Some(last) = ends.last().filter(|last| **last >= end) {
            let message = format!("bucket {end} follows {last}");
            return Err(Diagnostic::new(AXIS, item.span(), message, "expected ascending buckets"));
        }
        ends.push(end);
    }
    Ok(ends)
}

fn range_of(
    value: &Value<'_>,
    text: &str,
    multiple_of: i64,
    buckets: Vec<i64>,
) -> Result<Extent, Diagnostic> {
    let (lo, hi) = ends(text).map_err(|message| wrong(value, message))?;
    if lo > hi {
        return Err(wrong(value, format!("range `{text}` is empty")));
    }
    if lo % multiple_of != 0 || hi % multiple_of != 0 {
        return Err(wrong(value, format!("the ends of `{text}` are no multiples of {multiple_of}")));
    }
    Ok(Extent::Range { lo, hi, multiple_of, buckets })
}

fn ends(text: &str) -> Result<(i64, i64), String> {
    let (lo, hi) =
        text.split_once("..=").ok_or_else(|| format!("range `{text}` does not include its end"))?;
    let number = |t: &str| {
        let t = t.trim();
        t.replace('_', "").parse::<i64>().map_err(|_| format!("`{t}` is no integer"))
    };
    Ok((in_bounds(number(lo)?)?, in_bounds(number(hi)?)?))
}

fn wrong(value: &Value<'_>, message: String) -> Diagnostic {
    let label = match value.string() {
        Some(text) if text.contains("..") => "expected a range such as \"1..=8192\", both ends included",
        Some(_) => EXPRESSION,
        None => "expected an extent",
    };
    Diagnostic::new(AXIS, value.span(), message, label)
}

fn in_bounds(value: i64) -> Result<i64, String> {
    if (0..=MAX_EXTENT).contains(&value) {
        Ok(value)
    } else {
        Err(format!("extent {value} is outside 0..=2^40"))
    }
}
