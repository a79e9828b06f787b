//! What of a variant a lock pins beside its bytes: how it is launched, and from which source it comes. Canonical,
//! length-prefixed and versioned, as the question is in [`crate::key`].
//!
//! In it: kind, eligibility, preference, tiles, contract, digests of artifact and source. Not in it: names of files,
//! provenance (origin, toolchain, oldest driver), shared memory, evidence. The variant's name, and the digest of the stored file,
//! stand in the lock beside the digest.
//!
//! A table is encoded as its fields by name. A field that is absent, or at the default that the record leaves out, is
//! not encoded. So a later field that may be absent moves no digest of a variant without it, and moves that of every
//! variant with it.

use serde::Serialize;
use toml::Value;

use super::{Artifact, Kind, Source, Tile, Variant};
use crate::contract::Contract;
use crate::digest::{ArtifactDigest, VariantDigest};
use crate::eligibility::Eligibility;

/// Version of the canonical form; a change here changes every digest.
const VERSION: &str = "cutegen variant v1";

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Pinned<'a> {
    kind: Kind,
    eligibility: &'a Eligibility,
    prefer: &'a Eligibility,
    #[serde(skip_serializing_if = "<[Tile]>::is_empty")]
    tiles: &'a [Tile],
    contract: &'a Contract,
    artifact: ArtifactDigest,
    source: ArtifactDigest,
}

impl Variant {
    /// What identifies the variant as it is launched.
    #[must_use]
    pub fn digest(&self) -> VariantDigest {
        // field by field, so that a new one is either pinned or named as one that is not
        let Self {
            kind,
            eligibility,
            prefer,
            tiles,
            contract,
            artifact,
            source,
            name: _,
            origin: _,
            toolchain: _,
            min_driver: _,
            shared_memory: _,
            evidence: _,
        } = self;
        let Artifact { artifact, file: _, stored: _, bytes: _ } = artifact;
        let Source { digest, file: _ } = source;
        let pinned = Pinned {
            kind: *kind,
            eligibility,
            prefer,
            tiles,
            contract,
            artifact: *artifact,
            source: *digest,
        };
        let mut canonical = Vec::new();
        put_bytes(VERSION.as_bytes(), &mut canonical);
        put(&Value::try_from(pinned).expect("texts, flags, lists and tables are TOML"), &mut canonical);
        VariantDigest::of(&canonical)
    }
}

/// Appends a value: a letter for its type, then its bytes or its parts, with their length or number before them.
fn put(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => put_tagged(b's', text.as_bytes(), out),
        Value::Integer(number) => put_tagged(b'i', &number.to_le_bytes(), out),
        Value::Float(number) => put_tagged(b'f', &number.to_bits().to_le_bytes(), out),
        Value::Boolean(flag) => put_tagged(b'b', &[u8::from(*flag)], out),
        Value::Datetime(time) => put_tagged(b'd', time.to_string().as_bytes(), out),
        Value::Array(items) => {
            out.push(b'a');
            put_number(items.len(), out);
            items.iter().for_each(|item| put(item, out));
        }
        Value::Table(table) => {
            let mut fields: Vec<(&String, &Value)> = table.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            out.push(b't');
            put_number(fields.len(), out);
            for (name, value) in fields {
                put_bytes(name.as_bytes(), out);
                put(value, out);
            }
        }
    }
}

fn put_tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    put_bytes(bytes, out);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn put_number(number: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number as u64).to_le_bytes());
}

#[cfg(test)]
mod tests;
