//! Statuses that refuse, and connections that are none.

use super::Booked::{Nothing, Tokens, Whole};
use super::{ANTHROPIC, BOTH, Fault, OPENAI};
use crate::canary::{KEY, TOKEN, base64};
use crate::server::{Act, REPORTED, Server, Step, good, head, refusal, response};

const ANSWER: &str = "Whole, reported: an answer";
const BOOKED: super::Booked = Tokens(REPORTED);

/// A 401 whose body has the key.
fn echo(text: &str) -> Vec<Step> {
    vec![refusal(401, &[], "authentication_error", &format!("wrong key: {text}"))]
}

fn twice(step: Step) -> Vec<Step> {
    vec![step.clone(), step]
}

pub(crate) const FAULTS: &[Fault] = &[
    ("401", BOTH, |_| vec![refusal(401, &[], "", "no")], "refused, Key", &[Nothing]),
    ("401-echo-plain", BOTH, |_| echo(KEY), "refused, Key", &[Nothing]),
    (
        "401-echo-base64",
        BOTH,
        |_| echo(&base64(format!("Bearer {KEY}").as_bytes())),
        "refused, Key",
        &[Nothing],
    ),
    (
        "401-echo-hex",
        BOTH,
        |_| echo(&KEY.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
        "refused, Key",
        &[Nothing],
    ),
    (
        "401-echo-percent",
        BOTH,
        |_| echo(&KEY.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D")),
        "refused, Key",
        &[Nothing],
    ),
    ("401-echo-header", BOTH, |_| echo(&format!("Bearer {TOKEN}")), "refused, Key", &[Nothing]),
    (
        "401-echo-header-hex",
        BOTH,
        |_| echo(&TOKEN.bytes().map(|byte| format!("{byte:02X}")).collect::<String>()),
        "refused, Key",
        &[Nothing],
    ),
    ("401-echo-reversed", BOTH, |_| echo(&KEY.chars().rev().collect::<String>()), "refused, Key", &[Nothing]),
    (
        "401-echo-part",
        BOTH,
        |_| echo(&format!("{}***{}", &KEY[..12], &KEY[KEY.len() - 10..])),
        "refused, Key",
        &[Nothing],
    ),
    (
        "401-echo-escaped",
        BOTH,
        |_| {
            let escaped: String = KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
            vec![response(401, &[], &format!("<html>{escaped}</html>"))]
        },
        "refused, Key",
        &[Nothing],
    ),
    (
        "401-echo-at-the-cut",
        BOTH,
        |_| vec![response(401, &[], &format!("{}{KEY}", "x".repeat(485)))],
        "refused, Key",
        &[Nothing],
    ),
    ("403", BOTH, |_| vec![response(403, &[], "<html>no</html>")], "refused, Key", &[Nothing]),
    ("402", BOTH, |_| vec![response(402, &[], "")], "refused, Money", &[Nothing]),
    (
        "429-quota",
        OPENAI,
        |_| vec![refusal(429, &[], "insufficient_quota", "pay")],
        "refused, Money",
        &[Nothing],
    ),
    (
        "400-no-credit",
        ANTHROPIC,
        |_| vec![refusal(400, &[], "invalid_request_error", "Your credit balance is too low")],
        "refused, Money",
        &[Nothing],
    ),
    (
        "429-retry-after",
        BOTH,
        |wire| vec![refusal(429, &[("retry-after", "0.05")], "rate_limit_error", "slow"), good(wire)],
        ANSWER,
        &[Nothing, BOOKED],
    ),
    (
        "429-rate-headers",
        OPENAI,
        |wire| {
            let headers = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "80ms")];
            vec![refusal(429, &headers, "", "slow"), good(wire)]
        },
        ANSWER,
        &[Nothing, BOOKED],
    ),
    (
        "429-asks-for-an-hour",
        BOTH,
        |_| vec![response(429, &[("retry-after", "3600")], "")],
        "patience: ",
        &[Nothing],
    ),
    (
        "429-absurd-headers",
        BOTH,
        |wire| vec![response(429, &[("retry-after", "-1e999"), ("retry-after-ms", "soon")], ""), good(wire)],
        ANSWER,
        &[Nothing, BOOKED],
    ),
    (
        "429-for-ever",
        BOTH,
        |_| vec![response(429, &[], ""); 9],
        "refused, Rate",
        &[Nothing, Nothing, Nothing],
    ),
    (
        "503-then-good",
        BOTH,
        |wire| vec![response(503, &[], "loading"), good(wire)],
        ANSWER,
        &[Nothing, BOOKED],
    ),
    (
        "529-then-good",
        ANTHROPIC,
        |wire| vec![refusal(529, &[], "overloaded_error", "x"), good(wire)],
        ANSWER,
        &[Nothing, BOOKED],
    ),
    ("408-then-good", BOTH, |wire| vec![response(408, &[], ""), good(wire)], ANSWER, &[Nothing, BOOKED]),
    ("409-then-good", BOTH, |wire| vec![response(409, &[], ""), good(wire)], ANSWER, &[Nothing, BOOKED]),
    ("500-then-good", BOTH, |wire| vec![response(500, &[], "oops"), good(wire)], ANSWER, &[Whole, BOOKED]),
    ("500-twice", BOTH, |_| vec![response(500, &[], "oops"); 9], "refused, Server", &[Whole, Whole]),
    (
        "502-html",
        BOTH,
        |_| vec![response(502, &[], "<html>bad gateway</html>"); 9],
        "refused, Server",
        &[Whole, Whole],
    ),
    ("504", BOTH, |_| vec![response(504, &[], ""); 9], "refused, Server", &[Whole, Whole]),
    (
        "599-and-bytes",
        BOTH,
        |_| vec![response(599, &[], "\u{0}\u{1b}[2J\u{202e}"); 9],
        "refused, Server",
        &[Whole, Whole],
    ),
    ("404", BOTH, |_| vec![response(404, &[], "not found")], "refused, Missing", &[Nothing]),
    ("405", BOTH, |_| vec![response(405, &[], "")], "refused, Missing", &[Nothing]),
    ("410", BOTH, |_| vec![response(410, &[], "")], "refused, Missing", &[Nothing]),
    (
        "301-elsewhere",
        BOTH,
        |_| {
            // nothing must come there: it would be good
            let there = Server::start(vec![good(cutegen_build::model::wire::Wire::Openai); 9]);
            vec![response(301, &[("location", &there.url())], "")]
        },
        "refused, Redirect",
        &[Nothing],
    ),
    (
        "307-to-itself",
        BOTH,
        |wire| vec![response(307, &[("location", "/v1/other")], ""), good(wire)],
        "refused, Redirect",
        &[Nothing],
    ),
    ("304", BOTH, |_| vec![vec![Act::Send(head(304, &[]))]], "refused, Redirect", &[Nothing]),
    ("error-body-huge", BOTH, |_| vec![response(403, &[], &"x".repeat(8 << 20))], "refused, Key", &[Nothing]),
    (
        "error-body-stalls",
        BOTH,
        |_| {
            let head = head(402, &[("content-length", "100")]);
            vec![vec![Act::Send([head, b"pay".to_vec()].concat()), Act::Pause(4000)]]
        },
        "refused, Money",
        &[Nothing],
    ),
    ("no-response", BOTH, |_| twice(Vec::new()), "lost, it was cut off", &[Whole, Whole]),
    ("reset", BOTH, |_| twice(vec![Act::Reset]), "lost, it was cut off", &[Whole, Whole]),
    ("reset-then-good", BOTH, |wire| vec![vec![Act::Reset], good(wire)], ANSWER, &[Whole, BOOKED]),
    (
        "no-http",
        BOTH,
        |_| twice(vec![Act::Send(b"220 mail.example ESMTP\r\n".to_vec())]),
        "lost, it was cut off",
        &[Whole, Whole],
    ),
    (
        "endless-headers",
        BOTH,
        |_| {
            twice(vec![
                Act::Send(b"HTTP/1.1 200 OK\r\n".to_vec()),
                Act::Repeat([b'x'; 1 << 16].to_vec(), 64, 0),
            ])
        },
        "lost, it was cut off",
        &[Whole, Whole],
    ),
    (
        "100-then-good",
        BOTH,
        |wire| {
            let mut step = vec![Act::Send(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())];
            step.extend(good(wire));
            vec![step]
        },
        ANSWER,
        &[BOOKED],
    ),
];
