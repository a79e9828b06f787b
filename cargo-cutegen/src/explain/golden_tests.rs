//! What `explain KERNEL` prints, of committed entries and of a record with every field that evidence may have.
//! `UPDATE_GOLDEN=1` rewrites the texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use cutegen_build::discover::Project;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::store::replay::replay;
use cutegen_build::store::{Store, lock_file};
use cutegen_spec::record::{Clocks, Evidence, Figures, Record, ReferenceOn, Seeds, Timing, incumbent};

use super::kernel::{commands, sheet, unknown};
use super::speed::roofs;
use super::variant::wrapped;
use crate::args::Cargo;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A committed kernel's plan and record.
fn committed(kernel: &str, target: &str) -> (Plan, Record) {
    let project = Project::library(&root().join("kernel-specs"), &root().join("cache")).expect("a library");
    let lock = lock_file::read(&project.lock).expect("a lock");
    let store = Store::new(&project.store);
    let mut plans = Plan::all(&project.specs).into_iter();
    let is_it = |p: &Plan| p.spec.name.as_str() == kernel && p.target.to_string().starts_with(target);
    let plan = plans.find(is_it).expect("declared");
    let entry = replay(&request(&plan, &project, &lock, &store)).expect("locked");
    (plan, entry.record)
}

fn holds(name: &str, plan: &Plan, record: &Record) {
    let commands = commands(plan, " --specs kernel-specs --cache cache");
    for command in &commands {
        Cargo::try_parse_from(command.split(' ')).expect("a command that there is");
    }
    let roofs = roofs(plan, record);
    let text = format!("{}\n", sheet(plan, record, &commands, &roofs).join("\n"));
    for line in text.lines() {
        let single = line.split_whitespace().count() <= 2; // a word that no line holds
        assert!(line.chars().count() <= 100 || single, "over 100 columns: {line}");
    }
    same(name, &text);
}

fn same(name: &str, text: &str) {
    let path = root().join("tests/golden/explain").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{name}; UPDATE_GOLDEN=1 rewrites it; now:\n{text}");
}

fn timing(incumbent: &str, n: i64, micros: f64) -> Timing {
    Timing {
        workload: BTreeMap::from([("n".to_owned(), n)]),
        micros,
        incumbent: incumbent.to_owned(),
        incumbent_micros: Some(micros * 1.25),
        speedup: 1.25,
        low: 1.241,
        high: 1.262,
        samples: 30,
        roof_micros: Some(micros * 0.8),
        ..Timing::default()
    }
}

fn every_field() -> Evidence {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let sustained = Figures {
        micros: 30.5,
        incumbent_micros: Some(36.6),
        speedup: 1.2,
        low: 1.19,
        high: 1.21,
        samples: 40,
    };
    let clocks = |throttle: &[&str]| Clocks {
        sm_mhz: [1755, 1980],
        mem_mhz: [3201, 3201],
        watts: [212, 698],
        throttle: words(throttle),
    };
    let naive = Timing {
        sustained: Some(sustained),
        clocks: Some(clocks(&["software power cap"])),
        ..timing(incumbent::NAIVE, 16_777_216, 26.25)
    };
    let library = Timing { clocks: Some(clocks(&[])), ..timing(incumbent::TORCH_COMPILE, 180_224, 1.875) };
    let product = Timing {
        about: Some("cuBLASLt 130100, heuristic 3 of 32, of which 31 ran".to_owned()),
        differs: Some("`y` element 7: 1.5 where the spec gives 1.25 within 0.125".to_owned()),
        ..timing(incumbent::CUBLASLT, 16_777_216, 26.25)
    };
    Evidence {
        gate: 5,
        device: "NVIDIA H200, sm_90, driver 580 (CUDA 13.0)".to_owned(),
        seeds: Seeds { judging: 16_947_743_616_812_226_514, timing: Some(7) },
        checks: words(&["values", "poison", "untouched", "guards", "inputs", "workspace-poison", "globals"]),
        shapes: (1..=24).map(|n| format!("n = {}", n * n * 1021)).collect(),
        sampled: Vec::new(),
        distributions: words(&["normal", "one-hot-last", "integers"]),
        elements: 7_943_012,
        not_judged: Some(12),
        not_counted: words(&["y, cancelling: 3 of 24 shapes", "y, small: 1 of 24 shapes"]),
        reference: Some(ReferenceOn::Device),
        worst_share: 0.995_864,
        baseline: Some("cublaslt".to_owned()),
        repeats: 1000,
        sanitizer: "clean: memcheck, racecheck, initcheck, synccheck".to_owned(),
        not_enforced: Vec::new(),
        judge_seconds: Some(8.25),
        timed_by: None,
        not_timed: words(&["torch-eager: not run: no torch"]),
        timings: vec![naive, product, library],
    }
}

#[test]
fn a_tuned_committed_entry() {
    let (plan, record) = committed("silu_mul", "sm_90a");
    holds("tuned.txt", &plan, &record);
}

#[test]
fn an_untuned_entry_that_nothing_judged_says_so() {
    let (plan, mut record) = committed("layer_norm", "host");
    record.variants.iter_mut().for_each(|variant| variant.evidence = None);
    holds("untuned.txt", &plan, &record);
}

#[test]
fn every_field_of_evidence_is_told() {
    let (plan, mut record) = committed("silu_mul", "sm_90a");
    record.variants[0].evidence = Some(every_field());
    record.variants[1].evidence.as_mut().expect("judged").gate = 1;
    holds("every_field.txt", &plan, &record);
    same("every_field.record.toml", &record.to_toml().expect("prints"));
}

#[test]
fn a_recorded_roof_goes_before_a_computed_one() {
    let (plan, mut record) = committed("silu_mul", "sm_90a");
    let timed = [65_536, 16_777_216].map(|n| timing(incumbent::NAIVE, n, 40.0));
    record.variants[0].evidence.as_mut().expect("judged").timings = timed.to_vec();
    let of = |record: &Record| roofs(&plan, record).iter().map(|roof| roof.micros).collect::<Vec<_>>();
    let timings = |record: &mut Record, change: &dyn Fn(&mut Timing)| {
        let judged = record.variants.iter_mut().filter_map(|variant| variant.evidence.as_mut());
        judged.flat_map(|evidence| &mut evidence.timings).for_each(change);
    };
    timings(&mut record, &|timing| timing.roof_micros = None);
    // two inputs and an output of 2 bytes an element, at the 4.39 TB/s that the plan's figures say
    let computed = of(&record);
    let expected = [65_536.0, 16_777_216.0].map(|n: f64| n * 6.0 / 4.39e6);
    assert!(computed.iter().zip(expected).all(|(found, e)| (found / e - 1.0).abs() < 1e-3), "{computed:?}");
    timings(&mut record, &|timing| {
        timing.roof_micros = (timing.workload["n"] > 65_536).then_some(23.0);
    });
    assert_eq!(of(&record), [computed[0], 23.0]);
    let (host, record) = committed("silu_mul", "host");
    assert_eq!(roofs(&host, &record).len(), 0, "no figures of a CPU");
}

#[test]
fn near_names_are_listed() {
    let names = ["rms_norm", "rms_norm_gated", "layer_norm", "softmax"];
    let told = |name| unknown(name, &names);
    assert_eq!(
        told("rmsnorm"),
        "there is neither a kernel nor a code `rmsnorm`; did you mean `rms_norm`?\nrun: cargo cutegen check"
    );
    assert!(
        told("norm").contains("did you mean `rms_norm`, `rms_norm_gated`, `layer_norm`?"),
        "{}",
        told("norm")
    );
    assert_eq!(told("xyz"), "there is neither a kernel nor a code `xyz`\nrun: cargo cutegen check");
}

#[test]
fn long_values_are_broken_at_spaces() {
    let lines = wrapped("shapes", &"word ".repeat(40));
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("   shapes        word word"), "{}", lines[0]);
    assert!(lines[1].starts_with("                 word"), "{}", lines[1]);
    assert!(lines.iter().all(|line| line.len() <= 100));
    assert_eq!(lines.iter().map(|line| line.matches("word").count()).sum::<usize>(), 40);
}
