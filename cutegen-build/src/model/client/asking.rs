//! [`Asking`]: one question until it is answered. Each turn reserves, sends, books, and says what the next turn changes.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cutegen_spec::printable::printable;
use reqwest::header::HeaderMap;

use super::exchange::{Came, Loss, Sending, header};
use super::runtime::Runtime;
use super::{Answer, Failed, Pace};
use crate::env;
use crate::model::config::Endpoint;
use crate::model::ledger::{Account, Cost, End, LedgerError};
use crate::model::wire::prompt::Prompt;
use crate::model::wire::refusal::{self, Kind, Refusal, Remedy};
use crate::model::wire::reply::{Finish, Reply};
use crate::model::wire::secret::Key;
use crate::model::wire::{Asked, Wire, wait};

/// How often a request of unknown fate is sent.
const LOST_MAX: u32 = 2;

/// A parameter that stands within a message.
const CACHE: &str = "cache_control";

/// What a request with this prompt costs at most.
#[must_use]
pub fn cost(endpoint: &Endpoint, prompt: &Prompt) -> Cost {
    let body = body(endpoint, prompt, &BTreeSet::new());
    Cost { bytes: body.len() as u64, max_tokens: endpoint.max_tokens, prices: endpoint.prices }
}

/// A question on its way.
pub(super) struct Asking<'a> {
    endpoint: &'a Endpoint,
    account: &'a Account,
    request: &'a str,
    pace: Pace,
    /// The key and the values of the user's headers: texts of the endpoint lose them.
    secrets: Vec<Key>,
    headers: HeaderMap,
    prompt: Prompt,
    dropped: BTreeSet<String>,
    /// Bytes of the prompt, where blocks of it were left out.
    shortened: Option<u64>,
    attempts: u32,
    lost: u32,
    /// Why the last attempt brought nothing.
    last: Option<Failed>,
    waited: Duration,
    began: Instant,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        endpoint: &'a Endpoint,
        prompt: &Prompt,
        (account, request): (&'a Account, &'a str),
        pace: Pace,
    ) -> Result<Self, Failed> {
        let key = key(endpoint)?;
        let headers = headers(endpoint, key.as_ref())?;
        let secrets = endpoint.headers.values().flat_map(|value| Key::all_of(value)).chain(key).collect();
        Ok(Self {
            endpoint,
            account,
            request,
            pace,
            secrets,
            headers,
            prompt: prompt.clone(),
            dropped: BTreeSet::new(),
            shortened: None,
            attempts: 0,
            lost: 0,
            last: None,
            waited: Duration::ZERO,
            began: Instant::now(),
        })
    }

    /// Sends once; the answer, or none where the next turn may have one.
    pub(super) fn once(&mut self, runtime: &Runtime) -> Result<Option<Answer>, Failed> {
        let body = body(self.endpoint, &self.prompt, &self.dropped);
        let (max_tokens, prices) = (self.endpoint.max_tokens, self.endpoint.prices);
        let cost = Cost { bytes: body.len() as u64, max_tokens, prices };
        let reservation =
            self.account.reserve(self.request, &cost).map_err(|error| self.not_reserved(error))?;
        let came = runtime.exchange(self.sending(body));
        self.account.settle(reservation, end(&came)).map_err(Failed::Ledger)?;
        match came {
            Came::Reply(reply) => self.read(reply).map(Some),
            Came::NotSent(why) => {
                self.again(Failed::Unreachable { host: self.host(), why: self.clean(&why) }, None)
            }
            Came::Lost(loss) => self.lost(loss),
            Came::Refused(refusal, asked) => self.refused(&refusal, asked),
        }
    }

    /// Where the ledger knows of a loss before this command's, what failed now says more than the ledger does.
    fn not_reserved(&mut self, error: LedgerError) -> Failed {
        let last = self.last.take().filter(|_| matches!(error, LedgerError::LostTwice(..)));
        last.unwrap_or(Failed::Ledger(error))
    }

    fn sending(&self, body: Vec<u8>) -> Sending {
        let Endpoint { wire, address, deadlines, .. } = self.endpoint;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Sending {
            wire: *wire,
            url: address.of(wire.path()),
            is_local: address.is_local(),
            headers: self.headers.clone(),
            body,
            deadlines: *deadlines,
            now_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn read(&self, reply: Reply) -> Result<Answer, Failed> {
        let host = self.host();
        let text = self.secrets.iter().fold(reply.text, |text, secret| secret.out_of_answer(&text));
        match reply.finish {
            Finish::Refused => Err(Failed::Declined { host }),
            Finish::Whole | Finish::Length if text.trim().is_empty() => Err(Failed::Empty { host }),
            Finish::Whole | Finish::Length => Ok(Answer {
                text,
                finish: reply.finish,
                usage: reply.usage,
                took: self.began.elapsed(),
                dropped: self.dropped.iter().cloned().collect(),
                shortened: self.shortened,
            }),
        }
    }

    /// What was lost is booked whole, and asked again once.
    fn lost<T>(&mut self, loss: Loss) -> Result<Option<T>, Failed> {
        let host = self.host();
        let why = match loss {
            Loss::TooLong => return Err(Failed::TooLong { host }),
            Loss::Failed(refusal) if refusal.kind.remedy() != Remedy::Wait => return Err(self.told(&refusal)),
            Loss::Failed(refusal) => return self.lost_for(self.told(&refusal), None),
            Loss::Passed(passed) => passed.to_string(),
            Loss::CutOff(why) => format!("it was cut off: {}", self.clean(&why)),
            Loss::Malformed => "it is no message of the wire (`wire`)".to_owned(),
        };
        self.lost_for(Failed::Lost { host, why }, None)
    }

    fn lost_for<T>(&mut self, failed: Failed, asked: Option<u64>) -> Result<Option<T>, Failed> {
        self.lost += 1;
        if self.lost >= LOST_MAX { Err(failed) } else { self.again(failed, asked) }
    }

    fn refused<T>(&mut self, refusal: &Refusal, asked: Option<u64>) -> Result<Option<T>, Failed> {
        let failed = self.told(refusal);
        match refusal.kind.remedy() {
            Remedy::Stop => Err(failed),
            Remedy::Wait if refusal.kind.may_have_begun() => self.lost_for(failed, asked),
            Remedy::Wait => self.again(failed, asked),
            Remedy::Change if self.change(refusal) => Ok(None),
            Remedy::Change => Err(failed),
        }
    }

    /// Leaves something out, if there is something left; of a prompt once.
    fn change(&mut self, refusal: &Refusal) -> bool {
        if refusal.kind == Kind::Context {
            let once = self.shortened.is_none().then(|| self.prompt.shorter()).flatten();
            let Some(shorter) = once else { return false };
            self.shortened = Some(shorter.bytes() as u64);
            self.prompt = shorter;
            return true;
        }
        let sent = self.optional();
        let names: Vec<&str> = sent.iter().map(String::as_str).collect();
        let unknown = refusal::parameter(&refusal.said, &names).map(str::to_owned);
        unknown.is_some_and(|name| self.dropped.insert(name))
    }

    /// Parameters that were sent, and need not be.
    fn optional(&self) -> Vec<String> {
        let (wire, asked) = (self.endpoint.wire, asked(self.endpoint, &self.prompt, &self.dropped));
        let body = wire.body(&asked);
        let names = body.as_object().into_iter().flat_map(|body| body.keys().cloned());
        let mut names: Vec<String> = names.filter(|name| !wire.needed().contains(&name.as_str())).collect();
        let has_cache = wire == Wire::Anthropic && !self.dropped.contains(CACHE);
        names.extend(has_cache.then(|| CACHE.to_owned()));
        names
    }

    /// Waits for another attempt, if there is one.
    fn again<T>(&mut self, failed: Failed, asked: Option<u64>) -> Result<Option<T>, Failed> {
        self.attempts += 1;
        if self.attempts >= self.pace.attempts {
            return Err(failed);
        }
        let first = u64::try_from(self.pace.first.as_millis()).unwrap_or(u64::MAX);
        let random = RandomState::new().build_hasher().finish();
        let wait = Duration::from_millis(wait::after_ms(first, self.attempts, asked, random));
        if self.waited.saturating_add(wait) > self.pace.patience {
            let patience = |ms: u64| Failed::Patience { host: self.host(), seconds: ms.div_ceil(1000) };
            return Err(asked.map_or(failed, patience));
        }
        std::thread::sleep(wait);
        self.waited += wait;
        self.last = Some(failed);
        Ok(None)
    }

    fn told(&self, refusal: &Refusal) -> Failed {
        Failed::Refused { host: self.host(), kind: refusal.kind, said: self.clean(&refusal.said) }
    }

    /// Foreign text without what is secret, and without what a terminal acts on.
    fn clean(&self, text: &str) -> String {
        let clean = self.secrets.iter().fold(text.to_owned(), |text, secret| secret.out_of_message(&text));
        printable(&clean).into_owned()
    }

    fn host(&self) -> String {
        self.endpoint.address.host()
    }
}

/// How a request ended, for the ledger.
fn end(came: &Came) -> End {
    match came {
        Came::Reply(reply) => End::Replied(reply.usage),
        Came::Refused(refusal, _) if refusal.kind.may_have_begun() => End::Lost,
        Came::Refused(..) | Came::NotSent(_) => End::NotBegun,
        Came::Lost(_) => End::Lost,
    }
}

fn asked<'a>(endpoint: &'a Endpoint, prompt: &'a Prompt, dropped: &'a BTreeSet<String>) -> Asked<'a> {
    let Endpoint { model, max_tokens, parameters, .. } = endpoint;
    Asked { model, prompt, max_tokens: *max_tokens, parameters, dropped }
}

fn body(endpoint: &Endpoint, prompt: &Prompt, dropped: &BTreeSet<String>) -> Vec<u8> {
    endpoint.wire.body(&asked(endpoint, prompt, dropped)).to_string().into_bytes()
}

fn key(endpoint: &Endpoint) -> Result<Option<Key>, Failed> {
    let Some(variable) = &endpoint.key_variable else { return Ok(None) };
    let key = env::variable(variable).and_then(|secret| Key::new(&secret));
    key.map(Some).ok_or_else(|| Failed::NoKey { variable: variable.clone() })
}

fn headers(endpoint: &Endpoint, key: Option<&Key>) -> Result<HeaderMap, Failed> {
    let Endpoint { wire, headers, .. } = endpoint;
    let plain = [("content-type", "application/json"), ("accept", "text/event-stream, application/json")];
    let plain = plain.iter().chain(wire.headers()).map(|(name, value)| (*name, (*value).to_owned()));
    let users = headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let mut all = HeaderMap::new();
    for (name, value) in plain.chain(key.map(|key| wire.credential(key))).chain(users) {
        let (name, value) = header(name, &value).ok_or_else(|| Failed::Header { name: name.to_owned() })?;
        all.insert(name, value);
    }
    Ok(all)
}
