//! Seeds and references never exist in a runner: its memory and mappings are looked at while it judges. Inputs do,
//! which shows that what is there would be found.

use std::hash::{BuildHasher as _, RandomState};

use cutegen_build::evaluate::rng::mix;
use cutegen_build::evaluate::{Call, Distribution, Outcome, Reference, contents};

use crate::Test;
use crate::bench::Bench;
use crate::kernels::{Kernel, SILU_MUL};
use crate::scan::{self, Look, Needle};

pub(crate) const TESTS: &[Test] = &[
    ("maps::nothing_of_the_judge_is_in_a_runner", nothing_of_the_judge_is_in_a_runner),
    ("maps::a_seed_that_leaks_is_found", a_seed_that_leaks_is_found),
];

const AXES: [i64; 2] = [64, 96];

/// One shape, so that what is looked for is there all the time.
static ONE_SHAPE: Kernel = Kernel {
    spec: r#"
axes = { m = 64, n = 96 }
inputs = { x = "bf16[m, n]", g = "bf16[m, n]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = silu(g[m, n]) * x[m, n]"
"#,
    ..SILU_MUL
};

/// Right, and at work for a while.
const SLOW: &str = "for (volatile long k = 0; k < 100000000; ++k); \
                    for (int64_t i = 0; i < SIZE; ++i) Y[i] = one(X[i], G[i]);";

/// An input, which a runner has; then what only the judge has.
fn needles(bench: &Bench, seed: u64) -> Vec<Needle> {
    let drawn = contents(&bench.spec(), mix(seed), &AXES, Distribution::Normal).expect("drawn");
    let inputs: Vec<Vec<u8>> = drawn.into_iter().flatten().collect();
    let outputs = [(AXES[0] * AXES[1]) as usize];
    let call =
        Call { inputs: &inputs, axes: &AXES, scalars: &[], outputs: &outputs, exact: false, sampled: None };
    let expected = Reference::load(&bench.reference()).expect("it loads").call(&call).remove(0);
    let values = |name: &str, all: &[f64]| {
        let bytes = all[3000..3004].iter().flat_map(|value| value.to_le_bytes()).collect();
        Needle { name: name.to_owned(), bytes }
    };
    let mut needles = vec![Needle { name: "input".to_owned(), bytes: inputs[0][2000..2064].to_vec() }];
    needles.extend(scan::number("seed", seed));
    needles.extend(scan::number("seed of the case", mix(seed)));
    needles.push(values("reference", &expected.value));
    needles.push(values("bound", &expected.bound));
    needles
}

/// Looks at the runners of a session, which have these variables; and the judge's own mappings meanwhile.
fn watch(bench: &Bench, seed: u64, leaked: &[(&str, String)]) -> (String, Vec<Look>) {
    let (needles, slow) = (needles(bench, seed), bench.candidate(SLOW));
    scan::watch(&needles, || {
        let mut judge = bench.judge_with(|settings| {
            (settings.seed, settings.screening, settings.repeats) = (seed, (1, 1), (2, 2));
            settings.workers.env.extend(leaked.iter().map(|(name, value)| (name.into(), value.into())));
        });
        let outcome = judge.screen(&slow).expect("the machine works");
        assert!(matches!(outcome, Outcome::Passed { .. }), "{outcome}");
        std::fs::read_to_string("/proc/self/maps").expect("readable")
    })
}

fn nothing_of_the_judge_is_in_a_runner() {
    let (bench, seed) = (Bench::new(&ONE_SHAPE), RandomState::new().hash_one("maps"));
    let (maps, looks) = watch(&bench, seed, &[]);
    let whole: Vec<&Look> = looks.iter().filter(|look| look.is_whole).collect();
    let bytes = whole.iter().map(|look| look.bytes[0]).max().unwrap_or_default();
    println!("    {} looks, {} at all memory, of up to {} MB", looks.len(), whole.len(), bytes >> 20);
    let reference = bench.reference().to_string_lossy().into_owned();
    assert!(maps.contains(&reference), "the judge maps its reference, so a mapping can be seen");
    for look in &looks {
        let named = look.descriptors.iter().chain([&look.maps]).find(|text| text.contains("reference.so"));
        assert_eq!(named, None, "a runner has the reference");
        assert!(look.found.iter().all(|name| name == "input"), "a runner holds {:?}", look.found);
    }
    assert!(whole.iter().any(|look| look.found.contains("input")), "not even the input was found");
    assert!(whole.iter().any(|look| look.maps.contains("cutegen-arena")), "{looks:?}");
}

fn a_seed_that_leaks_is_found() {
    let (bench, seed) = (Bench::new(&ONE_SHAPE), RandomState::new().hash_one("leaked"));
    let (_, looks) = watch(&bench, seed, &[("LEAKED", seed.to_string())]);
    assert!(looks.iter().any(|look| look.found.contains("seed, decimal")), "{looks:?}");
}
