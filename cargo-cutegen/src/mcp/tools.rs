//! Names, descriptions and schemas of the tools, and how their arguments are read. These are a contract with agents: a name or
//! an argument stays.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A tool as clients see it.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// JSON Schema of its arguments, all strings but where it says so.
    pub(super) properties: Value,
    pub(super) required: &'static [&'static str],
    pub(super) effect: Effect,
}

/// What a call changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// A run log, and the user store.
    Adds,
}

/// No arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct None {}

/// A kernel on a target.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernel {
    pub(super) kernel: String,
    pub(super) target: Option<String>,
}

/// A part of the kit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kit {
    pub(super) target: Option<String>,
    pub(super) header: Option<String>,
}

/// A source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Propose {
    pub(super) kernel: String,
    pub(super) target: Option<String>,
    pub(super) source: String,
    pub(super) note: Option<String>,
}

/// A candidate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Verdict {
    pub(super) id: String,
    pub(super) wait_seconds: Option<u64>,
}

/// All tools, in the order in which an agent needs them.
pub(super) fn all() -> Vec<Tool> {
    let kernel = json!({ "type": "string", "description": "name of the kernel, as `kernels` lists it" });
    let target = json!({ "type": "string", "description": "such as `host` or `sm_90a`; needed where the kernel has several" });
    let of_kernel = json!({ "kernel": kernel, "target": target });
    vec![
        Tool {
            name: "kernels",
            description: "Lists the kernels of the project by target: whether the locked one is tuned, and the best candidate \
                          so far.",
            properties: json!({}),
            required: &[],
            effect: Effect::Reads,
        },
        Tool {
            name: "task",
            description: "Says what a kernel must compute: math, workloads, device, compiler flags, includes, how it is launched, a right \
                          example.",
            properties: of_kernel.clone(),
            required: &["kernel"],
            effect: Effect::Reads,
        },
        Tool {
            name: "kit",
            description: "The reference of the headers that a source may include; with `header` only that one.",
            properties: json!({
                "target": { "type": "string", "description": "such as `host` or `sm_90a`; needed where the project has both" },
                "header": { "type": "string", "description": "such as `kit/reduce.cuh`; all of them unless given" },
            }),
            required: &[],
            effect: Effect::Reads,
        },
        Tool {
            name: "propose",
            description: "Submits a whole source with its contract. It is compiled, tested against the math and timed. Returns \
                          an id and, within 15 seconds, the verdict if there is one by then; else call `verdict`. Go on proposing as \
                          long as you see a faster way, behind an accepted one too.",
            properties: json!({
                "kernel": kernel,
                "target": target,
                "source": { "type": "string", "description": "the source as `task` shows it, contract first; plain or in one code block" },
                "note": { "type": "string", "description": "what it changes and why, for the history; 2000 characters at most" },
            }),
            required: &["kernel", "source"],
            effect: Effect::Adds,
        },
        Tool {
            name: "verdict",
            description: "Says how far a candidate is (waiting, compiling, screening, timing, whole gate), or its verdict: diagnostics with \
                          lines, the first wrong element, how much was checked, speeds.",
            properties: json!({
                "id": { "type": "string", "description": "what `propose` returned" },
                "wait_seconds": { "type": "integer", "minimum": 0, "maximum": 15, "description": "waits for the verdict; 0 unless given" },
            }),
            required: &["id"],
            effect: Effect::Reads,
        },
        Tool {
            name: "history",
            description: "Lists what agents have proposed for a kernel, in all runs, with verdict and speed, a line each.",
            properties: of_kernel.clone(),
            required: &["kernel"],
            effect: Effect::Reads,
        },
        Tool {
            name: "best",
            description: "The source and the speed of the best right candidate so far.",
            properties: of_kernel,
            required: &["kernel"],
            effect: Effect::Reads,
        },
    ]
}

impl Tool {
    /// The schema of its arguments.
    pub(super) fn schema(&self) -> Map<String, Value> {
        let schema = json!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        });
        match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }
}

/// The arguments of a call.
pub(super) fn read<T: DeserializeOwned>(tool: &str, arguments: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| format!("arguments of `{tool}`: {error}\nnext: call it as its schema says"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{Kernel, Kit, None, Propose, Verdict, all, read};

    /// An object with these keys, each with a value that its schema allows.
    fn given(schema: &Map<String, Value>, keys: impl Iterator<Item = String>) -> Map<String, Value> {
        let value = |key: &String| match schema["properties"][key]["type"].as_str() {
            Some("integer") => json!(3),
            _ => json!("x"),
        };
        keys.map(|key| (key.clone(), value(&key))).collect()
    }

    fn reads(tool: &str, arguments: Map<String, Value>) -> bool {
        match tool {
            "kernels" => read::<None>(tool, arguments).is_ok(),
            "kit" => read::<Kit>(tool, arguments).is_ok(),
            "propose" => read::<Propose>(tool, arguments).is_ok(),
            "verdict" => read::<Verdict>(tool, arguments).is_ok(),
            "task" | "history" | "best" => read::<Kernel>(tool, arguments).is_ok(),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn arguments_are_read_as_their_schema_says() {
        for tool in all() {
            let schema = tool.schema();
            let properties = schema["properties"].as_object().expect("properties");
            let required = tool.required.iter().map(|key| (*key).to_owned());
            assert!(reads(tool.name, given(&schema, properties.keys().cloned())), "{}", tool.name);
            assert!(reads(tool.name, given(&schema, required)), "{}", tool.name);
            for missing in tool.required {
                let others = properties.keys().filter(|key| key != missing).cloned();
                assert!(!reads(tool.name, given(&schema, others)), "{} without {missing}", tool.name);
            }
            let mut unknown = given(&schema, properties.keys().cloned());
            unknown.insert("verbose".to_owned(), json!(1));
            assert!(!reads(tool.name, unknown), "{}", tool.name);
        }
    }

    #[test]
    fn what_is_malformed_is_told() {
        let arguments = |value: Value| value.as_object().expect("an object").clone();
        let why = read::<Verdict>("verdict", arguments(json!({ "id": 7 }))).expect_err("no string");
        assert!(
            why.contains("`verdict`") && why.contains("expected a string") && why.contains("next:"),
            "{why}"
        );
        let why = read::<Verdict>("verdict", arguments(json!({ "id": "x", "wait_seconds": -1 })))
            .expect_err("below 0");
        assert!(why.contains("-1"), "{why}");
    }
}
