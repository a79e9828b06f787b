//! The results page says what its raw files say: nothing on it is written by hand, and a sample that no longer
//! meets its bar turns the row.

use std::fs;

use cutegen_tests::results::{self, Row, Verdict};
use cutegen_tests::workspace;

fn rows() -> Vec<Row> {
    results::read(&workspace()).expect("raw files")
}

fn judge(row: &Row) -> Verdict {
    results::verdict(row, results::figure(row, &workspace()).expect("a figure").judged)
}

/// A row's third cell on the page.
fn cell(page: &str, row: &Row) -> String {
    let line = page.lines().find(|line| {
        let rest = line.strip_prefix(&format!("| {}", row.bar));
        rest.is_some_and(|rest| rest.starts_with(": at ") || rest.starts_with(" |"))
    });
    line.and_then(|line| line.split(" | ").nth(2)).expect("the row is on the page").to_owned()
}

#[test]
fn the_page_is_rendered_from_the_raw_files() {
    let page = fs::read_to_string(workspace().join(results::PAGE)).expect("the page");
    let rendered = results::render(&rows(), &workspace()).expect("renders");
    assert!(page == rendered, "stale: cargo run -p cutegen-tests --bin results");
}

#[test]
fn each_verdict_follows_from_the_samples() {
    let page = fs::read_to_string(workspace().join(results::PAGE)).expect("the page");
    for row in rows() {
        let met = match judge(&row) {
            Verdict::Met => "met",
            Verdict::Missed(_) => "**missed**",
            Verdict::NoBar => "no bar",
        };
        assert!(cell(&page, &row).starts_with(met), "{}: {}", row.bar, cell(&page, &row));
    }
}

#[test]
fn rows_are_named_once_and_say_where_they_come_from() {
    let rows = rows();
    assert!(!rows.is_empty());
    for row in &rows {
        assert_eq!(rows.iter().filter(|other| other.bar == row.bar).count(), 1, "{}", row.bar);
        let said = [&row.shows, &row.unit, &row.bounded_by, &row.command, &row.commit];
        assert!(said.iter().all(|text| !text.is_empty()), "{}", row.bar);
        assert!(row.samples.iter().all(|sample| sample.is_finite() && *sample > 0.0), "{}", row.bar);
    }
}

#[test]
fn a_changed_sample_changes_the_page() {
    let (rows, root) = (rows(), workspace());
    let page = results::render(&rows, &root).expect("renders");
    for at in (0..rows.len()).filter(|at| !rows[*at].samples.is_empty()) {
        let mut planted = rows.clone();
        let samples = &mut planted[at].samples;
        // far enough to move a median of any number of samples
        samples.iter_mut().for_each(|sample| *sample *= 1.5);
        assert_ne!(page, results::render(&planted, &root).expect("renders"), "{}", rows[at].bar);
    }
}

#[test]
fn samples_beyond_the_bar_turn_the_verdict() {
    for row in rows().into_iter().filter(|row| !row.samples.is_empty()) {
        let factors = [1e-6, 1e6].map(|factor| {
            let samples = row.samples.iter().map(|sample| sample * factor).collect();
            judge(&Row { samples, ..row.clone() })
        });
        let missed = |verdict: &Verdict| matches!(verdict, Verdict::Missed(_));
        match (row.at_least, row.at_most) {
            (None, None) => assert_eq!(factors, [Verdict::NoBar; 2], "{}", row.bar),
            (Some(_), None) => assert!(missed(&factors[0]) && factors[1] == Verdict::Met, "{}", row.bar),
            (None, Some(_)) => assert!(factors[0] == Verdict::Met && missed(&factors[1]), "{}", row.bar),
            (Some(_), Some(_)) => panic!("{}: two bars", row.bar),
        }
    }
}

#[test]
fn one_sample_beyond_a_bar_on_the_largest_is_noticed() {
    let row = rows().into_iter().find(|row| row.bar == "longest Rust file").expect("the row");
    assert_eq!(judge(&row), Verdict::Met);
    let mut planted = row.clone();
    planted.samples[0] = 801.0;
    assert_eq!(judge(&planted), Verdict::Missed(1.0));
}

#[test]
fn a_row_that_quotes_a_record_needs_it() {
    let quoting = rows().into_iter().find(|row| row.evidence.is_some()).expect("a row quotes a record");
    let mut planted = quoting.clone();
    if let Some(quote) = &mut planted.evidence {
        quote.workload.insert("n".to_owned(), 12345);
    }
    assert!(results::figure(&planted, &workspace()).is_err());
    let raised = Row { at_least: Some(1e3), ..quoting };
    assert!(matches!(judge(&raised), Verdict::Missed(_)));
}
