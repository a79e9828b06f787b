//! [`Record`]: the answer to a question, as stored in `record.toml` of an entry: the variants in the order in which
//! the runtime tries them, each with its contract, digests and evidence. The last one is always eligible.

mod bounds;
mod evidence;
mod pinned;
mod seeds;
mod tile;

use serde::{Deserialize, Serialize};

use crate::contract::Contract;
use crate::digest::{ArtifactDigest, CacheKey};
use crate::eligibility::{Eligibility, dispatch};
use crate::key::Question;
use crate::target::Target;
use crate::unread::Unread;

pub use evidence::{Clocks, Evidence, Figures, GATE, ReferenceOn, TimedBy, Timing, incumbent};
pub use seeds::Seeds;
pub use tile::Tile;

/// Version of the record's layout.
pub const VERSION: u32 = 2;

/// File name of a record inside its entry.
pub const FILE: &str = "record.toml";

/// The most bytes that an artifact has, compressed or not; whoever makes room for it checks this before.
pub const ARTIFACT_LIMIT: u64 = 64 << 20;

/// How the name of a stored cubin ends. Host objects are never compressed.
pub const COMPRESSED: &str = ".zst";

/// An entry's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Record {
    /// [`VERSION`] when it was written.
    pub version: u32,
    /// The question's key.
    pub key: CacheKey,
    /// The key's pre-image.
    pub question: Question,
    /// Variants in dispatch order; the last is the naive kernel.
    pub variants: Vec<Variant>,
}

/// One kernel of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variant {
    /// Unique in the entry; file names derive from it.
    pub name: String,
    /// Tuned, predicted or naive.
    pub kind: Kind,
    /// Launches for which it is right.
    pub eligibility: Eligibility,
    /// Launches for which it is preferred when eligible.
    pub prefer: Eligibility,
    /// Extents of its tiles, at whose edges it is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<Tile>,
    /// Who proposed it, and with which parameters.
    pub origin: String,
    /// What compiled it.
    pub toolchain: String,
    /// Oldest driver branch that loads it, for a cubin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_driver: Option<u32>,
    /// The most shared memory that a block needs over all launches that it is eligible for, declared and dynamic, for a
    /// cubin; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<u32>,
    /// The compiled bytes.
    pub artifact: Artifact,
    /// The flattened source they were compiled from.
    pub source: Source,
    /// How it is launched.
    pub contract: Contract,
    /// What was run to accept it; none for an `untuned` variant that no device has judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// What a variant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Found by search.
    Tuned,
    /// Picked by a cost estimate: no search has timed it.
    Predicted,
    /// Printed from the math.
    Naive,
}

/// Compiled bytes, as judged and as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Artifact {
    /// File in the entry: `NAME.cubin.zst` or `NAME.o`.
    pub file: String,
    /// SHA-256 of the uncompressed bytes: what was judged.
    pub artifact: ArtifactDigest,
    /// SHA-256 of the file: what replay checks and links.
    pub stored: ArtifactDigest,
    /// Length of the uncompressed bytes.
    pub bytes: u64,
}

/// A stored source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Source {
    /// File in the entry: `NAME.cu` or `NAME.cpp`.
    pub file: String,
    /// SHA-256 of the file.
    pub digest: ArtifactDigest,
}

impl Record {
    /// Reads a record; another version, a wrong key or a list without a last resort is an error.
    pub fn parse(text: &str) -> Result<Self, Unread> {
        Unread::version("record", Self::version(text)?, VERSION)?;
        Self::read(text)
    }

    /// As [`Record::parse`], also of version 1, which is this one without tiles: what a migration starts from.
    pub fn parse_old(text: &str) -> Result<Self, Unread> {
        let version = Self::version(text)?;
        if version != 1 {
            return Self::parse(text);
        }
        let record = Self { version: VERSION, ..Self::read(text)? };
        match record.variants.iter().find(|variant| !variant.tiles.is_empty()) {
            Some(variant) => Err(Unread::Wrong(format!("variant `{}` has tiles in version 1", variant.name))),
            None => Ok(record),
        }
    }

    fn version(text: &str) -> Result<u32, Unread> {
        if crate::nesting::too_deep(text).is_some() {
            return Err(Unread::Wrong(crate::nesting::MESSAGE.to_owned()));
        }
        let probe: Probe = toml::from_str(text).map_err(|error| Unread::parse(text, &error))?;
        Ok(probe.version)
    }

    fn read(text: &str) -> Result<Self, Unread> {
        let record: Record = toml::from_str(text).map_err(|error| Unread::parse(text, &error))?;
        record.check().map_err(Unread::Wrong)?;
        Ok(record)
    }

    fn check(&self) -> Result<(), String> {
        bounds::check(self)?;
        if self.question.key() != self.key {
            return Err(format!(
                "the question's key is {}, the record says {}",
                self.question.key(),
                self.key
            ));
        }
        match self.variants.last() {
            Some(last) if last.kind == Kind::Naive && last.eligibility.0.is_empty() => {}
            _ => return Err("the last variant is not an always eligible naive kernel".to_owned()),
        }
        if self.is_tuned() && self.is_predicted() {
            return Err("an entry with tuned variants has predicted ones".to_owned());
        }
        let target = Target::parse(self.question.field("target").unwrap_or_default())?;
        for (at, variant) in self.variants.iter().enumerate() {
            variant.check(&target)?;
            variant.was_judged_on(&target)?;
            variant.was_timed_by_search()?;
            self.variants[..at].iter().try_for_each(|before| variant.beside(before))?;
        }
        Ok(())
    }

    /// The text of `record.toml`.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    /// The variant that a launch gets, see [`dispatch`].
    #[must_use]
    pub fn choose(&self, axes: &[i64], addresses: &[u64]) -> Option<usize> {
        let claims: Vec<_> = self.variants.iter().map(|v| (&v.eligibility, &v.prefer)).collect();
        dispatch(&claims, axes, addresses)
    }

    /// Whether any variant was found by search.
    #[must_use]
    pub fn is_tuned(&self) -> bool {
        self.variants.iter().any(|v| v.kind == Kind::Tuned)
    }

    /// Whether any variant was picked by a cost estimate.
    #[must_use]
    pub fn is_predicted(&self) -> bool {
        self.variants.iter().any(|v| v.kind == Kind::Predicted)
    }

    /// The same record with the variants that builds dispatch among.
    #[must_use]
    pub fn dispatched(&self) -> Self {
        let variants = self.variants.iter().filter(|variant| variant.is_dispatched()).cloned().collect();
        Self { variants, question: self.question.clone(), ..*self }
    }
}

impl Variant {
    /// What was run to accept it, by a gate that this program knows.
    #[must_use]
    pub fn judged(&self) -> Option<&Evidence> {
        self.evidence.as_ref().filter(|evidence| evidence.is_known())
    }

    /// Whether builds dispatch to it. One that is predicted waits for a gate that this program knows.
    #[must_use]
    pub fn is_dispatched(&self) -> bool {
        match self.kind {
            Kind::Predicted => self.judged().is_some(),
            Kind::Tuned | Kind::Naive => true,
        }
    }

    /// Whether it has no time that no search took: an estimate is none.
    fn was_timed_by_search(&self) -> Result<(), String> {
        let is_timed = self.evidence.as_ref().is_some_and(|evidence| !evidence.timings.is_empty());
        match self.kind {
            Kind::Predicted if is_timed => {
                Err(format!("variant `{}` is predicted, and has a time", self.name))
            }
            Kind::Predicted | Kind::Tuned | Kind::Naive => Ok(()),
        }
    }

    /// Whether its evidence is of a device that runs kernels for `target`.
    fn was_judged_on(&self, target: &Target) -> Result<(), String> {
        let Some(evidence) = &self.evidence else { return Ok(()) };
        let timed_on = evidence.timed_by.as_ref().map(|by| &by.device);
        match [Some(&evidence.device), timed_on].into_iter().flatten().find(|device| !target.suits(device)) {
            Some(device) => {
                Err(format!("variant `{}` is for {target}, and was judged on {device}", self.name))
            }
            None => Ok(()),
        }
    }

    /// Whether its files lie in the entry, and are as those for `target` are.
    fn check(&self, target: &Target) -> Result<(), String> {
        let Artifact { file, artifact, stored, bytes } = &self.artifact;
        let plain = |name: &str| {
            let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            !name.is_empty() && name.len() < 128 && !name.starts_with('.') && name.chars().all(safe)
        };
        let name = &self.name;
        if ![name, file, &self.source.file].into_iter().all(|name| plain(name)) {
            return Err(format!("variant `{name}` names a file outside its entry"));
        }
        if *bytes > ARTIFACT_LIMIT {
            return Err(format!(
                "variant `{name}` has {bytes} bytes, more than the {ARTIFACT_LIMIT} allowed"
            ));
        }
        match (target.is_host(), file.ends_with(COMPRESSED)) {
            (true, true) => {
                Err(format!("variant `{name}` is for the host, whose objects are not compressed"))
            }
            (false, false) => Err(format!("variant `{name}` is a cubin, which is stored as {COMPRESSED}")),
            (true, false) if artifact != stored => {
                Err(format!("variant `{name}` is not compressed, yet its two digests differ"))
            }
            (true, false) | (false, true) => Ok(()),
        }
    }

    /// Whether it is told apart from one `before` it. A tuned or predicted kernel is another than the naive one.
    fn beside(&self, before: &Variant) -> Result<(), String> {
        if self.name.eq_ignore_ascii_case(&before.name) {
            return Err(format!("two variants are named `{}`", self.name));
        }
        let is_same =
            self.artifact.artifact == before.artifact.artifact || self.source.digest == before.source.digest;
        if is_same && self.kind != before.kind {
            return Err(format!(
                "variants `{}` and `{}` are one kernel, called naive and not",
                before.name, self.name
            ));
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Probe {
    version: u32,
}

#[cfg(test)]
mod tests;
