//! A [`History`] as Markdown. What answers and settings say is written so that it cannot become markup. Pure.

use std::fmt::{Display, Write as _};

use cutegen_build::run_log::{Ask, Tokens};

use super::history::{Change, History, Point, Step, Yardstick};
use super::ideas::Tried;
use super::totals::{BYTES, Spent, Totals};

/// Characters of a hypothesis or a reason that a table shows.
const SHOWN: usize = 240;
/// How long the bar of the best score is.
const BAR: f64 = 40.0;

/// The whole text.
pub(super) fn text(history: &History<'_>) -> String {
    let start = history.start;
    let title = format!("# {}: {} on {}", start.run, cell(&start.kernel), cell(&start.target));
    let mut sections =
        vec![title, settings(history), totals(&history.totals), steps(history), score(history)];
    sections.extend(points(history));
    sections.extend((!history.ideas.is_empty()).then(|| ideas(&history.ideas)));
    sections.extend(history.changes.iter().map(change));
    sections.join("\n\n")
}

/// How the run began.
fn settings(history: &History<'_>) -> String {
    let start = history.start;
    let changed = start.settings.iter().map(|(name, value)| format!("{} = {value}", cell(name)));
    let changed: Vec<String> = changed.collect();
    let rows = [
        ("strategy", cell(&start.strategy)),
        ("settings", if changed.is_empty() { "all by default".to_owned() } else { changed.join(", ") }),
        ("key", format!("`{}`", cell(&start.key))),
        ("prompts", format!("version {}", start.prompts)),
        ("kit", format!("`{}`", start.kit)),
        ("gate", start.gate.to_string()),
    ];
    table(&["setting", "value"], rows.map(|(name, value)| vec![name.to_owned(), value]))
}

fn totals(totals: &Totals<'_>) -> String {
    let outcomes = totals.outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}"));
    let outcomes: Vec<String> = outcomes.collect();
    let devices: Vec<String> = totals.devices.iter().map(cell).collect();
    let right = totals.first_reply_right.map_or("not judged", |is_right| if is_right { "yes" } else { "no" });
    let mut rows = vec![
        ("requests", format!("{}, {} without an answer", totals.requests, totals.awaited)),
        ("candidates", format!("{}, {} with a new kernel", totals.candidates, totals.kernels)),
        ("kernels", some(outcomes.join(", "))),
        ("tokens", tokens(&totals.tokens)),
        ("first reply right", right.to_owned()),
        ("first right kernel to best", times(totals.first_to_best)),
        ("accepted", some(totals.accepted.map(cell).unwrap_or_default())),
        ("devices", some(devices.join(", "))),
    ];
    if let Some(median) = totals.median_held_ms {
        let (judged, all) = (totals.judged, totals.held_ms);
        rows.push((
            "device time",
            format!("{median} ms a judged candidate in the median of {judged}; {all} ms in all"),
        ));
    }
    table(&["total", "value"], rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]))
}

fn tokens(spent: &Spent) -> String {
    let sums = [
        (spent.reported, "reported".to_owned()),
        (spent.estimated, format!("estimated, {BYTES} bytes each")),
    ];
    let sums = sums.into_iter().filter(|(tokens, _)| *tokens != Tokens::default());
    let told =
        sums.map(|(Tokens { input, output }, how)| format!("{input} read and {output} written ({how})"));
    some(told.collect::<Vec<_>>().join("; "))
}

fn steps(history: &History<'_>) -> String {
    let over = match history.scored_over {
        Yardstick::Naive => "over naive",
        Yardstick::First => "over the first",
    };
    let title =
        ["#", "asked", "about", "candidate", "outcome", over, "over parent", "predicted", "of roof", "said"];
    let rows = history.steps.iter().map(step);
    format!("## Steps\n\n{}\n\n{}", table(&title, rows), EXPLAINED)
}

const EXPLAINED: &str = "Numbers are places in the log. A parent is the nearest right kernel that a candidate comes from; \
                         its speed-up is of one batch.";

fn step(step: &Step<'_>) -> Vec<String> {
    let asked = step.ask.map_or("submitted", word);
    let number = |value: Option<u32>| value.map_or_else(none, |value| value.to_string());
    let candidate = match (step.candidate, step.name) {
        (Some(at), Some(name)) => format!("{at} {}", cell(name)),
        (at, _) => number(at),
    };
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let said = [step.hypothesis, step.reason.as_deref()];
    let said: Vec<String> = said.into_iter().flatten().map(cell).collect();
    vec![
        step.sequence.to_string(),
        asked.to_owned(),
        number(step.about),
        candidate,
        cell(&step.outcome),
        times(step.score),
        times(step.over_parent),
        times(step.predicted),
        step.roofline.map_or_else(none, share),
        said.join(" / "),
    ]
}

/// Points of answers that sweep constants, where there are any.
fn points(history: &History<'_>) -> Option<String> {
    let title = ["#", "candidate", "values", "outcome", "over", "said"];
    let row = |(step, point): (&Step<'_>, &Point)| {
        let cells = [cell(&point.values), cell(&point.outcome), times(point.score)];
        let said = some(point.reason.as_deref().map(cell).unwrap_or_default());
        let mut row = vec![step.sequence.to_string(), point.candidate.to_string()];
        row.extend(cells.into_iter().chain([said]));
        row
    };
    let all = history.steps.iter().flat_map(|step| step.points.iter().map(move |point| (step, point)));
    let rows: Vec<Vec<String>> = all.map(row).collect();
    let says = "Each answer here sweeps constants; the step has the point that stands for it.";
    (!rows.is_empty()).then(|| format!("## Points\n\n{}\n\n{says}", table(&title, rows)))
}

/// Ideas in the order in which they came, and what became of their variants.
fn ideas(ideas: &[Tried<'_>]) -> String {
    let title = ["round", "idea", "for", "said", "predicted", "variants", "best", "over its kernel"];
    let rows = ideas.iter().map(|idea| {
        let number = |value: Option<u32>| value.map_or_else(none, |value| value.to_string());
        vec![
            idea.round.to_string(),
            idea.number.to_string(),
            number(idea.about),
            cell(idea.text),
            times(idea.predicted),
            some(idea.variants.iter().map(cell).collect::<Vec<_>>().join(", ")),
            number(idea.best),
            times(idea.over),
        ]
    });
    format!("## Ideas\n\n{}", table(&title, rows))
}

/// The best so far behind each request.
fn score(history: &History<'_>) -> String {
    let highest =
        history.steps.iter().filter_map(|step| step.best).map(|best| best.score).fold(0.0, f64::max);
    let mut chart = "request  best".to_owned();
    let mut before = None;
    for (number, step) in (1..).zip(history.steps.iter().filter(|step| step.ask.is_some())) {
        let best = step.best.map(|best| best.score);
        let bar = "#".repeat((best.unwrap_or(0.0) / highest * BAR).round() as usize);
        // it may have been submitted before this request
        let new = step.best.filter(|_| step.best != before).map(|best| Some(best.candidate));
        let name = history.steps.iter().find(|step| Some(step.candidate) == new).and_then(|step| step.name);
        let line = format!("{number:7}  {:>7}  {bar}  {}", times(best), plain(name.unwrap_or_default()));
        let _infallible = write!(chart, "\n{}", line.trim_end());
        before = step.best;
    }
    let over = match history.scored_over {
        Yardstick::Naive => "the naive kernel",
        Yardstick::First => "the first right kernel; the naive one was never timed",
    };
    format!("## Score\n\nThe best kernel so far, over {over}.\n\n```text\n{chart}\n```")
}

/// A kernel that became the best one, against its parent.
fn change(change: &Change<'_>) -> String {
    let Change { candidate, parent, over_parent, diff, .. } = change;
    let longest = diff.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let (name, parent_name) = (cell(change.name), cell(change.parent_name));
    let speed = over_parent.map_or_else(String::new, |over| format!(", {over:.3}x"));
    let lines = diff.trim_end_matches('\n');
    format!("## {candidate} {name} against {parent} {parent_name}{speed}\n\n{fence}diff\n{lines}\n{fence}")
}

fn word(ask: Ask) -> &'static str {
    match ask {
        Ask::First => "first",
        Ask::Diagnose => "diagnose",
        Ask::Patch => "patch",
        Ask::Optimise => "optimise",
        Ask::Whole => "whole",
        Ask::Ideas => "ideas",
        Ask::Variant => "variant",
    }
}

fn table(title: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rule = vec!["---"; title.len()].join("|");
    let rows = rows.into_iter().map(|row| format!("\n| {} |", row.join(" | ")));
    format!("| {} |\n|{rule}|{}", title.join(" | "), rows.collect::<String>())
}

fn times(value: Option<f64>) -> String {
    value.map_or_else(none, |value| format!("{value:.3}x"))
}

fn none() -> String {
    "-".to_owned()
}

fn some(text: String) -> String {
    if text.is_empty() { none() } else { text }
}

/// On one line, and not endless.
fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// The same for a table or a heading: what Markdown would act on as entities.
fn cell(text: impl Display) -> String {
    let mut escaped = String::new();
    for c in plain(&text.to_string()).chars() {
        match c {
            '&' | '<' | '>' | '|' | '[' | ']' | '`' | '*' | '\\' | '~' | '!' => {
                let _infallible = write!(escaped, "&#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
