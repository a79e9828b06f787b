//! `schema`: the shape of specs as a JSON Schema (draft 2020-12), for editors. It says what a schema can say; that
//! names are declared and accesses fit is the reader's, so `check` refuses more than an editor does.

mod kernel;
mod words;

use cutegen_spec::edition::keys;
use cutegen_spec::settings::{Mode, Settings};
use serde_json::{Value, json};

use crate::args::Schema;
use crate::failure::Failure;
use crate::output::Output;
use kernel::definitions;
use words::{NAMED, table};

/// Prints one of the two schemas.
pub(crate) fn run(verb: &Schema, out: &Output) -> Result<(), Failure> {
    let schema = if verb.cargo { cargo() } else { spec_file() };
    out.result(text(&schema).trim_end(), &schema);
    Ok(())
}

/// A schema as it lies under docs/schema/: keys in order, two blanks a level.
fn text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// Of a spec file: `edition = 1`, then `[kernels.NAME]`.
fn spec_file() -> Value {
    let mut schema = table(&keys::SPEC_FILE, &["edition"], |key| match key {
        "edition" => Some(json!({
            "title": "Edition of the spec language", "description": "The first line of a spec file.", "const": 1,
        })),
        "kernels" => Some(kernels("Kernels of this file, by name.")),
        _ => None,
    });
    schema["title"] = json!("CuTeGen spec file, edition 1");
    schema["description"] = json!("Kernels as math: `edition = 1`, then a table `[kernels.NAME]` for each.");
    document(schema)
}

/// Of a Cargo.toml, as far as its `package.metadata` is CuTeGen's.
fn cargo() -> Value {
    let metadata = json!({
        "type": "object",
        "properties": {
            "kernels": kernels("Kernels of this package, by name: the name is the emitted function's."),
            "cutegen": { "$ref": "#/$defs/settings" },
        },
    });
    let top = "cargo drops this table when it packages: write [package.metadata.kernels.NAME].";
    let mut top = kernels(top);
    top["deprecated"] = json!(true);
    let package = json!({ "type": "object", "properties": { "metadata": metadata } });
    document(json!({
        "title": "CuTeGen in Cargo.toml, edition 1",
        "description": "What may stand in package.metadata.kernels and package.metadata.cutegen; all else is open.",
        "type": "object",
        "properties": { "package": package, "kernels": top },
    }))
}

fn document(mut schema: Value) -> Value {
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    let mut definitions = definitions();
    definitions["settings"] = settings();
    schema["$defs"] = definitions;
    schema
}

fn kernels(description: &str) -> Value {
    json!({
        "title": "Kernels",
        "description": description,
        "type": "object",
        "propertyNames": { "$ref": NAMED },
        "additionalProperties": { "$ref": "#/$defs/kernel" },
    })
}

fn settings() -> Value {
    let mut schema = table(&keys::SETTINGS, &[], setting);
    schema["title"] = json!("Settings of the package");
    schema["description"] = json!("What holds for all kernels of the package.");
    schema
}

fn setting(key: &str) -> Option<Value> {
    let defaults = Settings::default();
    Some(match key {
        "targets" => json!({
            "$ref": "#/$defs/targets", "description": "For kernels that name none.", "default": ["host"],
        }),
        "specs" => path("Folder of spec files, inside the package.", "kernels"),
        "store" => {
            let mut store = path("Folder of the store, inside the package.", &defaults.store);
            store["default"] = json!(defaults.store);
            store
        }
        "mode" => json!({
            "title": "What a build may do",
            "description": "locked: replay only. search: run the loop on a miss. stub: wrappers without payload. The \
                            variable CUTEGEN_MODE wins.",
            "enum": Mode::ALL.map(Mode::name),
            "default": defaults.mode.name(),
        }),
        "min-gate" => json!({
            "title": "Oldest gate revision that is trusted",
            "description": "check, verify and builds fail on a kernel whose evidence is older, or that nothing has \
                            judged.",
            "type": "integer",
            "minimum": 1,
            "maximum": u32::MAX,
        }),
        "warn-naive" => json!({
            "title": "Whether a release build warns of naive kernels",
            "description": "One warning of cargo's names the kernels that no search has found a faster variant for.",
            "type": "boolean",
            "default": defaults.warn_naive,
        }),
        "host-sources" => json!({
            "title": "Host sources that no template wrote",
            "description": "SHA-256 of each such source that the package may hold, at least 16 hex digits. check fails on \
                            others.",
            "type": "array",
            "items": { "type": "string", "pattern": "^[0-9a-f]{16,64}$" },
        }),
        "search" => json!({ "$ref": "#/$defs/search", "description": "For kernels that say none." }),
        _ => return None,
    })
}

fn path(description: &str, example: &str) -> Value {
    json!({
        "title": "Path relative to Cargo.toml",
        "description": description,
        "type": "string",
        "pattern": "^[^/]",
        "not": { "pattern": "(^|/)\\.\\.(/|$)" },
        "examples": [example],
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod validator;
