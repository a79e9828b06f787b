//! The definitions of a kernel's table: its keys, axes, tensors and the smaller tables below it.

use cutegen_spec::dtype::DType;
use cutegen_spec::edition::{MAX_EXTENT, MAX_INSTRUCTIONS, keys};
use cutegen_spec::generators::GeneratorKind;
use cutegen_spec::spec::Multiply;
use serde_json::{Value, json};

use super::words::{
    dtypes, expression_pattern, name, named, range_pattern, shape_pattern, table, target_pattern,
};

/// Everything under `$defs` that both documents share.
pub(super) fn definitions() -> Value {
    json!({
        "kernel": kernel(),
        "name": name(),
        "axis": axis(),
        "range": range(),
        "tensor": tensor(),
        "shape": shape(),
        "targets": targets(),
        "search": generators(),
    })
}

fn kernel() -> Value {
    let mut schema = table(&keys::KERNEL, &["math"], |key| operands(key).or_else(|| search(key)));
    schema["title"] = json!("Kernel");
    schema["description"] = json!("One kernel: what it computes, over which shapes, for which targets.");
    schema["anyOf"] = json!([{ "required": ["outputs"] }, { "required": ["inout"] }]);
    schema
}

/// The keys that say what is computed.
fn operands(key: &str) -> Option<Value> {
    let tensors = |title: &str, description: &str, example: Value| {
        named(title, description, &json!({ "$ref": "#/$defs/tensor" }), &example)
    };
    Some(match key {
        "axes" => named(
            "Axes",
            "In order: an axis may be computed from those before it.",
            &json!({ "$ref": "#/$defs/axis" }),
            &json!({ "m": "1..=8192", "k": 4096 }),
        ),
        "inputs" => tensors("Inputs", "Tensors that are only read.", json!({ "x": "bf16[m, k]" })),
        "outputs" => {
            tensors("Outputs", "Tensors that are only written, every element.", json!({ "y": "f32[m]" }))
        }
        "inout" => {
            tensors("Inout", "Tensors that are read and partly written.", json!({ "cache": "bf16[t, d]" }))
        }
        "scalars" => named(
            "Scalars",
            "Numbers passed at run time.",
            &json!({ "enum": dtypes(|d| matches!(d, DType::F32 | DType::F64)) }),
            &json!({ "eps": "f32" }),
        ),
        "intermediates" => json!({
            "title": "Intermediates",
            "description": "Names assigned in the math that a kernel may round to this type.",
            "type": "object",
            "additionalProperties": { "enum": dtypes(DType::is_float) },
            "examples": [{ "p": "bf16" }],
        }),
        "math" => json!({
            "title": "Math",
            "description": "Assignments, one a line or with `;` between them; docs/math.md is the language.",
            "type": "string",
            "pattern": "=",
            "examples": ["y[m, c] = softmax(c, x[m, c])"],
        }),
        "precision" => precision(),
        "tolerance" => tolerance(),
        _ => return None,
    })
}

/// The keys that say how it is searched for, and which targets it has.
fn search(key: &str) -> Option<Value> {
    Some(match key {
        "deterministic" => json!({
            "title": "Deterministic",
            "description": "Whether repeats must be equal in every bit.",
            "type": "boolean",
            "default": true,
        }),
        "workloads" => workloads(),
        "accept" => accept(),
        "family" => json!({
            "title": "Family",
            "description": "An assertion: `check` fails when the family found is another one.",
            "enum": keys::FAMILIES,
        }),
        "peers" => json!({
            "title": "Peers",
            "description": "The same math in other libraries, by library.",
            "type": "object",
            "additionalProperties": { "type": "string" },
            "examples": [{ "torch": "torch.softmax(x, -1)" }],
        }),
        "instructions" => json!({
            "title": "Instructions",
            "description": "What whoever writes a kernel for it is told, marked as the author's. Enters no key.",
            "type": "string",
            "maxLength": MAX_INSTRUCTIONS,
            "examples": ["x is L2-resident in our model: read it as often as you like."],
        }),
        "targets" => json!({ "$ref": "#/$defs/targets" }),
        "search" => json!({ "$ref": "#/$defs/search", "description": "In place of the settings." }),
        "edition" => json!({ "title": key, "description": "Accepted, without effect so far." }),
        _ => return None,
    })
}

fn axis() -> Value {
    let long = table(&keys::AXIS, &["range"], |key| {
        Some(match key {
            "range" => json!({ "$ref": "#/$defs/range" }),
            "multiple-of" => json!({
                "title": "Step", "description": "Extents are multiples of this.", "type": "integer", "minimum": 1,
            }),
            "buckets" => json!({
                "title": "Bucket ends", "description": "Ascending.", "type": "array", "uniqueItems": true,
                "items": { "type": "integer" }, "examples": [[64, 1024]],
            }),
            _ => return None,
        })
    });
    let expression = json!({
        "title": "Computed", "description": "From earlier axes; division floors.", "type": "string",
        "pattern": expression_pattern(), "examples": ["(h + 4 - 11) / 4 + 1"],
    });
    json!({
        "title": "Axis",
        "description": "A constant, a range \"lo..=hi\" chosen at run time, or an expression of earlier axes.",
        "anyOf": [extent(), { "$ref": "#/$defs/range" }, expression, long],
        "examples": [4096, "1..=8192", { "range": "16..=8192", "multiple-of": 16 }],
    })
}

fn extent() -> Value {
    json!({ "title": "Extent", "type": "integer", "minimum": 0, "maximum": MAX_EXTENT })
}

fn range() -> Value {
    json!({
        "title": "Range", "description": "Chosen at run time, both ends included.", "type": "string",
        "pattern": range_pattern(), "examples": ["1..=8192"],
    })
}

fn shape() -> Value {
    json!({
        "title": "Shape", "description": "dtype[axis, ...]; dtype[] is one value.", "type": "string",
        "pattern": shape_pattern(), "examples": ["bf16[m, k]", "f32[]"],
    })
}

fn tensor() -> Value {
    let long = table(&keys::TENSOR, &["type"], |key| {
        Some(match key {
            "type" => json!({ "$ref": "#/$defs/shape" }),
            "constant" => {
                flag("Constant", "Weights: the same values at every launch. Part of the key.", false)
            }
            "strides" => json!({
                "title": "Strides", "description": "In elements, one a dimension; row-major and dense without.",
                "type": "array", "items": { "type": ["integer", "string"] }, "maxItems": 8, "examples": [["ldw", 1]],
            }),
            "range" => json!({
                "title": "Range of values", "description": "From the first to below the second.", "type": "string",
                "pattern": r"^[^.]+\.\.[^.]+$", "examples": ["0..v"],
            }),
            "unique" => flag("Unique", "No two elements are equal.", false),
            _ => return None,
        })
    });
    json!({
        "title": "Tensor",
        "description": "\"dtype[axis, ...]\", row-major and dense, or a table around it.",
        "anyOf": [{ "$ref": "#/$defs/shape" }, long],
        "examples": ["f32[m, d]", { "type": "bf16[n, k]", "constant": true }],
    })
}

fn flag(title: &str, description: &str, default: bool) -> Value {
    json!({ "title": title, "description": description, "type": "boolean", "default": default })
}

fn targets() -> Value {
    json!({
        "title": "Targets",
        "description": "host: the CPU. sm_90a: Hopper; sm_90a:h200 narrows it to devices of that name. sm_80, sm_90a, sm_100f and sm_120f cover GPUs from Ampere on.",
        "type": "array",
        "minItems": 1,
        "items": { "type": "string", "pattern": target_pattern(), "examples": ["host", "sm_90a", "sm_90a:h200"] },
        "examples": [["host", "sm_90a"]],
    })
}

fn precision() -> Value {
    let mut schema = table(&keys::PRECISION, &[], |key| {
        Some(match key {
            "accumulate" => json!({
                "title": "Type of sums", "description": "f64 is the default and the only choice beside f64 tensors.",
                "enum": dtypes(|d| matches!(d, DType::F32 | DType::F64)),
            }),
            "multiply" => json!({
                "title": "Type of products", "description": "native: the inputs as they are.",
                "enum": [Multiply::Native.name(), Multiply::Tf32.name()], "default": Multiply::Native.name(),
            }),
            "fast-math" => flag("Fast math", "Whether approximate functions are allowed.", false),
            _ => return None,
        })
    });
    schema["title"] = json!("Precision");
    schema["description"] = json!("How it may be computed. Lower precision is asked for, never found.");
    schema
}

fn tolerance() -> Value {
    let mut schema = table(&keys::TOLERANCE, &["reason"], |key| {
        Some(match key {
            "relative" => json!({ "title": "Relative part", "type": "number", "minimum": 0, "default": 0 }),
            "absolute" => json!({ "title": "Absolute part", "type": "number", "minimum": 0, "default": 0 }),
            "reason" => json!({
                "title": "Reason", "description": "Why the derived bound does not fit.", "type": "string",
                "pattern": "\\S",
            }),
            _ => return None,
        })
    });
    schema["title"] = json!("Tolerance");
    schema["description"] = json!("Differs from the derived bound, with the reason. Part of the key.");
    schema
}

fn workloads() -> Value {
    let weight = json!({
        "title": "Weight", "description": "In the score.", "type": "number", "exclusiveMinimum": 0, "default": 1,
    });
    json!({
        "title": "Workloads",
        "description": "Each binds every run-time axis; they decide what is timed.",
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": { "weight": weight },
            "propertyNames": { "$ref": "#/$defs/name" },
            "additionalProperties": extent(),
        },
        "examples": [[{ "m": 128, "weight": 2.0 }]],
    })
}

fn generators() -> Value {
    let kinds = GeneratorKind::ALL.map(GeneratorKind::name);
    let mut schema = table(&keys::SEARCH, &[], |key| {
        (key == "generators").then(|| {
            json!({
                "title": "Kinds of generators",
                "description": "In the order in which tune asks them: the next one where no kernel meets accept.",
                "type": "array", "minItems": 1, "uniqueItems": true, "items": { "enum": kinds },
                "default": ["template"], "examples": [["template", "model"]],
            })
        })
    });
    schema["title"] = json!("Search");
    schema["description"] = json!("How kernels are searched for. Enters no key.");
    schema
}

fn accept() -> Value {
    let mut schema = table(&keys::ACCEPT, &[], |key| {
        (key == "min-speedup").then(|| {
            json!({
                "title": "Smallest speed-up", "description": "What the lower end of its interval must exceed.",
                "type": "number", "exclusiveMinimum": 0, "default": 1, "examples": [1.1],
            })
        })
    });
    schema["title"] = json!("Acceptance");
    schema["description"] = json!("What a candidate must reach.");
    schema
}
