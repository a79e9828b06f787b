//! Accepted bytes. What is loaded is what was judged: bytes are inflated, measured and hashed before the driver sees
//! them. Must not know how they are loaded.

use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Write as _;

use crate::error::Error;

/// The most bytes that a cubin has: no store holds a larger one, and no more room is made for one.
const BYTES_MAX: usize = 64 << 20;

/// A cubin as it is linked.
#[derive(Clone, Copy, Debug)]
pub struct Artifact {
    /// The stored file, one zstd frame where `compressed`; empty in a stub build.
    pub stored: &'static [u8],
    /// Whether `stored` is compressed.
    pub compressed: bool,
    /// SHA-256 of the uncompressed bytes, in hex.
    pub sha256: &'static str,
    /// Their number.
    pub len: usize,
}

impl Artifact {
    /// # Errors
    /// [`Error::Stub`] of a stub build, which has no bytes.
    pub(super) fn is_linked(&self, kernel: &'static str) -> Result<(), Error> {
        if self.stored.is_empty() { Err(Error::Stub { kernel }) } else { Ok(()) }
    }

    /// The uncompressed bytes, checked against length and digest.
    ///
    /// # Errors
    /// [`Error::CorruptArtifact`], [`Error::Stub`].
    pub fn open(&self, kernel: &'static str, variant: &'static str) -> Result<Cow<'static, [u8]>, Error> {
        self.is_linked(kernel)?;
        let corrupt = |found| Error::CorruptArtifact { kernel, variant, expected: self.sha256, found };
        if self.len > BYTES_MAX {
            return Err(corrupt(format!("a length of {} bytes, more than {BYTES_MAX}", self.len)));
        }
        let bytes = if self.compressed {
            Cow::Owned(inflate(self.stored, self.len).map_err(corrupt)?)
        } else {
            Cow::Borrowed(self.stored)
        };
        let found = hex(&Sha256::digest(&bytes));
        if bytes.len() != self.len || found != self.sha256 {
            return Err(corrupt(format!("{found} over {} bytes of {}", bytes.len(), self.len)));
        }
        Ok(bytes)
    }
}

/// Inflates into exactly `len` bytes: a frame that holds more fails before it is written out.
fn inflate(stored: &[u8], len: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; len];
    let written = ruzstd::decoding::FrameDecoder::new()
        .decode_all(stored, &mut bytes)
        .map_err(|error| format!("bytes that don't inflate to {len} ({error})"))?;
    bytes.truncate(written);
    Ok(bytes)
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::with_capacity(2 * digest.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// SHA-256 of "abc", as published.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn compressed(bytes: &[u8]) -> &'static [u8] {
        compress_to_vec(bytes, CompressionLevel::Fastest).leak()
    }

    fn message(artifact: Artifact) -> String {
        artifact.open("k", "v").map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn opens_what_was_judged_and_nothing_else() {
        let bytes = vec![7_u8; 1000];
        let sha256: &'static str = hex(&Sha256::digest(&bytes)).leak();
        let good = Artifact { stored: compressed(&bytes), compressed: true, sha256, len: 1000 };
        assert!(good.open("k", "v").is_ok_and(|opened| *opened == *bytes));
        let raw = Artifact { stored: bytes.clone().leak(), compressed: false, ..good };
        assert!(raw.open("k", "v").is_ok());

        let other = Artifact { sha256: ABC, ..good };
        assert!(message(other).contains(&format!("should have sha256 {ABC}, found {sha256}")));
        assert!(message(Artifact { len: 999, ..good }).contains("don't inflate to 999"));
        assert!(message(Artifact { len: 1001, ..good }).contains("over 1000 bytes of 1001"));
        // room for them would be made first
        let endless = Artifact { len: usize::MAX / 2, ..good };
        assert!(message(endless).contains("more than 67108864"));
        let torn = Artifact { stored: &good.stored[..good.stored.len() - 1], ..good };
        assert!(message(torn).contains("don't inflate"));
        let stub = Artifact { stored: &[], ..good };
        assert!(message(stub).contains("CUTEGEN_MODE=stub"));
    }

    #[test]
    fn hex_matches_a_published_digest() {
        assert_eq!(hex(&Sha256::digest(b"abc")), ABC);
    }
}
