//! Everything that an endpoint can do wrong, on both wires: what comes of it, how often it is asked, and what is booked.

mod changes;
mod refusals;
mod replies;
mod streams;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use cutegen_build::model::client::{Answer, Client, Failed, Pace};
use cutegen_build::model::config::{Config, Endpoint};
use cutegen_build::model::ledger::{Account, Limit};
use cutegen_build::model::wire::Wire;
use cutegen_build::model::wire::prompt::{Block, Prompt};
use serde_json::Value;

use crate::canary;
use crate::server::{Seen, Server, Step};

pub(crate) const BOTH: &[Wire] = &[Wire::Openai, Wire::Anthropic];
pub(crate) const OPENAI: &[Wire] = &[Wire::Openai];
pub(crate) const ANTHROPIC: &[Wire] = &[Wire::Anthropic];

/// Requests that an endpoint may get at most for one question.
pub(crate) const ATTEMPTS: u32 = 3;
/// Kinds of faults that there must be.
const FAULTS_MIN: usize = 50;
/// Threads that try them.
const THREADS: usize = 12;
/// Seconds after which a question hangs.
const HANGS: u64 = 12;
/// Deadlines in seconds: a retried one passes twice.
const DEADLINES: &str = "{ connect = 0.8, first = 1.2, idle = 0.7, total = 2.5 }";

/// A fault: its name, its wires, what the endpoint does, what comes of it and what is booked for each request.
pub(crate) type Fault =
    (&'static str, &'static [Wire], fn(Wire) -> Vec<Step>, &'static str, &'static [Booked]);

/// What is booked for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Booked {
    Nothing,
    Whole,
    Tokens(u64),
}

/// What is wrong with all of them.
pub(crate) fn all() -> Vec<String> {
    let tables = [refusals::FAULTS, changes::FAULTS, streams::FAULTS, replies::FAULTS];
    let faults: Vec<&Fault> = tables.into_iter().flatten().collect();
    let runs: Vec<(&Fault, Wire)> =
        faults.iter().flat_map(|fault| fault.1.iter().map(move |wire| (*fault, *wire))).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((fault, wire)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = within_limit(fault, *wire) {
                        wrong.lock().expect("no panic").push(format!("{} on {wire:?}: {why}", fault.0));
                    }
                }
            });
        }
    });
    println!("  {} faults, {} runs", faults.len(), runs.len());
    let mut wrong = wrong.into_inner().expect("no panic");
    wrong.extend(
        (faults.len() < FAULTS_MIN).then(|| format!("{} faults, {FAULTS_MIN} are asked for", faults.len())),
    );
    wrong
}

/// A fault in a thread of its own, which may hang or panic.
fn within_limit(fault: &Fault, wire: Wire) -> Result<(), String> {
    let (sender, receiver) = mpsc::channel();
    let fault = *fault;
    std::thread::spawn(move || sender.send(one(&fault, wire)));
    match receiver.recv_timeout(Duration::from_secs(HANGS)) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(format!("no end after {HANGS} s")),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("it panicked".to_owned()),
    }
}

fn one((name, _, steps, expected, booked): &Fault, wire: Wire) -> Result<(), String> {
    let server = Server::start(steps(wire));
    let folder = canary::folder().join(format!("{name}-{wire:?}"));
    let headers = format!("headers = {{ x-gateway = 'Bearer {}' }}", canary::TOKEN);
    let endpoint = endpoint(wire, &server.url(), &headers);
    let began = Instant::now();
    let answer = asked(&endpoint, &folder.join("ledger"));
    let came = label(&answer);
    // what a command would print and log
    fs::write(folder.join("said"), format!("{came}\n{answer:?}")).expect("written");
    let seen = server.seen();
    let facts = format!("{came:?} after {} requests and {:?}", seen.len(), began.elapsed());
    if !came.starts_with(expected) {
        return Err(format!("{expected:?} is expected; {facts}"));
    }
    if seen.len() != booked.len() {
        return Err(format!("{} requests are expected; {facts}", booked.len()));
    }
    seen.iter().try_for_each(|seen| well_formed(seen, wire))?;
    let token = format!("x-gateway: bearer {}\r\n", canary::TOKEN.to_lowercase());
    if let Some(lacks) = seen.iter().find(|seen| !seen.head.contains(&token)) {
        return Err(format!("a request lacks the header of the config: {}", lacks.head));
    }
    let found = ledger(&folder.join("ledger"), &seen)?;
    if found != *booked { Err(format!("{booked:?} is to be booked, not {found:?}")) } else { Ok(()) }
}

pub(crate) fn endpoint(wire: Wire, url: &str, more: &str) -> Endpoint {
    let word = if wire == Wire::Openai { "openai" } else { "anthropic" };
    let text = format!(
        "[models.m]\nwire = '{word}'\nurl = '{url}'\nmodel = 'm'\nkey-variable = '{}'\nmax-tokens = 4000\n\
         parameters = {{ temperature = 0.5, top_k = 3 }}\ndeadlines = {DEADLINES}\n{more}",
        canary::VARIABLE
    );
    Config::read(&text).expect("a config").models.remove("m").expect("an endpoint")
}

pub(crate) fn prompt() -> Prompt {
    Prompt {
        stable: vec![Block::needed("the rules\n".repeat(20)), Block::ranked("an example\n".repeat(40), 0)],
        rest: vec![Block::ranked("advice\n".repeat(40), 1), Block::needed("the question")],
    }
}

pub(crate) fn asked(endpoint: &Endpoint, ledger: &Path) -> Result<Answer, Failed> {
    let pace =
        Pace { attempts: ATTEMPTS, first: Duration::from_millis(20), patience: Duration::from_secs(5) };
    let client = Client::start(pace).expect("a thread");
    client.answer(endpoint, &prompt(), &Account::new(ledger, "run", Limit::default()), "1")
}

/// What came, in words.
pub(crate) fn label(answer: &Result<Answer, Failed>) -> String {
    match answer {
        Ok(answer) => {
            let short = answer.shortened.map_or_else(String::new, |bytes| format!(" (shortened to {bytes})"));
            let dropped: String = answer.dropped.iter().map(|name| format!(" -{name}")).collect();
            format!("{:?}, {}{dropped}{short}: {}", answer.finish, answer.usage.word(), answer.text)
        }
        Err(failed) => {
            let kind = match failed {
                Failed::Refused { kind, .. } => format!("refused, {kind:?}"),
                Failed::Patience { .. } => "patience".to_owned(),
                Failed::Unreachable { .. } => "unreachable".to_owned(),
                Failed::Lost { why, .. } => format!("lost, {why}"),
                Failed::TooLong { .. } => "too long".to_owned(),
                Failed::Empty { .. } => "empty".to_owned(),
                Failed::Declined { .. } => "declined".to_owned(),
                Failed::NoKey { .. } => "no key".to_owned(),
                Failed::Header { .. } => "header".to_owned(),
                Failed::Ledger(_) => "ledger".to_owned(),
            };
            format!("{kind}: {failed}")
        }
    }
}

/// Whatever was changed, a request has its key, its model and its limit.
fn well_formed(seen: &Seen, wire: Wire) -> Result<(), String> {
    if seen.body.is_empty() {
        return Ok(());
    }
    let value: Value = serde_json::from_str(&seen.body).map_err(|error| error.to_string())?;
    let limits = ["max_tokens", "max_completion_tokens"].map(|name| value.get(name).and_then(Value::as_u64));
    let path = if wire == Wire::Openai { "post /v1/chat/completions " } else { "post /v1/messages " };
    let header = if wire == Wire::Openai { "authorization: bearer " } else { "x-api-key: " };
    let has_key = seen.head.contains(&format!("{header}{}", canary::KEY.to_lowercase()));
    let rules = [
        (limits.iter().flatten().collect::<Vec<_>>() == [&4000], "its limit of tokens"),
        (value["model"] == "m" && value["messages"].is_array(), "model and messages"),
        (seen.head.starts_with(path), "its path"),
        (has_key, "its key"),
    ];
    let lacks = rules.iter().find(|(holds, _)| !holds);
    lacks.map_or(Ok(()), |(_, what)| Err(format!("a request lacks {what}: {} {}", seen.head, seen.body)))
}

/// What a ledger books for each request, and whether each was reserved by its bytes.
pub(crate) fn ledger(path: &Path, seen: &[Seen]) -> Result<Vec<Booked>, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    let of = |name: &str, field: &str| -> Vec<(u64, u64)> {
        let named = lines.iter().filter_map(|line| line.get(name));
        let pairs = named.map(|line| (line["id"].as_u64(), line["amount"][field].as_u64()));
        pairs.map(|(id, tokens)| (id.expect("an id"), tokens.expect("a number"))).collect()
    };
    let (reserved, booked) = (of("reserved", "tokens"), of("booked", "tokens"));
    for ((_, most), seen) in reserved.iter().zip(seen) {
        if !seen.body.is_empty() && *most != seen.body.len() as u64 + 4000 {
            return Err(format!("{most} tokens are reserved for {} bytes", seen.body.len()));
        }
    }
    let one = |(id, most): &(u64, u64)| match booked.iter().find(|(known, _)| known == id) {
        Some((_, 0)) => Booked::Nothing,
        Some((_, tokens)) if tokens == most => Booked::Whole,
        None => Booked::Whole,
        Some((_, tokens)) => Booked::Tokens(*tokens),
    };
    Ok(reserved.iter().map(one).collect())
}
