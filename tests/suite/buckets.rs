//! One kernel, several answers: a product whose one row and whose many want different tiles gets an entry that has both,
//! each preferred where it is faster, and the whole of it is judged, locked and dispatched.

use std::path::Path;

use cutegen_spec::record::{Kind, Record};
use cutegen_tests::{cutegen, install_toolchain, must, scratch, write};

use crate::retune::files;

/// One row is a product of a matrix and a vector: tiles of several rows waste most of what they compute there.
const SPEC: &str = r#"
edition = 1
[kernels.product]
axes = { m = "1..=256", n = 96, k = 96 }
inputs = { x = "f32[m, k]", w = "f32[n, k]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = sum(k, x[m, k] * w[n, k])"
workloads = [{ m = 1 }, { m = 192 }]
"#;

/// The one record under `folder`.
fn record(folder: &Path) -> Record {
    let records = files(folder).into_iter().filter(|(path, _)| path.ends_with("record.toml"));
    let texts: Vec<String> = records.map(|(_, text)| String::from_utf8(text).expect("text")).collect();
    assert_eq!(texts.len(), 1);
    Record::parse(&texts[0]).expect("a record")
}

#[test]
fn a_kernel_has_an_answer_for_each_range() {
    install_toolchain();
    let folder = scratch("buckets");
    write(&folder.join("specs/product.toml"), SPEC);
    let run = |args: &[&str]| {
        let mut command = cutegen(&folder.join("home"));
        must(command.current_dir(&folder).args(args).args(["--specs", "specs", "--cache", "cache"]))
    };
    run(&["tune"]);
    run(&["accept"]);
    run(&["check", "--tuned"]);

    let record = record(&folder.join("cache"));
    let tuned: Vec<_> = record.variants.iter().filter(|variant| variant.kind != Kind::Naive).collect();
    let names: Vec<&str> = tuned.iter().map(|variant| variant.name.as_str()).collect();
    assert!(tuned.len() >= 2, "two workloads, {names:?}");
    let dispatched = |m: i64| record.choose(&[m, 96, 96], &[256; 3]).expect("some variant");
    assert!(dispatched(1) < tuned.len() && dispatched(192) < tuned.len(), "{names:?}");
    assert_ne!(dispatched(1), dispatched(192), "{names:?}");
    // each was timed where it is dispatched, and nowhere else
    for m in [1, 192] {
        let timed = |variant: usize| {
            let evidence = record.variants[variant].evidence.as_ref().expect("judged");
            evidence.timings.iter().any(|timing| timing.workload["m"] == m)
        };
        let who: Vec<usize> = (0..record.variants.len()).filter(|variant| timed(*variant)).collect();
        assert_eq!(who, [dispatched(m)], "{names:?}");
    }
    run(&["verify"]);
}
