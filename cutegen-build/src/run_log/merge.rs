//! Two copies of one run become one. Candidates are those of the copy at home; what another machine adds are points of
//! the last answer, and verdicts, which are marked as [`Place::Elsewhere`].

use super::{Entry, Judge, Log, LogError, LogFile, Place, Verdict};

/// What a merge brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Verdicts that were new.
    pub new: usize,
    /// Those that were there already.
    pub known: usize,
}

/// Appends the points and the verdicts of another copy of the run that this one lacks.
///
/// # Errors
/// It is another run, or its candidates are others; then nothing is appended.
pub fn merge(home: &mut LogFile, other: &Log) -> Result<Merged, LogError> {
    let differs = |line: usize, why: String| LogError::Line(home.path().to_owned(), line, why);
    if home.log().start != other.start {
        let why = format!("the other log is of {} for {}", other.start.run, other.start.kernel);
        return Err(differs(1, why));
    }
    let points = points(home.log(), other);
    let mut here = home.log().clone();
    here.entries.extend(points.iter().cloned());
    let mut new: Vec<Verdict> = Vec::new();
    let mut merged = Merged::default();
    for (sequence, verdict) in other.verdicts() {
        let judged = verdict.candidate;
        if here.content(judged).is_none() || here.at(judged) != other.at(judged) {
            // the first line is the run's
            return Err(differs(sequence as usize + 1, format!("candidate {judged} is another one there")));
        }
        let verdict = marked(verdict);
        let is_known = here.verdicts().any(|(_, known)| marked(known) == verdict) || new.contains(&verdict);
        if is_known { merged.known += 1 } else { new.push(verdict) }
    }
    merged.new = new.len();
    let mut all = points.into_iter().chain(new.into_iter().map(Entry::Verdict));
    all.try_for_each(|entry| home.append(entry).map(drop))?;
    Ok(merged)
}

/// Points that were written there and not here: they follow from the answer before them, so their places are the same.
fn points(here: &Log, other: &Log) -> Vec<Entry> {
    let Some((before, behind)) = other.entries.split_at_checked(here.entries.len()) else {
        return Vec::new();
    };
    if before != here.entries {
        return Vec::new();
    }
    behind.iter().take_while(|entry| matches!(entry, Entry::Point(_))).cloned().collect()
}

/// A verdict as it stands in a copy that did not reach it.
fn marked(verdict: &Verdict) -> Verdict {
    let judge = verdict.judge.clone().map(|judge| Judge { place: Place::Elsewhere, ..judge });
    Verdict { judge, ..verdict.clone() }
}
