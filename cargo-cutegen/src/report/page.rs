//! The page: its head, its sections in order, its end. Style and drawings lie in it; it asks the network for nothing. Pure.

use std::collections::BTreeSet;

use cutegen_spec::record::{GATE, Variant};

use super::gather::Entry;
use super::html::{target, text};
use super::trials::{self, Search};
use super::{bars, evidence, roofline};
use crate::bench::results::Results;

const STYLE: &str = include_str!("page.css");

/// What a page tells.
pub(super) struct Content {
    pub(super) title: String,
    pub(super) entries: Vec<Entry>,
    pub(super) searches: Vec<Search>,
    /// Files of results, by name.
    pub(super) benched: Vec<(String, Results)>,
}

/// The whole page.
pub(super) fn page(content: &Content) -> String {
    let Content { title, entries, searches, benched } = content;
    let title = text(title);
    let sections = [
        section("Roofline", ROOFLINE, &roofs(entries)),
        section("Speed-ups", SPEEDUPS, &speedups(entries)),
        section("Timed again", TIMED_AGAIN, &timed_again(benched)),
        section("Searches", SEARCHES, &searches.iter().map(trials::section).collect::<String>()),
        section("Evidence", EVIDENCE, &evidence::section(entries)),
    ];
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}: kernels</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<header><h1>{title}</h1><p>What is locked: how fast, against what, and who says so.</p>{}\
         </header>\n{}<footer>Written by <code>cargo cutegen report</code> {}, gate {GATE}, from the records of the \
         store{}. Nothing on this page was measured while it was written.</footer>\n</body>\n</html>\n",
        tiles(entries),
        sections.concat(),
        env!("CARGO_PKG_VERSION"),
        if benched.is_empty() && searches.is_empty() { "" } else { " and the files that are named on it" },
    )
}

const ROOFLINE: &str = "Each locked variant at each workload that it was timed at: the closer to its ceiling, the less \
                        there is left to gain.";
const SPEEDUPS: &str = "Times of an incumbent over ours, from interleaved blocks of the same launches over the same \
                        inputs. The bar ends at the median, the whisker spans the 95 % interval, the dashed line is 1.";
const TIMED_AGAIN: &str = "The same, as bench found it later.";
const SEARCHES: &str = "Candidates in the order in which they were tried, and the best so far. Crosses are those that did \
                        not compile, were wrong, crashed or hung.";
const EVIDENCE: &str = "What was run to accept each variant, on which device, from which seeds, and what the machine did \
                        not enforce.";

fn section(title: &str, about: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("<h2>{title}</h2><p>{about}</p>\n{content}\n") }
}

/// Targets in the order in which they come first.
fn by_target(entries: &[Entry]) -> Vec<(String, Vec<&Entry>)> {
    let mut all: Vec<(String, Vec<&Entry>)> = Vec::new();
    for entry in entries {
        let name = entry.plan.target.to_string();
        match all.iter_mut().find(|(target, _)| *target == name) {
            Some((_, list)) => list.push(entry),
            None => all.push((name, vec![entry])),
        }
    }
    all
}

fn roofs(entries: &[Entry]) -> String {
    by_target(entries).iter().filter_map(|(_, entries)| roofline::section(entries)).collect()
}

fn speedups(entries: &[Entry]) -> String {
    let one = |(name, entries): &(String, Vec<&Entry>)| {
        let chart = bars::chart(&bars::locked(entries))?;
        let devices: BTreeSet<&str> = entries
            .iter()
            .filter_map(|entry| entry.locked.as_ref().ok())
            .flat_map(|record| &record.variants)
            .filter_map(Variant::judged)
            .filter(|evidence| !evidence.timings.is_empty())
            .map(|evidence| evidence.device.as_str())
            .collect();
        let devices = devices.into_iter().collect::<Vec<_>>().join("; ");
        Some(format!(
            "<section><h3>{}</h3><p>On {}.</p>{chart}</section>\n",
            text(target(name)),
            text(devices)
        ))
    };
    by_target(entries).iter().filter_map(one).collect()
}

fn timed_again(benched: &[(String, Results)]) -> String {
    let mut html = String::new();
    for (file, results) in benched {
        let bars: Vec<bars::Bar<'_>> = results.kernels.iter().flat_map(bars::benched).collect();
        let devices: BTreeSet<&str> = results.kernels.iter().map(|kernel| kernel.device.as_str()).collect();
        let devices = devices.into_iter().filter(|device| !device.is_empty()).collect::<Vec<_>>().join("; ");
        let Some(chart) = bars::chart(&bars) else { continue };
        let (file, devices) = (text(file), text(devices));
        let gate = results.gate;
        html += &format!(
            "<section><h3>{file}</h3><p>On {devices}, protocol of gate {gate}.</p>{chart}</section>\n"
        );
    }
    html
}

/// The few numbers to begin with.
fn tiles(entries: &[Entry]) -> String {
    let tuned = entries.iter().filter(|entry| entry.is_tuned()).count();
    let missing = entries.iter().filter(|entry| entry.locked.is_err()).count();
    let targets = by_target(entries).len();
    let mut all = vec![(
        format!("{tuned} of {}", entries.len()),
        format!("entries tuned, for {targets} target{}", if targets == 1 { "" } else { "s" }),
    )];
    if missing > 0 {
        all.push((missing.to_string(), "declared, and not locked".to_owned()));
    }
    for (name, entries) in by_target(entries) {
        for (incumbent, mean, worst, count) in bars::means(&bars::locked(&entries)) {
            let of = if count == 1 {
                String::new()
            } else {
                format!(", geometric mean of {count}, least {worst:.2}×")
            };
            all.push((format!("{mean:.2}×"), format!("over {incumbent} on {}{of}", target(&name))));
        }
    }
    let tile = |(figure, about): &(String, String)| {
        format!("<div class=\"tile\"><b>{}</b><span>{}</span></div>", text(figure), text(about))
    };
    format!("<div class=\"tiles\">{}</div>", all.iter().map(tile).collect::<String>())
}
