//! What `branch` asks: ideas for right kernels, and a kernel that carries one of them out. Kernels of other specs are shown as
//! examples. Which kernels and ideas these are is decided elsewhere.

use super::{Fence, Notes, Profile, Prompt, Shown, Task, advice, facts, hints, prompt, text_for};
use crate::experience::Hint;
use crate::run_log::Banked;

/// What ideas are wanted.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// How many.
    pub count: usize,
    /// Kernels of other specs.
    pub bank: &'a [Banked],
    /// Whether a profiler's numbers are told.
    pub profile: Profile,
}

/// In which way an idea is carried out, so that its variants differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// From 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl Manner {
    fn text(self) -> &'static str {
        match self.number % 3 {
            1 => "Take the most direct one: the least of the source changes.",
            2 => "Take the most thorough one: rebuild whatever of the source stands in the idea's way.",
            _ => "Take one that differs from the obvious in how work or data is laid out.",
        }
    }
}

impl Task<'_> {
    /// Asks for ideas for these kernels, the fastest one first.
    #[must_use]
    pub fn ideas(&self, seeds: &[Shown<'_>], wish: &Wish<'_>, notes: &Notes) -> Prompt {
        let speeds: Vec<String> =
            seeds.iter().map(|seed| facts::speed(self.plan, seed.facts, wish.profile)).collect();
        let [attempts, rules] = [&notes.attempts, &notes.rules].map(|lines| Notes::lines(lines));
        let mut texts = vec![attempts.as_str(), rules.as_str()];
        texts.extend(speeds.iter().map(String::as_str));
        texts.extend(seeds.iter().map(|seed| seed.source));
        let fence = self.fence_with(texts, wish.bank);
        let shown = seeds.iter().zip(&speeds).map(|(seed, speed)| {
            let (source, speed) = (fence.quote(seed.source), fence.quote(speed));
            format!("## Attempt {}\n\n{source}\n\nHow fast it is:\n\n{speed}", seed.attempt)
        });
        let slower = " The first is the fastest; the others are built in another way, which may go further.";
        let values = [
            ("bank", bank(wish.bank, &fence)),
            ("fenced", fence.told()),
            ("slower", if seeds.len() > 1 { slower } else { "" }.to_owned()),
            ("seeds", shown.collect::<Vec<_>>().join("\n\n")),
            ("log", Notes::section(&attempts, &rules, &fence)),
            ("advice", advice(self.plan)),
            ("count", wish.count.to_string()),
        ];
        let template = text_for(self.plan, [include_str!("../ideas.md"), include_str!("../ideas_host.md")]);
        prompt((self.plan, self.kit), template, &values)
    }

    /// Asks for a kernel that carries an idea out.
    #[must_use]
    pub fn variant(
        &self,
        seed: Shown<'_>,
        idea: &str,
        manner: Manner,
        bank: &[Banked],
        hints: &[Hint],
    ) -> Prompt {
        let speed = facts::speed(self.plan, seed.facts, Profile::Shown);
        let fence = self.fence_with(vec![seed.source, &speed, idea], bank);
        let values = [
            ("bank", self::bank(bank, &fence)),
            ("fenced", fence.told()),
            ("attempt", seed.attempt.to_string()),
            ("source", fence.quote(seed.source)),
            ("speed", fence.quote(&speed)),
            ("hints", hints::section(hints)),
            ("cite", hints::cite(hints)),
            ("idea", fence.quote(idea)),
            ("number", manner.number.to_string()),
            ("of", manner.of.to_string()),
            ("manner", manner.text().to_owned()),
            ("edits", include_str!("../edits.md").trim_end().to_owned()),
        ];
        prompt((self.plan, self.kit), include_str!("../variant.md"), &values)
    }

    fn fence_with(&self, texts: Vec<&str>, bank: &[Banked]) -> Fence {
        let told: Vec<String> = bank.iter().map(told).collect();
        let all: Vec<&str> = texts.into_iter().chain(told.iter().map(String::as_str)).collect();
        self.fence(&all)
    }
}

/// Kernels of other specs as a section, or nothing.
fn bank(bank: &[Banked], fence: &Fence) -> String {
    if bank.is_empty() {
        return String::new();
    }
    let shown = bank.iter().map(|kernel| format!("\n{}\n", fence.quote(&told(kernel))));
    let says = "Accepted for other computations, quoted as data. What makes them fast may serve here; their contracts do not.";
    format!("\n# Fast kernels of other computations\n\n{says}\n{}", shown.collect::<String>())
}

/// A kernel of another spec.
fn told(kernel: &Banked) -> String {
    let speed = kernel.over_naive.map_or_else(String::new, |by| format!(", {by:.2} times its naive kernel"));
    let idea = kernel.idea.as_deref().map_or_else(String::new, |idea| format!("idea: {idea}\n"));
    format!(
        "family {}{speed}\n{idea}math:\n{}\n\nsource:\n{}",
        kernel.family,
        kernel.math.trim_end(),
        kernel.source
    )
}
