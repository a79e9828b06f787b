//! `tests/bench/agentic_rows.py` on runs whose figures a reader can check: what a row says of a whole set of runs, of one that lacks a
//! run, and of runs that wait. What true runs came to is theirs.

mod sample;

use std::fs;

use cutegen_tests::results::{self, Row, Verdict};
use cutegen_tests::{workspace, write};
use serde_json::json;

use sample::{Place, TWELVE, answers, asks, compiled, doubled, first_reply, kernel, key, point, seen, whole};

fn find<'a>(rows: &'a [Row], bar: &str) -> &'a Row {
    rows.iter().find(|row| row.bar == bar).unwrap_or_else(|| panic!("no row {bar}"))
}

fn judge(row: &Row) -> (f64, Verdict) {
    let figure = results::figure(row, &workspace()).expect("a figure");
    (figure.judged, results::verdict(row, &figure))
}

fn near((judged, verdict): (f64, Verdict), wanted: f64, is: Verdict) {
    assert!((judged - wanted).abs() < 1e-3 && verdict == is, "{judged} {verdict:?} for {wanted} {is:?}");
}

const COUNT: &str = "twelve kernels, at PyTorch's best";
const MEAN: &str = "twelve kernels, over PyTorch";
const HARDEST: &str = "conv2d_3x3 and attention_prefill, over PyTorch";
const GAIN: &str = "twelve kernels, final over first";
const REPLIES: &str = "three kernels, final over as many first replies";

#[test]
fn a_whole_set_of_runs_has_its_figures() {
    let place = whole("agentic-whole");
    let (rows, page) = place.rows();
    near(judge(find(&rows, COUNT)), 12.0, Verdict::Met);
    near(judge(find(&rows, MEAN)), 1.3_f64.powf(11.0 / 12.0), Verdict::Met);
    near(judge(find(&rows, HARDEST)), 1.3, Verdict::Met);
    near(judge(find(&rows, GAIN)), (2.5 * 2.0_f64.powi(11)).powf(1.0 / 12.0), Verdict::Met);
    let replies = find(&rows, REPLIES);
    near(judge(replies), (1.25_f64 * 1.5 * 1.5).cbrt(), Verdict::Met);
    let by_hand =
        find(&rows, MEAN).cells.iter().find(|cell| cell.at == "embedding_norm m=16").expect("a cell");
    assert_eq!(by_hand.against["torch, by hand"], [0.9, 1.0, 1.2]);
    let line = "| `embedding_norm` | refine | 4 | 4 | 5 | 3 | ~500 | 2.5 | 1.5 -> 1.25; none -> 2 | 10 | 0.75 | 1 (torch, by hand) | memory | accepted `m-e` |";
    assert!(page.contains(line), "{page}");
    assert!(
        page.starts_with("# Runs\n") && page.contains("\nBehind.\n") && page.contains("Of 12 runs 12 have"),
        "{page}"
    );
    assert_eq!(place.rows().1, page, "written once more it is the same");

    // one first reply that is faster than the end of its run
    first_reply(&place, "gemm_int4", 2, "right", 8.0);
    assert!(
        matches!(judge(find(&place.rows().0, REPLIES)).1, Verdict::Missed(by) if (by - 0.25).abs() < 1e-3)
    );
    // five kernels at 0.9 of PyTorch: seven are left
    TWELVE[..5].iter().for_each(|kernel| doubled(&place, kernel, 0.9));
    near(judge(find(&place.rows().0, COUNT)), 7.0, Verdict::Missed(1.0));
    doubled(&place, "attention_prefill", 0.4);
    assert!(
        matches!(judge(find(&place.rows().0, HARDEST)).1, Verdict::Missed(by) if (by - 0.1).abs() < 1e-3)
    );
}

#[test]
fn a_kernel_that_lacks_leaves_no_verdict_and_counts_as_nothing() {
    let place = whole("agentic-lacking");
    // right and fast, but the whole gate has not seen it
    let entries = [asks("first", None), answers(1, &kernel("m-1", None)), seen(2, "right", 9.0, &json!({}))];
    place.log("triplet_loss", "1", &entries);
    let (rows, page) = place.rows();
    let missing = vec!["triplet_loss: not accepted".to_owned()];
    for (bar, cells) in [(MEAN, 11), (GAIN, 11)] {
        let row = find(&rows, bar);
        assert_eq!((row.cells.len(), &row.missing, judge(row).1), (cells, &missing, Verdict::Open), "{bar}");
    }
    near(judge(find(&rows, COUNT)), 11.0, Verdict::Open);
    near(judge(find(&rows, HARDEST)), 1.3, Verdict::Met);
    assert!(
        page.contains(
            "| `triplet_loss` | refine | 1 | 1 | 1 | 0 | ~125 | 1 |  | 9 | 0.5 |  | memory | best so far |"
        ),
        "{page}"
    );

    fs::remove_file(place.0.join("raw/peers.json")).expect("removed");
    let (rows, _) = place.rows();
    assert!(
        rows.iter().all(|row| ![COUNT, MEAN, HARDEST].contains(&&*row.bar)),
        "the fastest way is not known"
    );
}

#[test]
fn first_replies_are_as_many_as_the_answers_of_the_run() {
    let place = whole("agentic-replies");
    let gone =
        place.0.join(format!("cutegen-runs/{}/embedding-norm-first-4.jsonl", &key("embedding_norm")[..16]));
    fs::remove_file(gone).expect("removed");
    let row = find(&place.rows().0, REPLIES).clone();
    assert_eq!(row.missing, ["embedding_norm: 3 of 4 first replies are judged on its card"]);
    assert_eq!((row.cells.len(), judge(&row).1), (2, Verdict::Open));
}

#[test]
fn without_torch_in_a_run_times_of_two_runs_are_compared_and_told() {
    let place = whole("agentic-two-runs");
    place.bench("gemm_int4", "m-2", &[("naive", 6.0)]);
    let found = |place: &Place| {
        let (rows, _) = place.rows();
        find(&rows, MEAN).cells.iter().find(|cell| cell.at.starts_with("gemm_int4")).cloned()
    };
    let cell = found(&place).expect("a cell");
    assert_eq!(cell.against["torch, dense eager, timed in another run"], [1.3]);
    // what another variant takes says nothing of this one, and the log knows no PyTorch: its own time is left
    place.bench("gemm_int4", "m-9", &[("naive", 6.0), ("torch-eager", 9.0)]);
    let cell = found(&place).expect("a cell");
    let theirs: Vec<&str> = cell.against.keys().map(String::as_str).collect();
    assert_eq!(theirs, ["torch, dense eager, timed in another run"]);
    assert_eq!(cell.against[theirs[0]], [(13.0_f64 / (100.0 / 6.0) * 1e4).round() / 1e4]);
}

#[test]
fn a_record_is_read_where_bench_timed_nothing() {
    let place = whole("agentic-record");
    fs::remove_file(place.0.join("raw/conv2d_3x3.json")).expect("removed");
    let key = key("conv2d_3x3");
    let timing = |incumbent: &str, speedup: f64| {
        format!(
            "[[variants.evidence.timings]]\nincumbent = \"{incumbent}\"\nspeedup = {speedup}\nmicros = 10.0\nroof-micros = 2.0\nworkload = {{ m = 16 }}\n"
        )
    };
    let variant = "[[variants]]\nname = \"m-1\"\nkind = \"tuned\"\n[variants.evidence]\ndevice = \"NVIDIA H200, sm_90\"\n";
    let record =
        [variant, &timing("naive", 3.0), &timing("torch-eager", 0.7), &timing("torch-compile", 0.6)].concat();
    write(&place.0.join(format!("cache/v1/{}/{key}/record.toml", &key[..2])), &record);
    let (rows, page) = place.rows();
    let row = find(&rows, HARDEST);
    near(judge(row), (0.6_f64 * 1.3).sqrt(), Verdict::Met);
    assert!(
        page.contains("| 1 | 1.5 -> 2 | 3 | 0.2 | 0.6 (torch-compile) | memory | accepted `m-1` |"),
        "{page}"
    );
}

#[test]
fn runs_that_wait_say_for_what() {
    let place = Place::new("agentic-waits");
    place.log("conv2d_11x11", "1", &[asks("first", None)]);
    let sweep = [
        asks("first", None),
        answers(1, &json!({ "sweep": { "points": 2 } })),
        point(2, "m-a"),
        point(2, "m-b"),
        compiled(3),
    ];
    place.log("conv2d_3x3", "1", &sweep);
    let (rows, page) = place.rows();
    assert!(rows.is_empty(), "{rows:?}");
    for line in [
        "Of 2 runs 0 have a kernel that a device judged.",
        "| `conv2d_11x11` | refine | 1 | 0 | 0 | 0 | 0 |  |  |  |  |  | memory | waits for 1 answer |",
        "| `conv2d_3x3` | refine | 1 | 1 | 2 | 0 | ~125 |  |  |  |  |  | memory | waits for a device: 2 of 2 kernels, 1 of them compile |",
        "| twelve kernels, over PyTorch | at least 1.2 times as fast | nothing yet | ",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert!(
        page.contains("not accepted: conv2d_11x11, conv2d_3x3; no run: conv2d_relu_max_pool, "),
        "{page}"
    );
}
