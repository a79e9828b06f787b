//! [`RunId`] and [`Digest`]: what a run and a text are called in a log.

use std::fmt;

use cutegen_spec::digest::ArtifactDigest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest name of a run.
const LONGEST: usize = 64;

/// The name of a run: lower-case letters, digits and `-`, so that it is a file's name anywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

/// SHA-256 of a text, in 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub ArtifactDigest);

impl RunId {
    /// Reads a name.
    ///
    /// # Errors
    /// It is empty, too long, or has other characters.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() || text.len() > LONGEST || text.starts_with('-') || !text.chars().all(allowed) {
            return Err(format!(
                "`{text}` is no name of a run: lower-case letters, digits and `-`, {LONGEST} at most"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        ArtifactDigest::parse(&String::deserialize(from)?).map(Self).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_run_is_a_name_of_a_file() {
        let longest = "a".repeat(64);
        for name in ["a", "0", "a-1", "2026-11-03-softmax", "a-", longest.as_str()] {
            let run = RunId::parse(name).expect("a name");
            assert_eq!((run.as_str(), run.to_string().as_str()), (name, name));
            let text = serde_json::to_string(&run).expect("JSON");
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<RunId>(&text).expect("a name"), run);
        }
        let long = "a".repeat(65);
        for name in
            ["", "-", "-a", "A", "a b", "a/b", "..", "a.b", "a\n", "a\0", "\u{e4}", "a_b", long.as_str()]
        {
            let why = RunId::parse(name).expect_err("no name");
            assert!(why.contains("is no name of a run"), "{why}");
            let text = serde_json::to_string(name).expect("JSON");
            assert!(serde_json::from_str::<RunId>(&text).is_err(), "{name}");
        }
    }

    #[test]
    fn a_digest_is_that_of_another_program() {
        // sha256sum of nothing, and of `abc`
        let known = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ];
        for (text, hex) in known {
            let digest = super::super::digest(text);
            assert_eq!((digest.to_string(), format!("{digest:?}")), (hex.to_owned(), hex.to_owned()));
            let json = serde_json::to_string(&digest).expect("JSON");
            assert_eq!(json, format!("\"{hex}\""));
            assert_eq!(serde_json::from_str::<Digest>(&json).expect("a digest"), digest);
        }
        for text in ["\"\"", "\"e3b0\"", "7"] {
            assert!(serde_json::from_str::<Digest>(text).is_err(), "{text}");
        }
    }
}
