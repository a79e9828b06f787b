//! [`Over`]: what an endpoint reported more of than was reserved. It must not know what follows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Amount, Cost};

/// What was reported, and the most that it could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Tokens, read and written.
    Tokens([u64; 2]),
    /// Tokens of the answer.
    Output([u64; 2]),
    /// Millionths of a dollar.
    MicroDollars([u64; 2]),
}

impl Over {
    /// Of a report on a request of this cost.
    pub(super) fn of(cost: &Cost, [input, output]: [u64; 2]) -> Option<Self> {
        let amounts = Self::between(cost.of([input, output]), cost.most());
        // a short prompt leaves room in the sum for a longer answer, whose tokens cost more
        amounts.or((output > cost.max_tokens).then_some(Self::Output([output, cost.max_tokens])))
    }

    /// Of what was booked and reserved.
    pub(super) fn between(booked: Amount, reserved: Amount) -> Option<Self> {
        let dollars = [booked, reserved].map(|amount| amount.micro_dollars);
        match [booked, reserved].map(|amount| amount.tokens) {
            tokens @ [reported, most] if reported > most => Some(Self::Tokens(tokens)),
            _ => (dollars[0] > dollars[1]).then_some(Self::MicroDollars(dollars)),
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens([reported, most]) => {
                write!(f, "{reported} tokens for a request of {most} at most")
            }
            Self::Output([reported, most]) => {
                write!(f, "{reported} tokens written for an answer of {most} at most")
            }
            Self::MicroDollars(amounts) => {
                let [reported, most] = amounts.map(|amount| amount as f64 / 1e6);
                write!(f, "tokens of ${reported:.4} for a request of ${most:.4} at most")
            }
        }
    }
}
