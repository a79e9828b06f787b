//! [`Lock`]: `cutegen.lock`, which pins for every kernel and target of a package the key, the bytes that answer it and
//! how they are launched. Readable, sorted, one table per kernel and target, so that diffs are reviews.

pub mod v1;

use serde::{Deserialize, Serialize};

use crate::digest::{ArtifactDigest, CacheKey, VariantDigest};
use crate::record::{Record, Variant};
use crate::unread::Unread;

/// Version of the lock's layout.
pub const VERSION: u32 = 2;

/// File name, beside the package's Cargo.toml.
pub const FILE: &str = "cutegen.lock";

const HEADER: &str =
    "# Written by `cargo cutegen lock` and `cargo cutegen accept`; commit it with cutegen-store/.\n";

/// A package's lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lock {
    /// [`VERSION`] when it was written.
    pub version: u32,
    /// Sorted by name, then target.
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<Locked>,
}

/// One kernel on one target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Locked {
    /// The kernel's name.
    pub name: String,
    /// The target, as [`crate::target::Target`] prints it.
    pub target: String,
    /// The question.
    pub key: CacheKey,
    /// `tuned`, `predicted` or `untuned`.
    pub state: State,
    /// Each variant as it is pinned, in dispatch order.
    pub variants: Vec<Pinned>,
}

/// What a kernel is locked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A searched variant exists.
    Tuned,
    /// A cost estimate picked variants.
    Predicted,
    /// Only the naive kernel.
    Untuned,
}

/// A pinned variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pinned {
    /// The variant's name.
    pub name: String,
    /// SHA-256 of the uncompressed artifact.
    pub artifact: ArtifactDigest,
    /// SHA-256 of the stored file.
    pub stored: ArtifactDigest,
    /// Of all that decides how it is launched, see [`Variant::digest`].
    pub variant: VariantDigest,
}

impl Default for Lock {
    fn default() -> Self {
        Self { version: VERSION, kernels: Vec::new() }
    }
}

impl Lock {
    /// Reads a lock of this version, in order whatever a hand or a merge moved.
    pub fn parse(text: &str) -> Result<Self, Unread> {
        Unread::version("lock", version(text)?, VERSION)?;
        let mut lock: Lock = toml::from_str(text).map_err(|error| Unread::parse(text, &error))?;
        lock.kernels.sort();
        Ok(lock)
    }

    /// The text of `cutegen.lock`.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map(|text| format!("{HEADER}{text}")).map_err(|error| error.to_string())
    }

    /// The entry for a kernel on a target.
    #[must_use]
    pub fn get(&self, name: &str, target: &str) -> Option<&Locked> {
        self.place(name, target).ok().map(|at| &self.kernels[at])
    }

    /// Adds or replaces a kernel's entry, keeping the order.
    pub fn set(&mut self, locked: Locked) {
        match self.place(&locked.name, &locked.target) {
            Ok(at) => self.kernels[at] = locked,
            Err(at) => self.kernels.insert(at, locked),
        }
    }

    /// Where a kernel's entry stands, or would: locks of many thousand kernels are looked through for each of them.
    fn place(&self, name: &str, target: &str) -> Result<usize, usize> {
        self.kernels.binary_search_by(|k| (k.name.as_str(), k.target.as_str()).cmp(&(name, target)))
    }
}

impl State {
    /// That of an entry.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        match (record.is_tuned(), record.is_predicted()) {
            (true, _) => Self::Tuned,
            (false, true) => Self::Predicted,
            (false, false) => Self::Untuned,
        }
    }

    /// The word for it, in locks and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::Predicted => "predicted",
            Self::Untuned => "untuned",
        }
    }
}

impl Pinned {
    /// What pins a variant.
    #[must_use]
    pub fn of(variant: &Variant) -> Self {
        let (name, variant_digest) = (variant.name.clone(), variant.digest());
        let (artifact, stored) = (variant.artifact.artifact, variant.artifact.stored);
        Self { name, artifact, stored, variant: variant_digest }
    }
}

impl Locked {
    /// What pins `record` for a kernel on a target.
    #[must_use]
    pub fn pin(name: &str, target: &str, record: &Record) -> Self {
        Self {
            name: name.to_owned(),
            target: target.to_owned(),
            key: record.key,
            state: State::of(record),
            variants: record.variants.iter().map(Pinned::of).collect(),
        }
    }

    /// Whether the record is the pinned one, in all but evidence, provenance and names of files.
    #[must_use]
    pub fn matches(&self, record: &Record) -> bool {
        *self == Locked::pin(&self.name, &self.target, record)
    }
}

/// The version that a lock says it has.
fn version(text: &str) -> Result<u32, Unread> {
    #[derive(Deserialize)]
    struct Probe {
        version: u32,
    }
    if crate::nesting::too_deep(text).is_some() {
        return Err(Unread::Wrong(crate::nesting::MESSAGE.to_owned()));
    }
    let probe: Probe = toml::from_str(text).map_err(|error| Unread::parse(text, &error))?;
    Ok(probe.version)
}

#[cfg(test)]
mod tests;
