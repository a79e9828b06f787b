//! Accesses that kernels make: each is proved, and each moved by one is refused with a shape at which it fails.

use super::Question;
use crate::int_expr::IntExpr;
use crate::math::index::Index;
use crate::math::range::{Proof, VarBound, at_least, inside};

/// Domain, index, dimension. Every one reaches both ends of its dimension at a shape.
const TIGHT: &[(&str, &str, &str)] = &[
    ("m 1..4096", "m", "m"),
    ("m 0..64", "m", "m"),
    ("m = 128", "m", "128"),
    // reversed, shifted, strided
    ("c 1..512", "len_c - 1 - c", "c"),
    ("c 1..512; d = c + 3", "c", "d - 3"),
    ("c 1..512; d = 2 * c - 1", "2 * c", "d"),
    ("n 1..512", "n - n + len_n / 2 - len_n / 2", "1"),
    // convolutions
    ("h 3..512; p = (h - 3) / 2 + 1; r = 3", "p * 2 + r - 0", "h"),
    ("h 3..512; p = h - 2; r = 3", "p + r", "h"),
    ("h 5..512; p = h - 4; r = 3", "p + 2 * r", "h"),
    ("h 9..999; p = (h - 9) / 3 + 1; r = 5", "p * 3 + 2 * r", "h"),
    ("h 9..999/3; p = (h - 9) / 3 + 1; r = 5", "p * 3 + 2 * r", "h"),
    ("h 7..512; p = (h + 6 - 7) / 2 + 1; r = 7; e = h + 6", "p * 2 + r", "e"),
    ("h 4..512; r 1..4; p = (h - r) / 2 + 1", "p * 2 + r", "h"),
    ("h 4..512; s 1..4; p = (h - 3) / s + 1; r = 3", "p * len_s + r", "h"),
    ("h = 226; p = (h - 3) / 1 + 1; r = 3", "p + r", "h"),
    ("p 1..64; h = 2 * p + 1; r = 3", "2 * p + r", "h"),
    // flattening and its inverse
    ("m 1..99; k 1..77; f = m * k", "m * len_k + k", "f"),
    ("m 1..99; k 1..77; n 1..5; f = m * k * n", "(m * len_k + k) * len_n + n", "f"),
    ("m 1..99; k 1..77; i = m * k", "i / len_k", "m"),
    ("m 1..99; k 1..77; i = m * k", "i % len_k", "k"),
    ("m 1..99; k 1..77; n 1..9; i = m * k * n", "i / len_n % len_k", "k"),
    ("m 1..99; k 1..77; n 1..9; i = m * k * n", "i / (len_k * len_n)", "m"),
    ("m 1..99; i = m * 64", "i / 64", "m"),
    ("m 1..99; i = m * 64", "i % 64 / 8", "8"),
    ("m 1..99; i = m * 64", "i / 8 * 8 + i % 8", "i"),
    ("m 8..992/8", "m / 8 * 8 + m % 8", "m"),
    ("m 8..992/8; g = m / 8", "m / 8", "g"),
    ("i 1..999; b = ceil_div(i, 128)", "i / 128", "b"),
    ("b 1..99; k = b * 128; j = 128", "b * 128 + j", "k"),
    ("k 128..8192/128; b = k / 128; j = 128", "b * 128 + j", "k"),
    // rotary pairs
    ("d = 128", "(d / 2) * 2 + 1 - d % 2", "128"),
    ("d 2..256/2", "(d / 2) * 2 + 1 - d % 2", "d"),
    ("d 2..256/2; e = d / 2", "d % len_e", "e"),
    ("d 2..256/2; e = d / 2", "e + len_e * (1 - 1)", "e"),
    ("e 1..64; d = 2 * e", "(d + len_e) % len_d", "d"),
    ("d 1..64", "(d + 1) % len_d", "d"),
    ("d 2..256/2", "d / 2 * 2 + d % 2", "d"),
    // causal, windows, scans
    ("t 1..64; s ~ t; s <= t", "t - s", "t"),
    ("t 1..64; c ~ t; t <= c", "c - t", "t"),
    ("t 1..64; s ~ t; s < t", "t - s - 1", "t - 1"),
    ("c 1..64; w = 4; c >= w", "c - w", "c"),
    ("t 1..512; w 1..16; w <= t", "t - w", "t"),
    ("t 1..512; s ~ t; s <= t; s > t - 16", "t - s", "min(t, 16)"),
    ("t 1..512; s ~ t; s <= t; s > t - 16", "s", "t"),
    ("t 16..512; s ~ t; s <= t; s > t - 16", "t - s", "16"),
    ("q 1..64; k 64..128; k <= q + len_k - len_q", "q + len_k - len_q - k", "k"),
    // grouped heads
    ("h = 32; g = 4", "h / 4", "8"),
    ("e 1..16; g 1..8; h = e * g", "h / len_g", "e"),
    ("e 1..16; g = 4; h = e * g", "h / len_g", "e"),
    ("e 1..16; g 1..8; h = e * g", "e * len_g + g", "h"),
    ("h 8..64/8; g = h / 8", "h / 8", "g"),
    // gathers
    ("v 1..999; b 1..9; ids @ 0, v", "ids", "v"),
    ("v 1..999; ids @ 0, v; j = 4; f = v * 4", "ids * 4 + j", "f"),
    ("n 1..99; page = 16; table @ 0, n; f = n * 16", "table * len_page + page", "f"),
    ("t 1..64; start @ 0, 9; e = t + 8", "start + t", "e"),
    ("n 1..99; k 1..9; off @ 1, n + 1", "n - n + off - 1", "n"),
    // two choices
    ("n 1..99; m 1..99", "min(n, len_m - 1)", "min(n, m)"),
    ("n 1..99", "max(n - 3, 0)", "max(n - 2, 1)"),
    ("n 4..99", "max(n, 3) - 3", "n - 3"),
    // squares
    ("n 1..99; j ~ n; f = n * n", "n * len_n + j", "f"),
    ("n 1..99; j ~ n; f = n * n", "f", "n * n"),
];

/// True, and far from the ends.
const LOOSE: &[(&str, &str, &str)] = &[
    ("h 3..512; p = (h - 3) / 2 + 1; r = 2", "p * 2 + r", "h"),
    ("m 1..64; k 1..64", "m * len_k", "m * k"),
    ("n 1..100", "n * n", "n * n"),
    ("n 1..100; i = n * n + n", "i / len_n", "n + 1"),
    ("t 1..512; s ~ t; s <= t; s > t - 128", "(t - s) / 2", "64"),
    ("n 2..100", "n / 2 + n / 3", "n"),
    ("i 1..640; b = ceil_div(i, 64)", "i / 64 * 64 + i % 64", "b * 64"),
    ("d 2..256/2; e = d / 2", "d / 2", "e"),
    ("m 0..64", "len_m - 1 + m - m", "m"),
    ("h 1..64; p = max(h - 2, 0)", "p + 2", "h"),
];

#[test]
fn true_cases_are_proved() {
    let cases: Vec<_> = TIGHT.iter().chain(LOOSE).collect();
    let fails =
        |case: &&&(&str, &str, &str)| Question::parse(case.0, case.1, case.2).prove() != Proof::Inside;
    let open: Vec<_> = cases.iter().filter(fails).collect();
    assert!(open.len() * 10 <= cases.len(), "fewer than 90 % are proved; open are {open:#?}");
    assert!(open.is_empty(), "{open:#?}");
}

#[test]
fn one_too_many_is_refused() {
    for (domain, index, dim) in TIGHT {
        for by in [-1, 1] {
            let question = Question::parse(domain, index, dim).moved(by);
            let Proof::Outside { shape, index: at, extent } = question.prove() else {
                panic!("{domain}: {index} + {by} in {dim}: {:?}", question.prove());
            };
            assert!(question.confirms(&shape, at, extent), "{domain}: {index} + {by} = {at} at {shape:?}");
        }
    }
}

#[test]
fn a_counterexample_is_small() {
    let question = Question::parse("h 3..512; p = (h - 3) / 2 + 1; r = 4", "p * 2 + r", "h");
    assert_eq!(question.prove(), Proof::Outside { shape: vec![3, 1, 4], index: 3, extent: 3 });
    let odd = Question::parse("d 1..255", "(d / 2) * 2 + 1 - d % 2", "d");
    assert_eq!(odd.prove(), Proof::Outside { shape: vec![1], index: 1, extent: 1 });
    let window = Question::parse("t 1..4096", "t / 129", "1");
    assert_eq!(window.prove(), Proof::Outside { shape: vec![130], index: 1, extent: 1 });
}

#[test]
fn an_empty_loop_accesses_nothing() {
    let question = Question::parse("k 0..0; n 1..9", "k + n + 99", "n");
    assert!(!matches!(question.prove(), Proof::Outside { .. }));
    let mut question = Question::parse("k 0..8; n 1..9", "len_k - 1", "k");
    assert_eq!(question.prove(), Proof::Outside { shape: vec![0, 1], index: -1, extent: 0 });
    question.vars[0] = Some(VarBound::whole(0));
    assert_eq!(question.prove(), Proof::Inside);
}

#[test]
fn compares_extents_over_all_shapes() {
    let question = Question::parse("h 3..512; m 8..64/8; p = (h - 3) / 2 + 1", "0", "1");
    let ge = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|text| IntExpr::parse_positional(text).unwrap());
        at_least(&question.domain(&|_| None), &a, &b)
    };
    assert!(ge("a0", "a2 * 2 + 1") && ge("a1", "8") && ge("a0 * a1", "24") && ge("a1 / 8 * 8", "a1"));
    assert!(
        !ge("a0", "a2 * 2 + 2") && !ge("a1", "9") && !ge("a0", "a1") && !ge("a9", "0") && !ge("a0 / 0", "0")
    );
}

#[test]
fn hostile_questions_get_an_answer() {
    let cases = [
        ("n 1..9; z = 0", "n / len_z", "n"),
        ("n 1..9", "n / (0 - 3)", "n"),
        ("n 1..9; t ~ n; t < n; n < t", "t", "len"),
        ("n -9..-3", "n", "4"),
        ("n 9..3", "n + 1", "4"),
        ("n 1..9223372036854775807", "n * n * n * n * n * n * n * n * n", "n"),
        ("n 1..9223372036854775807", "n * 9223372036854775807 + len_n * 9223372036854775807", "n"),
        ("n 1..99; x @ 9, 3", "x + n", "n"),
    ];
    for (domain, index, dim) in cases {
        let dim = if dim == "len" { "n + 1 - 1" } else { dim };
        let question = Question::parse(domain, index, dim);
        if let Proof::Outside { shape, index: at, extent } = question.prove() {
            assert!(question.confirms(&shape, at, extent), "{domain}: {index}");
        }
        assert!(!index.contains('/') || question.prove() == Proof::Unknown, "{domain}: {index}");
    }
    let mut deep = Question::parse("n 1..9", "n", "n + 0");
    deep = (0..500).fold(deep, |deep, _| deep.moved(1));
    assert_eq!(deep.prove(), Proof::Unknown);
    let reads = |_| None;
    let unknown = inside(&deep.domain(&reads), &Index::Read(7, vec![Index::Var(99)]), &IntExpr::Axis(99));
    assert_eq!(unknown, Proof::Unknown);
}
