//! `bench` on the host: what its table and its file of samples say of one short run. How fast anything is, no test says.

use std::path::Path;

use cutegen_tests::{cutegen, install_toolchain, must, run, scratch, workspace};
use serde_json::Value;

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {value}"))
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[values.len() / 2], values[(values.len() - 1) / 2])
}

#[test]
fn a_table_and_its_samples() {
    install_toolchain();
    let (root, folder) = (workspace(), scratch("bench"));
    let file = folder.join("bench.json");
    let mut command = cutegen(&root.join("target/suite/run-home"));
    command.args(["bench", "silu_mul", "--target", "host", "--axes", "n=8192", "--results"]).arg(&file);
    let ran = must(command.arg("--manifest-path").arg(root.join("example-app/Cargo.toml")));

    let results: Value = serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
    let kernel = &results["kernels"][0];
    let times = &kernel["times"][0];
    let (timing, pairs) = (&times["timing"], times["pairs"].as_array().expect("pairs"));
    assert_eq!((results["kernels"].as_array().map(Vec::len), pairs.len()), (Some(1), 30));
    assert_eq!(timing["samples"].as_u64(), Some(30));
    // the figures are those of the samples
    let side = |at: usize| pairs.iter().map(move |pair| pair[at].as_f64().expect("microseconds"));
    let ratio = middle(side(0).zip(side(1)).map(|(ours, theirs)| (theirs / ours).ln()).collect()).exp();
    let speedup = number(timing, "speedup");
    assert!((ratio / speedup - 1.0).abs() < 1e-9, "{ratio}, not {speedup}");
    assert!((middle(side(0).collect()) / number(timing, "micros") - 1.0).abs() < 1e-9);
    assert!(number(timing, "low") <= speedup && speedup <= number(timing, "high"));
    assert!(side(0).chain(side(1)).all(|micros| micros > 0.0 && micros < 1e6));
    // two inputs and an output of 8192 elements of 2 bytes
    assert_eq!(number(times, "bytes"), 8192.0 * 6.0);

    let lines: Vec<&str> = ran.stdout.lines().collect();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[0])[..4], ["kernel", "at", "variant", "us"], "{}", ran.stdout);
    let row = words(lines[1]);
    assert_eq!((row[0].as_str(), row[1].as_str(), row[2].as_str()), ("silu_mul", "host", "n=8192"));
    assert_eq!(row[3], times["variant"].as_str().expect("a variant"));
    let shown: f64 = row[4].parse().expect("microseconds");
    assert!((shown / number(timing, "micros") - 1.0).abs() < 0.006, "three digits of {}", timing["micros"]);
    assert!(lines[1].contains("B/s") && lines[1].contains("naive"), "{}", lines[1]);
    assert_eq!(lines.len(), 2, "one workload against one incumbent:\n{}", ran.stdout);
}

#[test]
fn what_cannot_be_timed_is_told() {
    install_toolchain();
    let root = workspace();
    let bench = |args: &[&str], manifest: &Path| {
        let mut command = cutegen(&root.join("target/suite/run-home"));
        run(command.arg("bench").args(args).arg("--manifest-path").arg(manifest))
    };
    let example = root.join("example-app/Cargo.toml");
    let told = bench(&["silu_mul", "--target", "host", "--axes", "n=0"], &example);
    assert_eq!(told.code, Some(2), "{}", told.stderr);
    assert!(told.stderr.contains("outside 1..="), "{}", told.stderr);
    let told = bench(&["silu_mul", "--target", "host", "--results", "/no/such/folder/x.json"], &example);
    assert_eq!(told.code, Some(3), "{}", told.stderr);
    assert!(told.stderr.contains("cannot write /no/such/folder/x.json"), "{}", told.stderr);
    if !Path::new("/dev/nvidiactl").exists() {
        let told = bench(&["silu_mul", "--target", "sm_90a"], &example);
        assert_eq!(told.code, Some(3), "{}", told.stderr);
    }
}
