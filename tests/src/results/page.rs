//! The text of the results pages. Each row stands on one of them, by its raw file; the first page has no rows, but the
//! summary and what was missed. Nothing on a page is written by hand.

use std::fmt::Write as _;
use std::path::Path;

use super::{Row, Verdict, cells, figure, short, summary, verdict};

/// The raw file whose rows are what others' kernels take.
const INCUMBENTS: &str = "incumbents_h200.json";

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// What a stranger should know, and where the rest is.
    Main,
    /// The bar table: memory-bound kernels against PyTorch.
    Pytorch,
    /// Other kernels, and their launches.
    Kernels,
    /// Searches.
    Search,
    /// What the gate finds, and how long it takes.
    Gate,
    /// Builds, and the code.
    Builds,
    /// What other libraries take.
    Incumbents,
}

/// The page of each raw file.
const PLACES: [(&str, Page); 30] = [
    ("agentic.json", Page::Search),
    ("attacks.json", Page::Gate),
    ("bars_h200.json", Page::Pytorch),
    ("choices.json", Page::Search),
    ("cold_build.json", Page::Builds),
    ("endpoints.json", Page::Search),
    ("example_h200.json", Page::Kernels),
    ("fuzz.json", Page::Gate),
    ("gate7.json", Page::Gate),
    ("gate_h200_bars.json", Page::Gate),
    ("gate_h200_corpora.json", Page::Gate),
    ("gate_h200_full.json", Page::Gate),
    ("gate_h200_linked.json", Page::Gate),
    ("gate_h200_peer.json", Page::Gate),
    ("gate_h200_slow.json", Page::Gate),
    ("gate_h200_timing.json", Page::Gate),
    ("host_gemm.json", Page::Kernels),
    (INCUMBENTS, Page::Incumbents),
    ("language.json", Page::Builds),
    ("lines.json", Page::Builds),
    ("model.json", Page::Gate),
    ("naive.json", Page::Kernels),
    ("naive_h100.json", Page::Kernels),
    ("products.json", Page::Kernels),
    ("refine.json", Page::Search),
    ("replay.json", Page::Builds),
    ("search_h200.json", Page::Search),
    ("silu_mul.json", Page::Kernels),
    ("specs_sm90a.json", Page::Kernels),
    ("wrapper_h200.json", Page::Kernels),
];

impl Page {
    /// Every page.
    pub const ALL: [Page; 7] =
        [Page::Main, Page::Pytorch, Page::Kernels, Page::Search, Page::Gate, Page::Builds, Page::Incumbents];

    /// The page that a row stands on. Others' kernels have no bars: one with a bar is held against PyTorch.
    #[must_use]
    pub fn of(row: &Row) -> Page {
        let place = PLACES.iter().find(|(raw, _)| *raw == row.raw);
        match place.map_or(Page::Kernels, |(_, page)| *page) {
            Page::Incumbents if barred(row) => Page::Pytorch,
            page => page,
        }
    }

    /// Whether a raw file has its page by name, and not for want of one.
    #[must_use]
    pub fn knows(raw: &str) -> bool {
        PLACES.iter().any(|(known, _)| *known == raw)
    }

    /// Its file, from the workspace's root.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Page::Main => "results/README.md",
            Page::Pytorch => "results/pytorch.md",
            Page::Kernels => "results/kernels.md",
            Page::Search => "results/search.md",
            Page::Gate => "results/gate.md",
            Page::Builds => "results/builds.md",
            Page::Incumbents => "results/incumbents.md",
        }
    }

    /// Its title, and what is on it.
    fn head(self) -> [&'static str; 2] {
        match self {
            Page::Main => ["Results", "how fast committed kernels are"],
            Page::Pytorch => ["Against PyTorch", "the bar table: memory-bound kernels, cell by cell"],
            Page::Kernels => {
                ["Kernels and launches", "products on the host, naive kernels, wrappers, the example"]
            }
            Page::Search => ["Searches", "how long they take, what they miss, and how endpoints may fail"],
            Page::Gate => ["The gate", "what it finds, what it must not reject, and how long it takes"],
            Page::Builds => ["Builds", "replaying and cold builds, reading specs, lengths of files"],
            Page::Incumbents => ["What other libraries take", "cuBLASLt and PyTorch alone; no bars"],
        }
    }

    /// Its name beside the other pages.
    fn file(self) -> &'static str {
        self.path().trim_start_matches("results/")
    }
}

/// The page's text: its rows of all these, those with a bar first.
pub fn render(page: Page, rows: &[Row], root: &Path) -> Result<String, String> {
    let [title, about] = page.head();
    if page == Page::Main {
        return Ok(format!("# {title}\n\n{}\n{}\n{}", summary::table(rows)?, missed(rows, root)?, pages()));
    }
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
    Ok(format!("# {title}\n\nHere: {about}. {READ}\n{TABLE}{lines}\n## What the rows show\n\n{notes}"))
}

/// How many bars are met, and which are not, or not yet.
fn missed(rows: &[Row], root: &Path) -> Result<String, String> {
    let (mut bars, mut missed, mut open) = (0, Vec::new(), Vec::new());
    for row in rows.iter().filter(|row| barred(row)) {
        bars += 1;
        let told = |what: String| format!("- {}{}: {what} ({})", row.bar, limit(row), Page::of(row).file());
        match verdict(row, &figure(row, root)?) {
            Verdict::Missed(by) => missed.push(told(format!("by {} {}", short(by), row.unit))),
            Verdict::Open => open.push(told(format!("not measured: {}", row.missing.join(", ")))),
            Verdict::Met | Verdict::NoBar => {}
        }
    }
    let met = bars - missed.len() - open.len();
    let counts = format!("{met} are met and {} are missed", missed.len());
    let mut text =
        format!("Of {bars} bars that were set before measuring, {counts}:\n\n{}\n", missed.join("\n"));
    if !open.is_empty() {
        let _ = write!(
            text,
            "\nNo verdict yet, since not all that they are over is measured:\n\n{}\n",
            open.join("\n")
        );
    }
    Ok(text)
}

/// The other pages, and how all of them are made.
fn pages() -> String {
    let mut lines = String::from("| page | has |\n|---|---|\n");
    for page in Page::ALL.iter().filter(|page| **page != Page::Main) {
        let [title, about] = page.head();
        let _ = writeln!(lines, "| [{title}]({}) | {about} |", page.file());
    }
    format!("{lines}\n{MADE}")
}

/// The cells of a row's line.
fn line(row: &Row, root: &Path) -> Result<[String; 7], String> {
    let figure = figure(row, root)?;
    let said = match verdict(row, &figure) {
        Verdict::Met => "met".to_owned(),
        Verdict::Missed(by) => format!("**missed** by {} {}", short(by), row.unit),
        Verdict::Open => format!("no verdict: not measured: {}", row.missing.join(", ")),
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

const READ: &str = "\
[README.md](README.md) has the short form, and how these pages are made. Rows with a bar come first.
";

const MADE: &str = "\
These pages are rendered from `results/raw/` by `cargo run -p cutegen-tests --bin results`; edit none of them. The suite
renders them again and compares. Each raw file holds every sample, in the order in which it was taken. A row over cells
holds the geometric mean of their medians against its bar, and its worst cell against the bar for every cell. A cell counts
against the best of those it was timed against. A row on an accepted kernel quotes the evidence in its committed record,
and holds the lower end of the interval against the bar.
";
