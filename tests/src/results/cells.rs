//! Rows over the cells of a table: a cell counts by the median of its samples against the strongest it was timed against,
//! a row by the geometric mean of its cells, and by the worst of them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Figure, Row, quantile, short};

/// One cell.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Which one it is.
    pub at: String,
    /// The commit that was measured, where it is another than the row's.
    pub commit: Option<String>,
    /// By the name of what it was timed against: all samples, in the order in which they were taken. More is better.
    pub against: BTreeMap<String, Vec<f64>>,
    /// The share of the roof that ours reaches on the card, where that is known: the rest is headroom.
    pub roof: Option<f64>,
}

/// A cell against the strongest there.
struct Counted<'a> {
    at: &'a str,
    against: &'a str,
    low: f64,
    median: f64,
    high: f64,
    samples: usize,
    roof: Option<f64>,
}

/// Quartiles against the one whose median is least.
fn counted(cell: &Cell) -> Result<Counted<'_>, String> {
    let unusable =
        |samples: &Vec<f64>| samples.is_empty() || samples.iter().any(|sample| !sample.is_finite());
    if cell.against.values().any(unusable) {
        return Err(format!("{}: a cell without samples, or with one that is no number", cell.at));
    }
    let all = cell.against.iter().map(|(against, samples)| {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share));
        Counted { at: &cell.at, against, low, median, high, samples: sorted.len(), roof: cell.roof }
    });
    let least = all.min_by(|a, b| a.median.total_cmp(&b.median));
    least.ok_or_else(|| format!("{}: a cell against nobody", cell.at))
}

fn all(row: &Row) -> Result<Vec<Counted<'_>>, String> {
    row.cells.iter().map(counted).collect()
}

pub(super) fn geomean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

/// What each cell comes to against the strongest there, by its name.
pub(super) fn medians(row: &Row) -> Result<Vec<(String, f64)>, String> {
    Ok(all(row)?.iter().map(|cell| (cell.at.to_owned(), cell.median)).collect())
}

/// What a row's cells say.
pub(super) fn figure(row: &Row) -> Result<Figure, String> {
    let cells = all(row)?;
    let worst = cells.iter().min_by(|a, b| a.median.total_cmp(&b.median));
    let worst = worst.ok_or_else(|| format!("{}: no cells", row.bar))?;
    let [low, mean, high] = [|c: &Counted<'_>| c.low, |c: &Counted<'_>| c.median, |c: &Counted<'_>| c.high]
        .map(|of| geomean(cells.iter().map(of)));
    let text = format!(
        "{} {} in the geometric mean of {} (of quartiles {} to {}); least {}, {} against {} (quartiles {} to {}, n = {})",
        short(mean),
        row.unit,
        cells.len(),
        short(low),
        short(high),
        short(worst.median),
        worst.at,
        worst.against,
        short(worst.low),
        short(worst.high),
        worst.samples
    );
    let text = format!("{text}{}", roofs(&cells));
    let machine = row.machine.clone().ok_or_else(|| format!("{}: no machine", row.bar))?;
    Ok(Figure { judged: mean, worst: Some(worst.median), text, machine })
}

/// From which to which share of the roof the cells reach.
fn roofs(cells: &[Counted<'_>]) -> String {
    let shares = || cells.iter().filter_map(|cell| cell.roof);
    let of = |pick: fn(f64, f64) -> f64| shares().reduce(pick).map(short);
    let both = of(f64::min).zip(of(f64::max));
    both.map(|(least, most)| format!("; ours at {least} to {most} of the card's roof")).unwrap_or_default()
}

/// Every cell in words; nothing of a row without cells, or with one.
pub(super) fn told(row: &Row) -> Option<String> {
    let cells = all(row).ok().filter(|cells| cells.len() > 1)?;
    let roof = |cell: &Counted<'_>| {
        cell.roof.map(|share| format!("; {} of the roof", short(share))).unwrap_or_default()
    };
    let told = cells
        .iter()
        .map(|cell| format!("{} {} ({}{})", cell.at, short(cell.median), cell.against, roof(cell)));
    Some(told.collect::<Vec<_>>().join(", "))
}
