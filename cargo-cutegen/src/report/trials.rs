//! Histories of searches: from the lines that `tune --json` printed to a drawing of each, candidate by candidate.

use std::path::Path;

use serde::Deserialize;

use super::html::{Scale, at, powers, target, text};
use crate::failure::Failure;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 250.0;
/// Left, right, top and bottom of the area of speed-ups.
const AREA: (f64, f64, f64, f64) = (56.0, 744.0, 14.0, 176.0);
/// Where candidates without a time stand.
const FAILED: f64 = 200.0;

/// One search.
#[derive(Debug, PartialEq)]
pub(super) struct Search {
    pub(super) kernel: String,
    tried: Vec<Tried>,
    judged: Vec<(String, String)>,
    found: Option<(String, f64, f64)>,
}

#[derive(Debug, PartialEq)]
struct Tried {
    number: usize,
    candidate: String,
    outcome: String,
    /// Over the naive kernel.
    speedup: Option<f64>,
}

/// The lines that are of use here.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
enum Line {
    SearchStarted { kernel: String },
    Tried { kernel: String, candidate: String, outcome: String, speedup: Option<f64>, number: usize },
    Judged { kernel: String, candidate: String, outcome: String },
    Found { kernel: String, variant: String, speedup: f64, seconds: f64 },
}

/// All searches of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Search>, Failure> {
    let failed = |why: String| {
        let path = path.display();
        Failure::Usage(format!("{path}: {why}\nwrite it again: cargo cutegen tune --json > {path}"))
    };
    let lines = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    match parse(&lines) {
        searches if searches.is_empty() => Err(failed("no line of it tells of a search".to_owned())),
        searches => Ok(searches),
    }
}

/// Other lines are passed over: notes, and the last one of a program that was killed.
fn parse(lines: &str) -> Vec<Search> {
    let mut searches: Vec<Search> = Vec::new();
    for line in lines.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        let (Line::SearchStarted { kernel }
        | Line::Tried { kernel, .. }
        | Line::Judged { kernel, .. }
        | Line::Found { kernel, .. }) = &line;
        let is_begun = searches.last().is_some_and(|search| search.kernel == *kernel);
        if !is_begun || matches!(line, Line::SearchStarted { .. }) {
            let kernel = kernel.clone();
            searches.push(Search { kernel, tried: Vec::new(), judged: Vec::new(), found: None });
        }
        let Some(search) = searches.last_mut() else { continue };
        match line {
            Line::SearchStarted { .. } => {}
            Line::Tried { candidate, outcome, speedup, number, .. } => {
                let speedup = speedup.filter(|speedup| speedup.is_finite() && *speedup > 0.0);
                search.tried.push(Tried { number, candidate, outcome, speedup });
            }
            Line::Judged { candidate, outcome, .. } => search.judged.push((candidate, outcome)),
            Line::Found { variant, speedup, seconds, .. } => search.found = Some((variant, speedup, seconds)),
        }
    }
    searches
}

/// Drawing and table of one search.
pub(super) fn section(search: &Search) -> String {
    let found = match &search.found {
        Some((variant, speedup, seconds)) => {
            format!("{} won, {speedup:.2}× the naive kernel, in {seconds:.1} s.", text(variant))
        }
        None => "No winner is on record.".to_owned(),
    };
    let (kernel, on) = search.kernel.split_once(" on ").unwrap_or((&search.kernel, "?"));
    let timed = search.tried.iter().filter(|tried| tried.speedup.is_some()).count();
    format!(
        "<section><h3>{} on {}</h3><p>{} candidates tried, {timed} of them right and timed. {found}</p><div \
         class=\"plot\">{}</div>{}</section>\n",
        text(kernel),
        text(target(on)),
        search.tried.len(),
        drawing(search),
        table(search)
    )
}

fn drawing(search: &Search) -> String {
    let speedups: Vec<f64> = search.tried.iter().filter_map(|tried| tried.speedup).collect();
    let low = speedups.iter().copied().fold(1.0, f64::min);
    let high = speedups.iter().copied().fold(1.0, f64::max);
    let ticks = powers(2.0, low, high * 1.05);
    let (left, right, top, bottom) = AREA;
    let y = Scale::new((ticks[0], ticks[ticks.len() - 1]), (bottom, top));
    let last = search.tried.iter().map(|tried| tried.number).max().unwrap_or(1).max(2);
    let x =
        |number: usize| left + 10.0 + (number.max(1) - 1) as f64 / (last - 1) as f64 * (right - left - 20.0);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"speed-up over the naive kernel by the number of \
         the candidate\">"
    );
    for tick in ticks {
        let (line, label) = (at(y.at(tick)), at(y.at(tick) + 4.0));
        svg += &format!("<line class=\"grid\" x1=\"{left}\" y1=\"{line}\" x2=\"{right}\" y2=\"{line}\"/>");
        let before = at(left - 8.0);
        svg +=
            &format!("<text class=\"tick\" x=\"{before}\" y=\"{label}\" text-anchor=\"end\">{tick}×</text>");
    }
    svg += &best(search, &x, &y);
    for tried in &search.tried {
        svg += &mark(tried, x(tried.number), &y, is_winner(search, &tried.candidate));
    }
    let (start, end, base) = (at(x(1)), at(x(last)), HEIGHT - 26.0);
    svg += &format!("<text class=\"tick\" x=\"{start}\" y=\"{base}\" text-anchor=\"middle\">1</text>");
    svg += &format!("<text class=\"tick\" x=\"{end}\" y=\"{base}\" text-anchor=\"middle\">{last}</text>");
    let (middle, below) = (at(f64::midpoint(left, right)), HEIGHT - 8.0);
    svg +=
        &format!("<text class=\"axis\" x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">candidate</text>");
    svg + "</svg>"
}

fn is_winner(search: &Search, candidate: &str) -> bool {
    search.found.as_ref().is_some_and(|(variant, ..)| variant == candidate)
}

/// The best so far, as steps.
fn best(search: &Search, x: &impl Fn(usize) -> f64, y: &Scale) -> String {
    let mut path = String::new();
    let mut best = 0.0;
    for tried in &search.tried {
        let Some(speedup) = tried.speedup.filter(|speedup| *speedup > best) else { continue };
        let (across, down) = (at(x(tried.number)), at(y.at(speedup)));
        path += &if path.is_empty() { format!("M{across} {down}") } else { format!("H{across}V{down}") };
        best = speedup;
    }
    if path.is_empty() { path } else { format!("<path class=\"best\" d=\"{path}H{}\"/>", at(AREA.1)) }
}

fn mark(tried: &Tried, x: f64, y: &Scale, is_winner: bool) -> String {
    let title = text(format!("{}. {}: {}", tried.number, tried.candidate, told(tried)));
    match tried.speedup {
        Some(speedup) => format!(
            "<circle class=\"c0{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"><title>{title}</title></circle>",
            if is_winner { " winner" } else { "" },
            at(x),
            at(y.at(speedup)),
            if is_winner { 6 } else { 4 }
        ),
        None => {
            let [a, b, c, d] = [x - 4.0, FAILED - 4.0, x + 4.0, FAILED + 4.0].map(at);
            format!(
                "<path class=\"failed\" d=\"M{a} {b}L{c} {d}M{a} {d}L{c} {b}\"><title>{title}</title></path>"
            )
        }
    }
}

fn told(tried: &Tried) -> String {
    tried.speedup.map_or_else(|| tried.outcome.clone(), |speedup| format!("{speedup:.2}× the naive kernel"))
}

fn table(search: &Search) -> String {
    let row = |tried: &Tried| {
        let judged = search.judged.iter().find(|(candidate, _)| *candidate == tried.candidate);
        let judged = judged.map(|(_, outcome)| outcome.as_str()).unwrap_or_default();
        format!(
            "<tr><td class=\"n\">{}</td><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
            tried.number,
            text(&tried.candidate),
            text(told(tried)),
            text(judged)
        )
    };
    let rows: String = search.tried.iter().map(row).collect();
    format!(
        "<details><summary>{} candidates as a table</summary><div class=\"wide\"><table><thead><tr><th \
         class=\"n\">#</th><th>candidate</th><th>screened</th><th>by the whole gate</th></tr></thead><tbody>{rows}\
         </tbody></table></div></details>",
        search.tried.len()
    )
}

#[cfg(test)]
mod tests {
    use super::{parse, section};

    const LINES: &str = r#"{"event":"search-started","kernel":"a on host","key":"00","candidates":3}
{"event":"note","text":"anything"}
{"event":"tried","kernel":"a on host","candidate":"v1","outcome":"passed","speedup":1.5,"number":1,"of":3}
{"event":"tried","kernel":"a on host","candidate":"v<2>","outcome":"crashed: signal 11","number":2,"of":3}
{"event":"tried","kernel":"a on host","candidate":"v3","outcome":"passed","speedup":3.0,"number":3,"of":3}
{"event":"judged","kernel":"a on host","candidate":"v3","outcome":"passed, 2.90x naive"}
{"event":"found","kernel":"a on host","variant":"v3","speedup":2.9,"seconds":4.25}
{"event":"search-started","kernel":"b on host","key":"00","candidates":3}
{"event":"tried","kern"#;

    #[test]
    fn searches_are_read_from_events() {
        let searches = parse(LINES);
        let told: Vec<_> =
            searches.iter().map(|s| (s.kernel.as_str(), s.tried.len(), s.judged.len())).collect();
        assert_eq!(told, [("a on host", 3, 1), ("b on host", 0, 0)]);
        assert_eq!(searches[0].found, Some(("v3".to_owned(), 2.9, 4.25)));
        assert_eq!(searches[0].tried[1].speedup, None);
        assert_eq!(parse("no events\n{}\n"), []);
    }

    #[test]
    fn a_search_is_drawn() {
        let html = section(&parse(LINES)[0]);
        assert!(html.contains(
            "3 candidates tried, 2 of them right and timed. v3 won, 2.90× the naive kernel, in 4.2 s."
        ));
        assert_eq!((html.matches("<circle").count(), html.matches("class=\"failed\"").count()), (2, 1));
        assert_eq!(html.matches("winner").count(), 1);
        assert!(html.contains("v&lt;2&gt;: crashed: signal 11") && !html.contains("v<2>"));
    }
}
