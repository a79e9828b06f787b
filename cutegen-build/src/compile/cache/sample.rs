//! Keys and answers for the tests of the cache.

use super::key::Key;
use crate::compile::client::RawArtifact;

/// A key of its own for each text.
pub(super) fn key(text: &str) -> Key {
    Key::sample(text)
}

/// What a worker made, with these bytes.
pub(super) fn artifact(bytes: Vec<u8>) -> RawArtifact {
    RawArtifact {
        bytes,
        diagnostics: Vec::new(),
        wall_ms: 7,
        confinement: Default::default(),
        precompiled: false,
    }
}
