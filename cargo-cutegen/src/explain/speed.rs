//! Timings as text: for each workload its roof, a row per incumbent and kind of load, and the clocks. Pure.

use cutegen_build::plan::{Plan, roofline};
use cutegen_build::store::trust::{Workload, extents};
use cutegen_spec::record::{Clocks, Figures, Record, Timing, Variant};
use serde::Serialize;

use crate::check::table::digits;
use crate::evidence::interval;
use crate::output::aligned;

const TITLE: [&str; 8] =
    ["against", "load", "us", "theirs us", "speedup", "95 % interval", "pairs", "of roof"];

/// The least time at a workload that something was timed at.
#[derive(Debug, Serialize)]
pub(super) struct Roof {
    workload: Workload,
    pub(super) micros: f64,
}

/// Least times by the device's ceilings: as the record has them, else by the plan's own figures; none on the CPU.
pub(super) fn roofs(plan: &Plan, record: &Record) -> Vec<Roof> {
    let evidence = record.variants.iter().filter_map(Variant::judged);
    let timings: Vec<&Timing> = evidence.flat_map(|evidence| &evidence.timings).collect();
    let at = |workload: &Workload| {
        let mut here = timings.iter().filter(|timing| timing.workload == *workload);
        let computed = || roofline::micros(plan, &plan.spec.bind(workload).ok()?);
        let micros = here.find_map(|timing| timing.roof_micros).or_else(computed)?;
        Some(Roof { workload: workload.clone(), micros })
    };
    distinct(timings.iter().copied()).into_iter().filter_map(at).collect()
}

/// All timings of a variant, workload by workload as they stand in the record.
pub(super) fn lines(timings: &[Timing], roofs: &[Roof]) -> Vec<String> {
    let of = |workload: &Workload| timings.iter().filter(|t| t.workload == *workload).collect::<Vec<_>>();
    distinct(timings.iter()).into_iter().flat_map(|workload| one(workload, &of(workload), roofs)).collect()
}

/// Workloads in the order in which they come first.
fn distinct<'a>(timings: impl Iterator<Item = &'a Timing>) -> Vec<&'a Workload> {
    let mut workloads = Vec::new();
    for timing in timings {
        if !workloads.contains(&&timing.workload) {
            workloads.push(&timing.workload);
        }
    }
    workloads
}

fn one(workload: &Workload, timings: &[&Timing], roofs: &[Roof]) -> Vec<String> {
    let roof = roofs.iter().find(|roof| roof.workload == *workload).map(|roof| roof.micros);
    let by = roof.map(|micros| format!("; roof {} us", digits(micros))).unwrap_or_default();
    let mut lines = vec![format!("timed at {}{by}", extents(workload))];
    let title = TITLE.map(str::to_owned);
    let rows: Vec<Vec<String>> = timings.iter().flat_map(|timing| rows(timing, roof)).collect();
    lines.extend(aligned(&title, &rows).into_iter().map(|line| format!("  {line}")));
    let about = timings.iter().filter_map(|timing| Some((&timing.incumbent, timing.about.as_ref()?)));
    lines.extend(about.map(|(incumbent, about)| format!("  {incumbent}: {about}")));
    let other = timings.iter().filter_map(|timing| Some((&timing.incumbent, timing.differs.as_ref()?)));
    lines.extend(other.map(|(incumbent, differs)| format!("  {incumbent} differs: {differs}")));
    let mut seen: Vec<String> =
        timings.iter().filter_map(|timing| timing.clocks.as_ref()).map(clocks).collect();
    seen.dedup();
    lines.extend(seen.into_iter().map(|clocks| format!("  clocks: {clocks}")));
    lines
}

/// Bursts first, which decide.
fn rows(timing: &Timing, roof: Option<f64>) -> Vec<Vec<String>> {
    let mut rows = vec![row(&timing.incumbent, "burst", &timing.burst(), roof)];
    rows.extend(timing.sustained.as_ref().map(|figures| row("", "sustained", figures, roof)));
    rows
}

fn row(incumbent: &str, load: &str, figures: &Figures, roof: Option<f64>) -> Vec<String> {
    let dash = || "-".to_owned();
    vec![
        incumbent.to_owned(),
        load.to_owned(),
        digits(figures.micros),
        figures.incumbent_micros.map_or_else(dash, digits),
        format!("{:.3}x", figures.speedup),
        interval(figures),
        figures.samples.to_string(),
        roof.map_or_else(dash, |roof| format!("{:.0} %", 100.0 * roof / figures.micros)),
    ]
}

fn clocks(clocks: &Clocks) -> String {
    let span =
        |[low, high]: [u32; 2]| if low == high { format!("{low}") } else { format!("{low} to {high}") };
    let held = match clocks.throttle.as_slice() {
        [] => "not held down".to_owned(),
        reasons => format!("held down by: {}", reasons.join(", ")),
    };
    let (sm, memory, watts) = (span(clocks.sm_mhz), span(clocks.mem_mhz), span(clocks.watts));
    format!("SM {sm} MHz, memory {memory} MHz, {watts} W; {held}")
}
