//! Renew: a locked entry as today's printer and compilers make it. Its naive kernel is printed from the math anew, tuned
//! variants for the host are compiled anew from their stored sources; tuned cubins stay, byte for byte. Knows neither lock
//! nor store.
//!
//! Invariant: a variant that is another than before has no evidence, and no times against it are kept.

use cutegen_spec::record::{Evidence, Kind, Record, Variant, incumbent};

use super::compiled::{self, Attempt, Compiled};
use super::entry;
use super::error::SearchError;
use super::ordered;
use crate::compile::{CompileCache, CompileSetup};
use crate::generate;
use crate::plan::Plan;
use crate::store::{Entry, Files};

/// Why nothing was timed against a naive kernel of today.
const SWAPPED: &str = "naive: it was another kernel, and was renewed";

/// An entry as it is made today. Dispatch is as it was.
#[derive(Clone, Debug)]
pub struct Renewed {
    /// Its record.
    pub record: Record,
    /// Its artifacts and sources.
    pub files: Files,
    /// Variants that are others than before, by name.
    pub changed: Vec<String>,
    /// Variants that stay as they were, as their source does not compile any more, each with the reason.
    pub stuck: Vec<(String, String)>,
}

/// Makes each entry anew and calls `tell` with it, in order.
pub(super) fn renew(
    setup: &CompileSetup,
    entries: &[(&Plan, Entry)],
    tell: &mut dyn FnMut(usize, Result<Renewed, SearchError>),
) {
    let setup = &CompileSetup { cache: CompileCache::off(), ..setup.clone() };
    std::thread::scope(|scope| {
        let work = |at: usize| renewed(setup, entries[at].0, &entries[at].1);
        ordered::start(scope, entries.len(), work).enumerate().for_each(|(at, renewed)| tell(at, renewed));
    });
}

fn renewed(setup: &CompileSetup, plan: &Plan, entry: &Entry) -> Result<Renewed, SearchError> {
    let mut renewed = Renewed {
        record: Record { variants: Vec::new(), ..entry.record.clone() },
        files: Vec::new(),
        changed: Vec::new(),
        stuck: Vec::new(),
    };
    for (at, variant) in entry.record.variants.iter().enumerate() {
        let source = &entry.sources[at];
        match today(setup, plan, variant, source)? {
            Some(Ok(compiled)) => renewed.take(plan, (variant, &entry.artifacts[at], source), &compiled)?,
            Some(Err((_, outcome))) => {
                renewed.stuck.push((variant.name.clone(), outcome.to_string()));
                renewed.keep((variant, &entry.artifacts[at], source));
            }
            None => renewed.keep((variant, &entry.artifacts[at], source)),
        }
    }
    renewed.forget_times(plan);
    Ok(renewed)
}

/// What becomes of a variant's source today; none where the lock does not ask.
fn today(
    setup: &CompileSetup,
    plan: &Plan,
    variant: &Variant,
    source: &[u8],
) -> Result<Option<Attempt>, SearchError> {
    match (variant.kind, plan.target.is_host()) {
        (Kind::Naive, _) => {
            let toolchain = compiled::fingerprint(setup, &plan.target)?;
            let naive = generate::naive::candidate(plan, &toolchain);
            compiled::must_compile(setup, plan, naive).map(|compiled| Some(Ok(compiled)))
        }
        (Kind::Tuned | Kind::Predicted, true) => {
            let attempt = compiled::one(setup, None, plan, compiled::stored(variant, source))?;
            Ok(Some(attempt.map(|compiled| Compiled { prefer: variant.prefer.clone(), ..compiled })))
        }
        (Kind::Tuned | Kind::Predicted, false) => Ok(None),
    }
}

/// A variant with its stored artifact and its source.
type Held<'a> = (&'a Variant, &'a Vec<u8>, &'a Vec<u8>);

impl Renewed {
    /// The variant as it was.
    fn keep(&mut self, (variant, artifact, source): Held<'_>) {
        self.record.variants.push(variant.clone());
        self.files.push((variant.artifact.file.clone(), artifact.clone()));
        self.files.push((variant.source.file.clone(), source.clone()));
    }

    /// The variant as it was compiled now, where that is another one.
    fn take(&mut self, plan: &Plan, held: Held<'_>, compiled: &Compiled) -> Result<(), SearchError> {
        let mut files = Files::new();
        let made = entry::variant(plan, compiled, None, &mut files)?;
        if made.digest() == held.0.digest() {
            self.keep(held);
            return Ok(());
        }
        self.changed.push(made.name.clone());
        self.record.variants.push(made);
        self.files.extend(files);
        Ok(())
    }

    /// Drops the times against a naive kernel that is another one now.
    fn forget_times(&mut self, plan: &Plan) {
        let is_naive =
            |variant: &Variant| variant.kind == Kind::Naive && self.changed.contains(&variant.name);
        if self.record.variants.iter().any(is_naive) {
            let kept = self.record.variants.iter_mut().filter_map(|variant| variant.evidence.as_mut());
            kept.for_each(|evidence| forget_times(plan, evidence));
        }
    }
}

/// Drops times against a naive kernel, and what belongs to times where none are left.
fn forget_times(plan: &Plan, evidence: &mut Evidence) {
    let (had, before) = (entry::checks(plan, evidence), evidence.timings.len());
    evidence.timings.retain(|timing| timing.incumbent != incumbent::NAIVE);
    if evidence.timings.len() == before {
        return;
    }
    evidence.not_timed.push(SWAPPED.to_owned());
    if evidence.timings.is_empty() {
        (evidence.seeds.timing, evidence.timed_by) = (None, None);
        let has = entry::checks(plan, evidence);
        evidence.checks.retain(|name| has.contains(name) || !had.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::record::{Evidence, Seeds, TimedBy, Timing, incumbent};

    use super::{SWAPPED, forget_times};
    use crate::plan::Plan;

    fn timed(incumbents: &[&str]) -> Evidence {
        let timing = |name: &&str| Timing { incumbent: (*name).to_owned(), ..Timing::default() };
        Evidence {
            gate: 6,
            seeds: Seeds { judging: 7, timing: Some(9) },
            checks: ["values", "a check of an older gate", "timed", "floor"].map(str::to_owned).to_vec(),
            timed_by: Some(TimedBy { gate: 4, device: "NVIDIA H200".to_owned() }),
            timings: incumbents.iter().map(timing).collect(),
            ..Evidence::default()
        }
    }

    #[test]
    fn times_against_a_swapped_kernel_go_and_others_stay() {
        let text = "edition = 1\n[kernels.k]\naxes = { n = '1..=64' }\ninputs = { x = 'f32[n]' }\n\
                    outputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n]'\ntargets = ['sm_90a']\n";
        let plans = Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text"));
        let forgotten = |incumbents: &[&str]| {
            let mut evidence = timed(incumbents);
            forget_times(&plans[0], &mut evidence);
            evidence
        };
        let none = forgotten(&[incumbent::NAIVE, incumbent::NAIVE]);
        assert_eq!((none.timings.len(), none.seeds.timing, none.timed_by), (0, None, None));
        assert_eq!(
            (none.checks, none.not_timed),
            (vec!["values".to_owned(), "a check of an older gate".to_owned()], vec![SWAPPED.to_owned()])
        );
        let some = forgotten(&[incumbent::NAIVE, incumbent::CUBLASLT]);
        let expected = Evidence { not_timed: vec![SWAPPED.to_owned()], ..timed(&[incumbent::CUBLASLT]) };
        assert_eq!(some, expected);
        assert_eq!(
            forgotten(&[incumbent::CUBLASLT]),
            timed(&[incumbent::CUBLASLT]),
            "nothing is said of what was not there"
        );
    }
}
