//! [`Told`]: what an agent is told of a candidate, as JSON that is no longer than an answer may be.

use cutegen_build::render::command::placed;
use cutegen_build::run_log::{Content, Diagnostic, Facts, Log, Outcome, Point, Sequence};
use cutegen_build::strategy::points::chosen;
use cutegen_spec::target::Target;
use serde::Serialize;

use super::id::Id;
use super::jobs::{NOT_JUDGED, Stage};
use crate::project::short;

/// Characters of an answer: three make a token, and an answer has 6,000 tokens at most.
pub(super) const MOST: usize = 18_000;
/// Characters of all diagnostics together, and of one.
const DIAGNOSTICS_MOST: usize = 10_000;
const LINE_MOST: usize = 1_500;
/// Lines of a sanitizer, which are long.
const SANITIZER_MOST: usize = 10;
/// Characters around the note on what was left out, a count among them.
const NOTE_FRAME: usize = 40;
/// Workloads and kernels that are listed.
const ROWS_MOST: usize = 8;
/// Characters of a reason in a point's line.
const POINT_MOST: usize = 80;

/// A candidate's state. Fields that do not apply are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Told {
    id: String,
    kernel: String,
    target: String,
    /// The name of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<String>,
    /// Of a source that sweeps constants, a line each; the best one is told of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<String>,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The geometric mean over the naive kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    over_naive: Option<f64>,
    #[serde(skip_serializing_if = "Facts::is_empty")]
    facts: Facts,
    /// What was left out of the facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<String>,
    next: String,
}

impl Told {
    /// Of a candidate of a log; the stage is known of this server's alone.
    pub(super) fn of(id: &Id, log: &Log, stage: Option<&Stage>) -> Option<Self> {
        let kernel = chosen(log, id.candidate);
        let content = log.content(kernel)?;
        let verdict = log.verdict(kernel);
        let state = stage.and_then(Stage::word).map(str::to_owned);
        let state = state.unwrap_or_else(|| settled(content, verdict.map(|verdict| verdict.outcome)));
        let mut facts = verdict.map(|verdict| verdict.facts.clone()).unwrap_or_default();
        if let Content::Unreadable(lines) = content {
            facts.diagnostics = lines.clone();
        }
        let (over_naive, cut) = (facts.over_naive(), shorten(&mut facts));
        let reason = match stage {
            Some(Stage::NotJudged(why) | Stage::Failed(why)) => Some(clipped(why, LINE_MOST)),
            _ => facts.reason.take(),
        };
        Some(Self {
            id: id.to_string(),
            kernel: log.start.kernel.clone(),
            target: target(log),
            candidate: log.kernel(kernel).map(|kernel| kernel.name.clone()),
            points: points(log, id.candidate),
            next: next(&state, log),
            state,
            reason,
            over_naive,
            facts,
            cut,
        })
    }

    /// With the arguments that name the project on every command.
    pub(super) fn at(mut self, place: &str) -> Self {
        self.next = placed(&self.next, place);
        self.reason = self.reason.map(|reason| placed(&reason, place));
        self
    }

    /// As JSON.
    pub(super) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("keys are strings")
    }
}

/// A candidate of which nothing more comes.
pub(super) fn settled(content: &Content, outcome: Option<Outcome>) -> String {
    match (content, outcome) {
        (Content::Unreadable(_) | Content::Words | Content::Ideas(_), _) => "unreadable".to_owned(),
        (Content::Repeat { of }, _) => format!("a repeat of {of}"),
        (Content::Kernel(_) | Content::Sweep(_), None) => "not compiled".to_owned(),
        (Content::Kernel(_) | Content::Sweep(_), Some(Outcome::Compiled)) => NOT_JUDGED.to_owned(),
        (Content::Kernel(_) | Content::Sweep(_), Some(outcome)) => word(outcome),
    }
}

/// A line for each point of a candidate: its values, and what became of it.
pub(super) fn points(log: &Log, candidate: Sequence) -> Vec<String> {
    let told = |(at, point): (Sequence, &Point)| {
        let verdict = log.verdict(at);
        let state = settled(&point.content, verdict.map(|verdict| verdict.outcome));
        let times = verdict.and_then(|verdict| verdict.facts.over_naive());
        let times = times.map(|times| format!(", {times:.2}x the naive kernel")).unwrap_or_default();
        let reason = verdict.and_then(|verdict| verdict.facts.reason.as_deref());
        let reason = reason.map(|reason| format!(": {}", clipped(reason, POINT_MOST))).unwrap_or_default();
        format!("{point}: {state}{times}{reason}")
    };
    log.points(candidate).map(told).collect()
}

/// The word that logs use.
fn word(outcome: Outcome) -> String {
    let value = serde_json::to_value(outcome).expect("a word");
    value.as_str().unwrap_or_default().to_owned()
}

/// Its target as an agent names it.
fn target(log: &Log) -> String {
    Target::parse(&log.start.target).map_or_else(|_| log.start.target.clone(), |target| short(&target))
}

/// What to do now.
fn next(state: &str, log: &Log) -> String {
    let (kernel, target) = (&log.start.kernel, target(log));
    match state {
        "waiting" | "compiling" | "screening" | "timing" | "whole gate" => {
            "call `verdict` with this id and wait_seconds 15".to_owned()
        }
        "unreadable" | "refused" => {
            "change the source where the diagnostics say, and call `propose`".to_owned()
        }
        "wrong" | "crashed" | "wrong-in-full" => {
            "find the mistake, and call `propose` with the right source".to_owned()
        }
        "right" => "the whole gate has not seen it: call `propose` with this source".to_owned(),
        "too-slow" => "call `propose` with a faster source; `best` has the best one so far".to_owned(),
        "accepted" => format!(
            "to go on, call `propose` with a faster source; this one is in the user store, and a person brings it into the \
             package with: cargo cutegen accept {kernel} --target {target}"
        ),
        NOT_JUDGED => format!(
            "where {target} can be judged, a person runs: cargo cutegen propose {kernel} --target {target} --source FILE"
        ),
        _ => {
            "call `propose` with this source; if it fails again, a person runs: cargo cutegen toolchain show"
                .to_owned()
        }
    }
}

/// Shortens what may be long; what was left out, in words.
fn shorten(facts: &mut Facts) -> Vec<String> {
    let mut cut = Vec::new();
    facts.reason = facts.reason.take().map(|reason| clipped(&reason, LINE_MOST));
    facts.diagnostics.iter_mut().for_each(|said| said.message = clipped(&said.message, LINE_MOST));
    facts.sanitizer.iter_mut().for_each(|line| *line = clipped(line, LINE_MOST / SANITIZER_MOST));
    let mut left = DIAGNOSTICS_MOST;
    let fits = |said: &&Diagnostic| {
        let fits = said.message.len() <= left;
        left = left.saturating_sub(said.message.len() + 60);
        fits
    };
    let fitting = facts.diagnostics.iter().take_while(fits).count();
    shortened("diagnostics", &mut facts.diagnostics, fitting, &mut cut);
    shortened("lines of the sanitizer", &mut facts.sanitizer, SANITIZER_MOST, &mut cut);
    shortened("kernels", &mut facts.kernels, ROWS_MOST, &mut cut);
    shortened("workloads", &mut facts.speed, ROWS_MOST, &mut cut);
    cut
}

fn shortened<T>(what: &str, rows: &mut Vec<T>, most: usize, cut: &mut Vec<String>) {
    if rows.len() > most {
        cut.push(format!("{} more {what}", rows.len() - most));
        rows.truncate(most);
    }
}

/// At most so many characters, the last of them dots where something was left out.
pub(super) fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(3)).chain("...".chars()).collect()
}

/// A text of lines that fits `room` characters, with `note` in place of the lines that do not.
pub(super) fn fitted(text: &str, room: usize, note: &str) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let head: String = text.chars().take(room.saturating_sub(note.chars().count() + NOTE_FRAME)).collect();
    let head = head.rfind('\n').map_or(head.as_str(), |end| &head[..end]);
    let lines = text[head.len()..].lines().filter(|line| !line.is_empty()).count();
    format!("{head}\n[{lines} lines were left out: {note}]")
}

#[cfg(test)]
mod tests {
    use cutegen_build::run_log::{Diagnostic, Facts};

    use super::{MOST, clipped, fitted, shorten};

    #[test]
    fn what_is_too_long_is_cut_and_that_is_said() {
        let long = "é".repeat(9_000);
        let text = format!("first\n{long}\n{long}\nlast\n");
        let told = fitted(&text, MOST, "ask for less");
        assert!(told.chars().count() <= MOST, "{}", told.chars().count());
        assert!(told.starts_with("first\né") && told.ends_with("[2 lines were left out: ask for less]"));
        assert_eq!(fitted("short", MOST, "ask for less"), "short");
        assert_eq!((clipped("abcdef", 5).as_str(), clipped("abcde", 5).as_str()), ("ab...", "abcde"));
    }

    #[test]
    fn facts_fit_an_answer() {
        let said = Diagnostic { line: Some(7), message: "error: ".repeat(400) };
        let line = "x".repeat(9_000);
        let mut facts = Facts {
            reason: Some(line.clone()),
            diagnostics: vec![said; 60],
            sanitizer: vec![line; 60],
            ..Facts::default()
        };
        let cut = shorten(&mut facts);
        assert!(facts.diagnostics.len() >= 6 && facts.sanitizer.len() == 10);
        assert_eq!(cut[1], "50 more lines of the sanitizer");
        assert_eq!(cut[0], format!("{} more diagnostics", 60 - facts.diagnostics.len()));
        let length = serde_json::to_string_pretty(&facts).expect("JSON").chars().count();
        assert!(length < MOST - 2_000, "{length}");
    }
}
