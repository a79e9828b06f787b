//! What the command prints: text with a progress line for people, or one JSON value a line. Here alone text leaves, so
//! here what a terminal would act on is written out, whoever wrote it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::{Duration, Instant};

use cutegen_build::event::{Compiles, Event, Reporter, Spent};
use cutegen_build::render::command::placed;
use cutegen_spec::printable::{printable, printable_json};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::failure::Failure;

/// Where results, progress and failures go.
pub(crate) struct Output {
    json: bool,
    /// The arguments that name the project, which commands in messages get too.
    place: String,
    bar: RefCell<ProgressBar>,
    began: Instant,
    /// What people were told that workers are not kept from.
    open: RefCell<BTreeSet<String>>,
}

impl Output {
    /// Text, or JSON lines, about the project that `place` names.
    pub(crate) fn new(json: bool, place: String) -> Self {
        let (bar, open) = (RefCell::new(ProgressBar::hidden()), RefCell::default());
        Self { json, place, bar, began: Instant::now(), open }
    }

    /// One result: `text` for people, `value` as JSON.
    pub(crate) fn result(&self, text: &str, value: &impl Serialize) {
        if self.json {
            json_line(value);
        } else {
            let text = placed(text, &self.place);
            self.bar.borrow().suspend(|| line(&text));
        }
    }

    /// A value for programs, of which people get a summary.
    pub(crate) fn value(&self, value: &impl Serialize) {
        if self.json {
            self.result("", value);
        }
    }

    /// A table for people, a JSON value per row for programs.
    pub(crate) fn table(&self, title: &[String], rows: &[Vec<String>], values: &[impl Serialize]) {
        if self.json {
            values.iter().for_each(|value| self.result("", value));
            return;
        }
        aligned(title, rows).iter().for_each(|text| line(text));
    }

    /// A line below a table, for people: programs have it in a row.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json {
            line(&placed(text, &self.place));
        }
    }

    /// A line about what is going on.
    pub(crate) fn note(&self, text: &str) {
        let text = placed(text, &self.place);
        self.news(&text, &Event::Note { text: text.clone() });
    }

    /// A line about what is going on, `value` as JSON.
    pub(crate) fn news(&self, text: &str, value: &impl Serialize) {
        let text = placed(text, &self.place);
        if self.json {
            self.result(&text, value);
        } else {
            self.bar.borrow().suspend(|| eprintln!("{}", printable(&text)));
        }
    }

    /// The end without success.
    pub(crate) fn failure(&self, failure: &Failure) {
        self.bar.borrow().finish_and_clear();
        let text = placed(&failure.to_string(), &self.place);
        if self.json {
            let value = serde_json::json!({ "event": "failed", "code": failure.code(), "message": text });
            json_line(&value);
        }
        eprintln!("{}", printable(&text));
    }

    /// A reporter of events.
    pub(crate) fn reporter(&self) -> impl Reporter + '_ {
        move |event: &Event| self.event(event)
    }

    fn event(&self, event: &Event) {
        if self.json {
            self.result("", &At { event, at: self.began.elapsed().as_secs_f64() });
            return;
        }
        match event {
            Event::SearchStarted { .. } => self.start(),
            Event::Progress { kernel, phase, done, of } => {
                let bar = self.bar.borrow();
                bar.set_prefix(printable(&format!("{kernel}: {}", phase.name())).into_owned());
                bar.set_length(*of as u64);
                bar.set_position(*done as u64);
            }
            Event::Tried { candidate, outcome, speedup, .. } => {
                let speed = speedup.map_or(outcome.clone(), |s| format!("{s:.2}x naive"));
                let text = format!("{candidate}: {speed}");
                self.bar.borrow().set_message(printable(&text).into_owned());
            }
            Event::Ranked { candidates: 0, .. } => {}
            Event::Ranked { candidates, seconds, spent, compiles, .. } => {
                let Spent { compiling, screening, timing } = spent;
                let cached = cached(*compiles);
                let parts =
                    format!("compiling {compiling:.1}{cached}, screening {screening:.1}, timing {timing:.1}");
                self.note(&format!("  ranked {candidates} candidates in {seconds:.1} s ({parts})"));
            }
            Event::Judged { candidate, outcome, seconds, .. } => {
                self.note(&format!("  judged {candidate} in {seconds:.1} s: {outcome}"));
            }
            Event::Found { kernel, variant, speedup, seconds } => {
                self.bar.borrow().finish_and_clear();
                self.note(&if variant.is_empty() {
                    format!("{kernel}: nothing but the naive kernel, after {seconds:.1} s")
                } else {
                    format!("{kernel}: {variant}, {speedup:.2}x the naive kernel, found in {seconds:.1} s")
                });
            }
            Event::NotEnforced { what } => {
                let text = format!("not enforced on workers: {}", what.join("; "));
                // it is the machine's, and the same for every kernel
                if self.open.borrow_mut().insert(text.clone()) {
                    self.note(&text);
                }
            }
            Event::Note { text } => self.note(text),
        }
    }

    fn start(&self) {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        if let Ok(style) =
            ProgressStyle::with_template("{prefix} [{bar:24}] {pos}/{len} {wide_msg} {elapsed}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        *self.bar.borrow_mut() = bar;
    }
}

/// An event, and when it came.
#[derive(Serialize)]
struct At<'a> {
    #[serde(flatten)]
    event: &'a Event,
    /// Seconds since the command began.
    at: f64,
}

/// A title and rows of cells as lines of text, each column as wide as its widest cell.
pub(crate) fn aligned(title: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([title[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..title.len()).map(width).collect();
    let text = |row: &[String]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    [title].into_iter().chain(rows.iter().map(Vec::as_slice)).map(text).collect()
}

/// How many compiles were none, where there are such.
fn cached(Compiles { made, cached }: Compiles) -> String {
    if cached == 0 { String::new() } else { format!(" ({cached} of {} cached)", made + cached) }
}

/// A line on standard output. Whoever closed the pipe, as `head` does, has read enough.
fn line(text: &str) {
    let _closed = writeln!(std::io::stdout(), "{}", printable(text));
}

/// A value of our own types, which always serialises, as a line.
fn json_line(value: &impl Serialize) {
    let text = serde_json::to_string(value).unwrap_or_default();
    let _closed = writeln!(std::io::stdout(), "{}", printable_json(&text));
}
