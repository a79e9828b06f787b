//! The schemas against the committed files, against every spec of the tree, and against the reader: what a schema
//! refuses, the reader refuses. `UPDATE_GOLDEN=1` writes the files.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_spec::edition::{keys, manifest, spec_file as read};
use cutegen_spec::settings::Settings;
use serde_json::Value;

use super::validator::Validator;
use super::{cargo, spec_file, text};

const GOOD: &str = r#"
axes          = { m = "1..=8192", n = 64, k = "n / 2 + 1", b = { range = "16..=64", multiple-of = 16, buckets = [32, 64] } }
inputs        = { x = "bf16[m, k]", w = { type = "bf16[n, k]", constant = true }, r = "f32[b]" }
outputs       = { y = "bf16[m, n]", z = "f32[b]" }
scalars       = { eps = "f32" }
intermediates = { t = "bf16" }
math          = """
t[m, n] = sum(k, x[m, k] * w[n, k])
y[m, n] = t[m, n] + eps
z[b] = r[b]
"""
precision     = { accumulate = "f32", multiply = "native", fast-math = false }
tolerance     = { relative = 1e-3, absolute = 0, reason = "bf16 twice" }
deterministic = false
workloads     = [{ m = 128, b = 16, weight = 2.0 }, { m = 1, b = 64 }]
accept        = { min-speedup = 1.1 }
family        = "general"
peers         = { torch = "x @ w.T" }
instructions  = "Rows are short."
targets       = ["host", "sm_90a", "sm_90a:h200", "sm_80", "sm_120f:rtx 5090", "host:x86_64-unknown-linux-gnu:x86-64-v3"]
search        = { generators = ["template", "model"] }
edition       = 1
"#;

/// What is replaced in [`GOOD`], by something that both schema and reader refuse.
const BAD: [(&str, &str); 39] = [
    ("deterministic =", "determinstic ="),
    ("deterministic = false", "deterministic = 0"),
    ("math          =", "maths ="),
    ("m = \"1..=8192\"", "m = \"1..8192\""),
    ("m = \"1..=8192\"", "m = \"one..=8192\""),
    ("n = 64", "n = -1"),
    ("n = 64", "n = 1099511627777"),
    ("n = 64", "n = 6.5"),
    ("n = 64", "n = true"),
    ("n = 64", "N = 64"),
    ("n / 2", "n ^ 2"),
    ("multiple-of = 16", "multiple-of = 0"),
    ("multiple-of = 16", "multiple_of = 16"),
    ("buckets = [32, 64]", "buckets = [32, 32]"),
    ("buckets = [32, 64]", "buckets = 64"),
    ("\"bf16[m, k]\"", "\"bf17[m, k]\""),
    ("\"bf16[m, k]\"", "\"bf16\""),
    ("\"bf16[m, k]\"", "\"bf16[m; k]\""),
    ("\"bf16[m, k]\"", "\"bf16[m, k, 1, 1, 1, 1, 1, 1, 1]\""),
    ("\"bf16[m, k]\"", "16"),
    ("constant = true", "constant = 1"),
    ("constant = true", "const = true"),
    ("eps = \"f32\"", "eps = \"bf16\""),
    ("t = \"bf16\"", "t = \"i32\""),
    ("accumulate = \"f32\"", "accumulate = \"bf16\""),
    ("\"native\"", "\"fast\""),
    (", reason = \"bf16 twice\"", ""),
    ("relative = 1e-3", "relative = -1e-3"),
    ("weight = 2.0", "weight = 0"),
    ("min-speedup = 1.1", "min-speedup = \"1.1\""),
    ("\"general\"", "\"generic\""),
    ("\"sm_90a\"", "\"sm_87\""),
    ("\"sm_90a\"", "\"sm_90a:-\""),
    ("torch = \"x @ w.T\"", "torch = 1"),
    ("\"Rows are short.\"", "7"),
    ("generators = [", "generator = ["),
    ("\"model\"", "\"command\""),
    ("\"model\"", "\"template\""),
    ("[\"template\", \"model\"]", "[]"),
];

const GOOD_SETTINGS: &str = "targets = [\"sm_90a\"]\nspecs = \"kernels\"\nstore = \"a/..b\"\nmode = \"stub\"\nmin-gate = 1\nwarn-naive = false\nhost-sources = [\"0123456789abcdef\"]\nsearch = { generators = [\"model\"] }\n";

const BAD_SETTINGS: [(&str, &str); 17] = [
    ("[\"model\"]", "\"model\""),
    ("[\"model\"]", "[\"models\"]"),
    ("targets = [\"sm_90a\"]", "targets = []"),
    ("targets = [\"sm_90a\"]", "targets = \"sm_90a\""),
    ("\"kernels\"", "\"/kernels\""),
    ("\"a/..b\"", "\"a/../b\""),
    ("\"a/..b\"", "\"\""),
    ("\"stub\"", "\"find\""),
    ("min-gate", "mingate"),
    ("min-gate = 1", "min-gate = 0"),
    ("warn-naive = false", "warn-naive = \"no\""),
    ("min-gate = 1", "min-gate = 4294967296"),
    ("min-gate = 1", "min-gate = \"1\""),
    ("[\"0123456789abcdef\"]", "\"0123456789abcdef\""),
    ("[\"0123456789abcdef\"]", "[7]"),
    ("0123456789abcdef", "0123456789abcde"),
    ("0123456789abcdef", "0123456789ABCDEF"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn json(text: &str) -> Value {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn accepts(schema: &Value, text: &str) -> bool {
    Validator::new(schema).accepts(&json(text))
}

fn file(kernel: &str) -> String {
    format!("edition = 1\n[kernels.one]{kernel}")
}

fn refused(text: &str) -> bool {
    !read(text, &Settings::default()).errors.is_empty()
}

#[test]
fn the_committed_files_are_what_the_command_prints() {
    for (name, schema) in [("spec-1.json", spec_file()), ("cargo-1.json", cargo())] {
        let path = root().join("docs/schema").join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, text(&schema)).expect("written");
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text(&schema), "{name}; UPDATE_GOLDEN=1 rewrites it");
    }
}

#[test]
fn every_spec_of_the_tree_is_accepted() {
    let (schema, mut seen) = (spec_file(), 0);
    let mut folders = vec![root().join("kernel-specs")];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).expect("a folder of specs") {
            let path = item.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "toml") {
                let text = fs::read_to_string(&path).expect("a spec");
                assert!(accepts(&schema, &text), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 4, "{seen} specs");
    let example = fs::read_to_string(root().join("example-app/Cargo.toml")).expect("a manifest");
    assert!(accepts(&cargo(), &example));
}

#[test]
fn every_key_of_the_reader_is_described() {
    let mut schemas = [spec_file(), cargo()];
    let described = |schema: &Value, pointer: &str, keys: &[&str]| {
        let known = schema.pointer(pointer).and_then(Value::as_object).expect("a table of properties");
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        assert_eq!(known.keys().map(String::as_str).collect::<Vec<_>>(), keys, "{pointer}");
    };
    for schema in &mut schemas {
        described(schema, "/$defs/kernel/properties", &keys::KERNEL);
        described(schema, "/$defs/axis/anyOf/3/properties", &keys::AXIS);
        described(schema, "/$defs/tensor/anyOf/1/properties", &keys::TENSOR);
        described(schema, "/$defs/kernel/properties/precision/properties", &keys::PRECISION);
        described(schema, "/$defs/kernel/properties/tolerance/properties", &keys::TOLERANCE);
        described(schema, "/$defs/kernel/properties/accept/properties", &keys::ACCEPT);
        described(schema, "/$defs/settings/properties", &keys::SETTINGS);
        described(schema, "/$defs/search/properties", &keys::SEARCH);
    }
    described(&schemas[0], "/properties", &keys::SPEC_FILE);
}

#[test]
fn examples_and_defaults_follow_their_own_schema() {
    for schema in [spec_file(), cargo()] {
        let mut seen = 0;
        walk(&schema, &mut |part| {
            let examples = part.get("examples").and_then(Value::as_array).into_iter().flatten();
            for example in examples.chain(part.get("default")) {
                assert!(Validator::new(&schema).holds(part, example), "{example} in {part:#}");
                seen += 1;
            }
        });
        assert!(seen > 20, "{seen} examples");
    }
}

fn walk(value: &Value, visit: &mut impl FnMut(&Value)) {
    match value {
        Value::Object(table) => {
            if table.contains_key("title") {
                visit(value);
            }
            table.values().for_each(|inner| walk(inner, visit));
        }
        Value::Array(items) => items.iter().for_each(|inner| walk(inner, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_kernel_with_every_key_is_accepted_in_all_three_places() {
    assert_eq!(read(&file(GOOD), &Settings::default()).errors, []);
    assert!(accepts(&spec_file(), &file(GOOD)));
    for place in ["kernels", "package.metadata.kernels"] {
        let text = format!("[package]\nname = \"a\"\n[package.metadata.docs]\nx = 1\n[{place}.one]{GOOD}");
        assert!(manifest(&text).errors.is_empty() && accepts(&cargo(), &text), "{place}");
    }
}

#[test]
fn what_the_schema_refuses_the_reader_refuses() {
    let schema = spec_file();
    for (from, to) in BAD {
        let text = file(&GOOD.replacen(from, to, 1));
        assert!(text != file(GOOD), "`{from}` is not in the good kernel");
        assert!(refused(&text), "the reader takes `{to}`");
        assert!(!accepts(&schema, &text), "the schema takes `{to}`");
        let text = text.replace("edition = 1\n[kernels", "[package.metadata.kernels");
        assert!(!accepts(&cargo(), &text), "the schema of Cargo.toml takes `{to}`");
    }
}

#[test]
fn bad_files_and_settings_are_refused() {
    let no_output = file(&GOOD.replace("outputs ", "inputs2 "));
    for text in
        ["", "edition = 2", "edition = \"1\"", "edition = 1\nkernel = {}", "edition = 1\nkernels = []"]
    {
        assert!(refused(text) && !accepts(&spec_file(), text), "{text}");
    }
    assert!(
        !accepts(&spec_file(), &no_output)
            && !accepts(&spec_file(), "edition = 1\n[kernels.Big]\nmath = \"a = 1\"")
    );
    let settings = |text: &str| format!("[package.metadata.cutegen]\n{text}");
    assert!(accepts(&cargo(), &settings(GOOD_SETTINGS)));
    for (from, to) in BAD_SETTINGS {
        let text = settings(&GOOD_SETTINGS.replacen(from, to, 1));
        assert!(!manifest(&text).errors.is_empty(), "the reader takes `{to}`");
        assert!(!accepts(&cargo(), &text), "the schema takes `{to}`");
    }
}
