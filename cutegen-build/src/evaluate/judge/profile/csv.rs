//! The text that `ncu --csv --page raw` writes: a line of names, one of units, and one for each launch, among lines that
//! begin with `==`. Pure; it knows no metric.

use std::collections::BTreeMap;

/// The column that names the kernel.
const KERNEL: &str = "Kernel Name";
/// What a user without the right to read counters is told.
const NOT_PERMITTED: &str = "ERR_NVGPUCTRPERM";
/// The longest text of errors that is kept.
const ERRORS_MAX: usize = 400;

/// One launch, in the order in which they were.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Launch {
    /// The kernel's name.
    pub(super) kernel: String,
    /// Numbers by column, in bytes and seconds where they are of those.
    pub(super) metrics: BTreeMap<String, f64>,
}

/// All launches of a report.
pub(super) fn launches(report: &str) -> Vec<Launch> {
    let (mut names, mut units, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for line in report.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("==")) {
        let fields = fields(line);
        if fields.iter().any(|field| field == KERNEL) {
            (names, units) = (fields, Vec::new());
        } else if fields.len() != names.len() {
            // no line of the table
        } else if fields[0].is_empty() {
            units = fields;
        } else {
            found.extend(launch(&names, &units, &fields));
        }
    }
    found
}

/// What went wrong, by the lines that say so.
pub(super) fn errors(report: &str) -> String {
    if report.contains(NOT_PERMITTED) {
        return format!("{NOT_PERMITTED}: this user may not read the device's performance counters");
    }
    let lines = report.lines().filter_map(|line| {
        line.trim().strip_prefix("==ERROR==").or_else(|| line.trim().strip_prefix("==WARNING=="))
    });
    let told = lines.map(str::trim).collect::<Vec<_>>().join("; ");
    told.chars().take(ERRORS_MAX).collect()
}

fn launch(names: &[String], units: &[String], fields: &[String]) -> Option<Launch> {
    let kernel = names.iter().position(|name| name == KERNEL)?;
    // one that is printed with its parameters
    let kernel = fields[kernel].split('(').next().unwrap_or_default().trim().to_owned();
    let metrics = names.iter().zip(fields).enumerate().filter_map(|(at, (name, field))| {
        let factor = units.get(at).map_or(1.0, |unit| factor(unit));
        Some((name.clone(), number(field)? * factor))
    });
    Some(Launch { kernel, metrics: metrics.collect() })
}

/// Fields between commas; a quoted one may hold commas, and quotes twice.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    all.push(field);
    all
}

/// A finite number, whose thousands may be separated; none for `n/a`.
fn number(field: &str) -> Option<f64> {
    field.trim().replace(',', "").parse().ok().filter(|number: &f64| number.is_finite())
}

/// How many bytes or seconds a unit is; 1 for all others. What follows a slash stays as it is.
fn factor(unit: &str) -> f64 {
    match unit.split('/').next().unwrap_or_default().trim() {
        "Kbyte" | "KB" => 1e3,
        "Mbyte" | "MB" => 1e6,
        "Gbyte" | "GB" => 1e9,
        "Tbyte" | "TB" => 1e12,
        "ns" | "nsecond" => 1e-9,
        "us" | "usecond" => 1e-6,
        "ms" | "msecond" => 1e-3,
        _ => 1.0,
    }
}
