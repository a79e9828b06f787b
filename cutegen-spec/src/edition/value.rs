//! TOML with spans: a thin view of the parser's tree that keeps document order and byte ranges.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::places::locate;
use crate::diagnostic::{Diagnostic, SCHEMA};
use crate::hint;

/// A key of a table.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    name: &'a Spanned<std::borrow::Cow<'a, str>>,
}

/// A value and the text it stands in.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    source: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

/// A table and the text it stands in.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    source: &'a str,
    table: &'a DeTable<'a>,
}

/// Parses a text; the error is a message and a range.
pub(super) fn parse(source: &str) -> Result<DeTable<'_>, (String, Range<usize>)> {
    if let Some(span) = crate::nesting::too_deep(source) {
        return Err((crate::nesting::MESSAGE.to_owned(), span));
    }
    match DeTable::parse(source) {
        Ok(table) => Ok(table.into_inner()),
        Err(error) => Err((error.message().to_owned(), error.span().unwrap_or(0..0))),
    }
}

/// The line of a byte of a text, from 1.
pub(super) fn line(source: &str, at: usize) -> usize {
    1 + source.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

impl<'a> Key<'a> {
    pub(super) fn text(&self) -> &'a str {
        self.name.as_ref()
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.name.span()
    }
}

impl<'a> Value<'a> {
    pub(super) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    pub(super) fn string(&self) -> Option<&'a str> {
        self.value.as_ref().as_str()
    }

    /// `None` for what is no integer and for what does not fit.
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
        Some(items.iter().map(|value| Value { source: self.source, value }).collect())
    }

    pub(super) fn table(&self) -> Option<Table<'a>> {
        Some(Table { source: self.source, table: self.value.as_ref().as_table()? })
    }

    /// "expected ..., found ...", at this value.
    pub(super) fn expected(&self, what: &str) -> Diagnostic {
        Diagnostic::new(SCHEMA, self.span(), format!("found {}", self.found()), format!("expected {what}"))
    }

    /// As [`Value::expected`] one of `words`, with the nearest one.
    pub(super) fn expected_word<'w>(
        &self,
        what: &str,
        words: impl IntoIterator<Item = &'w str>,
    ) -> Diagnostic {
        let known: Vec<&str> = words.into_iter().collect();
        let help = self.string().and_then(|word| hint::key(word, &known));
        Diagnostic { help, ..self.expected(what) }
    }

    /// What this is, in words: short ones are shown.
    fn found(&self) -> String {
        match self.value.as_ref() {
            DeValue::String(text) if text.chars().count() > 40 || text.contains('\n') => {
                "a string".to_owned()
            }
            DeValue::String(text) => format!("`\"{text}\"`"),
            DeValue::Integer(_) if self.integer().is_none() => {
                "an integer that does not fit 64 bits".to_owned()
            }
            DeValue::Integer(integer) if integer.radix() == 10 => format!("`{integer}`"),
            DeValue::Integer(_) => "an integer".to_owned(),
            DeValue::Float(float) => format!("`{}`", float.as_str()),
            DeValue::Boolean(value) => format!("`{value}`"),
            DeValue::Array(items) if items.is_empty() => "an empty list".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(table) if table.is_empty() => "an empty table".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Datetime(_) => "a date".to_owned(),
        }
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
    pub(super) fn of(source: &'a str, table: &'a DeTable<'a>) -> Self {
        Self { source, table }
    }

    pub(super) fn get(&self, key: &str) -> Option<(Key<'a>, Value<'a>)> {
        let (name, value) = self.table.get_key_value(key)?;
        Some((Key { name }, Value { source: self.source, value }))
    }

    /// The line of a byte of its text, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        line(self.source, at)
    }

    /// Entries in document order.
    pub(super) fn entries(&self) -> Vec<(Key<'a>, Value<'a>)> {
        let entry = |(name, value)| (Key { name }, Value { source: self.source, value });
        let mut entries: Vec<_> = self.table.iter().map(entry).collect();
        entries.sort_by_key(|(key, _)| key.span().start);
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
            errors.push(Diagnostic { help: hint::key(key.text(), known), ..error });
        }
    }
}
