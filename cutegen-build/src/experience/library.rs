//! [`Library`]: hints as a text in TOML, and that text with what runs add to it. The text is the same for the same library, so
//! that reviewers see what changed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Deserialize;

use super::context::{Context, Machine};
use super::hint::{Hint, HintId};

/// The version of the format.
const EDITION: u32 = 1;
/// Hints that a library may have.
const HINTS_MAX: usize = 500;
/// What a text begins with.
const HEAD: &str = "# Hints for authors of kernels, and what came of them; docs/experience.md says how they are used.\n\
                    # `cargo cutegen experience` writes this file. Review a change of it as you review code: hints stand in prompts.\n";

/// Hints, and the runs whose credits they have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    /// The hints, by id.
    pub hints: Vec<Hint>,
    /// What names the runs that were credited: each is credited once.
    pub credited: BTreeSet<String>,
}

/// What a kernel says of a hint that its answer cited.
#[derive(Clone, Debug, PartialEq)]
pub struct Credit {
    /// The hint.
    pub hint: HintId,
    /// Whether the kernel gained over its parent, or repaired it.
    pub is_win: bool,
    /// Its speed-up over its parent, by times of one batch.
    pub gain: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    #[serde(default)]
    credited: BTreeSet<String>,
    #[serde(default)]
    hint: Vec<Hint>,
}

impl Library {
    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong with it, with the place.
    pub fn read(text: &str) -> Result<Self, String> {
        let File { edition, credited, mut hint } =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if edition != EDITION {
            return Err(format!("edition {edition}; this program reads edition {EDITION}"));
        }
        if hint.len() > HINTS_MAX {
            return Err(format!("{} hints; {HINTS_MAX} at most", hint.len()));
        }
        hint.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some(pair) = hint.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(format!("two hints are called {}", pair[0].id));
        }
        if let Some(run) = credited.iter().find(|run| !is_digest(run)) {
            return Err(format!("`credited` has {run:?}, which names no run: 16 hex digits do"));
        }
        Ok(Self { hints: hint, credited })
    }

    /// The text of this library.
    #[must_use]
    pub fn text(&self) -> String {
        let runs: String = self.credited.iter().map(|run| format!("  \"{run}\",\n")).collect();
        let credited = if runs.is_empty() { String::new() } else { format!("credited = [\n{runs}]\n") };
        let hints: String = self.hints.iter().map(written).collect();
        format!("{HEAD}\nedition = {EDITION}\n{credited}{hints}")
    }

    /// Adds what a kernel says of a hint. One that is there no longer is passed over.
    pub fn add(&mut self, credit: &Credit) {
        let Some(hint) = self.hints.iter_mut().find(|hint| hint.id == credit.hint) else { return };
        hint.uses += 1;
        hint.wins += u32::from(credit.is_win);
        if let Some(gain) = credit.gain {
            let before = f64::from(hint.timed) * hint.mean_gain.ln();
            hint.timed += 1;
            hint.mean_gain = rounded(((before + gain.ln()) / f64::from(hint.timed)).exp());
        }
    }

    /// Adds a hint, unless there is one of its id or with its words; whether it was added.
    pub fn propose(&mut self, hint: Hint) -> bool {
        let is_known = |known: &Hint| known.id == hint.id || known.hint == hint.hint;
        if self.hints.len() >= HINTS_MAX || self.hints.iter().any(is_known) {
            return false;
        }
        self.hints.push(hint);
        self.hints.sort_by(|a, b| a.id.cmp(&b.id));
        true
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 16 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

/// Six digits behind the point are what a text keeps of it; it stays above 0.
fn rounded(gain: f64) -> f64 {
    ((gain * 1e6).round() / 1e6).max(1e-6)
}

/// A hint as a table. Its texts have no character that TOML escapes.
fn written(hint: &Hint) -> String {
    let triggers: Vec<String> =
        hint.trigger.iter().map(|trigger| format!("\"{}\"", trigger.name())).collect();
    let mut text = format!("\n[[hint]]\nid = \"{}\"\ntrigger = [{}]\n", hint.id, triggers.join(", "));
    text.push_str(&context(&hint.context));
    let Hint { uses, wins, timed, mean_gain, .. } = hint;
    let _ = writeln!(text, "hint = \"{}\"", hint.hint);
    if *uses > 0 {
        let _ = writeln!(text, "uses = {uses}\nwins = {wins}\ntimed = {timed}\nmean-gain = {mean_gain:?}");
    }
    if let Some(from) = &hint.from {
        let _ = writeln!(text, "from = \"{from}\"");
    }
    text
}

fn context(context: &Context) -> String {
    let list =
        |words: Vec<&str>| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let classes = list(context.classes.iter().map(String::as_str).collect());
    let needs = list(context.needs.iter().map(|need| need.name()).collect());
    let on = match context.on {
        Machine::Any => None,
        Machine::Gpu => Some("on = \"gpu\"".to_owned()),
        Machine::Host => Some("on = \"host\"".to_owned()),
    };
    let parts = [
        (!classes.is_empty()).then(|| format!("classes = [{classes}]")),
        on,
        (!needs.is_empty()).then(|| format!("needs = [{needs}]")),
        context.role.map(|role| format!("role = \"{}\"", role.name())),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("context = {{ {} }}\n", parts.join(", ")) }
}
