//! [`LedgerError`]: why nothing may be spent.

use std::fmt;
use std::path::PathBuf;

use super::Over;

/// Why a request may not be sent, or its end not be booked.
#[derive(Debug)]
pub enum LedgerError {
    /// The system says no.
    File(PathBuf, std::io::Error),
    /// A line is none of a ledger.
    Line(PathBuf, usize, String),
    /// Tokens: spent, wanted, allowed.
    Tokens(PathBuf, [u64; 3]),
    /// Millionths of a dollar: spent, wanted, allowed.
    Dollars(PathBuf, [u64; 3]),
    /// Dollars are limited, and no prices are known.
    NoPrices,
    /// The fate of this request is unknown twice.
    LostTwice(PathBuf, String),
    /// An endpoint reported more than it could have taken: the run has ended.
    Over {
        /// The ledger.
        path: PathBuf,
        /// The run.
        run: String,
        /// What of, and how much.
        over: Over,
    },
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Line(path, line, why) => write!(f, "{}: line {line}: {why}", path.display()),
            Self::Tokens(path, [spent, wanted, allowed]) => write!(
                f,
                "{}: {spent} of {allowed} tokens are spent or reserved, and the next request may take {wanted}\n\
                 raise `tokens` below `[limits]` in your config.toml, or begin with another kernel",
                path.display()
            ),
            Self::Dollars(path, amounts) => {
                let [spent, wanted, allowed] = amounts.map(|amount| amount as f64 / 1e6);
                write!(
                    f,
                    "{}: ${spent:.4} of ${allowed:.4} are spent or reserved, and the next request may take ${wanted:.4}\n\
                     raise `dollars` below `[limits]` in your config.toml, or begin with another kernel",
                    path.display()
                )
            }
            Self::NoPrices => f.write_str(
                "dollars are limited, and the endpoint has no prices\n\
                 add `prices = { input = ..., output = ... }` to the endpoint in your config.toml",
            ),
            Self::LostTwice(path, request) => write!(
                f,
                "{}: request {request} was sent twice, and no answer is known to have come\n\
                 begin another run: cargo cutegen refine KERNEL",
                path.display()
            ),
            Self::Over { path, run, over } => write!(
                f,
                "{}: an endpoint reports {over}, so run {run} has ended\n\
                 look at the endpoint's bill, and begin another run: cargo cutegen refine KERNEL",
                path.display()
            ),
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(_, error) => Some(error),
            Self::Line(..)
            | Self::Tokens(..)
            | Self::Dollars(..)
            | Self::NoPrices
            | Self::LostTwice(..)
            | Self::Over { .. } => None,
        }
    }
}
