//! The two wires that endpoints speak, as values: bodies of requests, events of replies, refusals. Pure: no socket, clock or
//! environment.
//!
//! Invariant: whatever an endpoint sends, reading it ends in a value. Unknown fields and events are passed over.

mod anthropic;
pub mod events;
mod openai;
pub mod prompt;
pub mod refusal;
pub mod reply;
pub mod secret;
pub mod wait;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use events::Event;
use prompt::Prompt;
use reply::Part;
use secret::Key;

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// OpenAI's chat completions, which most servers speak.
    Openai,
    /// Anthropic's messages.
    Anthropic,
}

/// What one request asks for.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The model, by the endpoint's name for it.
    pub model: &'a str,
    /// The prompt.
    pub prompt: &'a Prompt,
    /// Tokens that the answer may have at most. Always sent.
    pub max_tokens: u64,
    /// Parameters of the user.
    pub parameters: &'a Map<String, Value>,
    /// Parameters that the endpoint refused.
    pub dropped: &'a BTreeSet<String>,
}

/// What reads as no message of the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Wire {
    /// The path behind the base URL.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Openai => "chat/completions",
            Self::Anthropic => "messages",
        }
    }

    /// The header that carries the key, with its value.
    #[must_use]
    pub fn credential(self, key: &Key) -> (&'static str, String) {
        match self {
            Self::Openai => ("authorization", format!("Bearer {}", key.secret())),
            Self::Anthropic => ("x-api-key", key.secret().to_owned()),
        }
    }

    /// Headers that every request has.
    #[must_use]
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Openai => &[],
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
        }
    }

    /// The body of a request.
    #[must_use]
    pub fn body(self, asked: &Asked<'_>) -> Value {
        let mut body = match self {
            Self::Openai => openai::body(asked),
            Self::Anthropic => anthropic::body(asked),
        };
        let ours: Vec<String> = body.keys().cloned().collect();
        let theirs = asked.parameters.iter().filter(|(name, _)| !ours.contains(name));
        body.extend(theirs.map(|(name, value)| (name.clone(), value.clone())));
        body.retain(|name, _| !asked.dropped.contains(name) || self.needed().contains(&name.as_str()));
        Value::Object(body)
    }

    /// Names without which no request is sent.
    #[must_use]
    pub fn needed(self) -> &'static [&'static str] {
        match self {
            Self::Openai => &["model", "messages", "max_completion_tokens"],
            Self::Anthropic => &["model", "messages", "max_tokens"],
        }
    }

    /// What an event of a stream says.
    ///
    /// # Errors
    /// It is no JSON of this wire: what it said is lost.
    pub fn event(self, event: &Event) -> Result<Vec<Part>, Malformed> {
        match self {
            Self::Openai => openai::event(event),
            Self::Anthropic => anthropic::event(event),
        }
    }

    /// What a reply says that came in one piece.
    ///
    /// # Errors
    /// It is no JSON of this wire.
    pub fn whole(self, body: &str) -> Result<Vec<Part>, Malformed> {
        let value: Value = serde_json::from_str(body).map_err(|_| Malformed)?;
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Ok(vec![error(&value)]);
        }
        match self {
            Self::Openai => openai::whole(&value),
            Self::Anthropic => anthropic::whole(&value),
        }
    }
}

/// The error in a message that has one.
fn error(value: &Value) -> Part {
    Part::Error(refusal::inside(&value.to_string()))
}

/// A number of tokens, however it is written; none where it is absurd.
fn tokens(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    let float = || value.as_f64().filter(|number| (0.0..1e18).contains(number)).map(|number| number as u64);
    value.as_u64().or_else(float)
}

/// A text that stands plainly or as a list of pieces.
fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(pieces)) => pieces.iter().map(|piece| text(piece.get("text"))).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
