//! [`Refusal`]: why an endpoint gives no answer, from a status and the lenient reading of a body. What to do about it follows
//! from its kind.

use serde_json::Value;

/// The longest message that is kept, in bytes.
const SAID_MAX: usize = 500;

/// An endpoint's no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it means.
    pub kind: Kind,
    /// The endpoint's words: foreign text on one line.
    pub said: String,
}

/// What a refusal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The account has no money, or a quota that waiting does not fill.
    Money,
    /// The key is wrong, or lacks a right.
    Key,
    /// Too many requests or tokens in too short a time.
    Rate,
    /// The endpoint has no capacity, and has not begun.
    Busy,
    /// The prompt is longer than the model can read.
    Context,
    /// The request is no good: a parameter, perhaps.
    Request,
    /// There is no such model or address.
    Missing,
    /// It points elsewhere, where nothing is sent.
    Redirect,
    /// It failed, and may have begun.
    Server,
}

/// What is done about a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Wait and ask again.
    Wait,
    /// Ask for less, if there is something to leave out.
    Change,
    /// Nothing: a person must act.
    Stop,
}

impl Kind {
    /// What is done about it.
    #[must_use]
    pub fn remedy(self) -> Remedy {
        match self {
            Self::Rate | Self::Busy | Self::Server => Remedy::Wait,
            Self::Context | Self::Request => Remedy::Change,
            Self::Money | Self::Key | Self::Missing | Self::Redirect => Remedy::Stop,
        }
    }

    /// Whether the endpoint may have worked on the request, and counted its tokens.
    #[must_use]
    pub fn may_have_begun(self) -> bool {
        self == Self::Server
    }
}

/// Words of bodies, in lower case, with what they mean whatever the status.
const WORDS: &[(Kind, &[&str])] = &[
    (
        Kind::Money,
        &[
            "insufficient_quota",
            "exceeded your current quota",
            "billing",
            "credit balance",
            "insufficient credit",
            "insufficient balance",
            "payment required",
        ],
    ),
    (
        Kind::Context,
        &[
            "context_length",
            "context length",
            "context size",
            "context window",
            "exceed_context",
            "prompt is too long",
            "input is too long",
            "request_too_large",
            "too many tokens",
        ],
    ),
    (Kind::Key, &["authentication_error", "permission_error", "invalid_api_key", "unauthorized"]),
    (Kind::Rate, &["rate_limit", "rate limit", "too many requests"]),
    (Kind::Busy, &["overloaded", "no capacity", "is loading", "loading model"]),
    (Kind::Missing, &["not_found_error", "model_not_found"]),
    (Kind::Request, &["invalid_request"]),
];

/// Words of a message that names a parameter which the endpoint does not know.
const UNKNOWN: &[&str] = &[
    "unknown",
    "unsupported",
    "not supported",
    "not support",
    "unrecognized",
    "unexpected",
    "extra inputs",
    "not permitted",
    "not allowed",
    "deprecated",
    "invalid parameter",
];

/// Of a status other than success.
#[must_use]
pub fn of(status: u16, body: &str) -> Refusal {
    let said = said(body);
    let worded = worded(&said);
    let among = |kinds: &[Kind]| worded.filter(|kind| kinds.contains(kind));
    let kind = match status {
        300..=399 => Kind::Redirect,
        401 | 403 => among(&[Kind::Money]).unwrap_or(Kind::Key),
        402 => Kind::Money,
        404 | 405 | 410 => Kind::Missing,
        413 => Kind::Context,
        408 | 409 | 425 => Kind::Busy,
        429 => among(&[Kind::Money]).unwrap_or(Kind::Rate),
        503 | 529 => Kind::Busy,
        400..=499 => among(&[Kind::Money, Kind::Context, Kind::Key, Kind::Rate]).unwrap_or(Kind::Request),
        _ => Kind::Server,
    };
    Refusal { kind, said }
}

/// Of an error inside of a reply, where no status says what it is.
#[must_use]
pub fn inside(message: &str) -> Refusal {
    let said = said(message);
    Refusal { kind: worded(&said).unwrap_or(Kind::Server), said }
}

/// The parameter, among those that were sent, that a refusal calls unknown.
#[must_use]
pub fn parameter<'a>(said: &str, sent: &[&'a str]) -> Option<&'a str> {
    let said = said.to_lowercase();
    let is_unknown = UNKNOWN.iter().any(|word| said.contains(word));
    let mut words = said.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    is_unknown.then(|| words.find_map(|word| sent.iter().find(|name| **name == word).copied()))?
}

fn worded(said: &str) -> Option<Kind> {
    let said = said.to_lowercase();
    WORDS.iter().find(|(_, words)| words.iter().any(|word| said.contains(word))).map(|(kind, _)| *kind)
}

/// The message of a body with what names its kind, on one line.
fn said(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    let value = value.get(0).unwrap_or(&value);
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let word = |name: &str| match error.get(name) {
        Some(Value::String(word)) => word.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let mut words: Vec<String> = ["type", "code", "param", "message", "detail"].map(word).into();
    words.extend(error.as_str().map(str::to_owned));
    words.retain(|word| !word.is_empty());
    words.dedup();
    let told = if words.is_empty() { body.to_owned() } else { words.join(": ") };
    let line = told.split_whitespace().collect::<Vec<_>>().join(" ");
    line[..line.floor_char_boundary(SAID_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_and_a_body_say_what_is_wrong() {
        let openai = |kind: &str, code: &str, message: &str| {
            format!(r#"{{"error":{{"message":"{message}","type":"{kind}","param":null,"code":"{code}"}}}}"#)
        };
        let cases = [
            (401, openai("invalid_request_error", "invalid_api_key", "wrong key"), Kind::Key),
            (403, "<html>no</html>".to_owned(), Kind::Key),
            (402, String::new(), Kind::Money),
            (429, openai("insufficient_quota", "insufficient_quota", "You exceeded"), Kind::Money),
            (429, openai("requests", "rate_limit_exceeded", "slow down"), Kind::Rate),
            (429, String::new(), Kind::Rate),
            (400, openai("invalid_request_error", "", "Your credit balance is too low"), Kind::Money),
            (400, openai("invalid_request_error", "context_length_exceeded", "too long"), Kind::Context),
            (400, r#"{"error":{"code":400,"message":"the request exceeds the available context size"}}"#.to_owned(), Kind::Context),
            (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#.to_owned(), Kind::Context),
            (413, String::new(), Kind::Context),
            (422, r#"{"detail":[{"loc":["body","top_k"],"msg":"extra"}]}"#.to_owned(), Kind::Request),
            (404, openai("", "model_not_found", "no such model"), Kind::Missing),
            (302, String::new(), Kind::Redirect),
            (500, "Internal".to_owned(), Kind::Server),
            (503, r#"{"error":"model is loading"}"#.to_owned(), Kind::Busy),
            (529, String::new(), Kind::Busy),
            (599, "\u{0}\u{ff}".to_owned(), Kind::Server),
            (100, String::new(), Kind::Server),
        ];
        for (status, body, kind) in cases {
            assert_eq!(of(status, &body).kind, kind, "{status} {body}");
        }
    }

    #[test]
    fn errors_inside_of_replies_are_worded() {
        let of = |text: &str| inside(text).kind;
        assert_eq!(of(r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#), Kind::Busy);
        assert_eq!(of(r#"{"error":{"message":"x","code":502}}"#), Kind::Server);
        assert_eq!(of(r#"{"error":{"type":"authentication_error"}}"#), Kind::Key);
        assert_eq!(of(r#"[{"error":{"code":"rate_limit_exceeded"}}]"#), Kind::Rate);
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        let sent = ["max_tokens", "temperature", "stream_options", "stream", "cache_control"];
        let cases = [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'",
                Some("max_tokens"),
            ),
            ("Unrecognized request argument supplied: stream_options", Some("stream_options")),
            ("messages.0.content.0.cache_control: Extra inputs are not permitted", Some("cache_control")),
            ("`temperature` is deprecated for this model", Some("temperature")),
            ("max_tokens is too large: 9000. This model supports at most 8192", None),
            ("unknown model", None),
        ];
        for (said, name) in cases {
            assert_eq!(parameter(said, &sent), name, "{said}");
        }
    }

    #[test]
    fn words_of_an_endpoint_are_one_short_line() {
        let told = of(400, &format!("a\n\tb {}", "é".repeat(400))).said;
        assert!(told.starts_with("a b é") && told.len() <= SAID_MAX, "{told}");
        let told = of(400, r#"{"error":{"message":"m","type":"t","param":"p","code":7}}"#).said;
        assert_eq!(told, "t: 7: p: m");
    }
}
