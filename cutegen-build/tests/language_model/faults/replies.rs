//! Replies that are odd in themselves: empty, huge, malformed, thoughtful, declining, and wrong about what they took.

use super::Booked::{Tokens, Whole};
use super::{ANTHROPIC, BOTH, Fault, OPENAI};
use crate::canary::{KEY, TOKEN, base64};
use crate::server::{
    Act, REPORTED, Step, delta, end, event, events, finish, good, head, opening, response, stream,
    stream_head, usage, whole,
};

const BOOKED: super::Booked = Tokens(REPORTED);
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

fn twice(step: Step) -> Vec<Step> {
    vec![step.clone(), step]
}

pub(crate) const FAULTS: &[Fault] = &[
    (
        "whole",
        BOTH,
        |wire| vec![response(200, JSON, &whole(wire, "an answer"))],
        "Whole, reported: an answer",
        &[BOOKED],
    ),
    (
        "thought",
        BOTH,
        |wire| vec![stream(&events(wire, "<think>\nwhy\n</think>an answer"))],
        "Whole, reported: an answer",
        &[BOOKED],
    ),
    ("thought-alone", BOTH, |wire| vec![stream(&events(wire, "<think>why"))], "empty: ", &[BOOKED]),
    ("empty", BOTH, |wire| vec![stream(&events(wire, ""))], "empty: ", &[BOOKED]),
    ("white-space", BOTH, |wire| vec![stream(&events(wire, " \n\t "))], "empty: ", &[BOOKED]),
    (
        "length",
        OPENAI,
        |wire| {
            vec![stream(
                &[delta(wire, "an ans"), finish(wire, "length"), usage(wire, 11, 7), end(wire)].concat(),
            )]
        },
        "Length, reported: an ans",
        &[BOOKED],
    ),
    (
        "length",
        ANTHROPIC,
        |wire| {
            vec![stream(
                &[delta(wire, "an ans"), finish(wire, "max_tokens"), usage(wire, 11, 7), end(wire)].concat(),
            )]
        },
        "Length, reported: an ans",
        &[BOOKED],
    ),
    (
        "declined",
        OPENAI,
        |wire| vec![stream(&[finish(wire, "content_filter"), usage(wire, 11, 7), end(wire)].concat())],
        "declined: ",
        &[BOOKED],
    ),
    (
        "declined",
        ANTHROPIC,
        |wire| {
            vec![stream(
                &[delta(wire, "no"), finish(wire, "refusal"), usage(wire, 11, 7), end(wire)].concat(),
            )]
        },
        "declined: ",
        &[BOOKED],
    ),
    (
        "declined-in-a-field",
        OPENAI,
        |_| {
            let body = r#"{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}],
                          "usage":{"prompt_tokens":11,"completion_tokens":7}}"#;
            vec![response(200, JSON, body)]
        },
        "declined: ",
        &[BOOKED],
    ),
    (
        "no-usage",
        BOTH,
        |wire| vec![stream(&[delta(wire, "an answer"), end(wire)].concat())],
        "Whole, estimated: an answer",
        &[Whole],
    ),
    (
        "usage-of-nothing",
        BOTH,
        |wire| vec![stream(&[delta(wire, "an answer"), usage(wire, 0, 0), end(wire)].concat())],
        "Whole, estimated: an answer",
        &[Whole],
    ),
    (
        "usage-absurd",
        BOTH,
        |wire| {
            let usage = event(
                "message_delta",
                r#"{"type":"message_delta","usage":{"input_tokens":-1,"prompt_tokens":"x"}}"#,
            );
            vec![stream(&[delta(wire, "an answer"), usage, end(wire)].concat())]
        },
        "Whole, estimated: an answer",
        &[Whole],
    ),
    (
        "usage-beyond-the-reservation",
        BOTH,
        |wire| vec![stream(&[delta(wire, "an answer"), usage(wire, 11, 900_000), end(wire)].concat())],
        "ledger: ",
        &[Tokens(900_011)],
    ),
    (
        // fewer tokens in all than were reserved: the prompt has more bytes than eight
        "usage-of-a-longer-answer",
        BOTH,
        |wire| vec![stream(&[delta(wire, "an answer"), usage(wire, 8, 4001), end(wire)].concat())],
        "ledger: ",
        &[Tokens(4009)],
    ),
    ("empty-body", BOTH, |_| twice(response(200, JSON, "")), "lost, it is no message", &[Whole, Whole]),
    ("204", BOTH, |_| twice(vec![Act::Send(head(204, &[]))]), "lost, it is no message", &[Whole, Whole]),
    ("empty-stream", BOTH, |_| twice(stream("")), "lost, it was cut off", &[Whole, Whole]),
    (
        "html",
        BOTH,
        |_| twice(response(200, &[("content-type", "text/html")], "<html>hi</html>")),
        "lost, it is no message",
        &[Whole, Whole],
    ),
    (
        "other-json",
        BOTH,
        |_| twice(response(200, JSON, "{\"ok\":true}")),
        "lost, it is no message",
        &[Whole, Whole],
    ),
    (
        "malformed-whole",
        BOTH,
        |wire| twice(response(200, JSON, &whole(wire, "a")[1..])),
        "lost, it is no message",
        &[Whole, Whole],
    ),
    (
        "malformed-event",
        BOTH,
        |wire| {
            vec![
                stream(
                    &[delta(wire, "an "), "data: {nonsense\n\n".to_owned(), delta(wire, "answer"), end(wire)]
                        .concat(),
                ),
                good(wire),
            ]
        },
        "Whole, reported: an answer",
        &[Whole, BOOKED],
    ),
    (
        "event-of-a-number",
        BOTH,
        |wire| twice(stream(&["data: 7\n\n".to_owned(), end(wire)].concat())),
        "lost, it is no message",
        &[Whole, Whole],
    ),
    (
        "deep-json",
        BOTH,
        |_| twice(response(200, JSON, &"[".repeat(1 << 20))),
        "lost, it is no message",
        &[Whole, Whole],
    ),
    (
        "rate-limit-in-a-200",
        BOTH,
        |wire| vec![response(200, JSON, r#"{"error":{"code":429,"message":"rate limit"}}"#), good(wire)],
        "Whole, reported: an answer",
        &[Whole, BOOKED],
    ),
    (
        "huge-text",
        BOTH,
        |wire| {
            let piece = delta(wire, &"x".repeat(1 << 14)).into_bytes();
            vec![vec![Act::Send(stream_head()), Act::Repeat(piece, 80, 0)]]
        },
        "too long: ",
        &[Whole],
    ),
    (
        "huge-event",
        BOTH,
        |_| {
            vec![vec![
                Act::Send([stream_head(), b"data: ".to_vec()].concat()),
                Act::Repeat([b'x'; 1 << 16].to_vec(), 40, 0),
            ]]
        },
        "too long: ",
        &[Whole],
    ),
    (
        "huge-whole",
        BOTH,
        |_| vec![vec![Act::Send(head(200, JSON)), Act::Repeat([b' '; 1 << 18].to_vec(), 140, 0)]],
        "too long: ",
        &[Whole],
    ),
    (
        "bytes-that-are-no-text",
        BOTH,
        |wire| {
            let text = opening(wire) + &events(wire, "an answer@");
            let bytes: Vec<u8> =
                text.into_bytes().into_iter().map(|byte| if byte == b'@' { 0xff } else { byte }).collect();
            vec![vec![Act::Send([stream_head(), bytes].concat())]]
        },
        "Whole, reported: an answer\u{fffd}",
        &[BOOKED],
    ),
    (
        "the-key-in-an-answer",
        BOTH,
        |wire| vec![stream(&events(wire, &format!("key: {KEY}.")))],
        "Whole, reported: key: [key].",
        &[BOOKED],
    ),
    (
        "a-header-in-an-answer",
        BOTH,
        |wire| vec![stream(&events(wire, &format!("header: {TOKEN}, {}.", base64(TOKEN.as_bytes()))))],
        "Whole, reported: header: [key], [key]",
        &[BOOKED],
    ),
];
