//! The file of one answer: a digest of what follows, a line of JSON that says what it is, and the bytes.
//!
//! Invariant: [`decode`] gives what [`encode`] was given, for the same key, or nothing.

use cutegen_spec::digest::ArtifactDigest;
use serde::{Deserialize, Serialize};

use super::Answer;
use super::key::Key;
use crate::compile::client::RawArtifact;
use crate::compile::diagnostics::Diagnostic;
use crate::compile::job::{CompileFailure, Confinement, FailureReason};

/// What stands before the bytes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct About {
    /// What was asked, so that a file under another name is none.
    key: String,
    diagnostics: Vec<Diagnostic>,
    came: Came,
}

/// What came of it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum Came {
    #[serde(rename_all = "kebab-case")]
    Compiled { wall_ms: u64, confinement: Confinement, precompiled: bool },
    /// The compiler refuses the source.
    Refused,
}

/// The file of an answer. None where another compile may come to another end: by time, memory or a signal.
pub(super) fn encode(key: &Key, answer: &Answer) -> Option<Vec<u8>> {
    let (diagnostics, came, bytes): (_, _, &[u8]) = match answer {
        Ok(raw) => {
            let RawArtifact { bytes, diagnostics, wall_ms, confinement, precompiled } = raw;
            let (wall_ms, confinement, precompiled) = (*wall_ms, confinement.clone(), *precompiled);
            (diagnostics, Came::Compiled { wall_ms, confinement, precompiled }, bytes)
        }
        Err(CompileFailure { reason: FailureReason::Diagnostics, diagnostics }) => {
            (diagnostics, Came::Refused, &[])
        }
        Err(_) => return None,
    };
    let about = About { key: key.name().to_owned(), diagnostics: diagnostics.clone(), came };
    let about = serde_json::to_string(&about).expect("words and numbers");
    let told = [about.as_bytes(), b"\n", bytes].concat();
    Some([ArtifactDigest::of(&told).to_string().as_bytes(), b"\n", &told].concat())
}

/// The answer in a file, where its digest holds and it is to this key.
pub(super) fn decode(key: &Key, file: &[u8]) -> Option<Answer> {
    let (digest, told) = lines(file)?;
    (ArtifactDigest::of(told).to_string().as_bytes() == digest).then(|| read(key, told))?
}

/// The same without the digest.
fn read(key: &Key, told: &[u8]) -> Option<Answer> {
    let (about, bytes) = lines(told)?;
    let About { key: asked, diagnostics, came } = serde_json::from_slice(about).ok()?;
    (asked == key.name()).then(|| match came {
        Came::Compiled { wall_ms, confinement, precompiled } => {
            Ok(RawArtifact { bytes: bytes.to_vec(), diagnostics, wall_ms, confinement, precompiled })
        }
        Came::Refused => Err(CompileFailure { reason: FailureReason::Diagnostics, diagnostics }),
    })
}

/// The first line, and what follows.
fn lines(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::cache::sample::{artifact, key};

    #[test]
    fn every_flipped_byte_is_noticed_and_without_the_digest_other_code_comes_out() {
        let (key, code) = (key("a"), vec![0x90; 64]);
        let file = encode(&key, &Ok(artifact(code.clone()))).expect("a file");
        assert_eq!(decode(&key, &file).expect("whole").expect("compiled").bytes, code);
        for at in 0..file.len() {
            let mut flipped = file.clone();
            flipped[at] ^= 1;
            assert!(decode(&key, &flipped).is_none(), "byte {at}");
            assert!(decode(&key, &file[..at]).is_none(), "cut at {at}");
        }
        let mut flipped = file.clone();
        *flipped.last_mut().expect("bytes") ^= 1;
        let (_, told) = lines(&flipped).expect("two lines");
        let unchecked = read(&key, told).expect("it reads well").expect("compiled");
        assert_ne!(unchecked.bytes, code, "this would have been judged");
    }

    #[test]
    fn a_file_under_another_key_is_none() {
        let file = encode(&key("a"), &Ok(artifact(vec![1]))).expect("a file");
        assert!(decode(&key("b"), &file).is_none());
    }

    #[test]
    fn what_another_compile_may_end_otherwise_is_not_kept() {
        let failed = |reason| Err(CompileFailure { reason, diagnostics: Vec::new() });
        for reason in [
            FailureReason::TimedOut,
            FailureReason::OverMemory,
            FailureReason::OutputTooLarge,
            FailureReason::Crashed(11),
        ] {
            assert!(encode(&key("a"), &failed(reason.clone())).is_none(), "{reason:?}");
        }
        assert!(encode(&key("a"), &failed(FailureReason::Diagnostics)).is_some());
    }
}
