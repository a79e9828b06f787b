//! Runs of twelve kernels as logs, times and records, with figures that a reader can check.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use cutegen_tests::results::Row;
use cutegen_tests::{must, scratch, workspace, write};
use serde_json::{Value, json};

pub(super) const CARD: &str = "NVIDIA H200";
pub(super) const TWELVE: [&str; 12] = [
    "conv2d_11x11",
    "conv2d_relu_max_pool",
    "conv2d_3x3",
    "conv_transpose2d",
    "depthwise_conv3d",
    "attention_prefill",
    "attention_paged",
    "attention_sliding",
    "gemm_int4",
    "triplet_loss",
    "embedding_norm",
    "conv2d_bias_relu",
];

/// A folder of runs, with the table of its kernels.
pub(super) struct Place(pub(super) PathBuf);

impl Place {
    pub(super) fn new(name: &str) -> Self {
        let folder = scratch(name);
        let lines = TWELVE.map(|kernel| format!("| `{kernel}` | somewhere | memory |\n"));
        write(
            &folder.join("README.md"),
            &format!("# Runs\n\n| kernel | from | bound |\n|---|---|---|\n{}\nBehind.\n", lines.concat()),
        );
        Self(folder)
    }

    pub(super) fn log(&self, kernel: &str, number: &str, entries: &[Value]) {
        let run = format!("{}-{number}", kernel.replace('_', "-"));
        let start =
            json!({ "version": 1, "run": run, "kernel": kernel, "key": key(kernel), "strategy": "refine" });
        let lines = [start].iter().chain(entries).map(|line| format!("{line}\n")).collect::<String>();
        write(&self.0.join(format!("cutegen-runs/{}/{run}.jsonl", &key(kernel)[..16])), &lines);
    }

    /// What `bench` said of a variant: 10 us, and so many times as fast as each of these.
    pub(super) fn bench(&self, kernel: &str, variant: &str, against: &[(&str, f64)]) {
        let times = |(incumbent, ratio): &(&str, f64)| {
            let timing = json!({ "workload": { "m": 16 }, "micros": 10.0, "incumbent": incumbent, "speedup": ratio, "roof-micros": 7.5 });
            let pairs: Vec<[f64; 2]> = [0.9, 1.0, 1.2].map(|noise| [10.0, 10.0 * ratio * noise]).to_vec();
            json!({ "variant": variant, "roof": { "micros": 7.5, "bound": "memory", "device": "H200" }, "timing": timing, "pairs": pairs })
        };
        let times: Vec<Value> = against.iter().map(times).collect();
        let file = json!({ "kernels": [{ "kernel": kernel, "key": key(kernel), "device": format!("{CARD}, sm_90"), "times": times }] });
        write(&self.0.join(format!("raw/{kernel}.json")), &file.to_string());
    }

    pub(super) fn peers(&self, kernels: &Value) {
        write(&self.0.join("raw/peers.json"), &json!({ "device": CARD, "kernels": kernels }).to_string());
    }

    /// Rows and the page that they are on.
    pub(super) fn rows(&self) -> (Vec<Row>, String) {
        let raw = self.0.join("agentic.json");
        let mut script = Command::new("python3");
        script.arg("-B").arg(workspace().join("tests/bench/agentic_rows.py")).arg("abc");
        must(script.arg("--runs").arg(&self.0).arg("--raw").arg(&raw));
        let rows = serde_json::from_str(&fs::read_to_string(raw).expect("rows"))
            .expect("rows as the page takes them");
        (rows, fs::read_to_string(self.0.join("README.md")).expect("a page"))
    }
}

pub(super) fn key(kernel: &str) -> String {
    let hex: String = kernel.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{hex:0<64}")
}

pub(super) fn asks(ask: &str, about: Option<u32>) -> Value {
    let mut request = json!({ "ask": ask, "bytes": 450 });
    about.inspect(|about| request["about"] = (*about).into());
    json!({ "request": request })
}

pub(super) fn kernel(name: &str, predicted: Option<f64>) -> Value {
    let mut kernel = json!({ "name": name });
    predicted.inspect(|predicted| kernel["predicted"] = (*predicted).into());
    json!({ "kernel": kernel })
}

pub(super) fn answers(request: u32, content: &Value) -> Value {
    json!({ "candidate": { "request": request, "by": "a model", "text": "a".repeat(50), "content": content } })
}

pub(super) fn point(of: u32, name: &str) -> Value {
    json!({ "point": { "of": of, "values": { "T": 2 }, "content": kernel(name, None) } })
}

pub(super) fn compiled(candidate: u32) -> Value {
    json!({ "verdict": { "candidate": candidate, "outcome": "compiled" } })
}

pub(super) fn seen(candidate: u32, outcome: &str, over_naive: f64, over: &Value) -> Value {
    let speed = json!([{ "workload": { "m": 16 }, "micros": 100.0 / over_naive, "over-naive": over_naive, "over": over, "roofline": 0.5 }]);
    json!({ "verdict": { "candidate": candidate, "outcome": outcome, "facts": { "speed": speed }, "judge": { "card": CARD } } })
}

/// A first kernel, and one of twice its speed that is accepted.
pub(super) fn doubled(place: &Place, kernel_name: &str, over_torch: f64) {
    let entries = [
        asks("first", None),
        answers(1, &kernel("m-1", None)),
        seen(2, "right", 3.0, &json!({})),
        asks("optimise", Some(2)),
        answers(4, &kernel("m-2", Some(1.5))),
        seen(5, "right", 6.0, &json!({ "2": 2.0 })),
        seen(5, "accepted", 6.0, &json!({})),
    ];
    place.log(kernel_name, "1", &entries);
    place.bench(
        kernel_name,
        "m-2",
        &[("naive", 6.0), ("torch-eager", over_torch), ("torch-compile", over_torch + 1.0)],
    );
}

/// Of two points the second is the first kernel; then a gain, a loss that a gain over it makes good, and no prediction.
pub(super) fn swept(place: &Place) {
    let entries = [
        asks("first", None),
        answers(1, &json!({ "sweep": { "points": 2 } })),
        point(2, "m-a"),
        point(2, "m-b"),
        compiled(3),
        compiled(4),
        seen(3, "right", 2.0, &json!({ "4": 0.5 })),
        seen(4, "right", 4.0, &json!({ "3": 2.0 })),
        asks("optimise", Some(4)),
        answers(9, &kernel("m-c", Some(1.5))),
        seen(10, "right", 5.0, &json!({ "4": 1.25 })),
        asks("optimise", Some(10)),
        answers(12, &kernel("m-d", Some(2.0))),
        seen(13, "right", 4.5, &json!({ "10": 0.9 })),
        asks("optimise", Some(10)),
        answers(15, &kernel("m-e", None)),
        seen(16, "right", 10.0, &json!({ "10": 2.0 })),
        seen(16, "accepted", 10.0, &json!({})),
    ];
    place.log("embedding_norm", "1", &entries);
    place.bench("embedding_norm", "m-e", &[("naive", 10.0), ("torch-eager", 2.0), ("torch-compile", 1.5)]);
}

/// A run of one answer.
pub(super) fn first_reply(place: &Place, kernel_name: &str, number: u32, outcome: &str, over_naive: f64) {
    let entries =
        [asks("first", None), answers(1, &kernel("m-f", None)), seen(2, outcome, over_naive, &json!({}))];
    place.log(kernel_name, &format!("first-{number}"), &entries);
}

/// All twelve with an accepted kernel, and first replies of the three.
pub(super) fn whole(name: &str) -> Place {
    let place = Place::new(name);
    TWELVE
        .iter()
        .filter(|kernel| **kernel != "embedding_norm")
        .for_each(|kernel| doubled(&place, kernel, 1.3));
    swept(&place);
    let ways = json!({ "micros": { "dense eager": [13.0], "dense compile": [23.0] }, "failed": {} });
    let mut kernels: Value = TWELVE
        .map(|kernel| (kernel.to_owned(), ways.clone()))
        .into_iter()
        .collect::<serde_json::Map<_, _>>()
        .into();
    // the fastest way is none of the spec's: 1.5 * 12 / 18 of it
    kernels["embedding_norm"] = json!({ "micros": { "dense eager": [24.0], "dense compile": [18.0, 18.0, 99.0], "by hand": [12.0] } });
    place.peers(&kernels);
    for (number, (outcome, over_naive)) in
        (1..).zip([("right", 4.0), ("right", 8.0), ("wrong", 0.1), ("right", 5.0)])
    {
        first_reply(&place, "embedding_norm", number, outcome, over_naive);
    }
    for kernel in ["attention_paged", "gemm_int4"] {
        first_reply(&place, kernel, 1, "right", 4.0);
        first_reply(&place, kernel, 2, "refused", 0.1);
    }
    place
}
