//! The run log: everything that was asked, answered and judged for one kernel, in order. Strategies, commands and agents read
//! and extend it; nothing else remembers a run. It must not know how candidates are compiled or judged.
//!
//! Invariant: entries are only appended, and an entry's sequence is its place among all entries of its run, from 1.

mod facts;
mod file;
#[cfg(test)]
mod file_tests;
mod frozen;
#[cfg(test)]
mod golden_tests;
mod id;
mod line;
mod look;
mod merge;
#[cfg(test)]
mod merge_tests;
mod number;
mod point;
#[cfg(test)]
mod sample;

use std::collections::BTreeMap;

use cutegen_spec::digest::ArtifactDigest;
use serde::{Deserialize, Serialize};

use crate::experience::HintId;

pub use facts::{Diagnostic, Facts, Mismatch, Resources, Speed, TileCoordinate};
pub use file::{LogError, LogFile, read, runs};
pub use frozen::Frozen;
pub use id::{Digest, RunId};
pub use merge::{Merged, merge};
pub use number::Number;
pub use point::{Point, Sweep};

/// The version of the format.
pub const VERSION: u32 = 1;

/// A place in a run, from 1.
pub type Sequence = u32;

/// A whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// How it began: the file's first line.
    pub start: Start,
    /// What happened, in order; the entry at index `i` has the sequence `i + 1`.
    pub entries: Vec<Entry>,
}

/// How a run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Start {
    /// [`VERSION`] when it was written.
    pub version: u32,
    /// The run.
    pub run: RunId,
    /// The kernel's name, for people; the key says which it is.
    pub kernel: String,
    /// The target, in words.
    pub target: String,
    /// The question's key, in 64 hex digits.
    pub key: String,
    /// What decides on requests: `refine`, `branch`.
    pub strategy: String,
    /// The version of the prompts' texts.
    pub prompts: u32,
    /// The digest of the kit's headers.
    pub kit: Digest,
    /// The gate's revision.
    pub gate: u32,
    /// Settings of the strategy, by name; those left out have their defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, f64>,
    /// Accepted kernels of other specs that prompts show, as they were when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bank: Vec<Banked>,
    /// The hints that prompts may show, as they were when it began; none for runs without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experience: Option<Frozen>,
}

/// An accepted kernel of another spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Banked {
    /// The spec's name, for people.
    pub kernel: String,
    /// The family of its computation.
    pub family: String,
    /// The math that it computes.
    pub math: String,
    /// The digest of its source.
    pub digest: Digest,
    /// The text with its contract; a long one may lack its middle.
    pub source: String,
    /// What made it fast, as the answer said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idea: Option<String>,
    /// Its speed-up over the naive kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_naive: Option<f64>,
}

/// A line of the log behind the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// Something was asked.
    Request(Request),
    /// An answer came, or somebody submitted a kernel.
    Candidate(Candidate),
    /// A point of an answer that sweeps constants: a candidate of its own.
    Point(Point),
    /// A compiler or a judge has seen a candidate.
    Verdict(Verdict),
}

/// A question to a generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Request {
    /// What is asked for.
    pub ask: Ask,
    /// The candidate that it is about, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Sequence>,
    /// The idea that a variant carries out: its number, from 1, in the last answer with ideas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idea: Option<u32>,
    /// The prompt's version, such as `window-2`.
    pub version: String,
    /// The digest of the prompt's text, which a decision replay gives again byte for byte.
    pub prompt: Digest,
    /// Length of the prompt in bytes.
    pub bytes: u64,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// A first kernel, the simplest that is right.
    First,
    /// In words: why a candidate failed, and what to change.
    Diagnose,
    /// The change that a diagnosis describes.
    Patch,
    /// One optimisation of the best kernel.
    Optimise,
    /// The same answer again, as a whole source, because an edit or a contract could not be read.
    Whole,
    /// Several ideas in words that may make right kernels faster.
    Ideas,
    /// A kernel that carries out one of these ideas.
    Variant,
}

/// An answer to a request, or a submitted kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Candidate {
    /// The request; none for what was submitted unasked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Sequence>,
    /// Generator and model as given, for people: `exchange, some-model`.
    pub by: String,
    /// The answer, whole, as it came.
    pub text: String,
    /// What was read in it.
    pub content: Content,
    /// How long it took to come, in milliseconds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// Tokens as an endpoint reported them; of other answers the log has the bytes alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Tokens>,
    /// Bytes of the prompt that was sent, where the request's was too long and parts of it were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
}

impl Candidate {
    /// An answer to a request, or a kernel without one, of which nothing was measured.
    #[must_use]
    pub fn new(request: Option<Sequence>, by: String, text: String, content: Content) -> Self {
        Self { request, by, text, content, took_ms: None, usage: None, sent_bytes: None }
    }
}

/// Tokens of a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tokens {
    /// Those of the prompt.
    pub input: u64,
    /// Those of the answer, reasoning included.
    pub output: u64,
}

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// A kernel whose contract was read.
    Kernel(Kernel),
    /// A source that sweeps constants; its points stand behind it as entries of their own.
    Sweep(Sweep),
    /// Words, as they were asked for.
    Words,
    /// Ideas, as they were asked for; at least one.
    Ideas(Vec<Idea>),
    /// A kernel that is one of before.
    Repeat {
        /// That one.
        of: Sequence,
    },
    /// Nothing that can be compiled, and why. Lines are those of the text.
    Unreadable(Vec<Diagnostic>),
}

/// What may make a kernel faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Idea {
    /// It, in a sentence or a few.
    pub text: String,
    /// The kernel that it is to change, where the answer names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Sequence>,
    /// The speed-up over that kernel which the answer predicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
}

/// A readable kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Kernel {
    /// The name of ours: `m-` and eight hex digits of the identity.
    pub name: String,
    /// The digest of body, contract, eligibility and kit.
    pub identity: Digest,
    /// The text with its contract; a long one may lack its middle. edits applied, before flattening.
    pub source: String,
    /// The line of the answer at which the source begins, from 1; none where it came of edits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u32>,
    /// What the answer says that it changes and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<String>,
    /// The speed-up over its parent that the answer predicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
    /// Hints of the run that the answer says it used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<HintId>,
}

/// What became of a candidate at a compiler or a judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Verdict {
    /// The candidate's sequence.
    pub candidate: Sequence,
    /// What it is.
    pub outcome: Outcome,
    /// What was seen.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
    /// Where it was judged; none for a compiler's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judge>,
}

/// Where and with what a candidate was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Judge {
    /// The device's name.
    pub card: String,
    /// The batch in which it was timed: ratios are of one batch.
    pub batch: String,
    /// The gate's revision.
    pub gate: u32,
    /// Milliseconds that the device was held for this candidate, its share of the judge's start among them.
    pub held_ms: u64,
    /// Where it was judged from this copy of the run.
    #[serde(default, skip_serializing_if = "Place::is_here")]
    pub place: Place,
}

/// Whether a verdict was reached where the run is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// It was.
    #[default]
    Here,
    /// A merge brought it from another machine. It decides as any other does, and credits nothing.
    Elsewhere,
}

/// What became of a candidate, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The guard, the compiler or the inspection refused it.
    Refused,
    /// It compiles; no judge has seen it.
    Compiled,
    /// A check of the screening caught it.
    Wrong,
    /// It crashed its runner, or did not end in time.
    Crashed,
    /// It passed the screening, and was timed.
    Right,
    /// The whole gate refused it, with fresh inputs and shapes that are not told.
    WrongInFull,
    /// The whole gate passed it, and it gains too little over what there is.
    TooSlow,
    /// It is the answer for its kernel.
    Accepted,
}

impl Outcome {
    /// Whether a judge saw it and found it right.
    #[must_use]
    pub fn is_right(self) -> bool {
        matches!(self, Self::Right | Self::TooSlow | Self::Accepted)
    }
}

impl Place {
    fn is_here(&self) -> bool {
        *self == Self::Here
    }
}

impl Log {
    /// An empty run.
    #[must_use]
    pub fn new(start: Start) -> Self {
        Self { start, entries: Vec::new() }
    }

    /// Appends an entry; its sequence.
    pub fn push(&mut self, entry: Entry) -> Sequence {
        self.entries.push(entry);
        Sequence::try_from(self.entries.len()).unwrap_or(Sequence::MAX)
    }
}

impl Start {
    /// A setting, or its default.
    #[must_use]
    pub fn setting(&self, name: &str, default: f64) -> f64 {
        self.settings.get(name).copied().unwrap_or(default)
    }
}

/// The digest of a text.
#[must_use]
pub fn digest(text: &str) -> Digest {
    Digest(ArtifactDigest::of(text.as_bytes()))
}
