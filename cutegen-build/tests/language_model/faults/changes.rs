//! Requests that an endpoint wants changed: parameters that it does not know, and prompts that are too long.

use super::Booked::{Nothing, Tokens};
use super::{ANTHROPIC, BOTH, Fault, OPENAI};
use crate::server::{REPORTED, Step, good, refusal, response, whole};

const BOOKED: super::Booked = Tokens(REPORTED);

fn refused(message: &str) -> Step {
    refusal(400, &[], "invalid_request_error", message)
}

pub(crate) const FAULTS: &[Fault] = &[
    (
        "400-temperature",
        BOTH,
        |wire| vec![refused("`temperature` is deprecated for this model"), good(wire)],
        "Whole, reported -temperature: an answer",
        &[Nothing, BOOKED],
    ),
    (
        "400-two-parameters",
        BOTH,
        |wire| vec![refused("Unknown parameter: 'top_k'"), refused("temperature: unsupported"), good(wire)],
        "Whole, reported -temperature -top_k: an answer",
        &[Nothing, Nothing, BOOKED],
    ),
    (
        "400-max-tokens",
        OPENAI,
        |wire| {
            let said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
            vec![refused(said), good(wire)]
        },
        "Whole, reported -max_tokens: an answer",
        &[Nothing, BOOKED],
    ),
    (
        "400-no-limit-at-all",
        OPENAI,
        |_| vec![refused("unknown parameter max_tokens"), refused("unknown parameter max_completion_tokens")],
        "refused, Request",
        &[Nothing, Nothing],
    ),
    (
        "400-stream-options",
        OPENAI,
        |wire| vec![refused("Unrecognized request argument supplied: stream_options"), good(wire)],
        "Whole, reported -stream_options: an answer",
        &[Nothing, BOOKED],
    ),
    (
        "400-no-streams",
        BOTH,
        |wire| {
            let json = [("content-type", "application/json")];
            vec![refused("'stream' is not supported"), response(200, &json, &whole(wire, "an answer"))]
        },
        "Whole, reported -stream: an answer",
        &[Nothing, BOOKED],
    ),
    (
        "400-no-cache",
        ANTHROPIC,
        |wire| {
            vec![refused("messages.0.content.0.cache_control: Extra inputs are not permitted"), good(wire)]
        },
        "Whole, reported -cache_control: an answer",
        &[Nothing, BOOKED],
    ),
    (
        "422-with-a-list",
        BOTH,
        |wire| {
            let body = r#"{"detail":[{"type":"extra_forbidden","loc":["body","top_k"],"msg":"Extra inputs are not permitted"}]}"#;
            vec![response(422, &[], body), good(wire)]
        },
        "Whole, reported -top_k: an answer",
        &[Nothing, BOOKED],
    ),
    (
        "400-the-same-again",
        BOTH,
        |_| vec![refused("unknown parameter top_k"), refused("unknown parameter top_k")],
        "refused, Request",
        &[Nothing, Nothing],
    ),
    ("400-plain", BOTH, |_| vec![refused("messages: roles must alternate")], "refused, Request", &[Nothing]),
    ("400-no-json", BOTH, |_| vec![response(400, &[], "unexpected {{{")], "refused, Request", &[Nothing]),
    ("400-model-not-known", BOTH, |_| vec![refused("unknown model m")], "refused, Request", &[Nothing]),
    (
        "400-too-long",
        BOTH,
        |wire| vec![refused("prompt is too long: 300000 tokens > 200000 maximum"), good(wire)],
        "Whole, reported (shortened to 492): an answer",
        &[Nothing, BOOKED],
    ),
    (
        "400-too-long-twice",
        BOTH,
        |wire| {
            let said = ["This model's maximum context length is 9", "maximum context length is 9"];
            vec![refused(said[0]), refused(said[1]), good(wire)]
        },
        "refused, Context",
        &[Nothing, Nothing],
    ),
    (
        "413",
        BOTH,
        |wire| vec![response(413, &[], ""), response(413, &[], ""), good(wire)],
        "refused, Context",
        &[Nothing, Nothing],
    ),
];
