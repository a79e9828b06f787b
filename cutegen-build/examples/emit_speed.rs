//! How long it takes to emit many kernels: 100 of 40 KB each unless told otherwise, as medians of some runs, and
//! where the time goes. `cargo run --release --example emit_speed -- 100 40960`
#![expect(clippy::unwrap_used, reason = "an example")]

use std::time::Instant;

use cutegen_build::emit::{EmitKernel, Package, emit};
use cutegen_build::plan::Plan;
use cutegen_build::print::naive;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::edition;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::record::{Artifact, Kind, Record, Source, VERSION, Variant};
use cutegen_spec::settings::Settings;

const RUNS: usize = 9;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().unwrap());
    let (count, bytes) = (arguments.next().unwrap_or(100), arguments.next().unwrap_or(40 << 10));
    let plans = plans(count);
    let answers: Vec<(Record, Vec<Vec<u8>>)> = plans.iter().map(|plan| answer(plan, bytes)).collect();
    let kernels: Vec<EmitKernel<'_>> = plans
        .iter()
        .zip(&answers)
        .map(|(plan, (record, artifacts))| EmitKernel { plan, record, artifacts })
        .collect();
    let triple = "x86_64-unknown-linux-gnu";
    let package = Package { name: "speed", version: "0.1.0", triple, host: triple };
    let folder = std::env::temp_dir().join(format!("cutegen-emit-speed-{}", std::process::id()));
    let (mut first, mut again) = (Vec::new(), Vec::new());
    let mut text = 0;
    for _ in 0..RUNS {
        let _ = std::fs::remove_dir_all(&folder);
        first.push(time(|| {
            text = std::fs::metadata(emit(&package, &kernels, &folder).unwrap().rust_file).unwrap().len()
        }));
        again.push(time(|| drop(emit(&package, &kernels, &folder).unwrap())));
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!(
        "{count} kernels of {bytes} bytes, {text} bytes of Rust: {:.1} ms, unchanged {:.1} ms",
        median(first),
        median(again)
    );
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn plans(count: usize) -> Vec<Plan> {
    let kernel = |i: usize| {
        format!(
            "[kernels.linear_{i}]\naxes = {{ m = '1..=8192', n = {}, k = 4096 }}\n\
             inputs = {{ x = 'bf16[m, k]', w = {{ type = 'bf16[n, k]', constant = true }}, b = 'bf16[n]' }}\n\
             outputs = {{ y = 'bf16[m, n]' }}\nmath = 'y[m, n] = gelu_tanh(sum(k, x[m, k] * w[n, k]) + b[n])'\n\
             targets = ['sm_90a']\n",
            1024 + i
        )
    };
    let text: String = (0..count).map(kernel).collect();
    let document = edition::spec_file(&format!("edition = 1\n{text}"), &Settings::default());
    Plan::all(&document.kernels)
}

/// A tuned variant of `bytes` less the naive one's 4 KB, and the naive one.
fn answer(plan: &Plan, bytes: usize) -> (Record, Vec<Vec<u8>>) {
    let artifacts = vec![vec![7; bytes.saturating_sub(4096)], vec![9; bytes.min(4096)]];
    let mut tuned = variant(plan, "tuned", Kind::Tuned, &artifacts[0]);
    tuned.eligibility =
        Eligibility::parse_positional("t0 aligned 16 and t1 aligned 16 and a0 >= 64").unwrap();
    let variants = vec![tuned, variant(plan, "naive", Kind::Naive, &artifacts[1])];
    (Record { version: VERSION, key: plan.key, question: plan.question.clone(), variants }, artifacts)
}

fn variant(plan: &Plan, name: &str, kind: Kind, bytes: &[u8]) -> Variant {
    let digest = ArtifactDigest::of(bytes);
    Variant {
        name: name.to_owned(),
        kind,
        eligibility: Eligibility::default(),
        prefer: Eligibility::default(),
        origin: String::new(),
        toolchain: String::new(),
        min_driver: Some(580),
        artifact: Artifact {
            file: format!("{name}.cubin"),
            artifact: digest,
            stored: digest,
            bytes: bytes.len() as u64,
        },
        source: Source { file: format!("{name}.cu"), digest },
        contract: naive::print(plan).contract,
        evidence: None,
    }
}
