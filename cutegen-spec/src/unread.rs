//! [`Unread`]: why the text of a lock or of a record was not read. A file of an older or a newer CuTeGen is told apart
//! from a damaged one, because the way out differs.

use std::fmt;

/// Why a text was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Of version 1, which only `cargo cutegen lock` reads.
    Old {
        /// `lock` or `record`.
        what: &'static str,
    },
    /// Of a version, or with a field or a word, that this CuTeGen does not know.
    Newer(String),
    /// No TOML of its kind, or one that contradicts itself.
    Wrong(String),
}

/// What brings a CuTeGen that reads it.
pub const UPDATE: &str = "in a newer checkout of CuTeGen, run: cargo install --locked --path cargo-cutegen";

impl Unread {
    /// Why a text of `version` is not read by a program that reads `present`; none where it is.
    pub(crate) fn version(what: &'static str, version: u32, present: u32) -> Result<(), Self> {
        match version {
            _ if version == present => Ok(()),
            1 => Err(Self::Old { what }),
            _ => Err(Self::Newer(format!("{what} version {version} is not {present}"))),
        }
    }

    /// What the parser has against `text`, with the line. A field or a word that it does not know is named.
    pub(crate) fn parse(text: &str, error: &toml::de::Error) -> Self {
        let line =
            error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count());
        let place = line.map(|line| format!("line {}: ", line + 1)).unwrap_or_default();
        let message = error.message();
        let told = format!("{place}{message}");
        let is_unknown = ["unknown field", "unknown variant"].iter().any(|words| message.starts_with(words));
        if is_unknown || message.contains("is no argument") { Self::Newer(told) } else { Self::Wrong(told) }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Old { what } => write!(f, "{what} version 1, of an older CuTeGen"),
            Unread::Newer(told) => write!(f, "{told}; this CuTeGen does not know it, a newer one may"),
            Unread::Wrong(told) => f.write_str(told),
        }
    }
}

impl std::error::Error for Unread {}
