//! The parts that schemas are made of: closed tables, names, and patterns for the strings that have a grammar. Words
//! come from the reader's own lists, so that a new one is in the schema at once.

use cutegen_spec::arch::Arch;
use cutegen_spec::dtype::DType;
use cutegen_spec::name::{MATH_WORDS, UNNAMEABLE};
use cutegen_spec::target::{CpuLevel, DEFAULT_TRIPLE};
use serde_json::{Map, Value, json};

/// The definition of a name.
pub(super) const NAMED: &str = "#/$defs/name";

/// A closed table of `keys`, each as `property` says it.
pub(super) fn table(keys: &[&str], required: &[&str], property: impl Fn(&str) -> Option<Value>) -> Value {
    let known = keys.iter().filter_map(|key| Some(((*key).to_owned(), property(key)?)));
    let mut schema = json!({
        "type": "object", "properties": known.collect::<Map<_, _>>(), "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A table from the author's names to `value`.
pub(super) fn named(title: &str, description: &str, value: &Value, example: &Value) -> Value {
    json!({
        "title": title,
        "description": description,
        "type": "object",
        "propertyNames": { "$ref": NAMED },
        "additionalProperties": value,
        "examples": [example],
    })
}

/// A name of a kernel, axis, tensor or scalar.
pub(super) fn name() -> Value {
    json!({
        "title": "Name",
        "description": "[a-z][a-z0-9_]*, at most 64 bytes, none of crate, self, super, inf, and, or, not.",
        "type": "string",
        "pattern": "^[a-z][a-z0-9_]*$",
        "maxLength": 64,
        "not": { "enum": UNNAMEABLE.iter().chain(&MATH_WORDS).collect::<Vec<_>>() },
    })
}

/// Names of the dtypes that `keep` keeps.
pub(super) fn dtypes(keep: impl Fn(DType) -> bool) -> Vec<&'static str> {
    DType::ALL.into_iter().filter(|dtype| keep(*dtype)).map(DType::name).collect()
}

/// `dtype[axis, ...]` with at most eight dimensions.
pub(super) fn shape_pattern() -> String {
    let dim = r"[a-z0-9_ +*/%()-]+";
    format!(r"^\s*({})\s*\[\s*({dim}(,{dim}){{0,7}})?\s*\]\s*$", dtypes(|_| true).join("|"))
}

/// `lo..=hi`
pub(super) fn range_pattern() -> &'static str {
    r"^\s*[0-9][0-9_]*\s*\.\.=\s*[0-9][0-9_]*\s*$"
}

/// An integer expression of axes.
pub(super) fn expression_pattern() -> &'static str {
    r"^[a-z0-9_ +*/%(),-]+$"
}

/// A target, narrowed or not.
pub(super) fn target_pattern() -> String {
    let (archs, level) =
        (Arch::all().map(Arch::name).collect::<Vec<_>>().join("|"), CpuLevel::X86_64V3.name());
    format!("^(host(:{DEFAULT_TRIPLE}:{level})?|({archs})(:[^:]*[A-Za-z0-9][^:]*)?)$")
}
