//! The three identities: [`CacheKey`] says what was asked, [`ArtifactDigest`] says which bytes answered, and
//! [`VariantDigest`] says how those are launched.

use std::fmt;

/// Blake3 of a canonical question (see [`crate::key`]). Written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheKey([u8; 32]);

/// SHA-256 of bytes, checkable with `sha256sum`. Written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactDigest([u8; 32]);

/// Blake3 of what a lock pins of a variant (see [`crate::record`]). Written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariantDigest([u8; 32]);

/// The start of an [`ArtifactDigest`], 16 to 64 lower-case hex digits, as a person writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DigestStart(String);

impl CacheKey {
    /// The key of already canonical bytes; only [`crate::key`] calls this.
    pub(crate) fn of(canonical: &[u8]) -> Self {
        Self(*blake3::hash(canonical).as_bytes())
    }

    /// Reads 64 hex digits.
    pub fn parse(text: &str) -> Result<Self, String> {
        unhex(text).map(Self)
    }

    /// The first 16 hex digits: what symbols carry.
    #[must_use]
    pub fn short(&self) -> String {
        hex(&self.0)[..16].to_owned()
    }
}

impl VariantDigest {
    /// The digest of already canonical bytes; only [`crate::record`] calls this.
    pub(crate) fn of(canonical: &[u8]) -> Self {
        Self(*blake3::hash(canonical).as_bytes())
    }

    /// Reads 64 hex digits.
    pub fn parse(text: &str) -> Result<Self, String> {
        unhex(text).map(Self)
    }
}

impl ArtifactDigest {
    /// SHA-256 of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Reads 64 hex digits.
    pub fn parse(text: &str) -> Result<Self, String> {
        unhex(text).map(Self)
    }
}

impl DigestStart {
    /// Reads hex digits.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !(16..=64).contains(&text.len()) || !text.bytes().all(is_lower_hex) {
            return Err(format!("`{text}` is not 16 to 64 lower-case hex digits"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether it is the start of this digest.
    #[must_use]
    pub fn begins(&self, digest: &ArtifactDigest) -> bool {
        hex(&digest.0).starts_with(&self.0)
    }
}

impl fmt::Display for DigestStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|n| char::from(DIGITS[usize::from(n)])).collect()
}

fn unhex(text: &str) -> Result<[u8; 32], String> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !text.bytes().all(is_lower_hex) {
        return Err(format!("`{text}` is not 64 lower-case hex digits"));
    }
    let mut out = [0; 32];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let nibble = |b: u8| if b.is_ascii_digit() { b - b'0' } else { b - b'a' + 10 };
        *byte = nibble(pair[0]) << 4 | nibble(pair[1]);
    }
    Ok(out)
}

macro_rules! text_form {
    ($type:ty) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex(&self.0))
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}
text_form!(CacheKey);
text_form!(ArtifactDigest);
text_form!(VariantDigest);

#[cfg(test)]
mod tests {
    use super::{ArtifactDigest, DigestStart};

    #[test]
    fn sha256_matches_the_published_vector() {
        // FIPS 180-4 example: SHA-256("abc")
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(ArtifactDigest::of(b"abc").to_string(), abc);
        assert_eq!(ArtifactDigest::parse(abc), Ok(ArtifactDigest::of(b"abc")));
        assert!(ArtifactDigest::parse(&abc.to_uppercase()).is_err());
        assert!(ArtifactDigest::parse(&abc[1..]).is_err());
    }

    #[test]
    fn a_start_has_sixteen_digits_and_begins_its_digest() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for digits in 16..=64 {
            let start = DigestStart::parse(&abc[..digits]).expect("a start");
            assert_eq!(start.to_string(), abc[..digits]);
            assert!(start.begins(&ArtifactDigest::of(b"abc")) && !start.begins(&ArtifactDigest::of(b"abd")));
        }
        let behind = DigestStart::parse(&abc[1..]).expect("digits");
        assert!(!behind.begins(&ArtifactDigest::of(b"abc")), "it is no start");
        for text in [
            "",
            &abc[..15],
            &format!("{abc}0"),
            &abc.to_uppercase(),
            "ba7816bf8f01cfe\u{e4}",
            &format!("{}g", &abc[..15]),
        ] {
            assert!(DigestStart::parse(text).is_err(), "{text}");
        }
    }
}
