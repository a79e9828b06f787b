//! Every field of a variant is either pinned or not, and stored digests never move.

use toml::{Table, Value};

use super::{Variant, put};

/// A variant in which every field is there.
const FULL: &str = r#"
name = "rows4"
kind = "tuned"
eligibility = "a0 % 8 == 0"
prefer = "a0 >= 64"
tiles = ["a0 by 128", "a1 by 4"]
origin = "template rowwise"
toolchain = "nvrtc 13.0.88"
min-driver = 580

[artifact]
file = "rows4.cubin.zst"
artifact = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
stored = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
bytes = 4096

[source]
file = "rows4.cu"
digest = "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"

[contract]
workspace = [{ bytes = "(a0 * 4)", initial = "undefined" }]

[[contract.steps]]
entry = "k"
grid = ["ceil_div(a0, 128)", "1", "1"]
block = ["256", "1", "1"]
cluster = ["2", "1", "1"]
smem = "1024"
args = ["ptr(t0)", "axis(a0)", "scalar(s0)", "workspace(w0)"]
pdl = true
co-resident = true

[evidence]
gate = 6
device = "NVIDIA H200"
seeds = { judging = 1 }
shapes = ["m = 1"]
distributions = ["normal"]
elements = 1
worst-share = 0.5
repeats = 1000
sanitizer = "clean"
"#;

/// Without whatever may be absent.
const BARE: &str = r#"
name = "naive"
kind = "naive"
eligibility = "true"
prefer = "true"
origin = "printed from the math"
toolchain = "c++"

[artifact]
file = "naive.o"
artifact = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
stored = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
bytes = 3

[source]
file = "naive.cpp"
digest = "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"

[[contract.steps]]
entry = "k"
grid = ["1", "1", "1"]
block = ["1", "1", "1"]
args = ["ptr(t0)"]
"#;

fn read(text: &str) -> Variant {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Where a field lies, and another value for it.
const MOVES: [(&str, &str, &str); 19] = [
    ("kind", "kind = \"tuned\"", "kind = \"naive\""),
    ("eligibility", "a0 % 8 == 0", "true"),
    ("prefer", "prefer = \"a0 >= 64\"", "prefer = \"a0 >= 65\""),
    ("tiles", "a1 by 4", "a1 by 5"),
    ("tiles", "tiles = [\"a0 by 128\", \"a1 by 4\"]", ""),
    ("tiles", "[\"a0 by 128\", \"a1 by 4\"]", "[\"a1 by 4\", \"a0 by 128\"]"),
    ("artifact.artifact", "artifact = \"ba78", "artifact = \"ba79"),
    ("source.digest", "digest = \"cb00", "digest = \"cb01"),
    ("contract.workspace.bytes", "(a0 * 4)", "0"),
    ("contract.workspace.initial", "undefined", "zeroed"),
    ("contract.steps.entry", "entry = \"k\"", "entry = \"other\""),
    ("contract.steps.grid", "ceil_div(a0, 128)", "ceil_div(a0, 64)"),
    ("contract.steps.block", "\"256\"", "\"128\""),
    ("contract.steps.cluster", "cluster = [\"2\", \"1\", \"1\"]", ""),
    ("contract.steps.smem", "smem = \"1024\"", ""),
    ("contract.steps.args", "\"ptr(t0)\", \"axis(a0)\"", "\"axis(a0)\", \"ptr(t0)\""),
    ("contract.steps.args", "\"axis(a0)\"", "\"axis(a1)\""),
    ("contract.steps.pdl", "pdl = true", ""),
    ("contract.steps.co-resident", "co-resident = true", ""),
];

/// Names, provenance and evidence.
const STAYS: [(&str, &str, &str); 17] = [
    ("name", "name = \"rows4\"", "name = \"rows5\""),
    ("origin", "template rowwise", "a model"),
    ("toolchain", "13.0.88", "13.1"),
    ("min-driver", "580", "525"),
    ("artifact.file", "rows4.cubin.zst", "other.cubin.zst"),
    ("artifact.stored", "stored = \"e3b0", "stored = \"e3b1"),
    ("artifact.bytes", "bytes = 4096", "bytes = 4097"),
    ("source.file", "rows4.cu\"", "other.cu\""),
    ("evidence.gate", "gate = 6", "gate = 7"),
    ("evidence.device", "NVIDIA H200", "NVIDIA H100"),
    ("evidence.seeds.judging", "judging = 1", "judging = 2"),
    ("evidence.shapes", "m = 1", "m = 2"),
    ("evidence.distributions", "normal", "uniform"),
    ("evidence.elements", "elements = 1", "elements = 2"),
    ("evidence.worst-share", "0.5", "0.25"),
    ("evidence.repeats", "repeats = 1000", "repeats = 20"),
    ("evidence.sanitizer", "clean", "not run: none"),
];

/// Names of all fields, those of tables in lists among them.
fn fields(prefix: &str, table: &Table, found: &mut Vec<String>) {
    for (name, value) in table {
        let path = format!("{prefix}{name}");
        let tables: Vec<&Table> = match value {
            Value::Table(table) => vec![table],
            Value::Array(items) => items.iter().filter_map(Value::as_table).collect(),
            _ => Vec::new(),
        };
        if tables.is_empty() {
            found.push(path)
        } else {
            tables.iter().for_each(|table| fields(&format!("{path}."), table, found))
        }
    }
}

#[test]
fn each_field_is_pinned_or_is_not() {
    let full = read(FULL);
    let edited = |(field, from, to): (&str, &str, &str)| {
        assert!(FULL.contains(from), "{field}: no {from}");
        read(&FULL.replacen(from, to, 1)).digest()
    };
    for case in MOVES {
        assert_ne!(edited(case), full.digest(), "{case:?} is not pinned");
    }
    for case in STAYS {
        assert_eq!(edited(case), full.digest(), "{case:?} is pinned");
    }
    let mut all = Vec::new();
    fields("", &toml::from_str(&toml::to_string(&full).expect("prints")).expect("a table"), &mut all);
    for field in all {
        assert!(MOVES.iter().chain(&STAYS).any(|case| case.0 == field), "no case edits `{field}`");
    }
}

/// Digests of variants that may lie in locks: neither a new field nor another order of old ones moves them.
#[test]
fn stored_digests_never_move() {
    assert_eq!(
        [FULL, BARE].map(|text| read(text).digest().to_string()),
        [
            "feaa32af06026aa24760cf07d1a4256a418bf5312516d93107efb9c7d26f427f",
            "5638e942d2cd6e8be9d1214a4b3d1015597b82b9a378b63c9e82a4010ec7cf40"
        ]
    );
}

fn encoded(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put(&Value::Table(toml::from_str(text).expect("a table")), &mut out);
    out
}

#[test]
fn what_is_absent_is_not_encoded_and_what_is_there_cannot_run_together() {
    assert_eq!(encoded("a = \"1\"\nb = true"), encoded("b = true\na = \"1\""), "the order of fields is none");
    let cases = [
        "a = \"1\"",
        "a = 1",
        "a = \"1\"\nb = \"\"",
        "a = [\"1\"]",
        "a = [\"1\", \"\"]",
        "a = [[\"1\"], []]",
        "a = [[\"1\", \"\"]]",
        "a = { b = \"1\" }",
        "a = { b = \"1\", c = \"2\" }",
        "a = { b = \"1\" }\nc = \"2\"",
        "a = [{ b = \"1\" }, { c = \"2\" }]",
        "a = [{ b = \"1\", c = \"2\" }]",
        "ab = \"1\"",
        "a = \"b1\"",
    ];
    for (at, case) in cases.iter().enumerate() {
        for other in &cases[..at] {
            assert_ne!(encoded(case), encoded(other), "{case} and {other}");
        }
    }
}
