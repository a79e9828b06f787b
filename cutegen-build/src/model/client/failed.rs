//! [`Failed`]: why a model gave no answer, and what to do about it. No text of it holds a key.

use std::fmt;

use crate::model::ledger::LedgerError;
use crate::model::wire::refusal::Kind;

/// Why there is no answer.
#[derive(Debug)]
pub enum Failed {
    /// The endpoint refuses.
    Refused {
        /// The endpoint's host.
        host: String,
        /// What it means.
        kind: Kind,
        /// Its words.
        said: String,
    },
    /// It asks to wait for longer than anything waits.
    Patience {
        /// The endpoint's host.
        host: String,
        /// Seconds that it asks for.
        seconds: u64,
    },
    /// Nothing could be sent.
    Unreachable {
        /// The endpoint's host.
        host: String,
        /// Why.
        why: String,
    },
    /// A request was sent, and no whole answer came.
    Lost {
        /// The endpoint's host.
        host: String,
        /// Why.
        why: String,
    },
    /// The answer is longer than one may be.
    TooLong {
        /// The endpoint's host.
        host: String,
    },
    /// The answer is empty.
    Empty {
        /// The endpoint's host.
        host: String,
    },
    /// The model declines.
    Declined {
        /// The endpoint's host.
        host: String,
    },
    /// There is no key, or none that can be sent.
    NoKey {
        /// The variable that should hold it.
        variable: String,
    },
    /// A header of the user's cannot be sent.
    Header {
        /// Its name.
        name: String,
    },
    /// Nothing may be spent.
    Ledger(LedgerError),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { host, kind, said } => {
                let (what, next) = refused(*kind);
                let said = if said.is_empty() { "nothing" } else { said };
                write!(f, "{host} {what}; it said:\n  {said}\n{next}")
            }
            Self::Patience { host, seconds } => {
                write!(f, "{host} asks to wait for {seconds} s\nask again then: cargo cutegen step")
            }
            Self::Unreachable { host, why } => {
                write!(
                    f,
                    "{host} cannot be reached: {why}\ncheck `url` in your config.toml, and that the server runs"
                )
            }
            Self::Lost { host, why } => {
                write!(
                    f,
                    "{host} gave no whole answer: {why}\nwhat it may have taken is booked whole; ask again: cargo cutegen step"
                )
            }
            Self::TooLong { host } => {
                write!(
                    f,
                    "{host} answered with more than is read\nlower `max-tokens` of the endpoint in your config.toml"
                )
            }
            Self::Empty { host } => {
                write!(
                    f,
                    "{host} answered with nothing\nraise `max-tokens` of the endpoint in your config.toml: thought counts too"
                )
            }
            Self::Declined { host } => {
                write!(f, "the model at {host} declines to answer\nask another one: --endpoint NAME")
            }
            Self::NoKey { variable } => {
                write!(
                    f,
                    "the variable `{variable}` holds no key that can be sent\nrun: export {variable}=..."
                )
            }
            Self::Header { name } => {
                write!(f, "the header `{name}` cannot be sent\ncorrect `headers` in your config.toml")
            }
            Self::Ledger(error) => error.fmt(f),
        }
    }
}

/// What a refusal means, and what to do.
fn refused(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Money => ("wants money", "look at the account's balance and limits"),
        Kind::Key => {
            ("refuses the key", "check the variable that `key-variable` names, and the key's rights")
        }
        Kind::Rate => ("allows no more requests for now", "ask again later: cargo cutegen step"),
        Kind::Busy => ("is busy", "ask again later: cargo cutegen step"),
        Kind::Context => ("finds the prompt too long", "ask a model that reads more: --endpoint NAME"),
        Kind::Request => {
            ("refuses the request", "check `parameters` and `wire` of the endpoint in your config.toml")
        }
        Kind::Missing => ("has no such model or address", "check `url` and `model` in your config.toml"),
        Kind::Redirect => ("points to another address", "give that address as `url` in your config.toml"),
        Kind::Server => ("failed", "ask again later: cargo cutegen step"),
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Ledger(error) => Some(error),
            Self::Refused { .. }
            | Self::Patience { .. }
            | Self::Unreachable { .. }
            | Self::Lost { .. }
            | Self::TooLong { .. }
            | Self::Empty { .. }
            | Self::Declined { .. }
            | Self::NoKey { .. }
            | Self::Header { .. } => None,
        }
    }
}
