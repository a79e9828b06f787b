//! [`Frozen`]: what a run keeps of the experience library, so that its prompts are a function of its log alone.

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::experience::Hint;

/// Hints as they were when a run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Frozen {
    /// The digest of the library's text.
    pub library: Digest,
    /// Its hints that fit the kernel and its target, by id.
    pub hints: Vec<Hint>,
}
