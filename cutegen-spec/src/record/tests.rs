//! Records of every age: the first ones, the committed ones, and ones with every field that evidence may have.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{Clocks, Evidence, Figures, Record, ReferenceOn, Seeds, TimedBy, Timing, incumbent};

/// As version 1 began, with a seed that only an unsigned number holds.
const FIRST: &str = r#"
gate = 1
device = "NVIDIA H200"
seed = 16947743616812226514
shapes = ["n = 37"]
distributions = ["normal"]
elements = 37
worst-share = 0.5
repeats = 1000
sanitizer = "clean"

[[timings]]
micros = 1.874
incumbent = "naive"
speedup = 1.38
low = 1.37
high = 1.39
samples = 30

[timings.workload]
n = 180224
"#;

fn read(text: &str) -> Result<Evidence, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())
}

fn print(evidence: &Evidence) -> String {
    toml::to_string(evidence).expect("evidence is TOML")
}

/// SplitMix64: the same bits for the same number.
fn bits(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Evidence that has a field or not by the bits of `number`.
fn drawn(number: u64) -> Evidence {
    let word = bits(number);
    let is = |at: u32| word >> at & 1 == 1;
    let words = |at: u32, some: &[&str]| -> Vec<String> {
        some.iter().filter(|_| is(at)).map(|word| (*word).to_owned()).collect()
    };
    let share = (word >> 11) as f64 / (1_u64 << 53) as f64;
    let figures = Figures {
        micros: share * 1e3,
        incumbent_micros: is(0).then_some(share * 2e3),
        speedup: 2.0,
        low: 1.5 + share,
        high: 3.0,
        samples: 30,
    };
    let timing = |name: &&str| Timing {
        workload: BTreeMap::from([("m".to_owned(), 128), ("n".to_owned(), (word % 1000).cast_signed())]),
        micros: figures.micros,
        incumbent: (*name).to_owned(),
        about: is(16).then(|| "13.1, algorithm 3".to_owned()),
        differs: is(17).then(|| "y[3]".to_owned()),
        incumbent_micros: figures.incumbent_micros,
        speedup: figures.speedup,
        low: figures.low,
        high: figures.high,
        samples: figures.samples,
        roof_micros: is(1).then_some(share),
        sustained: is(2).then_some(figures),
        clocks: is(3).then(|| Clocks {
            sm_mhz: [1200, 1980],
            mem_mhz: [3201, 3201],
            watts: [90, 702],
            throttle: words(4, &["power cap"]),
        }),
    };
    let incumbents = [
        incumbent::NAIVE,
        incumbent::LOCKED,
        incumbent::CUBLASLT,
        incumbent::TORCH_EAGER,
        incumbent::TORCH_COMPILE,
    ];
    Evidence {
        gate: 2,
        device: "a \"device\"\n".to_owned(),
        seeds: Seeds { judging: word, timing: is(5).then_some(!word) },
        checks: words(6, &["values", "poison"]),
        shapes: words(7, &["m = 1, n = 2"]),
        sampled: words(21, &["m = 1, n = 2"]),
        distributions: words(8, &["normal"]),
        elements: word >> 20,
        not_judged: is(9).then_some(word >> 40),
        not_counted: words(20, &["y, small: 3 of 14 shapes", "y, cancelling: 1 of 14 shapes"]),
        reference: is(10).then_some(if is(11) { ReferenceOn::Device } else { ReferenceOn::Host }),
        worst_share: share,
        baseline: is(12).then(|| "cublaslt".to_owned()),
        repeats: 1000,
        sanitizer: "clean: memcheck".to_owned(),
        not_enforced: words(13, &["cgroups"]),
        judge_seconds: is(14).then_some(share * 60.0),
        not_timed: words(18, &["locked"]),
        timed_by: is(19).then(|| TimedBy { gate: 1, device: "NVIDIA H200, sm_90, driver 580".to_owned() }),
        timings: incumbents.iter().filter(|_| is(15)).map(timing).collect(),
    }
}

#[test]
fn the_first_form_is_read_and_printed_in_the_present_one() {
    let evidence = read(FIRST).expect("the first form");
    assert_eq!(evidence.seeds, Seeds::one(16_947_743_616_812_226_514));
    assert_eq!((evidence.not_judged, evidence.reference, evidence.checks.len()), (None, None, 0));
    let timing = &evidence.timings[0];
    assert_eq!((timing.burst().micros, timing.sustained, timing.clocks.clone()), (1.874, None, None));
    let printed = print(&evidence);
    assert!(printed.contains("[seeds]\njudging = 16947743616812226514\n"), "{printed}");
    assert!(evidence.not_counted.is_empty() && !printed.contains("not-counted"), "{printed}");
    assert_eq!(read(&printed), Ok(evidence));
}

#[test]
fn whatever_is_present_comes_back() {
    for number in 0..500 {
        let evidence = drawn(number);
        let printed = print(&evidence);
        assert_eq!(read(&printed).as_ref(), Ok(&evidence), "{number}\n{printed}");
    }
}

#[test]
fn kept_timings_stay_with_the_device_that_took_them() {
    let here = Evidence { gate: 4, device: "NVIDIA H100, sm_90".to_owned(), ..Evidence::default() };
    assert_eq!((here.timed_on(), here.timed_by().gate), ("NVIDIA H100", 4));
    let by = TimedBy { gate: 2, device: "NVIDIA H200, sm_90, driver 580".to_owned() };
    let kept = Evidence { timed_by: Some(by.clone()), ..here };
    assert_eq!((kept.timed_on(), kept.timed_by()), ("NVIDIA H200", by));
}

#[test]
fn nonsense_is_refused() {
    let cases = [
        ("seed = 16947743616812226514", "seed = -1"),
        ("seed = 16947743616812226514", "seed = \"7\""),
        ("seed = 16947743616812226514", "seed = 7\nseeds = { judging = 7 }"),
        ("seed = 16947743616812226514", "seeds = { timing = 7 }"),
        ("seed = 16947743616812226514", "seeds = { judging = 7, other = 7 }"),
        ("seed = 16947743616812226514\n", ""),
        ("repeats = 1000", "repeats = 1000\nreference = \"cloud\""),
        ("samples = 30", "samples = 30\nclocks = { sm-mhz = [1], mem-mhz = [1, 2], watts = [1, 2] }"),
        ("samples = 30", "samples = 30\nroof = 1.0"),
    ];
    for (from, to) in cases {
        let text = FIRST.replacen(from, to, 1);
        assert_ne!(text, FIRST);
        assert!(read(&text).is_err(), "{to}");
    }
}

#[test]
fn seeds_are_told_once_where_they_are_one() {
    assert_eq!(Seeds::one(7).to_string(), "7");
    assert_eq!(Seeds { judging: 7, timing: None }.to_string(), "7");
    assert_eq!(Seeds { judging: 7, timing: Some(9) }.to_string(), "7 judging, 9 timing");
}

#[test]
fn every_committed_record_is_read_and_comes_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("cache/v1"), root.join("example-app/cutegen-store/v1")];
    let (mut records, mut judged) = (0, 0);
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).expect("a folder of entries") {
            let path = item.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(super::FILE) {
                let text = fs::read_to_string(&path).expect("a record");
                let record = Record::parse(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
                let printed = record.to_toml().expect("prints");
                assert_eq!(Record::parse(&printed).as_ref(), Ok(&record), "{}", path.display());
                records += 1;
                judged += record.variants.iter().filter(|v| v.evidence.is_some()).count();
            }
        }
    }
    assert!(records > 200 && judged > 10, "{records} records, {judged} judged variants");
}
