//! What a search decided, as text: whole, and with what depends on the compiler masked, for the golden files.

use std::path::Path;

use cutegen_build::store::Entry;

const WHOLE: &str = "whole.txt";
const MASKED: &str = "masked.txt";

/// Decisions of one search.
pub(crate) struct Told {
    /// With every digest.
    pub(crate) whole: String,
    /// The same on every machine.
    pub(crate) masked: String,
}

impl Told {
    /// Leaves decisions in `folder`.
    pub(crate) fn write(folder: &Path, decisions: &str, entry: &Entry) {
        std::fs::write(folder.join(WHOLE), decisions).expect("written");
        std::fs::write(folder.join(MASKED), masked(decisions, entry)).expect("written");
    }

    /// What [`Told::write`] left.
    pub(crate) fn read(folder: &Path) -> Self {
        let read = |name| std::fs::read_to_string(folder.join(name)).expect("a search has written it");
        Self { whole: read(WHOLE), masked: read(MASKED) }
    }
}

/// Digests of artifacts and sources by what they are of: they change with the compiler. The key stays.
fn masked(decisions: &str, entry: &Entry) -> String {
    let mut text = decisions.to_owned();
    for variant in &entry.record.variants {
        let digests = [&variant.artifact.artifact, &variant.artifact.stored, &variant.source.digest];
        for (digest, of) in digests.into_iter().zip(["artifact", "stored", "source"]) {
            text = text.replace(&digest.to_string(), &format!("<{of} of {}>", variant.name));
        }
    }
    let key = entry.record.key.to_string();
    text.split_inclusive('"').map(|part| if is_digest(part, &key) { "<digest>\"" } else { part }).collect()
}

/// Whether a quoted string is some other digest.
fn is_digest(part: &str, key: &str) -> bool {
    let text = part.trim_end_matches('"');
    let digits = text.rsplit(':').next().unwrap_or(text);
    text != key && digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
