//! [`KernelName`]: the one name a kernel has, from which every other name derives (see [`crate::symbol`]).

use std::fmt;

/// Words that mean something by themselves in the math: a value of that name could never be read.
pub const MATH_WORDS: [&str; 4] = ["inf", "and", "or", "not"];

/// A kernel's name: `[a-z][a-z0-9_]*`, at most 64 bytes. It is also the emitted Rust function's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct KernelName(String);

impl KernelName {
    /// Checks `text` against the rule above; the error teaches the rule.
    pub fn new(text: &str) -> Result<Self, String> {
        let mut chars = text.chars();
        let head = chars.next().is_some_and(|c| c.is_ascii_lowercase());
        let tail = chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if head && tail && text.len() <= 64 && ![UNNAMEABLE.as_slice(), &MATH_WORDS].concat().contains(&text)
        {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "`{text}` cannot name a kernel: names match [a-z][a-z0-9_]*, have at most 64 bytes and are none of {}, \
             because the name is also the emitted function's, nor of {}, which the math has",
            UNNAMEABLE.join(", "),
            MATH_WORDS.join(", ")
        ))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Words that name nothing in Rust, in no form.
pub const UNNAMEABLE: [&str; 3] = ["crate", "self", "super"];

/// Whether `text` is one of the words that Rust keeps for itself, in any edition so far, but takes as a name in the form
/// `r#text`.
#[must_use]
pub fn is_raw(text: &str) -> bool {
    KEYWORDS.binary_search(&text).is_ok()
}

/// In order: emitting asks for every name.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::{KEYWORDS, KernelName, UNNAMEABLE, is_raw};

    #[test]
    fn accepts_and_teaches() {
        assert!(KernelName::new("linear_gelu2").is_ok() && KernelName::new("move").is_ok());
        for bad in ["", "Linear", "2x", "a-b", "self", "inf", "é", &"a".repeat(65)] {
            assert!(KernelName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keywords_are_in_order_and_raw_ones_can_name() {
        assert!(KEYWORDS.is_sorted());
        assert!(KEYWORDS.iter().all(|word| is_raw(word) && KernelName::new(word).is_ok()));
        assert!(UNNAMEABLE.iter().all(|word| !is_raw(word) && KernelName::new(word).is_err()));
        assert!(!is_raw("norm"));
    }
}
