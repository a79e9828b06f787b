//! TOML with spans: a thin view of the parser's tree that keeps document order and byte ranges.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::places::locate;
use crate::diagnostic::{Diagnostic, SCHEMA, nearest};

/// A key of a table.
pub(super) struct Key {
    text: String,
    span: Range<usize>,
}

/// A value and the text it stands in.
#[derive(Clone)]
pub(super) struct Value<'a> {
    source: &'a str,
    value: Spanned<DeValue<'a>>,
}

/// A table and the text it stands in.
#[derive(Clone)]
pub(super) struct Table<'a> {
    source: &'a str,
    table: DeTable<'a>,
}

impl Key {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl<'a> Value<'a> {
    pub(super) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    pub(super) fn string(&self) -> Option<&str> {
        self.value.as_ref().as_str()
    }

    pub(super) fn integer(&self) -> Option<i64> {
        let integer = self.value.as_ref().as_integer()?;
        i64::from_str_radix(integer.as_str(), integer.radix()).ok()
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.value.as_ref().as_bool()
    }

    /// A float, or an integer as one.
    pub(super) fn number(&self) -> Option<f64> {
        match self.value.as_ref() {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(_) => self.integer().map(|i| i as f64),
            _ => None,
        }
    }

    pub(super) fn array(&self) -> Option<Vec<Value<'a>>> {
        let items = self.value.as_ref().as_array()?;
        Some(items.iter().map(|value| Value { source: self.source, value: value.clone() }).collect())
    }

    pub(super) fn table(&self) -> Option<Table<'a>> {
        Some(Table { source: self.source, table: self.value.as_ref().as_table()?.clone() })
    }

    /// "expected ..., found ...", at this value.
    pub(super) fn expected(&self, what: &str) -> Diagnostic {
        let found = self.value.as_ref().type_str();
        Diagnostic::new(SCHEMA, self.span(), format!("found {found}"), format!("expected {what}"))
    }

    /// The file's range for a range inside this string's content.
    pub(super) fn inside(&self, range: Range<usize>) -> Range<usize> {
        let whole = self.span();
        let found = self.source.get(whole.clone()).zip(self.string());
        match found.and_then(|(token, content)| locate(token, content, range)) {
            Some(inside) => whole.start + inside.start..whole.start + inside.end,
            None => whole,
        }
    }
}

impl<'a> Table<'a> {
    /// Parses a text; the error is a message and a range.
    pub(super) fn parse(source: &'a str) -> Result<Self, (String, Range<usize>)> {
        match DeTable::parse(source) {
            Ok(table) => Ok(Self { source, table: table.into_inner() }),
            Err(error) => Err((error.message().to_owned(), error.span().unwrap_or(0..0))),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<(Key, Value<'a>)> {
        let (name, value) = self.table.get_key_value(key)?;
        Some((self.key(name), Value { source: self.source, value: value.clone() }))
    }

    fn key(&self, name: &Spanned<std::borrow::Cow<'a, str>>) -> Key {
        Key { text: name.as_ref().to_string(), span: name.span() }
    }

    /// Entries in document order.
    pub(super) fn entries(&self) -> Vec<(Key, Value<'a>)> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| (self.key(key), Value { source: self.source, value: value.clone() }))
            .collect();
        entries.sort_by_key(|(key, _)| key.span.start);
        entries
    }

    /// Reports every key that is not one of `known`.
    pub(super) fn only(&self, known: &[&str], errors: &mut Vec<Diagnostic>) {
        for (key, _) in self.entries() {
            if known.contains(&key.text()) {
                continue;
            }
            let message = format!("unknown key `{}`", key.text());
            let error =
                Diagnostic::new(SCHEMA, key.span(), message, format!("expected one of {}", known.join(", ")));
            errors.push(match nearest(key.text(), known.iter().copied()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            });
        }
    }
}
