//! Kernels of three files beside this one, each labelled `right`, `harmless` or `wrong`, as candidates of a search: through
//! guard, compiler and the whole gate. `specs.toml` has their math.
//!
//! What is wrong and passes all the same is named in a list with the reason; one that falls leaves it.
//! `CUTEGEN_WRONG_SEED` draws other inputs.

mod cheats;
mod judging;
mod sampled;
mod values;

use std::collections::BTreeMap;
use std::sync::Mutex;

use cutegen_build::evaluate::Outcome;
use cutegen_build::toolchain::{Places, locate};
use serde::Deserialize;

use crate::{Test, sample};
use judging::Bench;

pub(crate) const TESTS: &[Test] = &[
    ("wrong::values_and_shapes", values::verdicts),
    ("wrong::cheats", cheats::verdicts),
    ("wrong::sampled", sampled::verdicts),
];

/// Specs at a time.
const LANES: usize = 2;

/// A file of kernels.
struct Corpus {
    text: &'static str,
    /// How many are wrong, and how many are not.
    counts: [usize; 2],
    /// What passes though it is wrong, and why.
    open: &'static [(&'static str, &'static str)],
}

#[derive(Deserialize)]
struct Document {
    kernel: Vec<Labelled>,
}

/// One kernel.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Labelled {
    name: String,
    expect: Label,
    spec: String,
    /// What stands before the entry.
    #[serde(default)]
    before: String,
    body: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Label {
    Wrong,
    Right,
    Harmless,
}

/// Every kernel has the verdict of its label, but for those that are known to pass.
fn verdicts(corpus: &Corpus) {
    let Document { kernel: all } = toml::from_str(corpus.text).expect("kernels");
    let wrong = all.iter().filter(|kernel| kernel.expect == Label::Wrong).count();
    assert_eq!([wrong, all.len() - wrong], corpus.counts, "wrong ones and others");
    for (name, _) in corpus.open {
        let listed = all.iter().find(|kernel| kernel.name == *name);
        assert!(
            listed.is_some_and(|kernel| kernel.expect == Label::Wrong),
            "no wrong kernel is named {name}"
        );
    }
    if !locate(&Places::from_env().expect("a home folder")).is_ok_and(|found| found.cxx.is_some()) {
        println!("  skipped: no toolchain is installed");
        return;
    }
    let taken = sample::of(all, |kernel| kernel.name.clone());
    let unexpected: Vec<String> = judged(&taken).iter().filter_map(|of| unexpected(corpus, of)).collect();
    assert!(unexpected.is_empty(), "{} unexpected:\n{}", unexpected.len(), unexpected.join("\n"));
}

/// The outcome of each, its spec's reference compiled once.
fn judged(kernels: &[Labelled]) -> Vec<(&Labelled, Outcome)> {
    let mut by_spec: BTreeMap<&str, Vec<&Labelled>> = BTreeMap::new();
    kernels.iter().for_each(|kernel| by_spec.entry(&kernel.spec).or_default().push(kernel));
    let (queue, all) = (Mutex::new(by_spec.into_iter()), Mutex::new(Vec::new()));
    let work = || {
        while let Some((spec, kernels)) = { queue.lock().expect("not poisoned").next() } {
            let mut bench = Bench::new(spec);
            for kernel in kernels {
                let outcome = bench.judged(kernel);
                println!("    {:?} {}: {outcome}", kernel.expect, kernel.name);
                all.lock().expect("not poisoned").push((kernel, outcome));
            }
        }
    };
    std::thread::scope(|scope| (0..LANES).for_each(|_| drop(scope.spawn(work))));
    all.into_inner().expect("not poisoned")
}

/// What is wrong with a verdict, in words.
fn unexpected(corpus: &Corpus, (kernel, outcome): &(&Labelled, Outcome)) -> Option<String> {
    let name = &kernel.name;
    let passed = matches!(outcome, Outcome::Passed { .. });
    let is_open = corpus.open.iter().any(|(open, _)| open == name);
    match (kernel.expect, passed, is_open) {
        (Label::Wrong, true, false) => Some(format!("{name}: passes")),
        (Label::Wrong, false, true) => Some(format!("{name}: take it off the list, it falls: {outcome}")),
        (Label::Right | Label::Harmless, false, _) => Some(format!("{name}: is refused: {outcome}")),
        _ => None,
    }
}
