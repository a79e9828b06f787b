//! What no script of an endpoint shows: limits before anything is sent, addresses where nothing listens, jobs in parallel.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use cutegen_build::model::client::{Client, Failed, Pace, cost};
use cutegen_build::model::ledger::{Account, Limit};
use cutegen_build::model::wire::Wire;

use crate::canary;
use crate::faults::{ATTEMPTS, Booked, asked, endpoint, label, ledger, prompt};
use crate::server::{Act, REPORTED, Server, good};

type Test = fn() -> Result<(), String>;

pub(crate) fn all() -> Vec<String> {
    let tests: [(&str, Test); 8] = [
        ("nothing is sent beyond a limit", limits),
        ("dollars without prices", dollars),
        ("no key, no request", keys),
        ("a header that is none", headers),
        ("nothing listens", unreachable),
        ("tls to a plain server", tls),
        ("parallel questions share one ledger", parallel),
        ("a request that a kill left open is asked again once", killed),
    ];
    let wrong = tests.iter().filter_map(|(name, test)| test().err().map(|why| format!("{name}: {why}")));
    wrong.collect()
}

fn holds(holds: bool, why: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.into()) }
}

fn client() -> Client {
    Client::start(Pace {
        attempts: ATTEMPTS,
        first: Duration::from_millis(20),
        patience: Duration::from_secs(5),
    })
    .expect("a thread")
}

fn limits() -> Result<(), String> {
    let server = Server::start(vec![good(Wire::Openai); 9]);
    let endpoint = endpoint(Wire::Openai, &server.url(), "");
    let most = cost(&endpoint, &prompt()).most().tokens;
    let path = canary::folder().join("limits/ledger");
    let ask = |tokens| {
        let account = Account::new(&path, "run", Limit { tokens, dollars: None });
        client().answer(&endpoint, &prompt(), &account, "1")
    };
    let said = label(&ask(most - 1));
    holds(said.starts_with("ledger: ") && server.seen().is_empty(), format!("one token too few: {said}"))?;
    holds(ask(most).is_ok() && server.seen().len() == 1, "as many as it takes")?;
    holds(ask(most).is_err() && server.seen().len() == 1, "18 fewer are left then")
}

fn dollars() -> Result<(), String> {
    let server = Server::start(vec![good(Wire::Anthropic); 9]);
    let ask = |more: &str, dollars: f64| {
        let endpoint = endpoint(Wire::Anthropic, &server.url(), more);
        let limit = Limit { dollars: Some(dollars), ..Limit::default() };
        let account = Account::new(&canary::folder().join("dollars/ledger"), "run", limit);
        label(&client().answer(&endpoint, &prompt(), &account, "1"))
    };
    let said = ask("", 1.0);
    holds(said.contains("add `prices") && server.seen().is_empty(), said)?;
    let prices = "prices = { input = 3, output = 15 }";
    // 4000 tokens at 15 dollars a million
    let said = ask(prices, 0.06);
    holds(said.contains("of $0.0600") && server.seen().is_empty(), said)?;
    holds(ask(prices, 0.07).starts_with("Whole"), "enough")
}

fn keys() -> Result<(), String> {
    let server = Server::start(vec![good(Wire::Openai); 9]);
    let mut endpoint = endpoint(Wire::Openai, &server.url(), "");
    endpoint.key_variable = Some("CUTEGEN_TEST_NO_SUCH_KEY".to_owned());
    let said = label(&asked(&endpoint, &canary::folder().join("keys/ledger")));
    holds(said.starts_with("no key") && said.contains("run: export CUTEGEN_TEST_NO_SUCH_KEY"), said)?;
    endpoint.key_variable = None;
    let said = label(&asked(&endpoint, &canary::folder().join("keys/ledger")));
    let head = server.seen().first().map(|seen| seen.head.clone()).unwrap_or_default();
    holds(said.starts_with("Whole") && !head.contains("authorization"), format!("{said} {head}"))
}

fn headers() -> Result<(), String> {
    let server = Server::start(vec![good(Wire::Openai); 9]);
    let with = |headers: &str| endpoint(Wire::Openai, &server.url(), headers);
    let path = canary::folder().join("headers/ledger");
    let said = label(&asked(&with("headers = { 'a b' = 'c' }"), &path));
    holds(said.starts_with("header: the header `a b`") && server.seen().is_empty(), said)?;
    let said = label(&asked(&with("headers = { x-title = 'c' }"), &path));
    let head = server.seen().first().map(|seen| seen.head.clone()).unwrap_or_default();
    holds(said.starts_with("Whole") && head.contains("x-title: c\r\n"), format!("{said} {head}"))
}

fn unreachable() -> Result<(), String> {
    // a port that was free a moment ago
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    for host in ["127.0.0.1", "localhost"] {
        let path = canary::folder().join(format!("unreachable-{host}/ledger"));
        let said = label(&asked(&endpoint(Wire::Openai, &format!("http://{host}:{port}/v1"), ""), &path));
        holds(said.starts_with("unreachable: "), said)?;
        let booked = ledger(&path, &[])?;
        holds(booked == [Booked::Nothing; ATTEMPTS as usize], format!("{booked:?}"))?;
    }
    Ok(())
}

fn tls() -> Result<(), String> {
    let server = Server::start(vec![vec![Act::Send(b"no tls\n".to_vec())]; 9]);
    let path = canary::folder().join("tls/ledger");
    let url = format!("https://127.0.0.1:{}/v1", server.port);
    let began = Instant::now();
    let said = label(&asked(&endpoint(Wire::Openai, &url, ""), &path));
    holds(said.starts_with("unreachable: ") && server.seen().is_empty(), &*said)?;
    holds(began.elapsed() < Duration::from_secs(8), "the deadline of a connection")
}

fn parallel() -> Result<(), String> {
    const JOBS: usize = 8;
    let server = Server::start(vec![good(Wire::Anthropic); JOBS]);
    let endpoint = endpoint(Wire::Anthropic, &server.url(), "");
    let (path, client) = (canary::folder().join("parallel/ledger"), client());
    // three at once, whatever those that ended left
    let most = cost(&endpoint, &prompt()).most().tokens;
    let limit = Limit { tokens: 3 * most + JOBS as u64 * REPORTED, dollars: None };
    let answers: Vec<Result<_, Failed>> = std::thread::scope(|scope| {
        let ask = |job: usize| {
            let account = Account::new(&path, &format!("run-{job}"), limit);
            client.answer(&endpoint, &prompt(), &account, "1")
        };
        let jobs: Vec<_> = (0..JOBS).map(|job| scope.spawn(move || ask(job))).collect();
        jobs.into_iter().map(|job| job.join().expect("ends")).collect()
    });
    let good = answers.iter().filter(|answer| answer.is_ok()).count();
    let refused = answers.iter().filter(|answer| matches!(answer, Err(Failed::Ledger(_)))).count();
    let spent = Account::new(&path, "reader", limit).spent().map_err(|error| error.to_string())?.tokens;
    let told = format!("{good} answers, {refused} refused, {} requests, {spent} tokens", server.seen().len());
    holds(good >= 3 && good + refused == JOBS && server.seen().len() == good, &*told)?;
    holds(spent == good as u64 * REPORTED, told)
}

fn killed() -> Result<(), String> {
    let server = Server::start(vec![vec![Act::Reset]; 9]);
    let endpoint = endpoint(Wire::Openai, &server.url(), "");
    let path = canary::folder().join("killed/ledger");
    let account = Account::new(&path, "run", Limit::default());
    // what a killed process leaves
    drop(account.reserve("1", &cost(&endpoint, &prompt())));
    let said = label(&asked(&endpoint, &path));
    holds(said.starts_with("lost, it was cut off") && server.seen().len() == 1, &*said)?;
    let said = label(&asked(&endpoint, &path));
    holds(said.contains("request 1 was sent twice") && server.seen().len() == 1, &*said)?;
    let booked = ledger(&path, &[])?;
    holds(booked == [Booked::Whole; 2], format!("{booked:?}"))
}
