//! An endpoint on a loopback socket that plays a script: a step for each request, in order. It keeps what it was sent.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use cutegen_build::model::wire::Wire;

/// What is done with one request.
pub(crate) type Step = Vec<Act>;

/// A part of a step. The connection is closed behind the last one.
#[derive(Clone)]
pub(crate) enum Act {
    /// Bytes are written.
    Send(Vec<u8>),
    /// Time passes.
    Pause(u64),
    /// The same bytes are written so often, with a pause of milliseconds behind each.
    Repeat(Vec<u8>, usize, u64),
    /// The connection is reset: it is closed while bytes of the request are unread.
    Reset,
}

/// A request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Its head, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Begins to listen. A request without a step is closed without an answer.
    pub(crate) fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut steps = steps.into_iter();
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (step, kept) = (steps.next().unwrap_or_default(), Arc::clone(&kept));
                std::thread::spawn(move || serve(stream, &step, &kept));
            }
        });
        Self { port, seen }
    }

    /// All that was sent so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

fn serve(mut stream: TcpStream, step: &Step, kept: &Mutex<Vec<Seen>>) {
    let resets = matches!(step.first(), Some(Act::Reset));
    let Some(seen) = request(&mut stream, resets) else { return };
    kept.lock().expect("no panic").push(seen);
    for act in step {
        let written = match act {
            Act::Send(bytes) => stream.write_all(bytes),
            Act::Pause(ms) => {
                sleep(Duration::from_millis(*ms));
                Ok(())
            }
            Act::Repeat(bytes, times, ms) => (0..*times).try_for_each(|_| {
                sleep(Duration::from_millis(*ms));
                stream.write_all(bytes)
            }),
            Act::Reset => return,
        };
        if written.and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
    // what the client has not read yet still reaches it
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let _ = stream.read(&mut [0; 64]);
}

/// Reads a request; of one that is reset its head alone.
fn request(stream: &mut TcpStream, head_only: bool) -> Option<Seen> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 1]);
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut piece).ok()? == 0 {
            return None;
        }
        bytes.push(piece[0]);
    }
    let head = String::from_utf8_lossy(&bytes).to_lowercase();
    let length = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
    let mut body = vec![0; if head_only { 0 } else { length }];
    stream.read_exact(&mut body).ok()?;
    Some(Seen { head, body: String::from_utf8_lossy(&body).into_owned() })
}

/// A whole response.
pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Step {
    let length = body.len().to_string();
    let all = [headers, &[("content-length", length.as_str())]].concat();
    vec![Act::Send([head(status, &all), body.as_bytes().to_vec()].concat())]
}

/// A refusal in JSON.
pub(crate) fn refusal(status: u16, headers: &[(&str, &str)], kind: &str, message: &str) -> Step {
    let error = serde_json::json!({ "type": "error", "error": { "type": kind, "message": message } });
    response(status, headers, &error.to_string())
}

/// The head of a response.
pub(crate) fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} word\r\nconnection: close\r\n{lines}\r\n").into_bytes()
}

/// The head of a stream of events.
pub(crate) fn stream_head() -> Vec<u8> {
    head(200, &[("content-type", "text/event-stream; charset=utf-8")])
}

/// A stream of events.
pub(crate) fn stream(events: &str) -> Step {
    vec![Act::Send([stream_head(), events.as_bytes().to_vec()].concat())]
}

/// Tokens that the replies of this file report: 11 read and 7 written.
pub(crate) const REPORTED: u64 = 18;

/// The events of a reply before its text.
pub(crate) fn opening(wire: Wire) -> String {
    match wire {
        Wire::Openai => event("", r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#),
        Wire::Anthropic => event(
            "message_start",
            r#"{"type":"message_start","message":{"usage":{"input_tokens":11,"output_tokens":1}}}"#,
        ),
    }
}

/// A piece of text as an event.
pub(crate) fn delta(wire: Wire, text: &str) -> String {
    let text = serde_json::to_string(text).expect("a text");
    match wire {
        Wire::Openai => event("", &format!(r#"{{"choices":[{{"delta":{{"content":{text}}}}}]}}"#)),
        Wire::Anthropic => event(
            "content_block_delta",
            &format!(r#"{{"type":"content_block_delta","delta":{{"type":"text_delta","text":{text}}}}}"#),
        ),
    }
}

/// Why the model stopped, by a word of its wire.
pub(crate) fn finish(wire: Wire, word: &str) -> String {
    match wire {
        Wire::Openai => event("", &format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}"#)),
        Wire::Anthropic => event(
            "message_delta",
            &format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{word}"}}}}"#),
        ),
    }
}

/// What the reply took.
pub(crate) fn usage(wire: Wire, input: u64, output: u64) -> String {
    match wire {
        Wire::Openai => event(
            "",
            &format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{input},"completion_tokens":{output}}}}}"#),
        ),
        Wire::Anthropic => event(
            "message_delta",
            &format!(
                r#"{{"type":"message_delta","usage":{{"input_tokens":{input},"output_tokens":{output}}}}}"#
            ),
        ),
    }
}

/// The end of a stream.
pub(crate) fn end(wire: Wire) -> String {
    match wire {
        Wire::Openai => event("", "[DONE]"),
        Wire::Anthropic => event("message_stop", r#"{"type":"message_stop"}"#),
    }
}

/// A sign of life.
pub(crate) fn ping(wire: Wire) -> String {
    match wire {
        Wire::Openai => ": ping\n\n".to_owned(),
        Wire::Anthropic => event("ping", r#"{"type":"ping"}"#),
    }
}

/// All events of a good reply.
pub(crate) fn events(wire: Wire, text: &str) -> String {
    let stop = if wire == Wire::Openai { "stop" } else { "end_turn" };
    [opening(wire), delta(wire, text), finish(wire, stop), usage(wire, 11, 7), end(wire)].concat()
}

/// A good reply.
pub(crate) fn good(wire: Wire) -> Step {
    stream(&events(wire, "an answer"))
}

/// A good reply in one piece.
pub(crate) fn whole(wire: Wire, text: &str) -> String {
    let value = match wire {
        Wire::Openai => serde_json::json!({
            "choices": [{ "message": { "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 },
        }),
        Wire::Anthropic => serde_json::json!({
            "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn",
            "usage": { "input_tokens": 11, "output_tokens": 7 },
        }),
    };
    value.to_string()
}

pub(crate) fn event(name: &str, data: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
    format!("{name}data: {data}\n\n")
}
