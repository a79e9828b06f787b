//! What was run to accept a variant, and what was not, in words: `explain` and `report` say the same. Pure.

use std::collections::BTreeSet;

use cutegen_build::plan::Plan;
use cutegen_spec::record::{Evidence, Figures, GATE, Record, Variant};

/// What it means that inputs are not counted.
const NOT_COUNTED: &str =
    "run there, but the error bound is so wide that a wrong kernel could pass: no test of this output";

/// The interval of a ratio, `1.020 to 1.050`, or that there is none.
pub(crate) fn interval(figures: &Figures) -> String {
    figures.interval().map_or_else(|| "timed once".to_owned(), |(low, high)| format!("{low:.3} to {high:.3}"))
}

/// Labels and values, in the order in which a reader asks; of the times only that there are none, and which are missing.
pub(crate) fn facts(plan: &Plan, evidence: &Evidence) -> Vec<(&'static str, String)> {
    let took = evidence.judge_seconds.map(|s| format!(", in {s:.1} s")).unwrap_or_default();
    let mut said = vec![("judged", format!("by gate {} on {}{took}", evidence.gate, evidence.device))];
    let mut list = |label, words: &[String], between: &str| {
        if !words.is_empty() {
            said.push((label, words.join(between)));
        }
    };
    list("checks", &evidence.checks, ", ");
    list("shapes", &whole_shapes(evidence), "; ");
    list("of a sample", &evidence.sampled, "; ");
    list("inputs", &evidence.distributions, ", ");
    said.push(("compared", compared(evidence)));
    if !evidence.not_counted.is_empty() {
        said.push(("not counted", format!("{} ({NOT_COUNTED})", evidence.not_counted.join("; "))));
    }
    // storing a result rounds it, which the bound allows for
    let rounded = if evidence.worst_share > 0.5 {
        ", most of which rounding to the output's type may take"
    } else {
        ""
    };
    said.push(("worst error", format!("{:.3} % of its bound{rounded}", 100.0 * evidence.worst_share)));
    said.extend(evidence.baseline.iter().map(|baseline| ("RMS against", baseline.clone())));
    let equal = if plan.spec.deterministic { "equal in every bit" } else { "each judged by its values" };
    said.push(("launches", format!("{} of one case, {equal}", evidence.repeats)));
    said.push(("seed", evidence.seeds.to_string()));
    said.push(("sanitizer", evidence.sanitizer.clone()));
    let open = match evidence.not_enforced.as_slice() {
        [] => "nothing: every layer stood".to_owned(),
        open => open.join("; "),
    };
    said.push(("not enforced", open));
    if evidence.timings.is_empty() {
        said.push(("timed", "against nothing".to_owned()));
    }
    said.extend(
        evidence.timed_by.iter().map(|by| ("timed", format!("by gate {} on {}", by.gate, by.device))),
    );
    said.extend(evidence.not_timed.iter().map(|reason| ("not timed", format!("against {reason}"))));
    said
}

/// `judged by gate 6 on NVIDIA H200, sm_90, driver 580`: by whose word a record's variants passed; none where no judge passed them.
pub(crate) fn witnesses(record: &Record) -> Option<String> {
    let judged = record.variants.iter().filter_map(Variant::judged);
    let by: BTreeSet<String> =
        judged.map(|evidence| format!("gate {} on {}", evidence.gate, evidence.device)).collect();
    let by: Vec<String> = by.into_iter().collect();
    (!by.is_empty()).then(|| format!("judged by {}", by.join(" and by ")))
}

/// Why there is nothing to say of a variant that this program's gate has not judged.
pub(crate) fn unjudged(variant: &Variant) -> String {
    match &variant.evidence {
        None => "no device has run it, and it was timed against nothing".to_owned(),
        Some(evidence) => {
            let gate = evidence.latest_gate();
            format!("its evidence is of gate {gate}, which this CuTeGen, of gate {GATE}, does not know")
        }
    }
}

/// `m=7,n=64`: no line breaks inside a shape.
fn whole_shapes(evidence: &Evidence) -> Vec<String> {
    evidence.shapes.iter().map(|shape| shape.replace(" = ", "=").replace(", ", ",")).collect()
}

fn compared(evidence: &Evidence) -> String {
    let place = evidence.reference.map(|on| format!(" with a reference on the {}", on.name()));
    let open = match evidence.not_judged {
        None | Some(0) => String::new(),
        Some(open) => format!("; {open} not judged, for want of a usable bound"),
    };
    format!("{} elements{}{open}", evidence.elements, place.unwrap_or_default())
}
