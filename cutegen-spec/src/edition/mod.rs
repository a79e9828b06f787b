//! Spec sources to [`KernelSpec`]s: the three places a kernel may be declared, one schema.
//!
//! 1. `[package.metadata.kernels.NAME]` in Cargo.toml, the recommended inline form;
//! 2. `[kernels.NAME]` in a spec file whose first line is `edition = 1`;
//! 3. `[kernels.NAME]` at the top of Cargo.toml, with a warning: cargo drops it when packaging.
//!
//! All bad kernels of a text are reported together. Older editions will convert here to the one internal form.

mod axes;
mod fields;
pub mod keys;
mod places;
mod search;
mod stray;
mod tensors;
mod uses;
mod v1;
mod value;

pub use axes::MAX_EXTENT;
pub use v1::MAX_INSTRUCTIONS;

use crate::diagnostic::{Diagnostic, NAME, SCHEMA, SETTING, TOML};
use crate::digest::DigestStart;
use crate::hint;
use crate::settings::{Mode, Settings};
use crate::spec::KernelSpec;
use crate::target::Target;
use std::ops::Range;

use toml::de::DeTable;
use value::{Table, Value};

/// What a text declares.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The package's name and version, in a manifest.
    pub package: Option<Package>,
    /// `[package.metadata.cutegen]`, or the defaults.
    pub settings: Settings,
    /// The kernels that are right.
    pub kernels: Vec<KernelSpec>,
    /// Byte ranges of their names.
    pub names: Vec<Range<usize>>,
    /// What stops the build.
    pub errors: Vec<Diagnostic>,
    /// What does not.
    pub warnings: Vec<Diagnostic>,
}

impl Document {
    /// All kernels of a text that is right, or why it is not. Who takes [`Document::kernels`] alone loses a wrong one
    /// silently.
    pub fn into_kernels(self) -> Result<Vec<KernelSpec>, Vec<Diagnostic>> {
        if self.errors.is_empty() { Ok(self.kernels) } else { Err(self.errors) }
    }
}

/// A package's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// `package.name`
    pub name: String,
    /// `package.version`; empty when inherited from a workspace.
    pub version: String,
}

/// Reads a spec file: `edition = 1`, then `[kernels.NAME]` tables.
#[must_use]
pub fn spec_file(text: &str, settings: &Settings) -> Document {
    let mut document = Document { settings: settings.clone(), ..Document::default() };
    let Some(root) = parse(text, &mut document) else { return document };
    let root = Table::of(text, &root);
    match root.get("edition").map(|(_, value)| value.integer()) {
        Some(Some(1)) => {}
        Some(_) => {
            document.errors.extend(root.get("edition").map(|(_, value)| value.expected("edition 1")));
            return document;
        }
        None => {
            let error = Diagnostic::new(
                SCHEMA,
                0..text.len().min(1),
                "the file names no edition",
                "expected before this",
            )
            .help("write `edition = 1` as the first line");
            document.errors.push(error);
            return document;
        }
    }
    root.only(&keys::SPEC_FILE, &mut document.errors);
    kernels(&root, &mut document);
    document
}

/// Reads a Cargo.toml: its settings and the kernels declared in it.
#[must_use]
pub fn manifest(text: &str) -> Document {
    let mut document = Document::default();
    let Some(root) = parse(text, &mut document) else { return document };
    let root = Table::of(text, &root);
    let package = root.get("package").and_then(|(_, value)| value.table());
    let string = |key: &str| {
        let (_, value) = package.as_ref()?.get(key)?;
        value.string().map(str::to_owned)
    };
    document.package =
        string("name").map(|name| Package { name, version: string("version").unwrap_or_default() });
    let metadata = package.and_then(|table| table.get("metadata")).and_then(|(_, value)| value.table());
    if let Some((_, value)) = metadata.as_ref().and_then(|metadata| metadata.get("cutegen")) {
        match value.table() {
            Some(table) => document.settings = settings(&table, &mut document.errors),
            None => document.errors.push(value.expected("a table of settings")),
        }
    }
    if let Some(metadata) = &metadata {
        kernels(metadata, &mut document);
    }
    if let Some((key, _)) = root.get("kernels") {
        let message = "`[kernels]` at the top of Cargo.toml is dropped when the crate is packaged";
        let warning = Diagnostic::new(SCHEMA, key.span(), message, "cargo calls this key unused")
            .help("declare it as `[package.metadata.kernels.NAME]`, or in a file under `specs`");
        document.warnings.push(warning);
        kernels(&root, &mut document);
    }
    stray::report(&root, &mut document.errors);
    document
}

fn parse<'a>(text: &'a str, document: &mut Document) -> Option<DeTable<'a>> {
    match value::parse(text) {
        Ok(table) => Some(table),
        Err((message, span)) => {
            document.errors.push(Diagnostic::new(TOML, span, message, "not TOML"));
            None
        }
    }
}

fn kernels(parent: &Table<'_>, document: &mut Document) {
    let Some((key, value)) = parent.get("kernels") else { return };
    let Some(table) = value.table() else {
        document.errors.push(value.expected("a table of kernels"));
        return;
    };
    if stray::is_kernel(&table) {
        let expected = "a name for it: `[package.metadata.kernels.NAME]`, in a spec file `[kernels.NAME]`";
        document.errors.push(Diagnostic::new(
            SCHEMA,
            key.span(),
            "a kernel has no name",
            format!("expected {expected}"),
        ));
        return;
    }
    let before = document.kernels.len();
    for (key, value) in table.entries() {
        let Some(spec) = v1::kernel(&key, &value, &document.settings, &mut document.errors) else {
            continue;
        };
        match document.kernels[..before].iter().position(|kernel| kernel.name == spec.name) {
            Some(first) => {
                let line = parent.line(document.names[first].start);
                let message = format!("kernel `{}` is declared twice", spec.name);
                let again = Diagnostic::new(NAME, key.span(), message, "again here");
                document.errors.push(again.help(format!("first declared in line {line}")));
            }
            None => {
                let unused = value.table().map(|table| uses::unused_axes(&table, &spec));
                document.warnings.extend(unused.into_iter().flatten());
                document.kernels.push(spec);
                document.names.push(key.span());
            }
        }
    }
}

fn settings(table: &Table<'_>, errors: &mut Vec<Diagnostic>) -> Settings {
    table.only(&keys::SETTINGS, errors);
    let mut settings = Settings::default();
    if let Some((_, value)) = table.get("targets") {
        settings.targets = targets(&value, errors);
    }
    let mut path = |key: &str| {
        let (_, value) = table.get(key)?;
        let inside =
            |p: &&str| !p.is_empty() && !p.starts_with('/') && !p.split('/').any(|part| part == "..");
        let path = value.string().filter(inside);
        if path.is_none() {
            errors.push(value.expected("a path inside the package, relative to its Cargo.toml"));
        }
        path.map(str::to_owned)
    };
    settings.specs = path("specs");
    settings.store = path("store").unwrap_or(settings.store);
    if let Some((_, value)) = table.get("mode") {
        match value.string().map(Mode::parse) {
            Some(Ok(mode)) => settings.mode = mode,
            Some(Err(message)) => {
                let help = value.string().and_then(|word| hint::meant(word, Mode::ALL.map(Mode::name)));
                errors.push(Diagnostic {
                    help,
                    ..Diagnostic::new(SETTING, value.span(), message, "no such mode")
                });
            }
            None => errors.push(value.expected("a mode: `locked`, `search` or `stub`")),
        }
    }
    if let Some((_, value)) = table.get("min-gate") {
        settings.min_gate =
            value.integer().and_then(|gate| u32::try_from(gate).ok()).filter(|gate| *gate > 0);
        if settings.min_gate.is_none() {
            errors.push(value.expected("a gate revision such as `1`"));
        }
    }
    if let Some((_, value)) = table.get("warn-naive") {
        match value.boolean() {
            Some(warn) => settings.warn_naive = warn,
            None => errors.push(value.expected("`true` or `false`")),
        }
    }
    if let Some((_, value)) = table.get("host-sources") {
        settings.host_sources = host_sources(&value, errors);
    }
    settings.generators = search::search(table, errors).unwrap_or_default();
    settings
}

fn host_sources(value: &Value<'_>, errors: &mut Vec<Diagnostic>) -> Vec<DigestStart> {
    let expected = "SHA-256 digests of sources in a list, at least 16 lower-case hex digits of each";
    let Some(items) = value.array() else {
        errors.push(value.expected(expected));
        return Vec::new();
    };
    let mut found = Vec::new();
    for item in &items {
        match item.string().map(DigestStart::parse) {
            Some(Ok(digest)) => found.push(digest),
            Some(Err(message)) => {
                errors.push(Diagnostic::new(SETTING, item.span(), message, "no digest"));
            }
            None => errors.push(item.expected(expected)),
        }
    }
    found
}

/// Reads a list of targets; an empty list is an error.
fn targets(value: &Value<'_>, errors: &mut Vec<Diagnostic>) -> Vec<Target> {
    let Some(items) = value.array() else {
        errors.push(value.expected("a list of targets such as `[\"host\", \"sm_90a\"]`"));
        return Vec::new();
    };
    let mut found = Vec::new();
    for item in &items {
        match item.string().map(Target::parse) {
            Some(Ok(target)) => found.push(target),
            Some(Err(message)) => {
                let help = item.string().and_then(hint::target);
                errors.push(Diagnostic {
                    help,
                    ..Diagnostic::new(SETTING, item.span(), message, "no such target")
                });
            }
            None => errors.push(item.expected("a target")),
        }
    }
    if items.is_empty() {
        errors.push(value.expected("at least one target"));
    }
    found
}

#[cfg(test)]
mod tests;
