//! Reads `search`, of a kernel or of a package: the order of kinds of generators, and nothing else.

use super::keys;
use super::value::{Table, Value};
use crate::diagnostic::{Diagnostic, SETTING};
use crate::generators::{GeneratorKind, Generators};
use crate::hint;

const EXPECTED: &str = "a list of kinds such as `[\"template\", \"model\"]`";

/// `search.generators`, where it stands in this table.
pub(super) fn search(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Option<Generators> {
    let (_, value) = table.get("search")?;
    let Some(inner) = value.table() else {
        errors.push(value.expected("a table with `generators`"));
        return None;
    };
    inner.only(&keys::SEARCH, errors);
    let (_, value) = inner.get("generators")?;
    let Some(items) = value.array() else {
        errors.push(value.expected(EXPECTED));
        return None;
    };
    let before = errors.len();
    let kinds = items.iter().filter_map(|item| kind(item, errors)).collect();
    if errors.len() > before {
        return None;
    }
    let order = Generators::new(kinds);
    order.map_err(|why| errors.push(Diagnostic::new(SETTING, value.span(), why, EXPECTED))).ok()
}

fn kind(item: &Value<'_>, errors: &mut Vec<Diagnostic>) -> Option<GeneratorKind> {
    let Some(word) = item.string() else {
        errors.push(item.expected("`template` or `model`"));
        return None;
    };
    let kind = GeneratorKind::named(word);
    if kind.is_none() {
        let message = format!("no kind of generator `{word}`: expected `template` or `model`");
        let help = hint::meant(word, GeneratorKind::ALL.map(GeneratorKind::name));
        errors.push(Diagnostic { help, ..Diagnostic::new(SETTING, item.span(), message, "no such kind") });
    }
    kind
}
