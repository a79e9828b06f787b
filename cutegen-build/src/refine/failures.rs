//! Which candidates of a history failed, in one line. A generator whose candidates all crash loses every race, and nothing
//! else would tell.

use super::Trial;
use crate::outcome::Outcome;

/// Characters of a reason.
const REASON_MAX: usize = 120;

/// `3 of 48 candidates failed: 2 crashed, such as a: by signal 11; 1 is incorrect, such as b: ..`; none where none did.
#[must_use]
pub fn failures(history: &[Trial]) -> Option<String> {
    let failed: Vec<&Trial> = history.iter().filter(|trial| !trial.passed()).collect();
    let kinds = KINDS.iter().filter_map(|(kind, is_it)| {
        let of_kind: Vec<&&Trial> = failed.iter().filter(|trial| is_it(&trial.outcome)).collect();
        let first = of_kind.first()?;
        Some(format!(
            "{} {kind}, such as {}: {}",
            of_kind.len(),
            first.candidate.name,
            reason(&first.outcome)
        ))
    });
    let kinds: Vec<String> = kinds.collect();
    (!failed.is_empty())
        .then(|| format!("{} of {} candidates failed: {}", failed.len(), history.len(), kinds.join("; ")))
}

type IsIt = fn(&Outcome) -> bool;

/// How candidates fail, worst first.
const KINDS: [(&str, IsIt); 5] = [
    ("crashed", |outcome| matches!(outcome, Outcome::Crashed(_))),
    ("incorrect", |outcome| matches!(outcome, Outcome::Incorrect(_))),
    ("not ended in time", |outcome| matches!(outcome, Outcome::TimedOut(_))),
    ("blocked", |outcome| matches!(outcome, Outcome::Blocked(_))),
    ("not compiled", |outcome| matches!(outcome, Outcome::CompileFailed(_))),
];

fn reason(outcome: &Outcome) -> String {
    let text = match outcome {
        Outcome::Crashed(crash) => crash.to_string(),
        Outcome::Incorrect(fault) => fault.to_string(),
        Outcome::Blocked(text) | Outcome::CompileFailed(text) => text.clone(),
        Outcome::TimedOut(after) => format!("{after:?}"),
        Outcome::Passed { .. } => String::new(),
    };
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(REASON_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Trial, failures};
    use crate::generate::Candidate;
    use crate::outcome::{Correctness, Crash, Outcome};

    fn trial(name: &str, outcome: Outcome) -> Trial {
        Trial::new(Candidate::bare(name), outcome, 1)
    }

    #[test]
    fn failures_are_counted_by_kind_with_one_of_each() {
        let passed = || Outcome::Passed { correctness: Correctness::default(), performance: None };
        let crashed = |text: &str| Outcome::Crashed(Crash::Device(text.to_owned()));
        let history = [
            trial("a", passed()),
            trial("b", Outcome::CompileFailed(format!("\n  error: {}\nmore", "x".repeat(300)))),
            trial("c", crashed("CUDA_ERROR_ILLEGAL_INSTRUCTION")),
            trial("d", crashed("another")),
            trial("e", Outcome::TimedOut(Duration::from_secs(2))),
        ];
        let line = failures(&history).expect("some failed");
        let start = "4 of 5 candidates failed: 2 crashed, such as c: ";
        assert!(line.starts_with(start) && line.contains("ILLEGAL_INSTRUCTION"), "{line}");
        assert!(line.contains("; 1 not ended in time, such as e: 2s; 1 not compiled, such as b: error: x"));
        assert!(!line.contains('\n') && !line.contains("more") && line.len() < 400, "{line}");
        assert_eq!(failures(&history[..1]), None);
    }
}
