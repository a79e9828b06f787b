//! One locked variant as text: who proposed it, how it is launched, what was judged, how fast it is. Names of the spec
//! stand where the record has positions. Pure.

use cutegen_build::plan::Plan;
use cutegen_spec::contract::tensor_map::Base;
use cutegen_spec::contract::{self, Arg, Step};
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::provenance::{Provenance, is_foreign};
use cutegen_spec::record::{Kind, Variant};

use super::speed::{self, Roof};
use crate::evidence::{facts, unjudged};

/// Widest line.
const COLUMNS: usize = 100;
/// Where values begin.
const VALUES: usize = 17;

/// The variant, the `number`-th that is tried.
pub(super) fn lines(plan: &Plan, number: usize, variant: &Variant, roofs: &[Roof]) -> Vec<String> {
    let kind = match variant.kind {
        Kind::Tuned => "tuned",
        Kind::Predicted => "predicted",
        Kind::Naive => "naive",
    };
    let kind = if variant.name == kind { String::new() } else { format!(", {kind}") };
    let mut lines = vec![format!("{number}. {}{kind}", variant.name)];
    let mut say = |label: &str, value: &str| lines.extend(wrapped(label, value));
    if is_foreign(&variant.origin) {
        provenance(variant).iter().for_each(|(label, value)| say(label, value));
    } else {
        say("proposed by", &variant.origin);
    }
    say("compiled by", &variant.toolchain);
    if let Some(driver) = variant.min_driver {
        say("loads with", &format!("driver {driver} or newer"));
    }
    if let Some(bytes) = variant.shared_memory {
        say("needs", &format!("{bytes} bytes of shared memory a block, where it is launched at its largest"));
    }
    say("eligible", &conditions(plan, &variant.eligibility));
    say("preferred", &conditions(plan, &variant.prefer));
    say("launched as", &launch(plan, variant));
    match variant.judged() {
        None => say("judged", &format!("not judged: {}", unjudged(variant))),
        Some(evidence) => {
            facts(plan, evidence).iter().for_each(|(label, value)| say(label, value));
            let timed = speed::lines(&evidence.timings, roofs);
            lines.extend(timed.into_iter().map(|line| format!("   {line}")));
        }
    }
    lines
}

/// Where a source comes from that no template wrote, and its digest, by which a host source is accepted.
fn provenance(variant: &Variant) -> Vec<(&'static str, String)> {
    let known = Provenance::parse(&variant.origin).map(|provenance| provenance.fields());
    let mut said = known.unwrap_or_else(|| vec![("proposed by", variant.origin.clone())]);
    said.push(("source", format!("sha256 {}", variant.source.digest)));
    said
}

/// The contract in one line.
fn launch(plan: &Plan, variant: &Variant) -> String {
    let contract = &variant.contract;
    let steps: Vec<String> = contract.steps.iter().map(|one| step(plan, one)).collect();
    let parts: Vec<String> = contract.workspace.iter().map(|part| named(plan, &part.bytes)).collect();
    let workspace =
        if parts.is_empty() { String::new() } else { format!("; workspace {} bytes", parts.join(" + ")) };
    format!("{}{workspace}", steps.join(", then "))
}

fn step(plan: &Plan, step: &Step) -> String {
    let args: Vec<String> = step.args.iter().map(|arg| argument(plan, arg)).collect();
    let call = format!("({})", args.join(", "));
    if plan.target.is_host() {
        return format!("{}{call}", step.entry);
    }
    let mut shape = vec![triple(plan, &step.grid), triple(plan, &step.block)];
    if step.smem != IntExpr::Const(0) {
        shape.push(named(plan, &step.smem));
    }
    let mut text = format!("{}<<<{}>>>{call}", step.entry, shape.join(", "));
    if step.cluster != contract::ones() {
        text += &format!(" in clusters of {}", triple(plan, &step.cluster));
    }
    if step.pdl {
        text += ", started early (PDL)";
    }
    if step.co_resident {
        text += ", all blocks resident";
    }
    text
}

/// Three extents without the ones behind.
fn triple(plan: &Plan, extents: &[IntExpr; 3]) -> String {
    let used = 3 - extents.iter().rev().take_while(|extent| **extent == IntExpr::Const(1)).count();
    let texts: Vec<String> = extents[..used.max(1)].iter().map(|extent| named(plan, extent)).collect();
    if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(", ")) }
}

fn named(plan: &Plan, expr: &IntExpr) -> String {
    expr.text(&|at| axis(plan, at))
}

fn axis(plan: &Plan, at: usize) -> String {
    plan.spec.axes.get(at).map_or_else(|| format!("a{at}"), |axis| axis.name.to_string())
}

fn argument(plan: &Plan, arg: &Arg) -> String {
    match arg {
        Arg::Ptr(at) => tensor(plan, *at),
        Arg::Axis(at) => plan.spec.axes.get(*at).map_or_else(|| arg.to_string(), |a| a.name.to_string()),
        Arg::Scalar(at) => plan.spec.scalars.get(*at).map_or_else(|| arg.to_string(), |s| s.name.to_string()),
        Arg::Workspace(_) => arg.to_string(),
        Arg::Int(number) => named(plan, number),
        Arg::Map(map) => format!("tensor map of {}", base(plan, map.base)),
    }
}

fn base(plan: &Plan, base: Base) -> String {
    match base {
        Base::Tensor(at) => tensor(plan, at),
        Base::Workspace(part) => format!("w{part}"),
    }
}

fn tensor(plan: &Plan, at: usize) -> String {
    plan.spec.tensors.get(at).map_or_else(|| format!("t{at}"), |tensor| tensor.name.to_string())
}

fn conditions(plan: &Plan, eligibility: &Eligibility) -> String {
    if eligibility.0.is_empty() {
        return "always".to_owned();
    }
    let text = |condition: &Condition| condition.text(&|at| tensor(plan, at), &|at| axis(plan, at));
    let texts: Vec<String> = eligibility.0.iter().map(text).collect();
    format!("when {}", texts.join(" and "))
}

/// A label and its value, broken at spaces; a word longer than a line stays whole.
pub(super) fn wrapped(label: &str, value: &str) -> Vec<String> {
    let mut lines = vec![format!("   {label:width$}", width = VALUES - 3)];
    for word in value.split_whitespace() {
        let last = lines.len() - 1;
        let (there, more) = (lines[last].chars().count(), word.chars().count());
        let first = there <= VALUES;
        if first || there + 1 + more <= COLUMNS {
            lines[last] += if first { "" } else { " " };
            lines[last] += word;
        } else {
            lines.push(format!("{:VALUES$}{word}", ""));
        }
    }
    lines
}
