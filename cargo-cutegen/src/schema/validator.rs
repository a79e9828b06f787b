//! A validator for the keywords that our schemas use. An unknown keyword is a panic: what is not checked here must
//! not stand in a schema.

use regex_lite::Regex;
use serde_json::Value;

/// Keywords that say something to people only.
const ANNOTATIONS: [&str; 7] =
    ["$schema", "$defs", "title", "description", "examples", "default", "deprecated"];

/// A schema document.
pub(super) struct Validator<'a> {
    root: &'a Value,
}

impl<'a> Validator<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root }
    }

    /// Whether `value` is what the whole document describes.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        self.holds(self.root, value)
    }

    /// Whether `value` is what `schema`, a part of the document, describes.
    pub(super) fn holds(&self, schema: &Value, value: &Value) -> bool {
        let keywords = schema.as_object().expect("a schema is a table");
        keywords.iter().all(|(keyword, rule)| self.keyword(schema, keyword, rule, value))
    }

    /// The keywords that compare; an assertion about another type of value holds.
    fn keyword(&self, schema: &Value, keyword: &str, rule: &Value, value: &Value) -> bool {
        let bound = || rule.as_f64().expect("a number");
        let count = || usize::try_from(rule.as_u64().expect("a count")).expect("small");
        match keyword {
            _ if ANNOTATIONS.contains(&keyword) => true,
            "const" => rule == value,
            "enum" => list(rule).contains(value),
            "type" if rule.is_array() => list(rule).iter().any(|one| is(text(one), value)),
            "type" => is(text(rule), value),
            "pattern" => {
                value.as_str().is_none_or(|v| Regex::new(text(rule)).expect("a pattern").is_match(v))
            }
            "maxLength" => value.as_str().is_none_or(|v| v.chars().count() <= count()),
            "minimum" => value.as_f64().is_none_or(|v| v >= bound()),
            "maximum" => value.as_f64().is_none_or(|v| v <= bound()),
            "exclusiveMinimum" => value.as_f64().is_none_or(|v| v > bound()),
            "minItems" => value.as_array().is_none_or(|v| v.len() >= count()),
            "maxItems" => value.as_array().is_none_or(|v| v.len() <= count()),
            "uniqueItems" => value.as_array().is_none_or(|v| (1..v.len()).all(|i| !v[..i].contains(&v[i]))),
            "required" => {
                value.as_object().is_none_or(|v| list(rule).iter().all(|key| v.contains_key(text(key))))
            }
            _ => self.applicator(schema, keyword, rule, value),
        }
    }

    /// The keywords that hold further schemas.
    fn applicator(&self, schema: &Value, keyword: &str, rule: &Value, value: &Value) -> bool {
        let table = value.as_object();
        let declared = |key: &str| schema.get("properties").is_some_and(|known| known.get(key).is_some());
        match keyword {
            "$ref" => self.holds(self.target(text(rule)), value),
            "anyOf" => list(rule).iter().any(|one| self.holds(one, value)),
            "not" => !self.holds(rule, value),
            "items" => value.as_array().is_none_or(|items| items.iter().all(|item| self.holds(rule, item))),
            "properties" => table.is_none_or(|table| {
                table.iter().all(|(key, value)| rule.get(key).is_none_or(|rule| self.holds(rule, value)))
            }),
            "propertyNames" => {
                table.is_none_or(|table| table.keys().all(|key| self.holds(rule, &Value::from(key.as_str()))))
            }
            "additionalProperties" => table.is_none_or(|table| {
                let mut others = table.iter().filter(|(key, _)| !declared(key));
                if *rule == Value::Bool(false) {
                    others.next().is_none()
                } else {
                    others.all(|(_, v)| self.holds(rule, v))
                }
            }),
            _ => panic!("`{keyword}` is no keyword that this validator checks"),
        }
    }

    fn target(&self, reference: &str) -> &'a Value {
        let pointer = reference.strip_prefix('#').expect("a reference inside the document");
        self.root.pointer(pointer).expect("a reference to something")
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        _ => panic!("`{kind}` is no type that our schemas use"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}
