//! Jobs that spend from one ledger at once, each a process that is killed and started again. What an endpoint would have taken
//! stands in a file of its own: it never passes the limit, nor what the ledger says.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use cutegen_build::model::ledger::{Account, Cost, End, LedgerError, Limit};
use cutegen_build::model::wire::reply::Usage;

/// Before a job's ledger, its file of what was taken, and its name.
pub(crate) const SPEND: &str = "--spend";

const LIMIT: Limit = Limit { tokens: 20_000, dollars: None };
const COST: Cost = Cost { bytes: 60, max_tokens: 40, prices: None };
const JOBS: usize = 4;
const KILLS: usize = 40;

/// A job: reserves, takes what an endpoint would, and books it, until nothing is left.
pub(crate) fn spend(rest: &[&str]) -> ExitCode {
    let [ledger, taken, name] = rest else { return ExitCode::from(2) };
    let account = Account::new(Path::new(ledger), name, LIMIT);
    let mut taken = OpenOptions::new().append(true).create(true).open(taken).expect("a file");
    for request in 0.. {
        let reservation = match account.reserve(&request.to_string(), &COST) {
            Ok(reservation) => reservation,
            Err(LedgerError::LostTwice(..)) => continue,
            Err(LedgerError::Tokens(..)) => return ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        };
        // one byte a token, written at once
        taken.write_all(&[b'.'; 90]).expect("written");
        let usage = Usage::Reported { input: 55, output: 35 };
        account.settle(reservation, End::Replied(usage)).expect("booked");
    }
    ExitCode::SUCCESS
}

/// What is wrong after all jobs came to their end.
pub(crate) fn killed() -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, taken) = (folder.path().join("ledger"), folder.path().join("taken"));
    let start = |name: usize| -> Child {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg(SPEND).arg(&ledger).arg(&taken).arg(format!("run-{name}"));
        command.stdout(Stdio::null()).spawn().expect("starts")
    };
    let mut jobs: Vec<Child> = (0..JOBS).map(start).collect();
    let spent_so_far = || std::fs::metadata(&taken).map_or(0, |meta| meta.len());
    let mut kills = 0;
    for turn in 0..KILLS {
        // jobs are at work until the limit; a kill is due each time that a part of the first half is spent
        while spent_so_far() < LIMIT.tokens * (turn as u64 + 1) / (2 * KILLS as u64) {
            std::thread::sleep(Duration::from_micros(200));
        }
        let job = &mut jobs[turn % JOBS];
        kills += usize::from(job.try_wait().expect("waits").is_none());
        job.kill().expect("is killed");
        job.wait().expect("ends");
        *job = start(turn % JOBS);
    }
    let ended: Vec<bool> = jobs.iter_mut().map(|job| job.wait().expect("ends").success()).collect();
    let spent = Account::new(&ledger, "reader", LIMIT).spent().expect("a whole ledger").tokens;
    let taken = std::fs::metadata(&taken).map_or(0, |meta| meta.len());
    println!("  {kills} kills; {taken} tokens taken, {spent} booked of {}", LIMIT.tokens);
    let rules = [
        (ended.iter().all(|ended| *ended), "a job failed"),
        (kills == KILLS, "a kill met no job at work"),
        (taken <= spent && spent <= LIMIT.tokens, "more was taken than booked, or booked than allowed"),
        (LIMIT.tokens - spent < 100, "money is left that no job could get"),
    ];
    rules.into_iter().filter(|(holds, _)| !holds).map(|(_, why)| why.to_owned()).collect()
}
