//! The results pages: rows of `results/raw/*.json` and what follows from their samples. `page` has the text of the
//! pages of `results/`, and `summary` the table that opens `results/README.md`. A verdict is never written by hand; it
//! is computed here from the samples, or from the evidence of a committed record. Of tables of many cells see [`cells`].

pub mod cells;
mod page;
mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub use cells::Cell;
pub use page::{Page, render};

use cutegen_spec::record::Record;
use serde::Deserialize;

/// The raw files, from the workspace's root.
pub const RAW: &str = "results/raw";

/// One measurement against its bar.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The name of its raw file.
    #[serde(skip)]
    pub raw: String,
    /// Names the row; unique on all pages.
    pub bar: String,
    /// What was measured.
    pub shows: String,
    /// Of the samples and the bar.
    pub unit: String,
    /// The least that meets the bar.
    pub at_least: Option<f64>,
    /// The most that meets the bar.
    pub at_most: Option<f64>,
    /// What keeps the figure from being better.
    pub bounded_by: String,
    /// What measures it again.
    pub command: String,
    /// The commit that was measured.
    pub commit: String,
    /// The machine in words; a record names its own.
    pub machine: Option<String>,
    /// What a reader should know beside the figure.
    pub note: Option<String>,
    /// Which number of the samples the bar is held against.
    pub statistic: Option<Statistic>,
    /// All samples, in the order in which they were taken.
    #[serde(default)]
    pub samples: Vec<f64>,
    /// What each sample is of, and the commit at which it was taken, where they are of several.
    #[serde(default)]
    pub of: Vec<(String, String)>,
    /// A committed record's timing, in place of samples.
    pub evidence: Option<Quote>,
    /// Cells of a table, in place of samples: the bars above are for their geometric mean.
    #[serde(default)]
    pub cells: Vec<Cell>,
    /// The least that every cell must come to.
    pub worst_at_least: Option<f64>,
    /// What the bars are over as well and nothing has measured, in words: no bar is met meanwhile.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// A number of many samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// The middle one.
    Median,
    /// The largest.
    Max,
}

/// Where a record says what a search measured.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    /// The record, from the workspace's root.
    pub record: String,
    /// Which of its first variant's timings.
    pub workload: BTreeMap<String, i64>,
}

/// What the samples say.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What the bar is held against.
    pub judged: f64,
    /// Of cells the worst, which has a bar of its own.
    pub worst: Option<f64>,
    /// For the page.
    pub text: String,
    /// For the page.
    pub machine: String,
}

/// Whether a bar is met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It is.
    Met,
    /// It is not, by this much.
    Missed(f64),
    /// Something that it is over was not measured.
    Open,
    /// There is none.
    NoBar,
}

/// Reads the raw files, ordered by file name.
pub fn read(root: &Path) -> Result<Vec<Row>, String> {
    let folder = root.join(RAW);
    let listing = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = listing.flatten().map(|item| item.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| place(&error))?;
        let read: Vec<Row> = serde_json::from_str(&text).map_err(|error| place(&error))?;
        let raw = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        rows.extend(read.into_iter().map(|row| Row { raw: raw.clone(), ..row }));
    }
    Ok(rows)
}

/// What a row's samples, or the record it quotes, say.
pub fn figure(row: &Row, root: &Path) -> Result<Figure, String> {
    match (&row.evidence, row.samples.is_empty(), row.cells.is_empty()) {
        (Some(quote), true, true) => quoted(row, quote, root),
        (None, false, true) => sampled(row),
        (None, true, false) => cells::figure(row),
        _ => Err(format!("{}: needs either samples, cells or a record", row.bar)),
    }
}

fn sampled(row: &Row) -> Result<Figure, String> {
    if !row.of.is_empty() && row.of.len() != row.samples.len() {
        return Err(format!("{}: {} samples of {} subjects", row.bar, row.samples.len(), row.of.len()));
    }
    let mut sorted = row.samples.clone();
    sorted.sort_by(f64::total_cmp);
    let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share));
    let max = sorted[sorted.len() - 1];
    let (unit, n) = (&row.unit, sorted.len());
    let (judged, text) = match row.statistic {
        Some(Statistic::Max) if n == 1 => (max, format!("{} {unit}", short(max))),
        Some(Statistic::Max) => {
            (max, format!("at most {} {unit} (median {}, n = {n})", short(max), short(median)))
        }
        Some(Statistic::Median) => {
            let spread = format!("quartiles {} to {}, n = {n}", short(low), short(high));
            (median, format!("{} {unit} ({spread})", short(median)))
        }
        None => return Err(format!("{}: samples without a statistic", row.bar)),
    };
    let machine = row.machine.clone().ok_or_else(|| format!("{}: no machine", row.bar))?;
    Ok(Figure { judged, worst: None, text, machine })
}

/// The lower end of the record's interval is held against the bar.
fn quoted(row: &Row, quote: &Quote, root: &Path) -> Result<Figure, String> {
    let place = |error: &dyn std::fmt::Display| format!("{}: {}: {error}", row.bar, quote.record);
    let text = fs::read_to_string(root.join(&quote.record)).map_err(|error| place(&error))?;
    let record = Record::parse(&text).map_err(|error| place(&error))?;
    // each workload was timed of the variant that is dispatched there
    let evidence = record.variants.iter().filter_map(|variant| variant.evidence.as_ref());
    let mut timed =
        evidence.flat_map(|evidence| evidence.timings.iter().map(move |timing| (evidence, timing)));
    let found = timed.find(|(_, timing)| timing.workload == quote.workload);
    let (evidence, timing) = found.ok_or_else(|| place(&"no such workload"))?;
    let text = format!(
        "{} {} the {} kernel (95 % interval {} to {}, n = {}), {} us",
        short(timing.speedup),
        row.unit,
        timing.incumbent,
        short(timing.low),
        short(timing.high),
        timing.samples,
        short(timing.micros)
    );
    Ok(Figure { judged: timing.low, worst: None, text, machine: evidence.device.clone() })
}

/// The middle of what is given in any order, or the mean of the two that are; of nothing no number.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() { f64::NAN } else { quantile(&sorted, 0.5) }
}

/// Linear between neighbours.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// Three digits, or all before the point.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 || v.fract() == 0.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// Holds a figure against the row's bar. While something is missing, only a cell that is there decides: it may miss the bar for each.
#[must_use]
pub fn verdict(row: &Row, figure: &Figure) -> Verdict {
    let is_whole = row.missing.is_empty();
    let short_of = row.at_least.map(|least| least - figure.judged);
    let beyond = row.at_most.map(|most| figure.judged - most);
    let worst = row.worst_at_least.map(|worst| figure.worst.map_or(f64::INFINITY, |least| worst - least));
    let misses = short_of.into_iter().chain(beyond).chain(worst);
    match misses.reduce(f64::max) {
        None => Verdict::NoBar,
        // a sample that is no number meets nothing
        Some(miss) if is_whole => {
            if miss <= 0.0 {
                Verdict::Met
            } else {
                Verdict::Missed(miss)
            }
        }
        Some(_) => worst.filter(|miss| *miss > 0.0).map_or(Verdict::Open, Verdict::Missed),
    }
}
