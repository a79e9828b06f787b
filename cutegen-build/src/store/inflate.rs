//! What a stored cubin inflates to. No more room is made than its record says, which is bounded.

use cutegen_spec::record::{ARTIFACT_LIMIT, Artifact};
use ruzstd::decoding::FrameDecoder;

use cutegen_spec::digest::ArtifactDigest;

/// The judged bytes of a stored artifact, checked against length and digest.
pub(crate) fn inflate(artifact: &Artifact, stored: &[u8]) -> Result<Vec<u8>, String> {
    let room = usize::try_from(artifact.bytes.min(ARTIFACT_LIMIT)).unwrap_or_default();
    let mut bytes = vec![0; room];
    let written = FrameDecoder::new().decode_all(stored, &mut bytes);
    let written = written.map_err(|error| format!("does not inflate to {room} bytes: {error}"))?;
    bytes.truncate(written);
    let found = ArtifactDigest::of(&bytes);
    if written as u64 != artifact.bytes || found != artifact.artifact {
        let judged = artifact.artifact;
        return Err(format!(
            "inflates to {written} bytes with SHA-256 {found}; {} with {judged} were judged",
            artifact.bytes
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::{Artifact, ArtifactDigest, inflate};

    #[test]
    fn gives_what_was_judged_and_nothing_else() {
        let judged = vec![7_u8; 1000];
        let stored = compress_to_vec(judged.as_slice(), CompressionLevel::Fastest);
        let artifact = Artifact {
            file: "k.cubin.zst".to_owned(),
            artifact: ArtifactDigest::of(&judged),
            stored: ArtifactDigest::of(&stored),
            bytes: 1000,
        };
        assert_eq!(inflate(&artifact, &stored), Ok(judged));
        let of =
            |bytes| inflate(&Artifact { bytes, ..artifact.clone() }, &stored).expect_err("another length");
        assert!(of(999).contains("does not inflate to 999 bytes"), "{}", of(999));
        assert!(of(1001).contains("inflates to 1000 bytes"), "{}", of(1001));
        assert!(of(u64::MAX).contains("were judged"), "{}", of(u64::MAX));
        let other = compress_to_vec([8_u8; 1000].as_slice(), CompressionLevel::Fastest);
        for bytes in [other.as_slice(), &stored[..stored.len() - 1], b"not even zstd", &[]] {
            assert!(inflate(&artifact, bytes).is_err(), "{bytes:?}");
        }
    }
}
