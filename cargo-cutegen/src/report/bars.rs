//! Speed-ups as bars on a logarithmic scale, each with its interval; a line down at 1, where both are equally fast. Pure.

use std::collections::BTreeMap;

use cutegen_build::store::trust::extents;
use cutegen_spec::record::{Timing, incumbent};

use super::gather::Entry;
use super::html::{Scale, at, powers, text};
use crate::bench::results::{Kernel, Times};
use crate::check::table::digits;
use crate::evidence::interval;

/// Ends of the drawing's width.
const ENDS: (f64, f64) = (6.0, 394.0);

/// One bar.
pub(super) struct Bar<'a> {
    pub(super) kernel: String,
    pub(super) variant: &'a str,
    pub(super) timing: &'a Timing,
}

/// Bars of what is locked.
pub(super) fn locked<'a>(entries: &[&'a Entry]) -> Vec<Bar<'a>> {
    let bars = entries.iter().flat_map(|entry| {
        let kernel = &entry.plan.spec.name;
        entry.timings().map(move |(variant, timing)| Bar {
            kernel: kernel.to_string(),
            variant: &variant.name,
            timing,
        })
    });
    bars.collect()
}

/// Bars of a file of results.
pub(super) fn benched<'a>(kernel: &'a Kernel) -> Vec<Bar<'a>> {
    let bar = |times: &'a Times| Bar {
        kernel: kernel.kernel.clone(),
        variant: &times.variant,
        timing: &times.timing,
    };
    kernel.times.iter().map(bar).collect()
}

/// All bars on one scale; nothing where there are none.
pub(super) fn chart(bars: &[Bar<'_>]) -> Option<String> {
    if bars.is_empty() {
        return None;
    }
    let lows = bars.iter().map(|bar| bar.timing.low);
    let highs = bars.iter().map(|bar| bar.timing.high);
    let usable = |value: &f64| value.is_finite() && *value > 0.0;
    let low = lows.filter(usable).fold(1.0, f64::min);
    let high = highs.filter(usable).fold(1.0, f64::max);
    let ticks = powers(2.0, low, high);
    let scale = Scale::new((ticks[0], ticks[ticks.len() - 1]), ENDS);
    let mut rows = String::new();
    let mut before = None;
    for bar in bars {
        let head = (&bar.kernel, &bar.timing.workload);
        rows += &row(bar, before != Some(head), &scale);
        before = Some(head);
    }
    Some(format!("<div class=\"bars\">{}{rows}</div>", ruler(&ticks, &scale)))
}

/// The scale's numbers, above the bars.
fn ruler(ticks: &[f64], scale: &Scale) -> String {
    let every = ticks.len().div_ceil(7);
    let one = ticks.iter().position(|tick| (tick - 1.0).abs() < 1e-9).unwrap_or(0);
    let shown = ticks.iter().enumerate().filter(|(index, _)| index % every == one % every);
    let mark = |(_, tick): (usize, &f64)| {
        let x = scale.at(*tick);
        let share = 100.0 * x / (ENDS.0 + ENDS.1);
        format!("<span style=\"left:{}%\">{}×</span>", at(share), text(tick))
    };
    let marks: String = shown.map(mark).collect();
    format!("<div class=\"bar ruler\"><div></div><div class=\"ticks\">{marks}</div><div></div></div>")
}

fn row(bar: &Bar<'_>, is_new: bool, scale: &Scale) -> String {
    let Timing { incumbent, speedup, low, high, .. } = bar.timing;
    let head = if is_new {
        format!(
            "<b title=\"{}\">{}</b> <span class=\"at\">{}</span><br>",
            text(bar.variant),
            text(&bar.kernel),
            text(extents(&bar.timing.workload))
        )
    } else {
        String::new()
    };
    format!(
        "<div class=\"bar{}\" data-kernel=\"{}\" data-incumbent=\"{}\" data-interval=\"{low} {high}\"><div>{head}\
         <span class=\"against\">over {}</span></div>{}<div class=\"figure\"><b>{speedup:.2}×</b> <span>{}\
         </span>{}</div></div>\n",
        if is_new { " first" } else { "" },
        text(&bar.kernel),
        text(incumbent),
        text(incumbent),
        drawing(bar.timing, scale),
        interval(&bar.timing.burst()),
        more(bar.timing)
    )
}

fn drawing(timing: &Timing, scale: &Scale) -> String {
    let [one, to, low, high] = [1.0, timing.speedup, timing.low, timing.high].map(|value| scale.at(value));
    let (left, width) = (at(one.min(to)), at((to - one).abs().max(0.8)));
    let class = match timing {
        _ if timing.high < 1.0 => "slower",
        _ if timing.low <= 1.0 => "even",
        _ => "faster",
    };
    let [one, low, high] = [one, low, high].map(at);
    let ends = timing.burst().interval().map_or_else(String::new, |_| {
        format!("<path class=\"interval\" d=\"M{low} 11H{high}M{low} 6V16M{high} 6V16\"/>")
    });
    let label = format!("{:.2} times {}", timing.speedup, timing.incumbent);
    format!(
        "<svg viewBox=\"0 0 400 22\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\"><rect class=\"{class}\" \
         x=\"{left}\" y=\"5\" width=\"{width}\" height=\"12\"/><line class=\"one\" x1=\"{one}\" y1=\"0\" x2=\"{one}\" \
         y2=\"22\"/>{ends}</svg>",
        text(label)
    )
}

/// Times, and the same without pause.
fn more(timing: &Timing) -> String {
    let theirs =
        timing.incumbent_micros.map(|micros| format!(" against {}", digits(micros))).unwrap_or_default();
    let mut told = format!("<br><small>{}{theirs} us, {} pairs", digits(timing.micros), timing.samples);
    if let Some(lasting) = &timing.sustained {
        let (ratio, low, high) = (lasting.speedup, lasting.low, lasting.high);
        told += &format!("; sustained {ratio:.2}× ({low:.3} to {high:.3})");
    }
    if let Some(differs) = &timing.differs {
        told += &format!("; it differs: {}", text(differs));
    }
    told + "</small>"
}

/// For each incumbent the geometric mean, the worst, and how many there are.
pub(super) fn means(bars: &[Bar<'_>]) -> Vec<(String, f64, f64, usize)> {
    let mut by: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for bar in bars.iter().filter(|bar| bar.timing.incumbent != incumbent::ITSELF && bar.timing.speedup > 0.0)
    {
        by.entry(&bar.timing.incumbent).or_default().push(bar.timing.speedup);
    }
    let told = by.into_iter().map(|(name, all)| {
        let mean = (all.iter().map(|speedup| speedup.ln()).sum::<f64>() / all.len() as f64).exp();
        (name.to_owned(), mean, all.iter().copied().fold(f64::INFINITY, f64::min), all.len())
    });
    told.collect()
}
