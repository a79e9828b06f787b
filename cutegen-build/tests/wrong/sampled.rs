//! A product that is wrong in few places, at shapes whose whole reference costs too much: a sample of rows and columns finds
//! it, and shapes that are affordable do not.

use cutegen_build::evaluate::{Outcome, Settings};
use cutegen_build::toolchain::{Places, locate};

use super::judging::Bench;
use super::{Label, Labelled};

const SPEC: &str = "edition = 1\n[kernels.product]\naxes = { m = '1..=256', n = '1..=256', k = '1..=256' }\n\
                    inputs = { x = 'f32[m, k]', w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }\n\
                    math = 'y[m, n] = sum(k, x[m, k] * w[n, k])'\n\
                    workloads = [{ m = 64, n = 64, k = 64 }]";

/// Of a large shape, which elements are wrong.
const FAULTS: [(&str, &str); 4] = [
    ("nowhere", "false"),
    ("in one tile", "i / 64 == 1 && j / 64 == 2"),
    ("in a stripe of rows", "i / 64 == 2"),
    ("in a stripe of columns", "j / 64 == 1"),
];

fn kernel(is_wrong: &str) -> Labelled {
    let body = format!(
        "const float* x = PTR(const float, 0); const float* w = PTR(const float, 1); float* y = PTR(float, 2);\n\
         const int64_t m = VAL(int64_t, 3), n = VAL(int64_t, 4), k = VAL(int64_t, 5);\n\
         for (int64_t i = 0; i < m; ++i) for (int64_t j = 0; j < n; ++j) {{\n\
           float s = 0;\n\
           for (int64_t t = 0; t < k; ++t) s += x[i * k + t] * w[j * k + t];\n\
           y[i * n + j] = m > 210 && n > 210 && k > 210 && ({is_wrong}) ? s + 1 : s;\n\
         }}"
    );
    Labelled {
        name: "product".to_owned(),
        expect: Label::Wrong,
        spec: String::new(),
        before: String::new(),
        body,
    }
}

pub(super) fn verdicts() {
    if !locate(&Places::from_env().expect("a home folder")).is_ok_and(|found| found.cxx.is_some()) {
        println!("  skipped: no toolchain is installed");
        return;
    }
    // a whole reference may cost 8 times as much: 203 cubed
    let few = |settings: &mut Settings| (settings.cost_cap, settings.large_cap) = (1 << 21, 1 << 26);
    let none = |settings: &mut Settings| {
        few(settings);
        settings.sampling = None;
    };
    let (mut sampling, mut whole) = (Bench::of(SPEC, &few), Bench::of(SPEC, &none));
    for (place, is_wrong) in FAULTS {
        let (with, without) = (sampling.judged(&kernel(is_wrong)), whole.judged(&kernel(is_wrong)));
        println!("    wrong {place}: {with}");
        assert!(matches!(without, Outcome::Passed { .. }), "wrong {place}, without a sample: {without}");
        match with {
            Outcome::Passed { correctness, .. } => {
                assert_eq!(is_wrong, "false", "wrong {place} passes");
                let large = correctness.sampled.iter().any(|axes| axes.iter().all(|extent| *extent > 210));
                assert!(large, "of a sample: {:?}", correctness.sampled);
            }
            Outcome::Incorrect(fault) => assert_ne!(is_wrong, "false", "{fault:?}"),
            other => panic!("wrong {place}: {other}"),
        }
    }
}
