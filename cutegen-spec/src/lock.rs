//! [`Lock`]: `cutegen.lock`, which pins for every kernel and target of a package the key and the bytes that answer
//! it. Readable, sorted, one table per kernel and target, so that diffs are reviews.

use serde::{Deserialize, Serialize};

use crate::digest::{ArtifactDigest, CacheKey};
use crate::record::Record;

/// Version of the lock's layout.
pub const VERSION: u32 = 1;

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
    /// `tuned` or `untuned`.
    pub state: State,
    /// Pinned bytes of each variant, in dispatch order.
    pub variants: Vec<Pinned>,
}

/// Whether search has found anything yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A searched variant exists.
    Tuned,
    /// Only the naive kernel.
    Untuned,
}

/// Pinned bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pinned {
    /// The variant's name.
    pub name: String,
    /// SHA-256 of the uncompressed artifact.
    pub artifact: ArtifactDigest,
    /// SHA-256 of the stored file.
    pub stored: ArtifactDigest,
}

impl Default for Lock {
    fn default() -> Self {
        Self { version: VERSION, kernels: Vec::new() }
    }
}

impl Lock {
    /// Reads a lock; a foreign version is an error.
    pub fn parse(text: &str) -> Result<Self, String> {
        if crate::nesting::too_deep(text).is_some() {
            return Err(crate::nesting::MESSAGE.to_owned());
        }
        let lock: Lock = toml::from_str(text).map_err(|error| error.to_string())?;
        if lock.version != VERSION {
            return Err(format!("lock version {} is not {VERSION}", lock.version));
        }
        Ok(lock)
    }

    /// The text of `cutegen.lock`.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map(|text| format!("{HEADER}{text}")).map_err(|error| error.to_string())
    }

    /// The entry for a kernel on a target.
    #[must_use]
    pub fn get(&self, name: &str, target: &str) -> Option<&Locked> {
        self.kernels.iter().find(|k| k.name == name && k.target == target)
    }

    /// Adds or replaces a kernel's entry, keeping the order.
    pub fn set(&mut self, locked: Locked) {
        self.kernels.retain(|k| (&k.name, &k.target) != (&locked.name, &locked.target));
        self.kernels.push(locked);
        self.kernels.sort();
    }
}

impl Locked {
    /// What pins `record` for a kernel on a target.
    #[must_use]
    pub fn pin(name: &str, target: &str, record: &Record) -> Self {
        let pin = |v: &crate::record::Variant| Pinned {
            name: v.name.clone(),
            artifact: v.artifact.artifact,
            stored: v.artifact.stored,
        };
        Self {
            name: name.to_owned(),
            target: target.to_owned(),
            key: record.key,
            state: if record.is_tuned() { State::Tuned } else { State::Untuned },
            variants: record.variants.iter().map(pin).collect(),
        }
    }

    /// Whether the record's bytes are the pinned ones.
    #[must_use]
    pub fn matches(&self, record: &Record) -> bool {
        let other = Locked::pin(&self.name, &self.target, record);
        (self.key, &self.variants) == (other.key, &other.variants)
    }
}
