//! Version 1 of the lock, which pinned bytes and not how they are launched. Only a migration reads it.

use serde::Deserialize;

use super::State;
use crate::digest::{ArtifactDigest, CacheKey};
use crate::record::{Record, Variant};
use crate::unread::Unread;

/// A package's lock.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lock {
    /// 1.
    pub version: u32,
    /// Sorted by name, then target.
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<Locked>,
}

/// One kernel on one target.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Locked {
    /// The kernel's name.
    pub name: String,
    /// The target.
    pub target: String,
    /// The question.
    pub key: CacheKey,
    /// `tuned` or `untuned`.
    pub state: State,
    /// Pinned bytes of each variant, in dispatch order.
    pub variants: Vec<Pinned>,
}

/// Pinned bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pinned {
    /// The variant's name.
    pub name: String,
    /// SHA-256 of the uncompressed artifact.
    pub artifact: ArtifactDigest,
    /// SHA-256 of the stored file.
    pub stored: ArtifactDigest,
}

impl Lock {
    /// Reads a lock of version 1; none where it is of another version.
    pub fn parse(text: &str) -> Result<Option<Self>, Unread> {
        match super::version(text)? {
            1 => toml::from_str(text).map(Some).map_err(|error| Unread::parse(text, &error)),
            _ => Ok(None),
        }
    }
}

impl Locked {
    /// Whether the record's bytes are the pinned ones.
    #[must_use]
    pub fn matches(&self, record: &Record) -> bool {
        let is_same = |(pinned, variant): (&Pinned, &Variant)| {
            let (artifact, stored) = (variant.artifact.artifact, variant.artifact.stored);
            (&pinned.name, pinned.artifact, pinned.stored) == (&variant.name, artifact, stored)
        };
        self.key == record.key
            && self.variants.len() == record.variants.len()
            && self.variants.iter().zip(&record.variants).all(is_same)
    }
}
