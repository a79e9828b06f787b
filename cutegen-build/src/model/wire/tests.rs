//! Bodies and replies of both wires, as their documentation has them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::events::Events;
use super::prompt::{Block, Prompt};
use super::reply::{Finish, Gathered, Reply, Usage};
use super::{Asked, Malformed, Wire};

fn body(wire: Wire, parameters: Value, dropped: &[&str]) -> Value {
    let prompt = Prompt {
        stable: vec![Block::needed("the rules\n")],
        rest: vec![Block::ranked("an example\n", 0), Block::needed("the question")],
    };
    let parameters: Map<String, Value> = parameters.as_object().cloned().expect("an object");
    let dropped: BTreeSet<String> = dropped.iter().map(|name| (*name).to_owned()).collect();
    let asked =
        Asked { model: "m", prompt: &prompt, max_tokens: 4096, parameters: &parameters, dropped: &dropped };
    wire.body(&asked)
}

/// What a stream comes to, in pieces of 7 bytes.
fn streamed(wire: Wire, stream: &str) -> Result<Option<Reply>, Malformed> {
    let (mut events, mut gathered) = (Events::default(), Gathered::default());
    let mut found = Vec::new();
    for bytes in stream.as_bytes().chunks(7) {
        found.extend(events.take(bytes).expect("short"));
    }
    found.extend(events.end());
    for event in found {
        for part in wire.event(&event)? {
            gathered.take(part).expect("no error");
        }
    }
    Ok(gathered.reply(100))
}

fn whole(wire: Wire, body: &Value) -> Option<Reply> {
    let mut gathered = Gathered::default();
    wire.whole(&body.to_string()).ok()?.into_iter().for_each(|part| gathered.take(part).expect("no error"));
    gathered.reply(100)
}

#[test]
fn chat_completions_ask_for_a_stream_with_its_usage() {
    let expected = json!({
        "model": "m", "max_tokens": 4096, "stream": true, "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": "the rules\nan example\nthe question" }],
    });
    assert_eq!(body(Wire::Openai, json!({}), &[]), expected);
}

#[test]
fn messages_have_their_stable_prefix_cached() {
    let expected = json!({
        "model": "m", "max_tokens": 4096, "stream": true,
        "messages": [{ "role": "user", "content": [
            { "type": "text", "text": "the rules\n", "cache_control": { "type": "ephemeral" } },
            { "type": "text", "text": "an example\nthe question" },
        ] }],
    });
    assert_eq!(body(Wire::Anthropic, json!({}), &[]), expected);
    let uncached = body(Wire::Anthropic, json!({}), &["cache_control"]);
    assert!(!uncached.to_string().contains("cache_control"), "{uncached}");
}

#[test]
fn the_limit_of_tokens_is_always_sent() {
    let dropped =
        ["max_tokens", "max_completion_tokens", "temperature", "model", "messages", "stream_options"];
    let openai = body(Wire::Openai, json!({ "temperature": 1, "max_tokens": 9 }), &dropped);
    assert_eq!((&openai["max_completion_tokens"], openai.get("max_tokens")), (&json!(4096), None));
    assert!(openai.get("temperature").is_none() && openai["model"] == "m" && openai["messages"].is_array());
    let anthropic = body(Wire::Anthropic, json!({ "temperature": 1, "max_tokens": 9 }), &dropped);
    assert_eq!(anthropic["max_tokens"], 4096);
}

#[test]
fn a_user_adds_parameters_and_changes_none_of_ours() {
    let asked = body(Wire::Openai, json!({ "temperature": 0.5, "model": "other", "stream": false }), &[]);
    assert_eq!(
        (&asked["temperature"], &asked["model"], &asked["stream"]),
        (&json!(0.5), &json!("m"), &json!(true))
    );
    // a server without streams is asked without
    let plain = body(Wire::Openai, json!({}), &["stream"]);
    assert!(plain.get("stream").is_none() && plain.get("stream_options").is_none());
}

#[test]
fn a_stream_of_chat_completions_is_read() {
    let stream = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"hm\"}}]}\n\n\
                  : a comment\n\n\
                  data: {\"choices\":[{\"delta\":{\"content\":\"int \"}}],\"usage\":null,\"unknown\":[1]}\n\n\
                  data: {\"choices\":[{\"delta\":{\"content\":\"x; τ\"},\"finish_reason\":null}]}\n\n\
                  data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                  data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":5,\"total_tokens\":42}}\n\n\
                  data: [DONE]\n\n";
    // thought that the total counts alone is written too: 42 - 30
    let usage = Usage::Reported { input: 30, output: 12 };
    let expected = Reply { text: "int x; τ".to_owned(), finish: Finish::Whole, usage };
    assert_eq!(streamed(Wire::Openai, stream), Ok(Some(expected)));
    assert_eq!(streamed(Wire::Openai, &stream[..stream.len() / 2]).unwrap_or(None), None);
}

#[test]
fn a_stream_of_messages_is_read() {
    let stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\
                  \"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":200,\"output_tokens\":1}}}\n\n\
                  event: ping\ndata: {\"type\": \"ping\"}\n\n\
                  event: content_block_start\ndata: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
                  event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n\
                  event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"int x;\"}}\n\n\
                  event: something_new\ndata: {\"type\":\"something_new\"}\n\n\
                  event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":9}}\n\n\
                  event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let usage = Usage::Reported { input: 213, output: 9 };
    let expected = Reply { text: "int x;".to_owned(), finish: Finish::Length, usage };
    assert_eq!(streamed(Wire::Anthropic, stream), Ok(Some(expected)));
    let cut = stream.split("event: message_delta").next().expect("a start");
    assert_eq!(streamed(Wire::Anthropic, cut), Ok(None));
}

#[test]
fn replies_in_one_piece_are_read() {
    let openai = json!({
        "choices": [{ "message": { "content": [{ "type": "text", "text": "a" }, { "text": "b" }] }, "finish_reason": "length" }],
        "usage": { "prompt_tokens": 7.0, "completion_tokens": 2 },
    });
    let usage = Usage::Reported { input: 7, output: 2 };
    assert_eq!(
        whole(Wire::Openai, &openai),
        Some(Reply { text: "ab".to_owned(), finish: Finish::Length, usage })
    );
    let anthropic = json!({
        "content": [{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "ab" }],
        "stop_reason": "end_turn", "usage": { "input_tokens": 7, "output_tokens": 2 },
    });
    assert_eq!(
        whole(Wire::Anthropic, &anthropic),
        Some(Reply { text: "ab".to_owned(), finish: Finish::Whole, usage })
    );
    let refused = [
        (
            Wire::Openai,
            json!({ "choices": [{ "message": { "content": null, "refusal": "no" }, "finish_reason": "stop" }] }),
        ),
        (Wire::Anthropic, json!({ "content": [], "stop_reason": "refusal" })),
    ];
    for (wire, body) in refused {
        assert_eq!(whole(wire, &body).map(|reply| reply.finish), Some(Finish::Refused), "{body}");
    }
}

#[test]
fn whatever_comes_ends_in_a_value() {
    let odd = [
        "",
        "null",
        "7",
        "[]",
        "{}",
        "{\"choices\":7}",
        "{\"choices\":[]}",
        "{\"choices\":[null]}",
        "{\"content\":{}}",
        "{\"choices\":[{\"delta\":7,\"message\":[]}]}",
        "{\"type\":7}",
        "{\"usage\":-1,\"choices\":[{}]}",
        "{",
        "\u{0}",
    ];
    for text in odd {
        for wire in [Wire::Openai, Wire::Anthropic] {
            let value: Value = serde_json::from_str(text).unwrap_or(Value::Null);
            assert!(whole(wire, &value).is_none_or(|reply| reply.text.is_empty()), "{text}");
            let stream = format!("data: {text}\n\n");
            assert!(streamed(wire, &stream).is_err() || streamed(wire, &stream) == Ok(None), "{text}");
        }
    }
    let absurd = json!({ "content": [], "usage": { "input_tokens": 1e300, "output_tokens": -4 } });
    assert_eq!(
        whole(Wire::Anthropic, &absurd).map(|reply| reply.usage),
        Some(Usage::Estimated { input: 100, output: 0 })
    );
}
