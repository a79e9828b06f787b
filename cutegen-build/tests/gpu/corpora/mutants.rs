//! Mutants: each honest text with one of its sites changed, by rules that depend on the site and on the types.

use super::honest::{Honest, TEXTS};
use super::subjects::GEMM_LONG;

/// What mutants replace sites with.
const MUTATIONS: &str = include_str!("texts/mutations.cuh");

/// One change of one text.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Which occurrence of which site became what.
    pub(crate) name: String,
    /// The prefix of its entries.
    pub(crate) prefix: String,
    text: String,
}

/// All mutants of one text: they share a module.
pub(crate) struct Family {
    pub(crate) honest: &'static Honest,
    pub(crate) mutants: Vec<Mutant>,
}

/// Sites, as texts name them.
const SITES: [&str; 9] = ["IN", "ACC", "OUT", "LO", "HI", "DIV", "EPS", "TOP", "ADD"];

/// Texts that are not mutated: their other types or siblings are, and a shifted tile or vector is no small change.
const NOT_MUTATED: [&str; 4] = ["gemm_wmma", "elementwise_vector", "elementwise_early", "gemm_dp4a"];

/// Changes that change nothing: text, site with its occurrence, change; and why.
const EQUIVALENT: &[(&str, &str, &str, &str)] = &[
    ("rms_norm", "IN#0", "ABS", "only its square is summed"),
    ("rms_norm", "IN#1", "NUMBER", "the norm of its row is NaN already"),
    ("scan_block", "HI#0", "MORE", "only sums behind the last one take it up"),
    ("scan_warp", "HI#0", "MORE", "only sums behind the last one take it up"),
    ("softmax_online", "OUT#0", "RELU", "no softmax is negative"),
    ("softmax_online", "OUT#0", "FINITE", "no softmax is above 1"),
    ("softmax_tree", "OUT#0", "FINITE", "no softmax is above 1"),
    ("softmax_tree", "IN#0", "NUMBER", "the maximum of its row is NaN already"),
    ("softmax_tree", "OUT#0", "RELU", "no softmax is negative"),
    ("variance_two_pass", "IN#0", "NUMBER", "the mean of its row is NaN already"),
    ("variance_two_pass", "OUT#0", "RELU", "no variance is negative"),
    ("variance_two_pass", "OUT#0", "FINITE", "an infinite input makes it NaN"),
    ("variance_warp", "IN#0", "NUMBER", "the mean of its row is NaN already"),
    ("variance_warp", "OUT#0", "RELU", "no variance is negative"),
    ("variance_warp", "OUT#0", "FINITE", "an infinite input makes it NaN"),
    ("variance_welford", "OUT#0", "RELU", "no variance is negative"),
    ("variance_welford", "OUT#0", "FINITE", "an infinite input makes it NaN"),
];

/// The mutants of every text at its first types, and of the plain product at all of them.
pub(crate) fn families() -> Vec<Family> {
    let mutated = TEXTS.iter().enumerate().filter(|(at, honest)| is_mutated(*at, honest));
    mutated.map(|(_, honest)| Family { honest, mutants: mutants(honest) }).collect()
}

fn is_mutated(at: usize, honest: &Honest) -> bool {
    let is_first = !TEXTS[..at].iter().any(|earlier| earlier.text == honest.text);
    let is_plain = honest.text == "gemm_plain" && !std::ptr::eq(honest.subject, &GEMM_LONG);
    // products have faults of their own, in the hostile corpus
    let is_small = !NOT_MUTATED.contains(&honest.text) && !honest.text.starts_with("product");
    is_small && (is_first || is_plain)
}

impl Family {
    /// The source and entries of all its mutants.
    pub(crate) fn module(&self) -> (String, Vec<String>) {
        let kernels = self.mutants.iter().map(|mutant| self.honest.kernel(&mutant.text, &mutant.prefix));
        let source = self.honest.head() + MUTATIONS + &kernels.collect::<String>();
        let entries = self.mutants.iter().flat_map(|mutant| self.honest.entries(&mutant.prefix)).collect();
        (source, entries)
    }
}

fn mutants(honest: &Honest) -> Vec<Mutant> {
    let mut found = Vec::new();
    for site in SITES {
        for (occurrence, at) in occurrences(honest.source, site).into_iter().enumerate() {
            for change in changes(site, honest) {
                let name = format!("{site}#{occurrence} {change}");
                if is_equivalent(honest.text, &format!("{site}#{occurrence}"), change) {
                    continue;
                }
                let (before, after) = honest.source.split_at(at + site.len());
                let text = format!("{before}_{change}{after}");
                found.push(Mutant { name, prefix: format!("mutant{}", found.len()), text });
            }
        }
    }
    found
}

/// Equivalent mutants of all texts that are mutated, with their reasons.
pub(crate) fn equivalent() -> impl Iterator<Item = String> {
    EQUIVALENT.iter().map(|(text, site, change, why)| format!("{text}: {site} {change}: {why}"))
}

fn is_equivalent(text: &str, site: &str, change: &str) -> bool {
    EQUIVALENT.iter().any(|(t, s, c, _)| (*t, *s, *c) == (text, site, change))
}

/// Where calls of `site` begin.
fn occurrences(text: &str, site: &str) -> Vec<usize> {
    let continues = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let calls = text.match_indices(&format!("{site}(")).map(|(at, _)| at).collect::<Vec<_>>();
    calls.into_iter().filter(|at| !text[..*at].ends_with(continues)).collect()
}

/// What may stand for a site at these types.
fn changes(site: &str, honest: &Honest) -> Vec<&'static str> {
    let [input, output, sum] = honest.types;
    let inputs: &[&str] = match input {
        "f32" => &["TF32", "BF16", "F16", "NORMAL"],
        "f16" => &["BF16", "F8"],
        "bf16" => &["F8", "F16"],
        "f8e4m3" => &["F8E5"],
        _ => &["EVEN", "HALF"],
    };
    let outputs: &[&str] = match output {
        "f32" => &["BIAS", "LOW", "FINITE"],
        "f16" => &["LOW"],
        _ if input == "f8e4m3" => &["LOWER"], // which has no infinity
        _ => &["LOWER", "FINITE"],
    };
    let is_whole = sum == "i32";
    let with = |a: &[&'static str], b: &[&'static str]| [a, b].concat();
    match site {
        "IN" if is_whole => with(inputs, &["ABS"]),
        "IN" => with(inputs, &["ABS", "NUMBER", "ULP"]),
        "ACC" if is_whole => vec!["I16", "F32"],
        "ACC" => vec!["BF16", "F16"],
        "OUT" if is_whole => vec!["NEXT", "CLAMP", "RELU", "FIRST", "ZERO"],
        "OUT" => with(outputs, &["GAIN", "RELU", "NUMBER", "FIRST", "ZERO"]),
        "LO" => vec!["NEXT"],
        "HI" => vec!["LESS", "MORE", "EVEN"],
        "DIV" => vec!["LESS", "MORE"],
        "EPS" => vec!["ZERO", "TWICE"],
        "TOP" => vec!["ZERO"],
        _ => vec!["LEFT", "LESS"],
    }
}
