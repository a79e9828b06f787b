//! The hostile corpus: each row names the one check that catches it, and is accepted with that check off. A row whose
//! check the gate does not have yet is not caught, and says so.

mod bounds;
mod device;
mod early;
mod kinds;
mod numbers;
mod outputs;
mod products;
mod row;
mod state;
mod weaker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cutegen_build::evaluate::judge::sanitize::{Sanitized, locate};
use cutegen_build::evaluate::{Check, Fault, Judge, Outcome};

use super::honest;
use super::judged::{Line, Task, judge, line};
use row::{Caught, Off, Row};

const CORPUS: &[&[Row]] = &[
    outputs::ROWS,
    state::ROWS,
    bounds::ROWS,
    numbers::ROWS,
    weaker::ROWS,
    device::ROWS,
    early::ROWS,
    products::ROWS,
];

/// Rows of one task.
const CHUNK: usize = 5;

/// Sessions that a task keeps: each has a context on the device.
const SESSIONS: usize = 4;

/// Where timed rows are compared with the naive kernel: 100 MB in all.
const TIMED_AT: [i64; 2] = [4096, 4096];

fn rows() -> impl Iterator<Item = &'static Row> {
    CORPUS.iter().copied().flatten()
}

pub(super) fn count() -> usize {
    rows().count()
}

pub(super) fn sources() -> impl Iterator<Item = (String, Vec<String>)> {
    let offs = |row: &'static Row| [None, Some(row.by)].into_iter().map(move |off| (row, off));
    rows()
        .flat_map(offs)
        .map(|(row, off)| (row.source(off), row.entries().into_iter().map(str::to_owned).collect()))
}

pub(super) fn fall_to_their_check() {
    let (path, home) = (std::env::var_os("PATH"), std::env::var_os("CUDA_HOME"));
    let sanitizer = locate(path.as_deref(), home.as_deref());
    if sanitizer.is_none() {
        println!("    no compute-sanitizer: its rows are not judged");
        assert!(std::env::var_os("CUTEGEN_REQUIRE_SANITIZER").is_none(), "it is required");
    }
    let only = std::env::var("CUTEGEN_HOSTILE_ONLY").ok();
    let wanted = |row: &&Row| only.as_ref().is_none_or(|only| row.name.contains(only.as_str()));
    let mut by_subject: BTreeMap<&str, Vec<&'static Row>> = BTreeMap::new();
    let can_be = |row: &&Row| sanitizer.is_some() || !matches!(row.caught, Caught::Sanitized(_));
    for row in rows().filter(wanted).filter(can_be) {
        by_subject.entry(row.kind.subject.name).or_default().push(row);
    }
    let chunks: Vec<&[&Row]> = by_subject.values().flat_map(|rows| rows.chunks(CHUNK)).collect();
    let sanitizer = sanitizer.as_deref();
    let task = |rows| Box::new(move || fall(rows, sanitizer)) as Task<'_>;
    let at_least = if only.is_some() { 1 } else { 45 };
    judge("hostile", chunks.into_iter().map(task).collect(), at_least);
}

/// Judges rows of one spec; sessions with the same settings are shared.
fn fall(rows: &[&Row], sanitizer: Option<&Path>) -> Vec<Line> {
    let mut sessions = Sessions { sessions: BTreeMap::new(), sanitizer: sanitizer.map(Path::to_owned) };
    rows.iter().map(|row| line(row.class, row.name, || sessions.falls(row))).collect()
}

struct Sessions {
    /// By spec and what is off.
    sessions: BTreeMap<String, Judge>,
    sanitizer: Option<PathBuf>,
}

impl Sessions {
    /// Rejected with everything on; by its check alone with what is behind it off; accepted with both off.
    fn falls(&mut self, row: &Row) -> Result<String, String> {
        let first = self.judged(row, None, &[])?;
        if matches!(first, Outcome::Passed { .. }) {
            return Err(format!("{:?} by {:?}, but {first}", row.caught, row.by));
        }
        let alone = if row.behind.is_empty() { first } else { self.judged(row, None, row.behind)? };
        if !is_caught(row, &alone) {
            return Err(format!("{:?} by {:?}, but {alone}", row.caught, row.by));
        }
        match self.judged(row, Some(row.by), row.behind)? {
            Outcome::Passed { .. } => Ok(alone.to_string()),
            other => Err(format!("without {:?} and {:?}: {other}", row.by, row.behind)),
        }
    }

    fn judged(&mut self, row: &Row, off: Option<Off>, behind: &[Check]) -> Result<Outcome, String> {
        let candidate = row.candidate(off);
        let sanitizer = self.sanitizer.clone();
        let subject = row.kind.subject;
        let key = format!("{} {off:?} {behind:?} {}", subject.name, matches!(row.by, Off::Deadline(_)));
        let new = || subject.judge(|settings| row.adjust(settings, off, behind));
        if self.sessions.len() >= SESSIONS && !self.sessions.contains_key(&key) {
            self.sessions.clear();
        }
        let judge = self.sessions.entry(key).or_insert_with(new);
        let outcome = judge.full(std::slice::from_ref(&candidate)).map_err(|error| error.to_string())?;
        let is_on = off.is_none();
        match (row.caught, sanitizer) {
            _ if !matches!(outcome, Outcome::Passed { .. }) => Ok(outcome),
            (Caught::Sanitized(tool), Some(sanitizer)) if is_on => {
                let found = judge
                    .sanitize(&[candidate], &sanitizer, &[tool])
                    .map_err(|error| error.to_string())?
                    .remove(0);
                Ok(if let Sanitized::Errors { .. } = found {
                    Outcome::Blocked(format!("{found:?}"))
                } else {
                    outcome
                })
            }
            (Caught::Timed, _) => {
                let compared = judge.compare(&candidate, &honest::naive(subject), &TIMED_AT);
                Ok(compared.map_err(|error| error.to_string())?.err().unwrap_or(outcome))
            }
            _ => Ok(outcome),
        }
    }
}

fn is_caught(row: &Row, outcome: &Outcome) -> bool {
    match (row.caught, outcome) {
        (Caught::Incorrect(check), Outcome::Incorrect(fault)) => {
            fault.check() == check && is_drawn_so(row, fault)
        }
        (Caught::Crashed, Outcome::Crashed(_)) | (Caught::TimedOut, Outcome::TimedOut(_)) => true,
        (Caught::Blocked | Caught::Sanitized(_), Outcome::Blocked(_)) => true,
        (Caught::Somehow | Caught::Timed, other) => !matches!(other, Outcome::Passed { .. }),
        _ => false,
    }
}

/// A distribution that catches something is where it is seen.
fn is_drawn_so(row: &Row, fault: &Fault) -> bool {
    match row.by {
        Off::Check(Check::Distribution(distribution)) => fault.place().distribution == distribution,
        _ => true,
    }
}
