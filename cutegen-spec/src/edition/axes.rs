//! `axes`: constants, ranges and expressions of earlier axes; and the integer expressions that tensors are declared
//! with, which see all of them.

use std::cell::Cell;
use std::ops::Range;

use super::keys;
use super::tensors::is_identifier;
use super::value::{Key, Table, Value};
use crate::axis::{Axis, Extent};
use crate::diagnostic::{AXIS, Code, Diagnostic, NAME, SIZE};
use crate::hint;
use crate::int_expr::IntExpr;
use crate::name;

/// Largest extent of an axis.
pub const MAX_EXTENT: i64 = 1 << 40;
/// Most axes, and most tensors of a kind, of one kernel.
pub(super) const MAX_DECLARED: usize = 256;
/// Most operations of one expression: contracts multiply several, and what they print is read again.
const MAX_OPERATIONS: usize = 64;

const EXTENT: &str = "an integer, a range such as \"1..=8192\", or an expression of earlier axes";
const EXPRESSION: &str = "expected axes, integers, `+ - * / %`, `min`, `max` and `ceil_div`";

/// What is wrong with an integer expression, or with what it stands in.
pub(super) struct Wrong {
    /// Bytes of the text, where it is not the whole of it.
    pub(super) place: Option<Range<usize>>,
    pub(super) message: String,
    /// What was expected, where that is not all that the text is.
    pub(super) label: Option<String>,
    pub(super) help: Option<String>,
}

impl Wrong {
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into(), label: None, help: None }
    }

    /// The same of an expression that begins at `offset` of a text.
    pub(super) fn moved(self, offset: usize) -> Self {
        Self { place: self.place.map(|place| place.start + offset..place.end + offset), ..self }
    }

    /// As an error of the string `value`, of which all was expected to be `label`.
    pub(super) fn diagnostic(self, code: Code, value: &Value<'_>, label: &str) -> Diagnostic {
        let span = self.place.map_or_else(|| value.span(), |place| value.inside(place));
        let label = self.label.unwrap_or_else(|| label.to_owned());
        Diagnostic { help: self.help, ..Diagnostic::new(code, span, self.message, label) }
    }
}

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
        if key.text() == "weight" && matches!(extent, Extent::Range { .. }) {
            let message = "`weight` cannot name a run-time axis";
            let error = Diagnostic::new(NAME, key.span(), message, "a key of every workload");
            errors.push(error.help("in `workloads`, `weight` is how much the workload counts"));
        }
        found.push(Axis { name: key.text().to_owned(), extent });
    }
    Some(found)
}

/// A name that breaks the rule of names.
pub(super) fn bad_name(key: &Key<'_>, what: &str) -> Diagnostic {
    let message = format!("`{}` cannot name {what}", key.text());
    if name::MATH_WORDS.contains(&key.text()) {
        let error = Diagnostic::new(NAME, key.span(), message, "a word of the math");
        return error.help(format!("`{}` would never be read: the math has a meaning for it", key.text()));
    }
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
        (Some(name), _) => Err(no_axis(&name, text, axes)),
        (None, Ok(expr)) if expr.operations() > MAX_OPERATIONS => {
            let help = Some("name parts of it as axes of their own".to_owned());
            let message = format!("an expression has at most {MAX_OPERATIONS} operations");
            Err(Wrong { help, ..Wrong::whole(message) })
        }
        (None, parsed) => parsed.map_err(Wrong::whole),
    }
}

fn no_axis(name: &str, text: &str, axes: &[Axis]) -> Wrong {
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    let help = hint::meant(name, names.iter().copied()).unwrap_or_else(|| hint::declare_axis(&names));
    Wrong {
        place: word_at(text, name),
        message: format!("`{name}` is no axis"),
        label: Some("no such axis".to_owned()),
        help: Some(help),
    }
}

/// Where `text` has `word` between other characters than those of words.
fn word_at(text: &str, word: &str) -> Option<Range<usize>> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let stands = |at: &usize| {
        !text[..*at].ends_with(in_word)
            && !text[at + word.len()..].trim_start().starts_with(|c| in_word(c) || c == '(')
    };
    let start = text.match_indices(word).map(|(at, _)| at).find(stands)?;
    Some(start..start + word.len())
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
    let error = match expression(text, before) {
        Ok(expr) => return Ok(Extent::Derived(expr)),
        Err(error) => error,
    };
    if let Some(name) = later.find(|name| error.message == format!("`{name}` is no axis")) {
        let message = format!("axis `{name}` is not declared before this one");
        let help = Some("an axis is computed from those before it: reorder them".to_owned());
        return Err(Wrong { message, help, ..error }.diagnostic(AXIS, value, EXPRESSION));
    }
    let alone = error.place.is_some() && before.is_empty();
    let help = if alone {
        Some("an axis is computed from those before it, and there are none".to_owned())
    } else {
        error.help
    };
    Err(Wrong { help, ..error }.diagnostic(AXIS, value, EXPRESSION))
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
