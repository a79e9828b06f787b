//! One exchange over HTTP: a request is sent once, and its reply read until it ends, fails or passes a deadline.
//!
//! Invariant: no redirect is followed, and what is kept of a reply is bounded.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url, redirect};
use tokio::time::{Instant, timeout_at};

use super::deadlines::{Deadlines, Passed};
use crate::model::wire::events::Events;
use crate::model::wire::refusal::{self, Refusal};
use crate::model::wire::reply::{Gathered, Part, Reply};
use crate::model::wire::{Wire, wait};

/// Bytes of a reply's text.
const TEXT_MAX: u64 = 1 << 20;
/// Bytes of a reply with all that is around its text.
const RAW_MAX: usize = 32 << 20;
/// Bytes of a refusal.
const REFUSAL_MAX: usize = 64 << 10;

/// What is sent.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub(super) wire: Wire,
    pub(super) url: Url,
    pub(super) is_local: bool,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) deadlines: Deadlines,
    /// Milliseconds since 1970, for headers that name a moment.
    pub(super) now_ms: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Came {
    /// A whole reply.
    Reply(Reply),
    /// A status of refusal, with the milliseconds that it asks to wait.
    Refused(Refusal, Option<u64>),
    /// Nothing was sent.
    NotSent(String),
    /// The endpoint may have worked on it, and there is no reply.
    Lost(Loss),
}

/// Why a reply is lost.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Loss {
    Passed(Passed),
    /// It ended before its end.
    CutOff(String),
    /// It is no message of the wire.
    Malformed,
    TooLong,
    /// It says that the endpoint failed.
    Failed(Refusal),
}

/// A header, if it can be one.
pub(super) fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
}

/// Sends, and reads.
pub(super) async fn exchange(sending: Sending) -> Came {
    let began = Instant::now();
    let clock = Clock { began, deadlines: sending.deadlines, first: true, last: began };
    let client = match client(&sending) {
        Ok(client) => client,
        Err(error) => return Came::NotSent(told(error)),
    };
    let request = client.post(sending.url).headers(sending.headers).body(sending.body.clone());
    match timeout_at(clock.deadline().0, request.send()).await {
        Err(_) => Came::Lost(Loss::Passed(clock.deadline().1)),
        Ok(Err(error)) if error.is_connect() || error.is_builder() => Came::NotSent(told(error)),
        Ok(Err(error)) => Came::Lost(Loss::CutOff(told(error))),
        Ok(Ok(response)) if response.status().is_success() => {
            let sent = sending.body.len() as u64;
            let reading = Reading { wire: sending.wire, clock, response, raw: 0 };
            reading.all(sent).await.map_or_else(Came::Lost, Came::Reply)
        }
        Ok(Ok(response)) => refused(response, clock, sending.now_ms).await,
    }
}

fn client(sending: &Sending) -> reqwest::Result<Client> {
    let client =
        Client::builder().redirect(redirect::Policy::none()).connect_timeout(sending.deadlines.connect);
    let client = if sending.is_local {
        // whatever a resolver says, `localhost` is this machine
        let local = [([127, 0, 0, 1], 0).into(), (std::net::Ipv6Addr::LOCALHOST, 0).into()];
        client.no_proxy().resolve_to_addrs("localhost", &local)
    } else {
        client.https_only(true)
    };
    client.build()
}

/// When to stop waiting.
#[derive(Clone, Copy)]
struct Clock {
    began: Instant,
    deadlines: Deadlines,
    /// Whether no event came yet.
    first: bool,
    /// When the last byte came.
    last: Instant,
}

impl Clock {
    /// The next deadline, and which it is.
    fn deadline(&self) -> (Instant, Passed) {
        let total = (self.began + self.deadlines.total, Passed::Total);
        let other = if self.first {
            (self.began + self.deadlines.first, Passed::First)
        } else {
            (self.last + self.deadlines.idle, Passed::Idle)
        };
        if other.0 <= total.0 { other } else { total }
    }
}

/// A refusal's body is read as far as it comes.
async fn refused(mut response: Response, clock: Clock, now_ms: u64) -> Came {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
    let asked = wait::asked_ms(header, now_ms);
    let mut body = Vec::new();
    let until = clock.deadline().0.min(Instant::now() + clock.deadlines.idle.min(Duration::from_secs(10)));
    while body.len() < REFUSAL_MAX {
        let Ok(Ok(Some(bytes))) = timeout_at(until, response.chunk()).await else { break };
        body.extend_from_slice(&bytes);
    }
    body.truncate(REFUSAL_MAX);
    Came::Refused(refusal::of(status, &String::from_utf8_lossy(&body)), asked)
}

/// A reply on its way.
struct Reading {
    wire: Wire,
    clock: Clock,
    response: Response,
    raw: usize,
}

impl Reading {
    async fn all(self, sent: u64) -> Result<Reply, Loss> {
        let kind = self.response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let is_stream = kind.is_some_and(|kind| kind.to_lowercase().contains("event-stream"));
        if is_stream { self.stream(sent).await } else { self.whole(sent).await }
    }

    /// The next bytes; none at the end.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Loss> {
        let (until, passed) = self.clock.deadline();
        let bytes = match timeout_at(until, self.response.chunk()).await {
            Err(_) => return Err(Loss::Passed(passed)),
            Ok(Err(error)) => return Err(Loss::CutOff(told(error))),
            Ok(Ok(bytes)) => bytes,
        };
        self.clock.last = Instant::now();
        self.raw += bytes.as_ref().map_or(0, |bytes| bytes.len());
        if self.raw > RAW_MAX {
            return Err(Loss::TooLong);
        }
        Ok(bytes.map(|bytes| bytes.to_vec()))
    }

    /// Events, as they come. A reply that has said why it stops is whole, whatever comes of the connection.
    async fn stream(mut self, sent: u64) -> Result<Reply, Loss> {
        let (mut events, mut gathered) = (Events::default(), Gathered::default());
        let end = loop {
            let (found, end) = match self.next().await {
                Ok(Some(bytes)) => (events.take(&bytes).map_err(|_| Loss::TooLong)?, None),
                Ok(None) => {
                    (events.end().into_iter().collect(), Some(Loss::CutOff("the stream ended".to_owned())))
                }
                Err(loss @ Loss::TooLong) => return Err(loss),
                Err(loss) => (Vec::new(), Some(loss)),
            };
            for event in found {
                let parts = self.wire.event(&event).map_err(|_| Loss::Malformed)?;
                let is_ping = !parts.is_empty() && parts.iter().all(|part| *part == Part::Ping);
                self.clock.first &= is_ping;
                take(&mut gathered, parts)?;
            }
            match end {
                None if gathered.has_ended() => break Loss::Malformed,
                None => {}
                Some(end) => break end,
            }
        };
        gathered.reply(sent).ok_or(end)
    }

    /// A reply in one piece, or a stream that is not called one.
    async fn whole(mut self, sent: u64) -> Result<Reply, Loss> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next().await? {
            self.clock.first = false;
            body.extend(bytes);
        }
        let text = String::from_utf8_lossy(&body);
        let mut gathered = Gathered::default();
        match self.wire.whole(&text) {
            Ok(parts) => take(&mut gathered, parts)?,
            Err(_) => {
                let mut events = Events::default();
                let mut found = events.take(&body).map_err(|_| Loss::TooLong)?;
                found.extend(events.end());
                for event in found {
                    take(&mut gathered, self.wire.event(&event).map_err(|_| Loss::Malformed)?)?;
                }
            }
        }
        gathered.reply(sent).ok_or(Loss::Malformed)
    }
}

fn take(gathered: &mut Gathered, parts: Vec<Part>) -> Result<(), Loss> {
    for part in parts {
        gathered.take(part).map_err(Loss::Failed)?;
    }
    if gathered.bytes() > TEXT_MAX { Err(Loss::TooLong) } else { Ok(()) }
}

/// An error with its causes; the last of them says what happened.
fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
