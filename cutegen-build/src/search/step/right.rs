//! Kernels of a log that are right, as candidates of a search. It trusts no verdict of the log: the search judges anew.

use crate::compile::CompileSetup;
use crate::generate::Candidate;
use crate::run_log::{self, Sequence};
use crate::search::error::SearchError;

use super::Run;
use super::build::Source;

/// What a kernel comes by that a run begins from: an entry of a store.
pub const BY_STORE: &str = "store";
/// The same: a template's candidate that no store has.
pub const BY_TEMPLATE: &str = "template";

/// Each with its speed-up over the naive kernel, where a verdict has one.
pub(super) fn of(setup: &CompileSetup, run: Run<'_>) -> Result<Vec<(f64, Candidate)>, SearchError> {
    let is_own = |kernel: &Sequence| !run.log.candidate(run.log.reply(*kernel)).is_some_and(is_warm);
    let kernels = run.log.kernels().map(|(sequence, _)| sequence).filter(is_own);
    let right =
        kernels.filter(|kernel| run.log.verdict(*kernel).is_some_and(|verdict| verdict.outcome.is_right()));
    let mut found = Vec::new();
    for kernel in right {
        match Source::of(setup, run, kernel) {
            Ok(source) => found.push((over_naive(run, kernel), source.candidate)),
            // its text, or the spec, is not what it was
            Err(SearchError::Ours { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Whether a run began from it: it is an entry's already, or a template's, and is no source of a run's own.
fn is_warm(candidate: &run_log::Candidate) -> bool {
    let begins = |by: &&str| candidate.by.strip_prefix(*by).is_some_and(|rest| rest.starts_with(", "));
    candidate.request.is_none() && [BY_STORE, BY_TEMPLATE].iter().any(begins)
}

/// By its last verdict that has times; 0 where none has.
fn over_naive(run: Run<'_>, kernel: Sequence) -> f64 {
    let own = run.log.verdicts().filter(|(_, verdict)| verdict.candidate == kernel);
    own.filter_map(|(_, verdict)| verdict.facts.over_naive()).last().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::is_warm;
    use crate::run_log::{Candidate, Content};

    #[test]
    fn what_a_run_began_from_is_no_source_of_its_own() {
        let of = |request, by: &str| {
            let (by, text) = (by.to_owned(), String::new());
            is_warm(&Candidate::new(request, by, text, Content::Words))
        };
        assert!(of(None, "store, rows-256") && of(None, "template, rows-256"));
        assert!(
            !of(Some(1), "store, a model") && !of(None, "submitted, store, me") && !of(None, "storehouse, x")
        );
    }
}
