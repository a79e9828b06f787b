//! The results pages say what their raw files say: nothing on them is written by hand, and a sample that no longer
//! meets its bar turns the row.

mod files;

use std::fs;
use std::process::Command;

use cutegen_tests::results::{self, Page, Row, Verdict};
use cutegen_tests::{must, workspace};

fn rows() -> Vec<Row> {
    results::read(&workspace()).expect("raw files")
}

fn judge(row: &Row) -> Verdict {
    results::verdict(row, &results::figure(row, &workspace()).expect("a figure"))
}

/// The pages that have rows.
const DETAILS: [Page; 6] =
    [Page::Pytorch, Page::Kernels, Page::Search, Page::Gate, Page::Builds, Page::Incumbents];

/// A row's third cell on the page.
fn cell(page: &str, row: &Row) -> String {
    let line = page.lines().find(|line| {
        let rest = line.strip_prefix(&format!("| {}", row.bar));
        rest.is_some_and(|rest| rest.starts_with(": at ") || rest.starts_with(" |"))
    });
    line.and_then(|line| line.split(" | ").nth(2)).expect("the row is on the page").to_owned()
}

fn committed(page: Page) -> String {
    fs::read_to_string(workspace().join(page.path())).expect("the page")
}

/// Whether the raw files say something else than this text of a page.
fn stale(page: Page, text: &str) -> bool {
    text != results::render(page, &rows(), &workspace()).expect("renders")
}

#[test]
fn the_pages_are_rendered_from_the_raw_files() {
    for page in Page::ALL {
        let found = stale(page, &committed(page));
        assert!(!found, "{} is stale: cargo run -p cutegen-tests --bin results", page.path());
    }
}

#[test]
fn a_changed_figure_is_found_on_every_page() {
    let rows = rows();
    for page in DETAILS {
        let text = committed(page);
        let row = rows.iter().rfind(|row| Page::of(row) == page).expect("a row");
        let figure = results::figure(row, &workspace()).expect("a figure").text;
        assert!(text.contains(&figure), "{figure}");
        assert!(stale(page, &text.replace(&figure, &format!("1{figure}"))), "{}: {figure}", page.path());
    }
}

#[test]
fn each_verdict_follows_from_the_samples() {
    for row in rows() {
        let met = match judge(&row) {
            Verdict::Met => "met",
            Verdict::Missed(_) => "**missed**",
            Verdict::Open => "no verdict: not measured: ",
            Verdict::NoBar => "no bar",
        };
        let said = cell(&committed(Page::of(&row)), &row);
        assert!(said.starts_with(met), "{}: {said}", row.bar);
    }
}

#[test]
fn bars_come_first() {
    let mut rows = rows();
    for page in DETAILS {
        let on_page = rows.iter().filter(|row| Page::of(row) == page);
        let verdicts: Vec<bool> = on_page.map(|row| judge(row) != Verdict::NoBar).collect();
        let bars = verdicts.iter().filter(|barred| **barred).count();
        let text = committed(page);
        let lines = text.lines().filter(|line| line.starts_with("| ")).skip(1);
        let said: Vec<bool> = lines.map(|line| !line.contains(" | no bar | ")).collect();
        let expected: Vec<bool> = (0..verdicts.len()).map(|at| at < bars).collect();
        assert_eq!(said, expected, "{page:?}");
        assert_eq!(page == Page::Incumbents, bars == 0, "{page:?}");
    }
    // one of the incumbents that got a bar would change its page
    let other = rows.iter_mut().find(|row| Page::of(row) == Page::Incumbents).expect("a row");
    other.at_most = Some(1e9);
    assert_eq!(Page::of(other), Page::Pytorch);
}

#[test]
fn every_raw_file_has_a_page_and_every_missed_bar_is_told_first() {
    let main = committed(Page::Main);
    for row in rows() {
        assert!(Page::knows(&row.raw), "{} has no page", row.raw);
        let told = main.contains(&format!("\n- {}: at ", row.bar));
        assert_eq!(told, matches!(judge(&row), Verdict::Missed(_) | Verdict::Open), "{}", row.bar);
    }
    assert!(!Page::knows("new.json"));
}

/// The lines of the first table of a page, without its head.
fn first_table(page: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// The middle of these, or the mean of the two that are.
fn middle(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

#[test]
fn the_summary_is_short_and_says_what_the_rows_say() {
    let (rows, page) = (rows(), committed(Page::Main));
    let table = first_table(&page);
    assert!(table.len() <= 13, "{} lines: with its head, 15 at most", table.len());
    let line = |what: &str| table.iter().find(|line| line[1].contains(what)).expect("the line");
    let row = |bar: &str| rows.iter().find(|row| row.bar == bar).expect("the row");

    let cells =
        ["softmax, bf16", "softmax, f32", "log-softmax"].map(row).into_iter().flat_map(|row| &row.cells);
    let least =
        |cell: &results::Cell| cell.against.values().map(|samples| middle(samples)).fold(f64::MAX, f64::min);
    let medians: Vec<f64> = cells.map(least).collect();
    let mean = (medians.iter().map(|times| times.ln()).sum::<f64>() / medians.len() as f64).exp();
    let worst = medians.iter().copied().fold(f64::MAX, f64::min);
    let softmax = line("softmax");
    assert_eq!((&*softmax[3], &*softmax[4]), ("H200", &*format!("{mean:.2}")));
    assert!(softmax[5].starts_with(&format!("{worst:.2}: ")), "{}", softmax[5]);

    let us = |bar: &str| middle(&row(bar).samples);
    let theirs = ["gateup8b", "down8b"]
        .map(|name| us(&format!("cuBLASLt, the fastest of its heuristics: gemm_bf16 {name}_m512")));
    let ours = us("Llama 3 8B's MLP block with naive products, tokens: 512");
    let slower = ours / theirs.iter().sum::<f64>();
    assert_eq!(line("MLP block")[5], format!("1/{slower:.0}: 512 tokens"));
    let measured = &row("Llama 3 8B's MLP block with naive products, tokens: 1").commit;
    let said = ["**naive products**", "tuned ones are accepted since, and not measured in it", measured];
    assert!(said.iter().all(|said| line("MLP block")[1].contains(said)), "{}", line("MLP block")[1]);
}

/// What `gpu` of the example prints of the block, by how its products are named.
fn block(products: &str) -> String {
    let kernel = |name: &str, runs: &str| {
        format!(
            "  {name:14} {runs:46} {:10.1} us, worst error / bound   9.5%\n  {:14} 8 of 8 elements compared, 0 wrong\n",
            7.5, ""
        )
    };
    let kernels = [
        kernel("llama_norm", "vec8, tuned on NVIDIA H200"),
        kernel("llama_gate_up", products),
        kernel("llama_down", products),
    ];
    format!("1 tokens: 2968.2 us, one graph of three launches\n{}block: right\n\n", kernels.concat())
}

#[test]
fn rows_of_the_example_say_which_products_were_measured() {
    let rows = |products: &str| -> Vec<Row> {
        let scripts = workspace().join("tests/bench");
        let rows = format!("rows = list(example.rows({:?}))", block(products));
        let more = "[row.update(command='c', commit='c') for row in rows]";
        let text = format!(
            "import json, sys; sys.path.insert(0, {scripts:?}); import example; {rows}; {more}; print(json.dumps(rows))"
        );
        let ran = must(Command::new("python3").args(["-B", "-c", &text]));
        serde_json::from_str(&ran.stdout).expect("rows")
    };
    let naive = rows("naive, NOT tuned");
    assert_eq!(naive[1].bar, "Llama 3 8B's MLP block with naive products, tokens: 1");
    assert_eq!((naive[1].samples.as_slice(), naive[0].samples.as_slice()), (&[2968.2][..], &[3.0][..]));
    let committed = rows_of("Llama 3 8B's MLP block with naive products, tokens: 1");
    assert_eq!((&naive[1].note, &naive[1].bounded_by), (&committed.note, &committed.bounded_by));
    let tuned = rows("product-x64x16, tuned on NVIDIA H200");
    assert_eq!(tuned[1].bar, "Llama 3 8B's MLP block with tuned products, tokens: 1");
    assert!(tuned[0].shows.ends_with("the products are tuned kernels") && tuned[1].note.is_none());
}

fn rows_of(bar: &str) -> Row {
    rows().into_iter().find(|row| row.bar == bar).expect("the row")
}

#[test]
fn the_summary_changes_with_its_rows_and_needs_them() {
    let (rows, root) = (rows(), workspace());
    let main = |rows: &[Row]| results::render(Page::Main, rows, &root);
    for bar in ["softmax, bf16", "of the best copy kernel", "host GEMM f32, equal vectors"] {
        let at = rows.iter().position(|row| row.bar == bar).expect("the row");
        let mut planted = rows.clone();
        planted[at] = scaled(&rows[at], 1.5);
        assert_ne!(main(&planted).expect("renders"), committed(Page::Main), "{bar}");
        drop(planted.remove(at));
        assert!(main(&planted).is_err_and(|error| error.contains(bar)), "{bar}");
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
        let cells = row.cells.iter().flat_map(|cell| cell.against.values().flatten());
        let mut samples = row.samples.iter().chain(cells);
        assert!(samples.all(|sample| sample.is_finite() && *sample > 0.0), "{}", row.bar);
    }
}

#[test]
fn a_changed_sample_changes_the_page() {
    let (rows, root) = (rows(), workspace());
    let render = |page, rows: &[Row]| results::render(page, rows, &root).expect("renders");
    let pages = DETAILS.map(|page| (page, render(page, &rows)));
    for at in (0..rows.len()).filter(|at| rows[*at].evidence.is_none()) {
        let mut planted = rows.clone();
        // far enough to move a median of any number of samples
        planted[at] = scaled(&rows[at], 1.5);
        for (page, text) in &pages {
            let changed = *text != render(*page, &planted);
            assert_eq!(changed, Page::of(&rows[at]) == *page, "{}", rows[at].bar);
        }
    }
}

#[test]
fn samples_beyond_the_bar_turn_the_verdict() {
    for row in rows().into_iter().chain([table()]).filter(|row| row.evidence.is_none()) {
        let row = Row { missing: Vec::new(), ..row };
        let factors = [1e-6, 1e6].map(|factor| judge(&scaled(&row, factor)));
        let missed = |verdict: &Verdict| matches!(verdict, Verdict::Missed(_));
        match (row.at_least.or(row.worst_at_least), row.at_most) {
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

/// A row of two cells, each against two: 2 and 2, against the better.
fn table() -> Row {
    serde_json::from_value(serde_json::json!({
        "bar": "a table", "shows": "cells", "unit": "times", "at_least": 1.8, "worst_at_least": 1.0,
        "bounded_by": "nothing", "command": "none", "commit": "none", "machine": "none",
        "cells": [
            { "at": "small", "against": { "eager": [8.0, 9.0, 7.0], "compile": [2.0, 1.9, 2.1] } },
            { "at": "large", "against": { "eager": [2.2, 2.0, 1.8], "compile": [3.0, 3.0, 3.0] } },
        ],
    }))
    .expect("a row")
}

/// The same with every sample so many times as large.
fn scaled(row: &Row, factor: f64) -> Row {
    let mut row = row.clone();
    let cells = row.cells.iter_mut().flat_map(|cell| cell.against.values_mut());
    cells.chain([&mut row.samples]).flatten().for_each(|sample| *sample *= factor);
    row
}

#[test]
fn a_table_is_judged_by_its_mean_and_by_its_worst_cell() {
    assert_eq!(judge(&table()), Verdict::Met);
    let figure = results::figure(&table(), &workspace()).expect("a figure");
    assert!((figure.judged - 2.0).abs() < 1e-12 && figure.worst == Some(2.0), "{figure:?}");
    let planted = |cell: usize, against: &str, samples: [f64; 3]| {
        let mut row = table();
        drop(row.cells[cell].against.insert(against.to_owned(), samples.to_vec()));
        row
    };
    // sqrt(8 * 0.9) is 2.68: the mean is met, and the cell is not
    let mut worst = planted(0, "compile", [7.9, 8.0, 8.1]);
    worst.cells[0].against.remove("eager");
    drop(worst.cells[1].against.insert("eager".to_owned(), vec![0.9, 0.89, 0.91]));
    assert!(matches!(judge(&worst), Verdict::Missed(by) if (by - 0.1).abs() < 1e-12), "{:?}", judge(&worst));
    // sqrt(1.5 * 2) is 1.73: no cell is under 1, and the mean is missed
    assert!(matches!(judge(&planted(0, "compile", [1.5, 1.4, 1.6])), Verdict::Missed(by) if by < 0.07));
    // one sample of three moves no median; a weaker incumbent decides nothing
    assert_eq!(judge(&planted(0, "compile", [2.0, 1.9, 0.1])), Verdict::Met);
    assert_eq!(judge(&planted(0, "eager", [80.0, 90.0, 70.0])), Verdict::Met);
    assert!(results::figure(&planted(1, "other", [9.0, f64::NAN, 9.0]), &workspace()).is_err());
    let mut empty = table();
    drop(empty.cells[0].against.insert("other".to_owned(), Vec::new()));
    assert!(results::figure(&empty, &workspace()).is_err());
    let page = results::render(Page::of(&table()), &[table()], &workspace()).expect("renders");
    for text in [
        "at least 1.8 times: at least 1 times in every cell",
        "small 2 (compile), large 2 (eager)",
        "| met |",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn nothing_is_met_while_something_is_not_measured() {
    let lacking = Row { missing: vec!["middle".to_owned(), "huge".to_owned()], ..table() };
    assert_eq!([judge(&table()), judge(&lacking)], [Verdict::Met, Verdict::Open]);
    // a mean may still rise; a cell that misses its own bar stays missed
    assert_eq!(judge(&Row { at_least: Some(3.0), ..lacking.clone() }), Verdict::Open);
    let strict = Row { worst_at_least: Some(2.5), ..lacking.clone() };
    assert_eq!(judge(&strict), Verdict::Missed(0.5));
    let page =
        results::render(Page::of(&lacking), std::slice::from_ref(&lacking), &workspace()).expect("renders");
    assert!(page.contains("| no verdict: not measured: middle, huge |"), "{page}");

    let main =
        |more: &[Row]| results::render(Page::Main, &[&rows(), more].concat(), &workspace()).expect("renders");
    let met = |page: &str| -> usize {
        let line = page.lines().find(|line| line.starts_with("Of ")).expect("a line");
        let said = line.split(", ").nth(1).and_then(|said| said.split(' ').next());
        said.and_then(|number| number.parse().ok()).expect("a number")
    };
    assert_eq!(met(&main(&[table()])), met(&main(&[])) + 1);
    let said = main(&[lacking]);
    assert_eq!(met(&said), met(&main(&[])));
    assert!(said.contains("- a table: at least 1.8 times: at least 1 times in every cell: not measured: middle, huge (kernels.md)"), "{said}");
}

#[test]
fn a_page_says_how_much_of_the_roof_ours_reaches() {
    let mut row = table();
    assert!(
        !results::render(Page::of(&row), &[row.clone()], &workspace()).expect("renders").contains("roof")
    );
    (row.cells[0].roof, row.cells[1].roof) = (Some(0.25), Some(0.75));
    let page = results::render(Page::of(&row), &[row], &workspace()).expect("renders");
    assert!(page.contains("; ours at 0.25 to 0.75 of the card's roof |"), "{page}");
    assert!(
        page.contains("small 2 (compile; 0.25 of the roof), large 2 (eager; 0.75 of the roof)"),
        "{page}"
    );
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
