//! The table that `check` prints: from rows of values to cells of text. Pure.

use std::collections::BTreeMap;

use cutegen_build::store::trust::{Doubt, extents};
use cutegen_spec::record::incumbent;
use cutegen_spec::target::Target;
use serde::Serialize;

/// One kernel on one target.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Row {
    pub(super) kernel: String,
    pub(super) target: String,
    pub(super) family: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why_general: Option<String>,
    /// Why no template fills it, where nothing is tuned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why_unfilled: Option<String>,
    pub(super) state: &'static str,
    /// Why the entry is not what the spec asks for, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stale: Option<String>,
    pub(super) workloads: Vec<Work>,
    /// Bytes of workspace that no launch exceeds; none where nothing is locked, or they are beyond counting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) most_workspace: Option<i64>,
    /// What may be said against its evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) doubts: Vec<Doubt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// One workload of it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Work {
    pub(super) axes: BTreeMap<String, i64>,
    /// Whether the spec declares it; else it declares none.
    pub(super) is_declared: bool,
    pub(super) bytes: f64,
    pub(super) flops: f64,
    /// Operations a byte.
    pub(super) intensity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) roof: Option<Ceiling>,
    /// Bytes of workspace that the locked entry needs here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workspace: Option<i64>,
    /// What is launched, when the entry is tuned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) launched: Option<Launched>,
}

/// The least time on the target's device.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Ceiling {
    pub(super) micros: f64,
    pub(super) bound: &'static str,
    pub(super) device: &'static str,
}

/// The variant that a workload gets.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Launched {
    pub(super) variant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) micros: Option<f64>,
    /// Over the incumbent, where it was timed at this workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) speedup: Option<f64>,
    /// The strongest of those that it was timed against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) incumbent: Option<String>,
}

impl Row {
    /// The target as people say it: the only host target of this version needs no triple.
    pub(super) fn short_target(&self) -> &str {
        if self.target == Target::host().to_string() { "host" } else { &self.target }
    }

    /// Whether what was timed is not what is declared.
    pub(super) fn has_drifted(&self) -> bool {
        self.doubts.iter().any(|doubt| doubt.variant().is_none())
    }
}

/// The columns' names.
pub(super) fn title() -> Vec<String> {
    let work = ["workload", "MB", "Mflop", "flop/B", "roof us", "bound", "workspace"];
    [&["kernel", "target", "family"][..], &work, &["entry"]].concat().into_iter().map(str::to_owned).collect()
}

/// A line for each workload; kernel, target and family stand on the first.
pub(super) fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    rows.iter().flat_map(kernel_lines).collect()
}

fn kernel_lines(row: &Row) -> Vec<Vec<String>> {
    let head = [row.kernel.clone(), row.short_target().to_owned(), row.family.to_owned()];
    if row.workloads.is_empty() {
        let none = vec!["-".to_owned(); 7];
        return vec![[head.to_vec(), none, vec![entry(row, None)]].concat()];
    }
    let works = row.workloads.iter().enumerate();
    let line = |(index, work): (usize, &Work)| {
        let head = if index == 0 { head.clone() } else { Default::default() };
        [head.to_vec(), numbers(work), vec![entry(row, work.launched.as_ref())]].concat()
    };
    works.map(line).collect()
}

fn numbers(work: &Work) -> Vec<String> {
    let dash = || "-".to_owned();
    vec![
        if work.axes.is_empty() { dash() } else { extents(&work.axes) },
        digits(work.bytes / 1e6),
        digits(work.flops / 1e6),
        digits(work.intensity),
        work.roof.as_ref().map_or_else(dash, |roof| digits(roof.micros)),
        work.roof.as_ref().map_or_else(dash, |roof| roof.bound.to_owned()),
        work.workspace.map_or_else(dash, size),
    ]
}

/// `17.2 GB`, `96 B`, and `0` for nothing.
pub(super) fn size(bytes: i64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let amount = bytes as f64;
    match UNITS.iter().find(|(of, _)| amount >= *of) {
        Some((of, unit)) => format!("{} {unit}", digits(amount / of)),
        None if bytes == 0 => "0".to_owned(),
        None => format!("{bytes} B"),
    }
}

/// `tuned NAME 1.23x`, over another incumbent than the naive kernel `tuned NAME 1.23x cublaslt`, `stale: math moved`, or
/// the state alone.
fn entry(row: &Row, launched: Option<&Launched>) -> String {
    if let Some(why) = &row.stale {
        return format!("{}: {why}", row.state);
    }
    let Some(launched) = launched else { return row.state.to_owned() };
    let speedup = launched.speedup.map(|s| format!(" {s:.2}x")).unwrap_or_default();
    let over = launched.incumbent.as_deref().filter(|incumbent| *incumbent != incumbent::NAIVE);
    let over = over.map(|incumbent| format!(" {incumbent}")).unwrap_or_default();
    format!("{} {}{speedup}{over}", row.state, launched.variant)
}

/// Why each `general` kernel is in no faster family, once however many targets it has; with those, where templates fill it in
/// parts for others.
pub(super) fn reasons(rows: &[Row]) -> Vec<String> {
    let mut found: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (row, why) in rows.iter().filter_map(|row| Some((row, row.why_general.as_deref()?))) {
        found.entry((&row.kernel, why)).or_default().push(row.short_target());
    }
    let line = |((kernel, why), targets): ((&str, &str), Vec<&str>)| {
        let is_all = rows.iter().filter(|row| row.kernel == kernel).count() == targets.len();
        let on = if is_all { String::new() } else { format!(" on {}", targets.join(", ")) };
        format!("{kernel}{on} is general: {why}")
    };
    found.into_iter().map(line).collect()
}

/// Why no template fills a kernel, with the targets for which that is so.
pub(super) fn unfilled(rows: &[Row]) -> Vec<String> {
    let mut found: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (row, why) in rows.iter().filter_map(|row| Some((row, row.why_unfilled.as_deref()?))) {
        found.entry((&row.kernel, why)).or_default().push(row.short_target());
    }
    let line = |((kernel, why), targets): ((&str, &str), Vec<&str>)| {
        format!("{kernel} on {}: no template fills this: {why}", targets.join(", "))
    };
    found.into_iter().map(line).collect()
}

/// Three significant digits, and never an exponent.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.099_95 => 3,
        v if v >= 0.009_995 => 4,
        _ => 6,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::{Ceiling, Launched, Row, Work, digits, lines, reasons, title, unfilled};

    fn work(m: i64, roof: Option<Ceiling>, launched: Option<Launched>) -> Work {
        let axes = [("m".to_owned(), m)].into();
        let workspace = Some(96 * m);
        Work { axes, is_declared: true, bytes: 4e6, flops: 1e6, intensity: 0.25, roof, workspace, launched }
    }

    fn roof(micros: f64) -> Option<Ceiling> {
        Some(Ceiling { micros, bound: "memory", device: "H200" })
    }

    fn row(target: &str, state: &'static str, workloads: Vec<Work>) -> Row {
        let (kernel, target) = ("norm".to_owned(), target.to_owned());
        Row { kernel, target, family: "rowwise", state, workloads, ..Row::default() }
    }

    #[test]
    fn numbers_keep_three_digits() {
        let shown = [0.0, 0.000_123_4, 0.012_34, 0.1234, 1.234, 9.996, 12.34, 99.96, 123.4, 12_345.6];
        let expected = ["0", "0.000123", "0.0123", "0.123", "1.23", "10.0", "12.3", "100", "123", "12346"];
        assert_eq!(shown.map(digits), expected);
    }

    #[test]
    fn a_line_for_each_workload() {
        let tuned = Launched {
            variant: "rows4".to_owned(),
            micros: Some(2.0),
            speedup: Some(1.309),
            incumbent: Some("naive".to_owned()),
        };
        let naive = Launched { variant: "naive".to_owned(), micros: None, speedup: None, incumbent: None };
        let row = row(
            "sm_90a",
            "tuned",
            vec![work(128, roof(0.957), Some(tuned)), work(1, roof(7.5), Some(naive))],
        );
        let lines = lines(&[row]);
        let expected = [
            [
                "norm",
                "sm_90a",
                "rowwise",
                "m=128",
                "4.00",
                "1.00",
                "0.250",
                "0.957",
                "memory",
                "12.3 kB",
                "tuned rows4 1.31x",
            ],
            ["", "", "", "m=1", "4.00", "1.00", "0.250", "7.50", "memory", "96 B", "tuned naive"],
        ];
        assert_eq!(lines, expected);
        assert_eq!(title().len(), expected[0].len());
    }

    #[test]
    fn another_incumbent_is_named() {
        let over = |incumbent: &str| Launched {
            variant: "wgmma".to_owned(),
            micros: Some(2.0),
            speedup: Some(1.021),
            incumbent: Some(incumbent.to_owned()),
        };
        let works = vec![work(128, None, Some(over("cublaslt"))), work(1, None, Some(over("naive")))];
        let lines = lines(&[row("sm_90a", "tuned", works)]);
        assert_eq!([&lines[0][10], &lines[1][10]], ["tuned wgmma 1.02x cublaslt", "tuned wgmma 1.02x"]);
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        let mut stale = row("host", "stale", vec![work(1, None, None)]);
        stale.stale = Some("math moved".to_owned());
        let lines = lines(&[stale, row("host", "missing", Vec::new())]);
        assert_eq!(lines[0][7..], ["-", "-", "96 B", "stale: math moved"]);
        assert_eq!(lines[1][3..], ["-", "-", "-", "-", "-", "-", "-", "missing"]);
        assert_eq!(lines[1].len(), title().len());
    }

    #[test]
    fn workspace_has_a_unit() {
        let shown = [0, 999, 1_000, 1_048_576, 17_179_869_184, 4_398_046_511_104].map(super::size);
        assert_eq!(shown, ["0", "999 B", "1.00 kB", "1.05 MB", "17.2 GB", "4.40 TB"]);
    }

    #[test]
    fn reasons_are_told_once_a_kernel() {
        let general = |target| {
            let mut row = row(target, "untuned", Vec::new());
            row.why_general = Some("it has several outputs".to_owned());
            row
        };
        let mut other = row("host", "untuned", Vec::new());
        other.kernel = "other".to_owned();
        let found = reasons(&[general("host"), general("sm_90a"), other]);
        assert_eq!(found, ["norm is general: it has several outputs"]);
        let in_parts = row("sm_90a", "untuned", Vec::new());
        let found = reasons(&[general("host"), in_parts]);
        assert_eq!(found, ["norm on host is general: it has several outputs"]);
    }

    #[test]
    fn what_no_template_fills_is_told_with_its_targets() {
        let lacking = |target, why: &str| {
            let mut row = row(target, "untuned", Vec::new());
            row.why_unfilled = Some(why.to_owned());
            row
        };
        let why = "tensor `x` is f64";
        let rows = [lacking("sm_90a", why), lacking("sm_90a:h200", why), row("host", "untuned", Vec::new())];
        assert_eq!(
            unfilled(&rows),
            ["norm on sm_90a, sm_90a:h200: no template fills this: tensor `x` is f64"]
        );
    }
}
