//! Streams that stall, end early or never, and what passes each deadline.

use super::Booked::{Tokens, Whole};
use super::{ANTHROPIC, BOTH, Fault};
use crate::server::{
    Act, REPORTED, Step, delta, end, event, events, finish, good, head, opening, ping, response, stream,
    stream_head, usage, whole,
};

const ANSWER: &str = "Whole, reported: an answer";
const BOOKED: super::Booked = Tokens(REPORTED);
/// Longer than every deadline.
const STALL: u64 = 4000;

fn twice(step: Step) -> Vec<Step> {
    vec![step.clone(), step]
}

/// The bytes of a head and events.
fn sent(events: String) -> Act {
    Act::Send([stream_head(), events.into_bytes()].concat())
}

pub(crate) const FAULTS: &[Fault] = &[
    ("stream", BOTH, |wire| vec![good(wire)], ANSWER, &[BOOKED]),
    (
        "stream-in-bytes",
        BOTH,
        |wire| {
            let bytes = events(wire, "an answer").into_bytes();
            let pieces = bytes.into_iter().flat_map(|byte| [Act::Send(vec![byte]), Act::Pause(0)]);
            vec![[Act::Send(stream_head())].into_iter().chain(pieces).collect()]
        },
        ANSWER,
        &[BOOKED],
    ),
    (
        "stream-with-crlf",
        BOTH,
        |wire| vec![stream(&events(wire, "an answer").replace('\n', "\r\n"))],
        ANSWER,
        &[BOOKED],
    ),
    (
        "stream-called-json",
        BOTH,
        |wire| vec![response(200, &[("content-type", "application/json")], &events(wire, "an answer"))],
        ANSWER,
        &[BOOKED],
    ),
    (
        "stream-stays-open",
        BOTH,
        |wire| vec![vec![sent(events(wire, "an answer")), Act::Pause(STALL)]],
        ANSWER,
        &[BOOKED],
    ),
    (
        "stream-without-end",
        BOTH,
        |wire| {
            vec![stream(
                &[opening(wire), delta(wire, "an answer"), finish(wire, "stop"), usage(wire, 11, 7)].concat(),
            )]
        },
        ANSWER,
        &[BOOKED],
    ),
    (
        "stream-without-end-stays-open",
        BOTH,
        |wire| {
            let all =
                [opening(wire), delta(wire, "an answer"), finish(wire, "stop"), usage(wire, 11, 7)].concat();
            vec![vec![sent(all), Act::Pause(STALL)]]
        },
        ANSWER,
        &[BOOKED],
    ),
    (
        "truncated",
        BOTH,
        |wire| twice(stream(&[opening(wire), delta(wire, "an ans")].concat())),
        "lost, it was cut off",
        &[Whole, Whole],
    ),
    (
        "truncated-then-good",
        BOTH,
        |wire| vec![stream(&[opening(wire), delta(wire, "an ans")].concat()), good(wire)],
        ANSWER,
        &[Whole, BOOKED],
    ),
    (
        "truncated-in-an-event",
        BOTH,
        |wire| {
            let all = delta(wire, "an answer");
            twice(stream(&all[..all.len() - 9]))
        },
        "lost, it is no message",
        &[Whole, Whole],
    ),
    (
        "truncated-chunk",
        BOTH,
        |wire| {
            let head = head(200, &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]);
            let text = format!("ffff\r\n{}", delta(wire, "an ans"));
            twice(vec![Act::Send([head, text.into_bytes()].concat())])
        },
        "lost, it was cut off",
        &[Whole, Whole],
    ),
    (
        "truncated-whole",
        BOTH,
        |wire| {
            let text = whole(wire, "an answer");
            let head = head(200, &[("content-type", "application/json"), ("content-length", "9999")]);
            twice(vec![Act::Send([head, text.into_bytes()].concat())])
        },
        "lost, it was cut off",
        &[Whole, Whole],
    ),
    (
        "stall-before-the-head",
        BOTH,
        |_| twice(vec![Act::Pause(STALL)]),
        "lost, no event came in time",
        &[Whole, Whole],
    ),
    (
        "stall-behind-the-head",
        BOTH,
        |_| twice(vec![Act::Send(stream_head()), Act::Pause(STALL)]),
        "lost, no event came in time",
        &[Whole, Whole],
    ),
    (
        "pings-alone",
        BOTH,
        |wire| twice(vec![Act::Send(stream_head()), Act::Repeat(ping(wire).into_bytes(), 40, 100)]),
        "lost, no event came in time",
        &[Whole, Whole],
    ),
    (
        "stall-behind-an-event",
        BOTH,
        |wire| twice(vec![sent(opening(wire)), Act::Pause(STALL)]),
        "lost, the reply stood still",
        &[Whole, Whole],
    ),
    (
        "pings-are-life",
        BOTH,
        |wire| {
            let rest = events(wire, "an answer").into_bytes();
            vec![vec![sent(opening(wire)), Act::Repeat(ping(wire).into_bytes(), 10, 120), Act::Send(rest)]]
        },
        ANSWER,
        &[BOOKED],
    ),
    (
        "endless-trickle",
        BOTH,
        |wire| twice(vec![sent(opening(wire)), Act::Repeat(delta(wire, "x").into_bytes(), 60, 100)]),
        "lost, the reply took too long",
        &[Whole, Whole],
    ),
    (
        "slow-whole",
        BOTH,
        |wire| {
            let bytes = response(200, &[("content-type", "application/json")], &whole(wire, "an answer"));
            vec![[vec![Act::Pause(400)], bytes].concat()]
        },
        ANSWER,
        &[BOOKED],
    ),
    (
        "overloaded-in-the-stream",
        BOTH,
        |wire| {
            let error =
                event("error", r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#);
            vec![stream(&[opening(wire), error].concat()), good(wire)]
        },
        ANSWER,
        &[Whole, BOOKED],
    ),
    (
        "refused-in-the-stream",
        BOTH,
        |wire| {
            let error =
                event("error", r#"{"type":"error","error":{"type":"authentication_error","message":"x"}}"#);
            vec![stream(&[delta(wire, "an ans"), error].concat())]
        },
        "refused, Key",
        &[Whole],
    ),
    (
        "unknown-events",
        ANTHROPIC,
        |wire| {
            let odd = event("new", r#"{"type":"new","x":[1]}"#) + "id: 4\nretry: 5\n\n";
            vec![stream(&[odd.clone(), opening(wire), odd, events(wire, "an answer"), end(wire)].concat())]
        },
        ANSWER,
        &[BOOKED],
    ),
];
