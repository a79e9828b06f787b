//! Seeds and references never exist in a runner: its memory, mappings and descriptors are looked at while it has a
//! candidate on the device.

use std::hash::{BuildHasher as _, RandomState};

use cutegen_build::evaluate::rng::mix;
use cutegen_build::evaluate::{Call, Candidate, Distribution, Expected, Outcome, Reference, contents};
use cutegen_spec::spec::KernelSpec;

use super::keep;
use crate::bench::{self, HONEST, PRELUDE, STEP};
use crate::fixtures;
use crate::scan::{self, Look, Needle};

/// One shape, so that what is looked for is there all the time.
const AXES: [i64; 2] = [64, 96];
/// A name that nothing else has: a runner must know it.
const ENTRY: &str = "cutegen_bars_maps_looks_for_this_entry";
/// References that are held for sure, in values that follow one another.
const CONSECUTIVE: usize = 4;

/// The honest kernel, at work for about a quarter of a second.
pub(super) fn source() -> (String, Vec<&'static str>) {
    let wait = "const long long from = clock64();\n  while (clock64() - from < 500000000ll) {}\n  if (i <";
    (format!("{PRELUDE}{HONEST}").replace("if (i <", wait).replace("candidate", ENTRY), vec![ENTRY])
}

fn candidate() -> Candidate {
    let (source, entries) = source();
    bench::candidate(&source, &entries, &STEP.replace("candidate", ENTRY))
}

fn spec() -> KernelSpec {
    let [m, n] = AXES;
    bench::spec_of(&format!(
        "edition = 1\n[kernels.k]\naxes = {{ m = {m}, n = {n} }}\n\
         inputs = {{ x = 'bf16[m, n]', g = 'bf16[m, n]' }}\noutputs = {{ y = 'bf16[m, n]' }}\n\
         math = 'y[m, n] = silu(g[m, n]) * x[m, n]'"
    ))
}

/// What the judge holds of the first case of this seed.
fn expected(seed: u64) -> Expected {
    let inputs = contents(&spec(), mix(seed), &AXES, Distribution::Normal).expect("drawn");
    let inputs: Vec<Vec<u8>> = inputs.into_iter().flatten().collect();
    let outputs = [(AXES[0] * AXES[1]) as usize];
    let call =
        Call { inputs: &inputs, axes: &AXES, scalars: &[], outputs: &outputs, exact: false, sampled: None };
    Reference::load(&fixtures::reference()).expect("it loads").call(&call).remove(0)
}

fn needles(seed: u64) -> Vec<Needle> {
    let values = |name: &str, all: &[f64]| {
        let at = all.len() / 2;
        let bytes = all[at..at + CONSECUTIVE].iter().flat_map(|value| value.to_le_bytes()).collect();
        Needle { name: name.to_owned(), bytes }
    };
    let expected = expected(seed);
    let mut needles = scan::number("seed", seed);
    needles.extend(scan::number("seed of the case", mix(seed)));
    needles.push(values("reference", &expected.value));
    needles.push(values("bound", &expected.bound));
    needles.push(Needle { name: ENTRY.to_owned(), bytes: ENTRY.as_bytes().to_vec() });
    needles
}

pub(super) fn nothing_of_the_judge_is_in_a_runner() {
    let seed = RandomState::new().hash_one("bars::maps");
    let (descriptors, looks) = scan::watch(&needles(seed), || judged(seed));
    let whole: Vec<&Look> = looks.iter().filter(|look| look.is_whole).collect();
    let [read, unread] =
        [0, 1].map(|at| whole.iter().map(|look| look.bytes[at]).max().unwrap_or_default() >> 20);
    println!("    {} looks, {} at all memory: {read} MB read, {unread} MB not", looks.len(), whole.len());
    println!("    descriptors of a runner: {:?}", whole.last().map(|look| &look.descriptors));
    println!("    descriptors of the judge, one shape and all distributions: {descriptors:?}");
    let found: Vec<_> = looks.iter().flat_map(|look| &look.found).collect();
    let knows_entry = found.iter().any(|name| *name == ENTRY);
    let knows_more: Vec<_> = found.iter().filter(|name| **name != ENTRY).collect();
    keep(
        "maps",
        &serde_json::json!({
            "looks": looks.len(), "whole": whole.len(), "read_mb": read, "unread_mb": unread,
            "found_of_the_judge": knows_more, "found_planted": knows_entry, "judge_descriptors": descriptors,
            "runner_descriptors": whole.last().map(|look| look.descriptors.clone()),
        }),
    );
    let reference = fixtures::reference().file_name().expect("a name").to_string_lossy().into_owned();
    assert!(maps_here().contains(&reference), "the judge maps its reference, so a mapping can be seen");
    assert!(!looks.iter().any(|look| look.maps.contains(&reference)), "a runner maps the reference");
    assert!(!whole.is_empty() && knows_entry, "nothing can be found");
    assert!(knows_more.is_empty(), "a runner holds {knows_more:?}");
    let grown = descriptors[1].saturating_sub(descriptors[0]);
    assert!(grown < Distribution::ALL.len() - 1, "as many descriptors as references: {descriptors:?}");
}

/// Judges the candidate at one distribution, then at all: how many descriptors the judge has after each. Memory is
/// exported as a descriptor, so references that were would add one for each further distribution.
fn judged(seed: u64) -> [usize; 2] {
    let mut judge = bench::judge_of(spec(), None, |settings| {
        (settings.seed, settings.screening, settings.repeats) = (seed, (1, 1), (2, 2));
    });
    let (candidate, held) = (candidate(), || scan::descriptors(std::process::id()).len());
    bench::passes(&mut judge, &candidate);
    let before = held();
    let outcome = judge.full(&[candidate]).expect("the machine works");
    assert!(matches!(outcome, Outcome::Passed { .. }), "{outcome}");
    [before, held()]
}

/// This process's own mappings, with the reference loaded.
fn maps_here() -> String {
    let _loaded = Reference::load(&fixtures::reference()).expect("it loads");
    std::fs::read_to_string("/proc/self/maps").expect("readable")
}
