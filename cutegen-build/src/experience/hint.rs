//! [`Hint`]: one piece of advice, with when it applies and what came of it. Whatever reads one, from a library or from a log,
//! goes through the same checks: a hint stands in prompts, so it has no character that could be more than text there.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::context::Context;

/// The longest hint, in characters.
const HINT_MAX: usize = 300;
/// The longest id, in characters.
const ID_MAX: usize = 16;
/// What a hint has besides ASCII letters, digits and blanks.
const SIGNS: &str = ".,;:()+-*/=%_'<>&";
/// Between these lies what a mean gain is taken for: no hint is ruled out, and none rules, by one measurement.
const GAINS: [f64; 2] = [0.5, 4.0];

/// What a hint is called in prompts and answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HintId(String);

/// What was seen of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The guard, the compiler or the inspection refused it.
    Compile,
    /// It crashed, did not end, or raced.
    Runtime,
    /// It computes something else.
    Mismatch,
    /// Right; moving bytes takes its time.
    Memory,
    /// Right; waiting takes its time.
    Latency,
    /// Right; issuing instructions takes its time.
    Instruction,
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", rename_all = "kebab-case")]
pub struct Hint {
    /// What it is called.
    pub id: HintId,
    /// What has to be seen of a kernel; any of these.
    pub trigger: Vec<Trigger>,
    /// Where it applies.
    pub context: Context,
    /// The advice.
    pub hint: String,
    /// Kernels that came of it: their answers cited it, and they were judged.
    pub uses: u32,
    /// Those of them that gained over their parents, or repaired them.
    pub wins: u32,
    /// Those of them that were timed in one batch with their parents.
    pub timed: u32,
    /// The geometric mean of the speed-ups of these; 1 where there are none.
    pub mean_gain: f64,
    /// Where it comes from, for reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// A hint before its checks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    id: HintId,
    trigger: Vec<Trigger>,
    #[serde(default)]
    context: Context,
    hint: String,
    #[serde(default)]
    uses: u32,
    #[serde(default)]
    wins: u32,
    #[serde(default)]
    timed: u32,
    #[serde(default = "one")]
    mean_gain: f64,
    #[serde(default)]
    from: Option<String>,
}

fn one() -> f64 {
    1.0
}

impl HintId {
    /// Reads an id.
    ///
    /// # Errors
    /// It is empty, too long, or has other characters.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_id = (1..=ID_MAX).contains(&text.len()) && text.chars().all(allowed) && !text.starts_with('-');
        if is_id {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("{text:?} is no id of a hint: 1 to {ID_MAX} lower-case letters, digits and `-`"))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Trigger {
    /// Every one.
    pub const ALL: [Trigger; 6] = [
        Trigger::Compile,
        Trigger::Runtime,
        Trigger::Mismatch,
        Trigger::Memory,
        Trigger::Latency,
        Trigger::Instruction,
    ];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Compile => "compile",
            Trigger::Runtime => "runtime",
            Trigger::Mismatch => "mismatch",
            Trigger::Memory => "memory",
            Trigger::Latency => "latency",
            Trigger::Instruction => "instruction",
        }
    }
}

impl Hint {
    /// What it promises: how often it won, one win and one loss assumed, times what it gained.
    pub(super) fn worth(&self) -> f64 {
        let share = (f64::from(self.wins) + 1.0) / (f64::from(self.uses) + 2.0);
        share * self.mean_gain.clamp(GAINS[0], GAINS[1])
    }

    /// Whether this is one line of plain characters, not too long.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(text: &str) -> Result<(), String> {
        let length = text.chars().count();
        if text.trim().is_empty() || text.trim() != text {
            return Err("a hint is empty, or has blanks around it".to_owned());
        }
        if length > HINT_MAX {
            return Err(format!("a hint has {length} characters; {HINT_MAX} at most"));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ' || SIGNS.contains(c);
        match text.chars().find(|c| !is_plain(*c)) {
            None => Ok(()),
            Some(c) => Err(format!(
                "a hint has the character {c:?}; allowed are ASCII letters, digits, blanks and {SIGNS}"
            )),
        }
    }
}

impl fmt::Display for HintId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for HintId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<HintId> for String {
    fn from(id: HintId) -> Self {
        id.0
    }
}

impl TryFrom<Written> for Hint {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { id, trigger, context, hint, uses, wins, timed, mean_gain, from } = written;
        let wrong = |why: String| Err(format!("hint {id}: {why}"));
        let texts = Self::check(&hint).and_then(|()| from.as_deref().map_or(Ok(()), Self::check));
        if let Err(why) = texts.and_then(|()| context.check()) {
            return wrong(why);
        }
        if trigger.is_empty() {
            return wrong("it has no trigger".to_owned());
        }
        if wins > uses || timed > uses || !mean_gain.is_finite() || mean_gain <= 0.0 {
            return wrong(format!(
                "{uses} uses, {wins} wins, {timed} timed, mean gain {mean_gain} cannot be"
            ));
        }
        Ok(Self { id, trigger, context, hint, uses, wins, timed, mean_gain, from })
    }
}
