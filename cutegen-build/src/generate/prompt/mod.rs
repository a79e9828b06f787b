//! What a generator in words is asked, as versioned texts: [`proposal`] for a kernel of a plan, and in [`step`] what a strategy
//! asks after that. Identifiers, math and numbers of the spec enter, and no free text of anybody; what candidates and compilers
//! say is quoted between marks. It must not know what answers, nor which question comes when.

pub mod beside;
mod compiler;
pub mod facts;
mod fence;
mod hints;
mod role;
mod spec;
pub mod step;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::target::Target;

use crate::plan::Plan;
use crate::plan::family::Family;

pub use fence::Fence;

const TASK: &str = include_str!("task.md");

/// The number of these texts: it rises with every change of what they say.
pub const VERSION: u32 = 4;

/// What is asked of a generator, and by which version of our texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// `window-4`: the class and the number of the texts.
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

    /// What texts of another number would be called, for the same class.
    #[must_use]
    pub fn of_version(&self, number: u32) -> String {
        let class = self.version.rsplit_once('-').map_or(self.version.as_str(), |(class, _)| class);
        format!("{class}-{number}")
    }
}

/// Texts that prompts of a plan hold word for word, for what sends them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What all of them begin with.
    pub base: String,
    /// What may be left out where a prompt is too long, the first one first.
    pub optional: [String; 2],
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

    fn advice(self, plan: &Plan) -> &'static str {
        match self {
            Self::Window => text_for(plan, [include_str!("window.md"), include_str!("window_host.md")]),
            Self::Rowwise => text_for(plan, [include_str!("rowwise.md"), include_str!("rowwise_host.md")]),
            Self::General => text_for(plan, [include_str!("general.md"), include_str!("general_host.md")]),
        }
    }
}

/// Of a text for a GPU and one for the host, the one for a plan's target.
fn text_for(plan: &Plan, [gpu, host]: [&'static str; 2]) -> &'static str {
    if plan.target.is_host() { host } else { gpu }
}

/// Asks for a kernel, in a code block.
#[must_use]
pub fn proposal(plan: &Plan, kit: &str) -> Prompt {
    first(plan, kit, ["", ""], include_str!("answer_block.md"))
}

/// Asks for a kernel that comes in another way than in a code block, which `answer` says in a sentence.
#[must_use]
pub fn proposal_by(plan: &Plan, kit: &str, answer: &str) -> Prompt {
    first(plan, kit, ["", ""], answer)
}

/// What is the same in all prompts of a plan.
#[must_use]
pub fn parts(plan: &Plan, kit: &str) -> Parts {
    Parts { base: base(plan, kit), optional: [example(plan), advice(plan)] }
}

/// The same, beside other kernels and after what earlier answers came to.
fn first(plan: &Plan, kit: &str, [beside, earlier]: [&str; 2], answer: &str) -> Prompt {
    let question = filled(include_str!("first.md"), &[("answer", answer.trim_end().to_owned())]);
    let values = [
        ("base", base(plan, kit)),
        ("example", example(plan)),
        ("advice", advice(plan)),
        ("beside", beside.to_owned()),
        ("earlier", earlier.to_owned()),
        ("question", question.trim_end().to_owned()),
    ];
    prompt(plan, TASK, &values)
}

/// A template of this version for the class of a plan.
fn prompt(plan: &Plan, template: &str, values: &[(&str, String)]) -> Prompt {
    let version = format!("{}-{VERSION}", Class::of(plan).name());
    Prompt { version, text: filled(template, values) }
}

/// What every prompt begins with, the same in all of a run.
fn base(plan: &Plan, kit: &str) -> String {
    let [language, judged, writing, contract] = match plan.target {
        Target::Cuda { .. } => {
            ["CUDA C++", include_str!("judged.md"), include_str!("writing.md"), include_str!("contract.md")]
        }
        Target::Host { .. } => [
            "C++",
            include_str!("judged_host.md"),
            include_str!("writing_host.md"),
            include_str!("contract_host.md"),
        ],
    };
    let values = [
        ("language", language.to_owned()),
        ("spec", spec::computation(&plan.spec)),
        ("accumulate", plan.spec.precision.accumulate.name().to_owned()),
        ("deterministic", if plan.spec.deterministic { "" } else { ", up to the order of sums" }.to_owned()),
        ("judged", judged.trim_end().to_owned()),
        ("workloads", spec::workloads(plan)),
        ("device", spec::device(plan)),
        ("writing", writing.trim_end().to_owned()),
        ("compiler", compiler::told(plan)),
        ("contract", contract.trim_end().to_owned()),
        ("kit", kit.trim_end().to_owned()),
    ];
    filled(include_str!("base.md"), &values).trim_end().to_owned()
}

/// A kernel of another computation, with its contract.
fn example(plan: &Plan) -> String {
    text_for(plan, [include_str!("example.md"), include_str!("example_host.md")]).trim_end().to_owned()
}

/// What is known to work for the class of a plan.
fn advice(plan: &Plan) -> String {
    Class::of(plan).advice(plan).trim_end().to_owned()
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
mod sample;

#[cfg(test)]
mod tests {
    use super::sample::plan;
    use super::{filled, parts, proposal, proposal_by};

    #[test]
    fn the_math_and_its_numbers_are_told_and_no_comment() {
        let prompt = proposal(&plan(), "the kit");
        assert_eq!((prompt.version.as_str(), prompt.of_version(7).as_str()), ("window-4", "window-7"));
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
                && !prompt.text.contains("rough guess")
                && !prompt.text.contains("{{")
        );
    }

    #[test]
    fn a_prompt_begins_with_its_base_and_holds_what_may_go() {
        let (asked, parts) = (proposal(&plan(), "the kit").text, parts(&plan(), "the kit"));
        let rest = asked.strip_prefix(&parts.base).expect("the base");
        assert!(parts.optional.iter().all(|part| rest.matches(part.as_str()).count() == 1), "{rest}");
    }

    #[test]
    fn how_an_answer_comes_is_said_once() {
        let block = "in one fenced code block";
        let asked = proposal(&plan(), "").text;
        assert_eq!(asked.matches(block).count(), 1, "{asked}");
        let by = proposal_by(&plan(), "", "Pass it to {{base}}.").text;
        assert!(!by.contains(block) && by.contains("\n\nPass it to {{base}}.\n\nWhich source"), "{by}");
    }

    #[test]
    fn what_is_put_in_is_not_filled_again() {
        let values = [("one", "{{two}} {{".to_owned()), ("two", "2".to_owned())];
        assert_eq!(filled("{{one}}, {{two}}, {{three}}.", &values), "{{two}} {{, 2, .");
    }
}
