//! [`Sweep`] and [`Point`]: an answer whose source sweeps constants, and what it is with one choice of their values. The answer is
//! recorded whole before any of its points, so that it is never asked for again.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Content, Sequence};
use crate::experience::HintId;

/// A readable source that sweeps constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sweep {
    /// The text with its contract and its sweeps, edits applied.
    pub source: String,
    /// How many points it has.
    pub points: u32,
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

/// A choice of values for what an answer sweeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Point {
    /// The answer.
    pub of: Sequence,
    /// The value of each constant.
    pub values: BTreeMap<String, i64>,
    /// What the source is with these values: a kernel, or one of before.
    pub content: Content,
}

impl fmt::Display for Point {
    /// Its values: `THREADS = 256, TILE_M = 64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> =
            self.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        f.write_str(&values.join(", "))
    }
}
