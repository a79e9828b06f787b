//! What was run to accept each variant, and what was not: the record in words. Pure.

use cutegen_build::plan::Plan;
use cutegen_spec::lock::State;
use cutegen_spec::record::{Clocks, Kind, Timing, Variant};

use super::gather::Entry;
use super::html::{grouped, target, text};
use crate::evidence;

/// A fold for each entry that something has judged, and a list of the others.
pub(super) fn section(entries: &[Entry]) -> String {
    let has_evidence = |entry: &&Entry| match &entry.locked {
        Ok(record) => record.variants.iter().any(|variant| variant.judged().is_some()),
        Err(_) => false,
    };
    let folds: String = entries.iter().filter(has_evidence).map(fold).collect();
    let others: Vec<&Entry> = entries.iter().filter(|entry| !has_evidence(entry)).collect();
    format!("{folds}{}", list(&others))
}

fn fold(entry: &Entry) -> String {
    let Ok(record) = &entry.locked else { return String::new() };
    let spec = &entry.plan.spec;
    let doubts: String =
        entry.doubts.iter().map(|doubt| format!("<p class=\"doubt\">{}</p>", text(doubt))).collect();
    let variants: String = record.variants.iter().map(|one| variant(&entry.plan, one)).collect();
    let gates: Vec<String> = record
        .variants
        .iter()
        .filter_map(Variant::judged)
        .map(|evidence| evidence.gate.to_string())
        .collect();
    format!(
        "<details class=\"entry\"><summary><b>{}</b> on {} <span class=\"at\">{}, gate {}{}</span></summary>{doubts}\
         <pre>{}</pre>{}{variants}</details>\n",
        text(&spec.name),
        text(target(&entry.plan.target.to_string())),
        State::of(record).name(),
        text(gates.first().map_or("none", String::as_str)),
        if entry.doubts.is_empty() { "" } else { ", with doubts" },
        text(spec.math_text.trim()),
        facts(&[("key", entry.plan.key.to_string())]),
    )
}

fn variant(plan: &Plan, variant: &Variant) -> String {
    let kind = match variant.kind {
        Kind::Tuned => "tuned",
        Kind::Predicted => "predicted",
        Kind::Naive => "printed from the math",
    };
    let mut said = vec![
        ("proposed by", variant.origin.clone()),
        ("compiled by", variant.toolchain.clone()),
        ("bytes", format!("{}, sha256 {}", grouped(variant.artifact.bytes), variant.artifact.artifact)),
    ];
    said.extend(variant.min_driver.map(|driver| ("loads with", format!("driver {driver} or newer"))));
    said.extend(
        variant
            .shared_memory
            .map(|bytes| ("shared memory", format!("{} bytes a block", grouped(bytes.into())))),
    );
    match variant.judged() {
        None => said.push(("judged", evidence::unjudged(variant))),
        Some(evidence) => {
            said.extend(evidence::facts(plan, evidence));
            said.extend(held_down(&evidence.timings));
        }
    }
    format!("<h4>{} <span class=\"at\">{kind}</span></h4>{}", text(&variant.name), facts(&said))
}

/// Why a card held its clocks down while something was timed.
fn held_down(timings: &[Timing]) -> Option<(&'static str, String)> {
    let clocks: Vec<&Clocks> = timings.iter().filter_map(|timing| timing.clocks.as_ref()).collect();
    let low = clocks.iter().map(|clocks| clocks.sm_mhz[0]).min()?;
    let high = clocks.iter().map(|clocks| clocks.sm_mhz[1]).max()?;
    let mut reasons: Vec<&str> = clocks.iter().flat_map(|c| &c.throttle).map(String::as_str).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let held = if reasons.is_empty() {
        "not held down".to_owned()
    } else {
        format!("held down by: {}", reasons.join(", "))
    };
    Some(("clocks", format!("SM {low} to {high} MHz while timed; {held}")))
}

fn facts(said: &[(&str, String)]) -> String {
    let rows: String = said
        .iter()
        .map(|(label, value)| format!("<dt>{}</dt><dd>{}</dd>", text(label), text(value)))
        .collect();
    format!("<dl>{rows}</dl>")
}

/// What nothing has judged, and what is not locked.
fn list(others: &[&Entry]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let item = |entry: &&Entry| {
        let name = format!("{} on {}", entry.plan.spec.name, target(&entry.plan.target.to_string()));
        match &entry.locked {
            Ok(_) => format!("<li data-kernel=\"{}\">{}</li>", text(&entry.plan.spec.name), text(name)),
            Err(why) => {
                let why = text(why.lines().next().unwrap_or_default());
                let kernel = text(&entry.plan.spec.name);
                format!(
                    "<li data-kernel=\"{kernel}\">{}: <span class=\"doubt\">{why}</span></li>",
                    text(name)
                )
            }
        }
    };
    format!(
        "<details class=\"entry\"><summary>{} entries that nothing has judged <span class=\"at\">the naive kernel, \
         printed from the math</span></summary><ul class=\"names\">{}</ul></details>\n",
        others.len(),
        others.iter().map(item).collect::<String>()
    )
}
