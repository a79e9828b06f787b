//! What a prompt says of [`Facts`]: what a compiler or a judge saw, line by line. Compilers repeat what a candidate says, so
//! these lines are foreign text and are quoted.

use std::collections::BTreeMap;

use cutegen_spec::figures::{self, scaled, short};

use crate::plan::{Plan, cost, roofline};
use crate::run_log::{Diagnostic, Facts, Mismatch, Number, Outcome, Resources, Speed};

/// Diagnostics that are told; what follows the first ones follows from them.
const DIAGNOSTICS_MAX: usize = 24;
/// Bytes of one diagnostic, and of one finding of a sanitizer.
const MESSAGE_MAX: usize = 600;
/// Bytes of the line that a diagnostic is about.
const LINE_MAX: usize = 160;

/// Laws of inputs with special values, by the names that evidence has for them.
const SPECIALS: [&str; 2] = ["specials", "paired-specials"];
/// What is said of those.
const SPECIALS_HOLD: &str = " (rows of inputs hold a NaN, an infinity, a subnormal or -0 here)";

/// Whether a profiler's numbers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// They are.
    Shown,
    /// They are not yet: early they draw attention from structure to numbers.
    Late,
}

/// Why a candidate of this source failed.
#[must_use]
pub fn failure(outcome: Outcome, facts: &Facts, source: &str) -> String {
    let mut lines = vec![format!("outcome: {}", word(outcome))];
    lines.extend(facts.reason.as_deref().map(|reason| format!("reason: {}", cut(reason))));
    lines.extend(facts.diagnostics.iter().take(DIAGNOSTICS_MAX).map(|said| placed(said, source)));
    let more = facts.diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
    lines.extend((more > 0).then(|| format!("and {more} messages more")));
    lines.extend(facts.mismatch.iter().flat_map(mismatch));
    lines.extend(facts.sanitizer.iter().map(|found| format!("compute-sanitizer: {}", cut(found))));
    lines.extend(facts.kernels.iter().map(|kernel| resources(kernel, Profile::Late)));
    lines.join("\n")
}

/// How fast a candidate is, and what it takes.
#[must_use]
pub fn speed(plan: &Plan, facts: &Facts, profile: Profile) -> String {
    let mut lines: Vec<String> = facts.speed.iter().map(|speed| workload(plan, speed)).collect();
    lines.extend(facts.kernels.iter().map(|kernel| resources(kernel, profile)));
    if profile == Profile::Shown {
        lines.extend(
            facts.profile.iter().map(|(name, value)| format!("profile: {name} = {}", figures::value(*value))),
        );
    }
    lines.join("\n")
}

/// What could not be read in an answer.
#[must_use]
pub fn problems(found: &[Diagnostic]) -> String {
    found.iter().take(DIAGNOSTICS_MAX).map(diagnostic).collect::<Vec<_>>().join("\n")
}

/// An outcome, in the words of a prompt.
#[must_use]
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Refused => "refused before it ran",
        Outcome::Compiled => "compiled, not judged",
        Outcome::Wrong => "wrong",
        Outcome::Crashed => "crashed, or did not end in time",
        Outcome::Right => "right",
        Outcome::WrongInFull => "wrong at shapes and inputs of the final judgement, which are not told",
        Outcome::TooSlow => "right, and too slow",
        Outcome::Accepted => "accepted",
    }
}

/// One line of at most so many bytes, which ends with a whole word: half a number is another one.
#[must_use]
pub fn line(text: &str, most: usize) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = joined.floor_char_boundary(most);
    if end == joined.len() {
        return joined;
    }
    let words = if joined[end..].starts_with(' ') { Some(end) } else { joined[..end].rfind(' ') };
    format!("{} ...", &joined[..words.unwrap_or(end)])
}

fn cut(text: &str) -> String {
    line(text, MESSAGE_MAX)
}

fn diagnostic(diagnostic: &Diagnostic) -> String {
    match diagnostic.line {
        Some(line) => format!("line {line}: {}", cut(&diagnostic.message)),
        None => cut(&diagnostic.message),
    }
}

fn mismatch(found: &Mismatch) -> Vec<String> {
    let holds = if SPECIALS.contains(&found.inputs.as_str()) { SPECIALS_HOLD } else { "" };
    let mut lines = vec![
        format!("check: {}, at inputs {}{holds}", cut(&found.check), cut(&found.inputs)),
        format!("extents: {}", extents(&found.axes)),
        format!("first wrong element: {}", element(found)),
    ];
    lines.extend(found.tile.iter().map(|at| {
        format!("axis {}: element {} of tile {}, tiles being {} long", at.axis, at.within, at.tile, at.extent)
    }));
    lines.extend(found.region.as_deref().map(|region| format!("what is wrong: {}", cut(region))));
    lines
}

/// A message with its line as it stands, for who sees the source without numbers.
fn placed(said: &Diagnostic, source: &str) -> String {
    let number = said.line.and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
    let text = number.and_then(|number| source.lines().nth(number)).unwrap_or_default();
    let text = line(text, LINE_MAX);
    let at = if text.is_empty() { String::new() } else { format!(", at `{text}`") };
    diagnostic(said) + &at
}

/// The element's index and values, special ones too.
fn element(wrong: &Mismatch) -> String {
    let Mismatch { tensor, index, found, expected, bound, ratio, .. } = wrong;
    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
    let values = match (found, expected) {
        (Some(Number(found)), Some(Number(expected))) => {
            let [found, expected] = figures::pair(*found, *expected);
            format!(": found {found}, expected {expected}")
        }
        _ => String::new(),
    };
    let bound = bound.map_or_else(String::new, |bound| format!(", error allowed {}", short(bound, 3)));
    let ratio = ratio.map_or_else(String::new, |ratio| format!(", found / expected {}", short(ratio, 4)));
    format!("{tensor}[{}]{values}{bound}{ratio}", index.join(", "))
}

fn resources(kernel: &Resources, profile: Profile) -> String {
    let entry = line(&kernel.entry, 80);
    let registers = kernel.registers.map(|count| format!(", {count} registers a thread"));
    let local = kernel.local_bytes.map(|bytes| format!(", {bytes} bytes of local memory a thread"));
    let shared = format!(", {} bytes of static shared memory", kernel.shared_bytes);
    let blocks = kernel.blocks_per_sm.filter(|_| profile == Profile::Shown);
    let blocks = blocks.map(|count| format!(", {count} blocks fit a multiprocessor"));
    let parts = [registers, local, Some(shared), blocks];
    format!("kernel {entry}{}", parts.into_iter().flatten().collect::<String>())
}

/// A workload's time, and what the roofline makes of it.
fn workload(plan: &Plan, speed: &Speed) -> String {
    let share =
        speed.roofline.map(|share| format!(", {} % of the roofline's speed", short(share * 100.0, 2)));
    let bytes = speed.tb_per_s.map(|rate| format!(", {} of the least traffic", scaled(rate * 1e12, "B/s")));
    let operations = speed.tops_per_s.map(|rate| format!(", {}", scaled(rate * 1e12, "FLOP/s")));
    let over = speed.over_naive.map(|ratio| format!(", {ratio:.2} times the naive kernel"));
    let parts = [share, bytes, operations, over, bound(plan, &speed.workload)];
    let told: String = parts.into_iter().flatten().collect();
    format!("{}: {:.2} us{told}", extents(&speed.workload), speed.micros)
}

/// Which side of the roofline is the longer one, and how long it is.
fn bound(plan: &Plan, workload: &BTreeMap<String, i64>) -> Option<String> {
    let axes: BTreeMap<String, i64> = workload.clone();
    let axes = plan.spec.bind(&axes).ok()?;
    let work = cost::cost(&plan.spec, &plan.schedule, &axes);
    let (roof, _) = roofline::roof(plan, &work)?;
    let masked = if cost::has_mask(plan) { " if every term is computed" } else { "" };
    Some(format!("; {} bounds it, {} us at least{masked}", roof.bound.name(), short(roof.micros, 3)))
}

fn extents(axes: &BTreeMap<String, i64>) -> String {
    let axes: Vec<String> = axes.iter().map(|(axis, extent)| format!("{axis} = {extent}")).collect();
    if axes.is_empty() { "all extents are constant".to_owned() } else { axes.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::{SPECIALS, SPECIALS_HOLD, failure, line};
    use crate::outcome::Distribution;
    use crate::run_log::{Facts, Mismatch, Number, Outcome};

    /// What is told of a wrong element.
    fn told(inputs: &str, [found, expected]: [Option<f64>; 2]) -> String {
        let mismatch = Mismatch {
            tensor: "y".to_owned(),
            index: vec![0, 32],
            axes: [].into(),
            inputs: inputs.to_owned(),
            found: found.map(Number),
            expected: expected.map(Number),
            bound: None,
            ratio: None,
            tile: Vec::new(),
            check: "values".to_owned(),
            region: None,
        };
        failure(Outcome::Wrong, &Facts { mismatch: Some(mismatch), ..Facts::default() }, "")
    }

    #[test]
    fn special_values_are_told_and_where_they_come_from() {
        let special = told("specials", [Some(f64::NAN), Some(f64::INFINITY)]);
        assert!(special.ends_with("\nfirst wrong element: y[0, 32]: found NaN, expected inf"), "{special}");
        assert!(special.contains(SPECIALS_HOLD));
        let normal = told("normal", [None, None]);
        assert!(normal.ends_with("\nfirst wrong element: y[0, 32]") && !normal.contains("NaN"), "{normal}");
        let names = [Distribution::Specials, Distribution::PairedSpecials].map(Distribution::name);
        assert_eq!(SPECIALS, names);
    }

    #[test]
    fn a_line_is_one_and_ends() {
        assert_eq!(line("a\n b\t c", 80), "a b c");
        assert_eq!(line("abc\u{e9}d", 4), "abc ...");
        let reason = "found 5131.639, expected 6436.8";
        assert_eq!(line(reason, 28), "found 5131.639, expected ...");
        assert_eq!(line(reason, 15), "found 5131.639, ...");
        assert_eq!(line(reason, 31), reason);
    }
}
