//! Entries for tests: one of each kind with every field, and small ones.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::experience::HintId;

/// How a sample run begins.
pub(super) fn start(run: &str) -> Start {
    Start {
        version: VERSION,
        run: RunId::parse(run).expect("a name"),
        kernel: "softmax".to_owned(),
        target: "sm_90a".to_owned(),
        key: "ab".repeat(32),
        strategy: "refine".to_owned(),
        prompts: 2,
        kit: digest("kit"),
        gate: 7,
        settings: BTreeMap::from([("gain".to_owned(), 1.01), ("rounds".to_owned(), 3.0)]),
        bank: Vec::new(),
        experience: None,
    }
}

/// Something that was asked.
pub(super) fn request() -> Entry {
    Entry::Request(Request {
        ask: Ask::Optimise,
        about: Some(4),
        idea: None,
        version: "window-2".to_owned(),
        prompt: digest("prompt"),
        bytes: 9000,
    })
}

/// An answer with such a content.
pub(super) fn candidate(content: Content) -> Entry {
    Entry::Candidate(Candidate {
        request: Some(1),
        by: "exchange, some-model".to_owned(),
        text: "line one\nτ = \"two\"\r\n".to_owned(),
        content,
        took_ms: Some(1500),
        usage: Some(Tokens { input: 5544, output: 1210 }),
        sent_bytes: None,
    })
}

/// A kernel with all that is told of one.
pub(super) fn kernel() -> Content {
    Content::Kernel(Kernel {
        name: "m-0123abcd".to_owned(),
        identity: digest("identity"),
        source: "void @ENTRY@() {}\n".to_owned(),
        first_line: Some(3),
        hypothesis: Some("fewer loads".to_owned()),
        predicted: Some(1.25),
        hints: vec![HintId::parse("h07").expect("an id")],
    })
}

/// An answer with two points.
pub(super) fn swept() -> Content {
    Content::Sweep(Sweep {
        source: "// sweep: T = 2 | 4\n".to_owned(),
        points: 2,
        first_line: Some(3),
        hypothesis: Some("fewer loads".to_owned()),
        predicted: Some(1.25),
        hints: vec![HintId::parse("h07").expect("an id")],
    })
}

/// A point of an answer.
pub(super) fn point(of: Sequence, values: &[(&str, i64)], content: Content) -> Entry {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Entry::Point(Point { of, values, content })
}

/// A verdict on a candidate, as short as one is.
pub(super) fn verdict(candidate: Sequence, outcome: Outcome) -> Entry {
    Entry::Verdict(Verdict { candidate, outcome, facts: Facts::default(), judge: None })
}

/// A verdict with every fact.
pub(super) fn full_verdict() -> Entry {
    let axes = BTreeMap::from([("k".to_owned(), 512), ("m".to_owned(), 64)]);
    let speed = Speed {
        workload: axes.clone(),
        micros: 12.5,
        over_naive: Some(4.0),
        over: BTreeMap::from([(2, 1.5), (10, 0.75)]),
        roofline: Some(0.875),
        tb_per_s: Some(2.5),
        tops_per_s: Some(0.1),
    };
    let kernel = Resources {
        entry: "@ENTRY@_main".to_owned(),
        registers: Some(168),
        local_bytes: Some(0),
        shared_bytes: 49152,
        blocks_per_sm: Some(2),
    };
    let facts = Facts {
        reason: Some("element y[3, 64] is wrong".to_owned()),
        diagnostics: vec![Diagnostic { line: Some(7), message: "unused `x`".to_owned() }],
        mismatch: Some(mismatch(axes)),
        sanitizer: vec!["race on shared memory".to_owned()],
        kernels: vec![kernel],
        speed: vec![speed],
        profile: BTreeMap::from([("dram__throughput".to_owned(), 61.5)]),
    };
    let judge = Judge {
        card: "NVIDIA H100".to_owned(),
        batch: "b-1".to_owned(),
        gate: 7,
        held_ms: 2500,
        place: Place::Here,
    };
    Entry::Verdict(Verdict { candidate: 2, outcome: Outcome::WrongInFull, facts, judge: Some(judge) })
}

fn mismatch(axes: BTreeMap<String, i64>) -> Mismatch {
    Mismatch {
        tensor: "y".to_owned(),
        index: vec![3, 64],
        axes,
        inputs: "uniform".to_owned(),
        found: Some(Number(1.5)),
        expected: Some(Number(0.5)),
        bound: Some(1e-6),
        ratio: Some(3.0),
        tile: vec![TileCoordinate { axis: "k".to_owned(), extent: 64, tile: 1, within: 0 }],
        check: "values".to_owned(),
        region: Some("every element from index 64 of axis k".to_owned()),
    }
}

/// A run in a folder, with these entries.
pub(super) fn written(folder: &Path, run: &str, entries: &[Entry]) -> LogFile {
    let mut file = LogFile::create(folder, start(run)).expect("a new run");
    for entry in entries {
        file.append(entry.clone()).expect("appended");
    }
    file
}
