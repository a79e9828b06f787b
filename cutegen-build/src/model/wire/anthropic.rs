//! Messages as Anthropic has them. The stable prefix is a block of its own that the endpoint is asked to cache.

use serde_json::{Map, Value, json};

use super::events::Event;
use super::reply::{Finish, Part};
use super::{Asked, Malformed, error, text, tokens};

pub(super) fn body(asked: &Asked<'_>) -> Map<String, Value> {
    let block = |text: String| json!({ "type": "text", "text": text });
    let mut blocks = Vec::new();
    let (prefix, tail) = (asked.prompt.prefix(), asked.prompt.tail());
    if !prefix.is_empty() {
        let mut stable = block(prefix);
        if !asked.dropped.contains("cache_control") {
            stable["cache_control"] = json!({ "type": "ephemeral" });
        }
        blocks.push(stable);
    }
    // an empty block is refused
    blocks.extend((!tail.is_empty()).then(|| block(tail)));
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(asked.model));
    body.insert("max_tokens".to_owned(), json!(asked.max_tokens));
    body.insert("messages".to_owned(), json!([{ "role": "user", "content": blocks }]));
    body.insert("stream".to_owned(), json!(true));
    body
}

pub(super) fn event(event: &Event) -> Result<Vec<Part>, Malformed> {
    let data = event.data.trim();
    if event.name == "ping" || data.is_empty() {
        return Ok(vec![Part::Ping]);
    }
    let value: Value = serde_json::from_str(data).map_err(|_| Malformed)?;
    if !value.is_object() {
        return Err(Malformed);
    }
    let kind = value.get("type").and_then(Value::as_str).unwrap_or(&event.name);
    Ok(match kind {
        "ping" => vec![Part::Ping],
        "error" => vec![error(&value)],
        "message_start" => input(value.get("message").and_then(|message| message.get("usage"))),
        "content_block_start" => block(value.get("content_block")),
        "content_block_delta" => block(value.get("delta")),
        "message_delta" => {
            let mut parts = input(value.get("usage"));
            parts.extend(output(value.get("usage")));
            parts.extend(finish(value.get("delta")));
            parts
        }
        "message_stop" => vec![Part::End],
        _ => Vec::new(),
    })
}

pub(super) fn whole(value: &Value) -> Result<Vec<Part>, Malformed> {
    let content = value.get("content").and_then(Value::as_array).ok_or(Malformed)?;
    let mut parts: Vec<Part> = content.iter().flat_map(|piece| block(Some(piece))).collect();
    parts.extend(input(value.get("usage")));
    parts.extend(output(value.get("usage")));
    parts.extend(finish(Some(value)));
    parts.push(Part::End);
    Ok(parts)
}

/// Text or thought of a block, or of a piece of one.
fn block(piece: Option<&Value>) -> Vec<Part> {
    let field = |name: &str| text(piece.and_then(|piece| piece.get(name)));
    let (said, thought) = (field("text"), field("thinking"));
    let mut parts = Vec::new();
    parts.extend((!thought.is_empty()).then_some(Part::Thought(thought.len() as u64)));
    parts.extend((!said.is_empty()).then_some(Part::Text(said)));
    parts
}

/// Tokens that were read, from the cache or not.
fn input(usage: Option<&Value>) -> Vec<Part> {
    let count = |name: &str| tokens(usage.and_then(|usage| usage.get(name)));
    let Some(read) = count("input_tokens") else { return Vec::new() };
    let cached =
        ["cache_creation_input_tokens", "cache_read_input_tokens"].map(|name| count(name).unwrap_or(0));
    let all = cached.into_iter().fold(read, u64::saturating_add);
    vec![Part::Usage { input: Some(all), output: None }]
}

fn output(usage: Option<&Value>) -> Option<Part> {
    let written = tokens(usage?.get("output_tokens"))?;
    Some(Part::Usage { input: None, output: Some(written) })
}

fn finish(holder: Option<&Value>) -> Option<Part> {
    Some(Part::Finish(match holder?.get("stop_reason")?.as_str()? {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refused,
        _ => Finish::Whole,
    }))
}
