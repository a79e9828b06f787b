//! What a strategy asks after a first kernel: to diagnose, to patch, to optimise, to give an answer whole. Each function fills a
//! template from values; which of them is asked, and about what, is decided elsewhere.

mod branch;

use super::beside::{self, Beside};
use super::facts::{self, Profile};
use super::{Fence, Prompt, advice, example, filled, hints, prompt, role, text_for};
use crate::experience::{Hint, Role};
use crate::plan::Plan;
use crate::run_log::{Diagnostic, Facts, Outcome, Sequence};

pub use branch::{Manner, Wish};

/// Bytes of an unreadable answer that are shown.
const ANSWER_MAX: usize = 32 << 10;
/// Bytes of a diagnosis that are shown.
const DIAGNOSIS_MAX: usize = 8 << 10;
/// Bytes of a line of notes.
const NOTE_MAX: usize = 400;

/// What a prompt is for.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The kernel that is wanted.
    pub plan: &'a Plan,
    /// The kit's page.
    pub kit: &'a str,
    /// What the prompt's mark is derived from: the run, and the place in it.
    pub seed: &'a str,
}

/// A kernel that is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Its sequence.
    pub attempt: Sequence,
    /// Its source.
    pub source: &'a str,
    /// What was seen of it.
    pub facts: &'a Facts,
}

/// What a round is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// How work is laid out.
    Structure,
    /// How it overlaps.
    Pipeline,
    /// Its numbers.
    Tuning,
}

/// What a round of the stage structure must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Leave the direct form of a convolution.
    Convolution,
    /// Restate the algebra of a graph.
    Algebra,
}

/// What a round may know beside its kernel.
#[derive(Clone, Debug)]
pub struct Round {
    /// What it is about.
    pub stage: Stage,
    /// What it must do.
    pub demand: Option<Demand>,
    /// Whether a profiler's numbers are told.
    pub profile: Profile,
}

/// An answer that could not be read.
#[derive(Clone, Copy, Debug)]
pub struct Unread<'a> {
    /// The answer.
    pub text: &'a str,
    /// Why not.
    pub problems: &'a [Diagnostic],
    /// The source that it was to change.
    pub source: Option<&'a str>,
    /// The idea or the diagnosis that it was to carry out.
    pub words: Option<&'a str>,
    /// Whether it was to say what it predicts.
    pub is_round: bool,
}

/// Notes of earlier steps, a line each; they hold foreign text.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// What was tried.
    pub attempts: Vec<String>,
    /// What follows from it.
    pub rules: Vec<String>,
    /// The attempt that the last answer to this question repeated.
    pub repeated: Option<Sequence>,
    /// Hints of the experience library, the best first. They hold no foreign text.
    pub hints: Vec<Hint>,
    /// What the author attends to, where there are several.
    pub role: Option<Role>,
    /// Kernels to look at.
    pub beside: Vec<Beside>,
}

impl Stage {
    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Pipeline => "pipeline",
            Self::Tuning => "tuning",
        }
    }

    /// The one after it; the last stays.
    #[must_use]
    pub fn after(self) -> Self {
        match self {
            Self::Structure => Self::Pipeline,
            Self::Pipeline | Self::Tuning => Self::Tuning,
        }
    }

    fn text(self, plan: &Plan) -> &'static str {
        match self {
            Self::Structure => {
                text_for(plan, [include_str!("stage_structure.md"), include_str!("stage_structure_host.md")])
            }
            Self::Pipeline => {
                text_for(plan, [include_str!("stage_pipeline.md"), include_str!("stage_pipeline_host.md")])
            }
            Self::Tuning => {
                text_for(plan, [include_str!("stage_tuning.md"), include_str!("stage_tuning_host.md")])
            }
        }
    }
}

impl Demand {
    fn text(self, plan: &Plan) -> &'static str {
        match self {
            Self::Convolution => {
                text_for(plan, [include_str!("convolution.md"), include_str!("convolution_host.md")])
            }
            Self::Algebra => include_str!("algebra.md"),
        }
    }
}

impl Notes {
    fn lines(of: &[String]) -> String {
        of.iter().map(|line| format!("- {}", facts::line(line, NOTE_MAX))).collect::<Vec<_>>().join("\n")
    }

    /// What is quoted: these texts, and the kernels beside.
    fn texts<'a>(&'a self, texts: &[&'a str]) -> Vec<&'a str> {
        texts.iter().copied().chain(self.beside.iter().map(|kernel| kernel.source.as_str())).collect()
    }

    fn again(&self) -> String {
        self.repeated.map_or_else(String::new, |of| {
            format!("\nThe last answer to this question gave the kernel of attempt {of} again. That is known: give another one.\n")
        })
    }

    /// Attempts and rules as a section, or nothing.
    fn section(attempts: &str, rules: &str, fence: &Fence) -> String {
        let part = |title: &str, lines: &str| match lines {
            "" => String::new(),
            lines => format!("\n{title}\n\n{}\n", fence.quote(lines)),
        };
        let tried = part("# What was tried\n\nRepeat none of it:", attempts);
        tried + &part("What follows from it:", rules)
    }
}

impl Task<'_> {
    /// Asks for a first kernel; the notes say what earlier starts came to.
    #[must_use]
    pub fn first(&self, notes: &Notes) -> Prompt {
        let lines = Notes::lines(&notes.attempts);
        let fence = self.fence(&notes.texts(&[&lines]));
        let (kernels, told) = (beside::section(&notes.beside, &fence), fence.told());
        // marks are told before the first quotation, and stay where that is left out
        let (marks, fenced) = match (kernels.is_empty(), lines.is_empty()) {
            (false, _) => (format!("\n{told}\n"), String::new()),
            (true, false) => (String::new(), format!("{told}\n")),
            (true, true) => (String::new(), String::new()),
        };
        let says = "Earlier starts failed, on what these lines say. Take another way.";
        let failed = |lines: &str| format!("{says}\n\n{}\n\n", fence.quote(lines));
        let around = [
            ("marks", marks),
            ("beside", kernels),
            ("role", notes.role.map_or_else(String::new, |role| format!("{}\n\n", role::text(role)))),
            ("fenced", fenced),
            ("log", if lines.is_empty() { lines } else { failed(&lines) }),
            ("again", notes.again().trim_start_matches('\n').to_owned()),
        ];
        super::first(self.plan, self.kit, &around, include_str!("answer_block.md"))
    }

    /// Asks why a kernel failed.
    #[must_use]
    pub fn diagnose(&self, shown: Shown<'_>, outcome: Outcome, notes: &Notes) -> Prompt {
        let source = numbered(shown.source);
        let failure = facts::failure(outcome, shown.facts, shown.source);
        let attempts = Notes::lines(&notes.attempts);
        let fence = self.fence(&[&source, &failure, &attempts]);
        let values = [
            ("fenced", fence.told()),
            ("attempt", shown.attempt.to_string()),
            ("source", fence.quote(&source)),
            ("facts", fence.quote(&failure)),
            ("log", Notes::section(&attempts, "", &fence)),
            ("hints", hints::section(&notes.hints)),
            ("guide", self.guide(outcome).trim_end().to_owned()),
            ("cite", hints::cite(&notes.hints)),
        ];
        prompt((self.plan, self.kit), include_str!("diagnose.md"), &values)
    }

    /// Asks for the change that a diagnosis describes.
    #[must_use]
    pub fn patch(&self, shown: Shown<'_>, outcome: Outcome, diagnosis: &str, notes: &Notes) -> Prompt {
        let failure = facts::failure(outcome, shown.facts, shown.source);
        let diagnosis = start(diagnosis, DIAGNOSIS_MAX);
        let attempts = Notes::lines(&notes.attempts);
        let fence = self.fence(&[shown.source, &failure, &diagnosis, &attempts]);
        let values = [
            ("fenced", fence.told()),
            ("attempt", shown.attempt.to_string()),
            ("source", fence.quote(shown.source)),
            ("facts", fence.quote(&failure)),
            ("diagnosis", fence.quote(&diagnosis)),
            ("log", Notes::section(&attempts, "", &fence)),
            ("edits", include_str!("edits.md").trim_end().to_owned()),
            ("again", notes.again()),
        ];
        prompt((self.plan, self.kit), include_str!("patch.md"), &values)
    }

    /// Asks for one optimisation.
    #[must_use]
    pub fn optimise(&self, shown: Shown<'_>, round: &Round, notes: &Notes) -> Prompt {
        let speed = facts::speed(self.plan, shown.facts, round.profile);
        let [attempts, rules] = [&notes.attempts, &notes.rules].map(|lines| Notes::lines(lines));
        let fence = self.fence(&notes.texts(&[shown.source, &speed, &attempts, &rules]));
        let stage = notes.role.map_or(round.stage.name(), role::title);
        let stage_text = notes.role.map_or_else(|| round.stage.text(self.plan), role::text);
        let values = [
            ("fenced", fence.told()),
            ("attempt", shown.attempt.to_string()),
            ("source", fence.quote(shown.source)),
            ("speed", fence.quote(&speed)),
            ("log", Notes::section(&attempts, &rules, &fence)),
            ("beside", beside::section(&notes.beside, &fence)),
            ("hints", hints::section(&notes.hints)),
            ("cite", hints::cite(&notes.hints)),
            ("advice", advice(self.plan)),
            ("stage", stage.to_owned()),
            ("stage_text", stage_text.trim_end().to_owned()),
            ("demand", round.demand.map_or("", |demand| demand.text(self.plan)).to_owned()),
            ("edits", include_str!("edits.md").trim_end().to_owned()),
            ("again", notes.again()),
        ];
        prompt((self.plan, self.kit), include_str!("optimise.md"), &values)
    }

    /// Asks for an answer again, as a whole source.
    #[must_use]
    pub fn whole(&self, unread: Unread<'_>, notes: &Notes) -> Prompt {
        let answer = start(unread.text, ANSWER_MAX);
        let problems = facts::problems(unread.problems);
        let words = start(unread.words.unwrap_or_default(), DIAGNOSIS_MAX);
        let fence = self.fence(&[&answer, &problems, &words, unread.source.unwrap_or_default()]);
        let source = unread
            .source
            .map(|source| format!("\nThe source that it was to change:\n\n{}\n", fence.quote(source)));
        let words = match words.as_str() {
            "" => String::new(),
            words => format!(
                "\nWhat it was to carry out, in the words of another step:\n\n{}\n",
                fence.quote(words)
            ),
        };
        let lines = if unread.is_round {
            " Write its `Hypothesis:` and `Predicted:` lines before the block, and its `Hints:` line where it had one."
        } else {
            ""
        };
        let values = [
            ("example", example(self.plan)),
            ("fenced", fence.told()),
            ("answer", fence.quote(&answer)),
            ("problems", fence.quote(&problems)),
            ("source", source.unwrap_or_default()),
            ("words", words),
            ("lines", lines.to_owned()),
            ("again", notes.again()),
        ];
        prompt((self.plan, self.kit), include_str!("whole.md"), &values)
    }

    /// What serves the outcome: a compiler's message has no wrong element to follow.
    fn guide(&self, outcome: Outcome) -> String {
        let part = match outcome {
            Outcome::Refused => [include_str!("guide_refused.md"), include_str!("guide_refused_host.md")],
            _ => [include_str!("guide_wrong.md"), include_str!("guide_wrong_host.md")],
        };
        let guide = text_for(self.plan, [include_str!("guide.md"), include_str!("guide_host.md")]);
        filled(guide, &[("part", text_for(self.plan, part).trim_end().to_owned())])
    }

    fn fence(&self, texts: &[&str]) -> Fence {
        Fence::new(self.seed, texts)
    }
}

/// The text with the number of each line before it.
fn numbered(text: &str) -> String {
    let line = |(number, line): (usize, &str)| format!("{number:4}  {line}");
    (1..).zip(text.lines()).map(line).collect::<Vec<_>>().join("\n")
}

/// The beginning of a text, and whether there is more.
fn start(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most);
    if end < text.len() {
        format!("{}\n... and {} bytes more", &text[..end], text.len() - end)
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests;
