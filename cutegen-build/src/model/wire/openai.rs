//! Chat completions as OpenAI has them, and as llama-server, vLLM, mistral.rs and ollama do.

use serde_json::{Map, Value, json};

use super::events::Event;
use super::reply::{Finish, Part};
use super::{Asked, Malformed, error, text, tokens};

/// How a stream ends.
const DONE: &str = "[DONE]";

pub(super) fn body(asked: &Asked<'_>) -> Map<String, Value> {
    // older servers know one name of the limit, newer models the other
    let is_new = asked.dropped.contains("max_tokens");
    let limit = if is_new { "max_completion_tokens" } else { "max_tokens" };
    let content = asked.prompt.prefix() + &asked.prompt.tail();
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(asked.model));
    body.insert("messages".to_owned(), json!([{ "role": "user", "content": content }]));
    body.insert(limit.to_owned(), json!(asked.max_tokens));
    if !asked.dropped.contains("stream") {
        body.insert("stream".to_owned(), json!(true));
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    body
}

pub(super) fn event(event: &Event) -> Result<Vec<Part>, Malformed> {
    match event.data.trim() {
        "" => Ok(vec![Part::Ping]),
        DONE => Ok(vec![Part::End]),
        data => {
            let value: Value = serde_json::from_str(data).map_err(|_| Malformed)?;
            if !value.is_object() {
                return Err(Malformed);
            }
            if event.name == "error" || value.get("error").is_some_and(|error| !error.is_null()) {
                return Ok(vec![error(&value)]);
            }
            Ok(parts(&value, "delta"))
        }
    }
}

pub(super) fn whole(value: &Value) -> Result<Vec<Part>, Malformed> {
    let is_reply = value.get("choices").is_some_and(Value::is_array);
    if !is_reply {
        return Err(Malformed);
    }
    let mut parts = parts(value, "message");
    parts.push(Part::End);
    Ok(parts)
}

/// What the first choice and the usage say.
fn parts(value: &Value, holder: &str) -> Vec<Part> {
    let choice = value.get("choices").and_then(|choices| choices.get(0));
    let said = choice.and_then(|choice| choice.get(holder));
    let field = |name: &str| text(said.and_then(|said| said.get(name)));
    let mut parts = Vec::new();
    for name in ["reasoning_content", "reasoning"] {
        let thought = field(name);
        parts.extend((!thought.is_empty()).then_some(Part::Thought(thought.len() as u64)));
    }
    let content = field("content");
    parts.extend((!content.is_empty()).then_some(Part::Text(content)));
    parts.extend((!field("refusal").is_empty()).then_some(Part::Finish(Finish::Refused)));
    let finish = choice.and_then(|choice| choice.get("finish_reason")).and_then(Value::as_str);
    parts.extend(finish.map(|word| Part::Finish(finished(word))));
    parts.extend(usage(value.get("usage")));
    parts
}

fn finished(word: &str) -> Finish {
    match word {
        "length" => Finish::Length,
        "content_filter" => Finish::Refused,
        _ => Finish::Whole,
    }
}

/// Some endpoints count thought in the total alone.
fn usage(usage: Option<&Value>) -> Option<Part> {
    let count = |name: &str| tokens(usage.and_then(|usage| usage.get(name)));
    let (input, output) = (count("prompt_tokens")?, count("completion_tokens")?);
    let rest = count("total_tokens").unwrap_or_default().saturating_sub(input);
    Some(Part::Usage { input: Some(input), output: Some(output.max(rest)) })
}
