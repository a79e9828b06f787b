//! What a request costs at most, and what it cost.

use serde::Deserialize;

use super::Amount;

/// Dollars for a million tokens, as the user's config has them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Read, at the highest of its prices: one for writing a cache is higher than the plain one.
    pub input: f64,
    /// Written.
    pub output: f64,
}

/// The bounds of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Bytes of its body: a token has at least one.
    pub bytes: u64,
    /// Tokens that the answer may have.
    pub max_tokens: u64,
    /// What they cost, where the user says so.
    pub prices: Option<Prices>,
}

impl Cost {
    /// The most that it can be.
    #[must_use]
    pub fn most(&self) -> Amount {
        self.of([self.bytes, self.max_tokens])
    }

    /// What these tokens, read and written, come to.
    #[must_use]
    pub fn of(&self, [input, output]: [u64; 2]) -> Amount {
        // dollars a million are millionths a token
        let price = |prices: Prices| input as f64 * prices.input + output as f64 * prices.output;
        let micro_dollars = self.prices.map_or(0, |prices| price(prices).ceil() as u64);
        Amount { tokens: input.saturating_add(output), micro_dollars }
    }
}

impl Prices {
    /// Whether they are prices.
    #[must_use]
    pub fn are_prices(&self) -> bool {
        [self.input, self.output].iter().all(|price| price.is_finite() && *price >= 0.0)
    }
}
