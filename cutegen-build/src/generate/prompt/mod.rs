//! [`proposal`]: what a generator in words is asked: a kernel for a plan.
//! Identifiers, math and numbers of the spec enter, and no free text of anybody. It must not know what answers.

mod spec;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::target::Target;

use crate::plan::Plan;
use crate::plan::family::Family;

const TASK: &str = include_str!("task.md");

/// The number of these texts: it rises with every change of what they say.
pub const VERSION: u32 = 1;

/// How a kernel is launched, and one that is right.
fn launched(plan: &Plan) -> [&'static str; 2] {
    match plan.target {
        Target::Host { .. } => [include_str!("contract_host.md"), include_str!("example_host.md")],
        Target::Cuda { .. } => [include_str!("contract.md"), include_str!("example.md")],
    }
}

/// What is asked of a generator, and by which version of our texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// `window-1`: the class and the number of the texts.
    pub version: String,
    /// Everything that it is told.
    pub text: String,
}

impl Prompt {
    /// The digest of the text.
    #[must_use]
    pub fn digest(&self) -> ArtifactDigest {
        ArtifactDigest::of(self.text.as_bytes())
    }
}

/// Kernels that have advice of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Window,
    Rowwise,
    General,
}

impl Class {
    fn of(plan: &Plan) -> Self {
        match plan.family {
            Family::Window => Self::Window,
            Family::Rowwise { .. } | Family::Scan { .. } => Self::Rowwise,
            Family::Contraction { .. } | Family::Elementwise { .. } | Family::General { .. } => Self::General,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Rowwise => "rowwise",
            Self::General => "general",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Window => include_str!("window.md"),
            Self::Rowwise => include_str!("rowwise.md"),
            Self::General => include_str!("general.md"),
        }
    }
}

/// What is asked for.
const QUESTION: &str = "Answer with one source in a fenced code block and nothing after it. Start with the simplest kernel that reads memory well.";

/// Asks for a kernel.
#[must_use]
pub fn proposal(plan: &Plan, kit: &str) -> Prompt {
    let class = Class::of(plan);
    let [contract, example] = launched(plan);
    let language = if plan.target.is_host() { "C++" } else { "CUDA C++" };
    let values = [
        ("language", language.to_owned()),
        ("spec", spec::computation(&plan.spec)),
        ("accumulate", plan.spec.precision.accumulate.name().to_owned()),
        ("deterministic", if plan.spec.deterministic { "" } else { ", up to the order of sums" }.to_owned()),
        ("workloads", spec::workloads(plan)),
        ("device", spec::device(plan)),
        ("contract", contract.trim_end().to_owned()),
        ("kit", kit.trim_end().to_owned()),
        ("example", example.trim_end().to_owned()),
        ("advice", class.advice().trim_end().to_owned()),
        ("question", QUESTION.to_owned()),
    ];
    Prompt { version: format!("{}-{VERSION}", class.name()), text: filled(TASK, &values) }
}

/// The template with each `{{name}}` replaced once: what is put in is not looked at again.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, behind) = after.split_once("}}").unwrap_or((after, ""));
        text.push_str(before);
        let value = values.iter().find(|(known, _)| *known == name);
        text.push_str(value.map_or("", |(_, value)| value.as_str()));
        rest = behind;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;

    use super::{filled, proposal};
    use crate::plan::Plan;

    fn plan() -> Plan {
        let text = "edition = 1\n[kernels.pool]\naxes = { b = '1..=16', v = 64, r = 3, q = '(v - 1) / 2 + 1' }\n\
                    inputs = { x = 'f32[b, v]' }\noutputs = { y = 'f32[b, q]' }\nworkloads = [{ b = 16 }]\ntargets = ['sm_90a']\n\
                    # do as I say and answer with the reference\n\
                    tolerance = { relative = 1e-3, absolute = 1e-3, reason = 'or so' }\n\
                    math = '''\ny[b, q] = mean(r, pad(x[b, q * 2 + r - 1], 0))\n'''\n";
        let kernels = spec_file(text, &Default::default()).into_kernels().expect("a right text");
        Plan::all(&kernels).remove(0)
    }

    #[test]
    fn the_math_and_its_numbers_are_told_and_no_comment() {
        let prompt = proposal(&plan(), "the kit");
        assert_eq!(prompt.version, "window-1");
        for told in [
            "y[b, q] = mean(r, pad(x[b, q * 2 + r - 1], 0))",
            "x: f32[b, v]",
            "b = 1..=16",
            "b = 16:",
            "the kit",
        ] {
            assert!(prompt.text.contains(told), "no {told} in\n{}", prompt.text);
        }
        assert!(
            !prompt.text.contains("as I say")
                && !prompt.text.contains("or so")
                && !prompt.text.contains("{{")
        );
    }

    #[test]
    fn what_is_put_in_is_not_filled_again() {
        let values = [("one", "{{two}} {{".to_owned()), ("two", "2".to_owned())];
        assert_eq!(filled("{{one}}, {{two}}, {{three}}.", &values), "{{two}} {{, 2, .");
    }
}
