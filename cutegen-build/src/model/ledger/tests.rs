//! Limits, kills in the middle of a line, and what is booked.

use std::path::{Path, PathBuf};

use super::{Account, Amount, Cost, End, LedgerError, Limit, Over, Prices, TOKENS};
use crate::model::wire::reply::Usage;

const COST: Cost = Cost { bytes: 60, max_tokens: 40, prices: None };

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("new/ledger")
    }

    fn account(&self, tokens: u64) -> Account {
        Account::new(&self.path(), "run", Limit { tokens, dollars: None })
    }
}

fn reported(input: u64, output: u64) -> End {
    End::Replied(Usage::Reported { input, output })
}

fn tokens(account: &Account) -> u64 {
    account.spent().expect("reads").tokens
}

#[test]
fn a_reservation_counts_whole_until_it_is_settled() {
    let place = Place::new();
    let account = place.account(250);
    assert_eq!(tokens(&account), 0);
    let first = account.reserve("1", &COST).expect("100 of 250");
    let second = account.reserve("2", &COST).expect("200 of 250");
    let refused = account.reserve("3", &COST);
    assert!(matches!(&refused, Err(LedgerError::Tokens(_, [200, 100, 250]))), "{refused:?}");
    account.settle(first, reported(20, 10)).expect("booked");
    assert_eq!(tokens(&account), 130);
    let third = account.reserve("3", &COST).expect("230 of 250");
    account.settle(second, End::NotBegun).expect("booked");
    account.settle(third, End::Lost).expect("booked");
    assert_eq!(tokens(&account), 130);
    // a reply that says nothing of tokens may have taken all
    let fourth = account.reserve("4", &COST).expect("230 of 250");
    account.settle(fourth, End::Replied(Usage::Estimated { input: 60, output: 3 })).expect("booked");
    assert_eq!(tokens(&account), 230);
    assert_eq!(Limit::default().tokens, TOKENS);
}

#[test]
fn what_was_lost_is_asked_again_once() {
    let place = Place::new();
    let account = place.account(10_000);
    drop(account.reserve("1", &COST).expect("the first, which a kill leaves open"));
    let again = account.reserve("1", &COST).expect("once more");
    account.settle(again, End::Lost).expect("booked");
    let refused = account.reserve("1", &COST).expect_err("lost twice");
    assert!(refused.to_string().contains("request 1 was sent twice"), "{refused}");
    // others are others, and what did not begin may be asked for again and again
    for _ in 0..5 {
        let reservation = account.reserve("2", &COST).expect("not begun");
        account.settle(reservation, End::NotBegun).expect("booked");
    }
    assert_eq!(tokens(&account), 200);
}

#[test]
fn a_report_beyond_the_reservation_is_booked_and_ends_the_run() {
    let place = Place::new();
    let account = place.account(10_000);
    let reservation = account.reserve("1", &COST).expect("reserved");
    let over = account.settle(reservation, reported(60, 41)).expect_err("more than 100");
    assert!(matches!(over, LedgerError::Over { over: Over::Tokens([101, 100]), .. }), "{over:?}");
    assert_eq!(tokens(&account), 101);
    assert!(matches!(account.reserve("2", &COST), Err(LedgerError::Over { .. })));
    let other = Account::new(&place.path(), "other", Limit::default());
    other.reserve("2", &COST).map(drop).expect("another run goes on");
    let most = account.settle(other.reserve("3", &COST).expect("reserved"), reported(100, 0));
    assert!(most.is_ok(), "as much as was reserved is no more: {most:?}");
    let whole = account.settle(other.reserve("4", &COST).expect("reserved"), reported(60, 40));
    assert!(whole.is_ok(), "an answer may have all of its tokens: {whole:?}");
}

#[test]
fn an_answer_longer_than_was_asked_for_ends_the_run_although_its_prompt_was_short() {
    let asked = Cost { bytes: 60_000, max_tokens: 16_384, prices: None };
    let priced = Cost { prices: Some(Prices { input: 3.0, output: 15.0 }), ..asked };
    let dollars = Over::MicroDollars([15_000 * 3 + 40_000 * 15, 60_000 * 3 + 16_384 * 15]);
    // 55 000 tokens are fewer than the 76 384 that were reserved
    for (cost, over) in [(asked, Over::Output([40_000, 16_384])), (priced, dollars)] {
        let place = Place::new();
        let account = place.account(500_000);
        let reservation = account.reserve("1", &cost).expect("reserved");
        let said =
            account.settle(reservation, reported(15_000, 40_000)).expect_err("more than was asked for");
        assert!(matches!(said, LedgerError::Over { over: found, .. } if found == over), "{said:?}");
        assert_eq!(tokens(&account), 55_000, "what it took is booked");
        // another process reads the same from the file
        let again = place.account(500_000).reserve("2", &cost).expect_err("the run has ended");
        assert_eq!(again.to_string(), said.to_string());
    }
    // output that costs less than was reserved, and is longer than was asked for
    let place = Place::new();
    let account = place.account(500_000);
    let reservation = account.reserve("1", &priced).expect("reserved");
    let said = account.settle(reservation, reported(100, 16_385)).expect_err("one token more");
    assert!(said.to_string().contains("16385 tokens written for an answer of 16384 at most"), "{said}");
}

#[test]
fn a_ledger_of_an_older_program_is_read_as_before() {
    let place = Place::new();
    let lines = "{\"reserved\":{\"id\":1,\"run\":\"run\",\"request\":\"1\",\"amount\":{\"tokens\":100,\"micro-dollars\":780}}}\n\
                 {\"booked\":{\"id\":1,\"amount\":{\"tokens\":90,\"micro-dollars\":900},\"usage\":{\"reported\":{\"input\":40,\"output\":50}},\"is_lost\":false}}\n";
    std::fs::create_dir_all(place.path().parent().expect("a folder")).expect("made");
    std::fs::write(place.path(), lines).expect("written");
    let account = place.account(10_000);
    assert_eq!(account.spent().expect("reads"), Amount { tokens: 90, micro_dollars: 900 });
    let said = account.reserve("2", &COST).expect_err("dollars were passed");
    assert!(matches!(said, LedgerError::Over { over: Over::MicroDollars([900, 780]), .. }), "{said:?}");
}

#[test]
fn dollars_are_limited_by_the_users_prices() {
    let place = Place::new();
    let limit = Limit { tokens: 10_000, dollars: Some(0.001) };
    let account = Account::new(&place.path(), "run", limit);
    assert!(matches!(account.reserve("1", &COST), Err(LedgerError::NoPrices)));
    let priced = Cost { prices: Some(Prices { input: 3.0, output: 15.0 }), ..COST };
    assert_eq!(priced.most(), Amount { tokens: 100, micro_dollars: 780 });
    let first = account.reserve("1", &priced).expect("780 of 1000");
    let refused = account.reserve("2", &priced).expect_err("1560 of 1000");
    assert!(matches!(refused, LedgerError::Dollars(_, [780, 780, 1000])), "{refused:?}");
    account.settle(first, reported(20, 10)).expect("booked");
    assert_eq!(account.spent().expect("reads").micro_dollars, 210);
    account.reserve("2", &priced).map(drop).expect("990 of 1000");
}

#[test]
fn a_kill_at_any_byte_loses_no_money_and_no_ledger() {
    let place = Place::new();
    let account = place.account(10_000);
    let first = account.reserve("é", &COST).expect("reserved");
    account.settle(first, reported(20, 10)).expect("booked");
    let text = std::fs::read(place.path()).expect("a ledger");
    let reserved = text.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    for end in 0..=text.len() {
        std::fs::write(place.path(), &text[..end]).expect("written");
        let spent = match end {
            _ if end < reserved => 0,
            _ if end < text.len() => 100,
            _ => 30,
        };
        assert_eq!(tokens(&account), spent, "after {end} bytes");
        account.reserve("2", &COST).map(drop).expect("the torn line is cut off");
        assert_eq!(tokens(&account), spent + 100, "after {end} bytes");
    }
}

#[test]
fn a_line_that_is_none_stops_everything() {
    let place = Place::new();
    let account = place.account(10_000);
    account.reserve("1", &COST).map(drop).expect("reserved");
    let text = std::fs::read_to_string(place.path()).expect("a ledger");
    for wrong in [
        format!("{text}x\n"),
        text.repeat(2),
        text.replace("\"id\":1", "\"id\":1,\"more\":1"),
        "\n".to_owned(),
    ] {
        std::fs::write(place.path(), &wrong).expect("written");
        let said = account.reserve("2", &COST).expect_err("no ledger");
        assert!(matches!(said, LedgerError::Line(..)), "{said:?}");
        assert_eq!(std::fs::read_to_string(place.path()).expect("a file"), wrong, "it stays as it is");
    }
    let link = place.folder.path().join("link");
    std::os::unix::fs::symlink(place.path(), &link).expect("a link");
    let through = Account::new(Path::new(&link), "run", Limit::default()).reserve("1", &COST);
    assert!(matches!(through, Err(LedgerError::File(..))), "{through:?}");
}

#[test]
fn parallel_jobs_never_pass_the_limit() {
    let place = Place::new();
    let taken: usize = std::thread::scope(|scope| {
        let job = |name: usize| {
            let account =
                Account::new(&place.path(), &format!("run-{name}"), Limit { tokens: 2_050, dollars: None });
            (0..10).filter(|request| account.reserve(&request.to_string(), &COST).is_ok()).count()
        };
        let jobs: Vec<_> = (0..8).map(|name| scope.spawn(move || job(name))).collect();
        jobs.into_iter().map(|job| job.join().expect("ends")).sum()
    });
    assert_eq!(taken, 20, "of 80, each of 100 tokens");
    assert_eq!(tokens(&place.account(0)), 2_000);
}
