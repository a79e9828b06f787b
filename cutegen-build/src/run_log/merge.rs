//! Two copies of one run become one. Candidates are those of the copy at home; what another machine adds are verdicts, which
//! are marked as [`Place::Elsewhere`].

use super::{Entry, Judge, Log, LogError, LogFile, Place, Verdict};

/// What a merge brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Verdicts that were new.
    pub new: usize,
    /// Those that were there already.
    pub known: usize,
}

/// Appends the verdicts of another copy of the run that this one lacks.
///
/// # Errors
/// It is another run, or its candidates are others; then nothing is appended.
pub fn merge(home: &mut LogFile, other: &Log) -> Result<Merged, LogError> {
    let differs = |line: usize, why: String| LogError::Line(home.path().to_owned(), line, why);
    if home.log().start != other.start {
        let why = format!("the other log is of {} for {}", other.start.run, other.start.kernel);
        return Err(differs(1, why));
    }
    let mut new: Vec<Verdict> = Vec::new();
    let mut merged = Merged::default();
    for (sequence, verdict) in other.verdicts() {
        let judged = verdict.candidate;
        if home.log().candidate(judged).is_none() || home.log().candidate(judged) != other.candidate(judged) {
            // the first line is the run's
            return Err(differs(sequence as usize + 1, format!("candidate {judged} is another one there")));
        }
        let verdict = marked(verdict);
        let is_known =
            home.log().verdicts().any(|(_, known)| marked(known) == verdict) || new.contains(&verdict);
        if is_known { merged.known += 1 } else { new.push(verdict) }
    }
    merged.new = new.len();
    new.into_iter().try_for_each(|verdict| home.append(Entry::Verdict(verdict)).map(drop))?;
    Ok(merged)
}

/// A verdict as it stands in a copy that did not reach it.
fn marked(verdict: &Verdict) -> Verdict {
    let judge = verdict.judge.clone().map(|judge| Judge { place: Place::Elsewhere, ..judge });
    Verdict { judge, ..verdict.clone() }
}
