//! The text of the results pages. A row stands on one of them: timings of other libraries have a page of their own,
//! since they are many and no bar is on them. Nothing on a page is written by hand.

use std::fmt::Write as _;
use std::path::Path;

use super::{Row, Verdict, cells, figure, short, verdict};

/// The raw file whose rows are what others' kernels take.
const INCUMBENTS: &str = "incumbents_h200.json";

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// What CuTeGen is held against, and what else was measured of it.
    Main,
    /// What other libraries take.
    Incumbents,
}

impl Page {
    /// Every page.
    pub const ALL: [Page; 2] = [Page::Main, Page::Incumbents];

    /// The page that a row stands on. One with a bar is on the main page, whatever its file.
    #[must_use]
    pub fn of(row: &Row) -> Page {
        if row.raw == INCUMBENTS && !barred(row) { Page::Incumbents } else { Page::Main }
    }

    /// Its file, from the workspace's root.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Page::Main => "results/README.md",
            Page::Incumbents => "results/incumbents.md",
        }
    }

    fn head(self) -> &'static str {
        match self {
            Page::Main => MAIN,
            Page::Incumbents => OTHERS,
        }
    }
}

/// The page's text: its rows of all these, those with a bar first.
pub fn render(page: Page, rows: &[Row], root: &Path) -> Result<String, String> {
    let mut lines = String::new();
    let mut notes = String::new();
    let (first, last): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(|row| Page::of(row) == page).partition(|row| barred(row));
    for row in first.into_iter().chain(last) {
        let _ = writeln!(lines, "| {} |", line(row, root)?.map(|cell| cell.replace('|', "\\|")).join(" | "));
        let note = row.note.as_ref().map(|note| format!(" Beside it: {note}.")).unwrap_or_default();
        let each = cells::told(row).map(|told| format!(" Cells: {told}.")).unwrap_or_default();
        let _ = writeln!(notes, "- **{}**: {}.{note}{each}", row.bar, row.shows);
    }
    Ok(format!("{}\n{TABLE}{lines}\n## What the rows show\n\n{notes}", page.head()))
}

/// The cells of a row's line.
fn line(row: &Row, root: &Path) -> Result<[String; 7], String> {
    let figure = figure(row, root)?;
    let said = match verdict(row, &figure) {
        Verdict::Met => "met".to_owned(),
        Verdict::Missed(by) => format!("**missed** by {} {}", short(by), row.unit),
        Verdict::NoBar => "no bar".to_owned(),
    };
    Ok([
        format!("{}{}", row.bar, limit(row)),
        figure.text,
        said,
        row.bounded_by.clone(),
        format!("`{}`", row.command),
        format!("`{}`", row.commit),
        figure.machine,
    ])
}

fn barred(row: &Row) -> bool {
    row.at_least.or(row.at_most).or(row.worst_at_least).is_some()
}

fn limit(row: &Row) -> String {
    let least = row.at_least.map(|least| format!(": at least {least} {}", row.unit));
    let most = row.at_most.map(|most| format!(": at most {most} {}", row.unit));
    let worst = row.worst_at_least.map(|worst| format!(": at least {worst} {} in every cell", row.unit));
    [least, most, worst].into_iter().flatten().collect()
}

const TABLE: &str = "\
| bar | figure | met or missed | what bounds it | command | commit | machine |
|---|---|---|---|---|---|---|
";

const MAIN: &str = "\
# Results

Rendered from `raw/` by `cargo run -p cutegen-tests --bin results`; edit nothing here. The suite renders it again and
compares. Each raw file holds every sample, in the order in which it was taken. Rows on an accepted kernel quote the
evidence in its committed record; the lower end of its interval is held against the bar. A row over cells holds the
geometric mean of their medians against the bar, and the worst of them against the one for every cell; a cell counts against
the best of those it was timed against.

Rows with a bar come first. What cuBLASLt and PyTorch take on an H200 is on a page of its own, [incumbents.md](incumbents.md).
";

const OTHERS: &str = "\
# What other libraries take

Kernels of others, timed alone: figures to compare with, and no bars. [README.md](README.md) has what CuTeGen's kernels
are held against. Rendered from `raw/incumbents_h200.json` by `cargo run -p cutegen-tests --bin results`; edit nothing
here. The suite renders it again and compares.
";
