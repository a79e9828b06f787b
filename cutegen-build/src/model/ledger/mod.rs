//! The ledger: what requests may cost, reserved before they are sent. It is a file that several processes append to, so that
//! neither parallel jobs nor kills pass a limit. It must not know what is asked.
//!
//! Invariant: what stands in the file is at least what was spent. A reservation counts whole until it is settled, and one that
//! is never settled counts whole for good.

mod error;
mod file;
mod over;
mod price;
mod state;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::wire::reply::Usage;
pub use error::LedgerError;
use file::Locked;
pub use over::Over;
pub use price::{Cost, Prices};
use state::State;

/// Tokens that a kernel may take unless the user says otherwise.
pub const TOKENS: u64 = 500_000;

/// How often one request may be sent whose fate is unknown.
const LOST_MAX: usize = 2;

/// What may be spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Dollars, where a user sets a limit.
    pub dollars: Option<f64>,
}

impl Default for Limit {
    fn default() -> Self {
        Self { tokens: TOKENS, dollars: None }
    }
}

/// A run's access to the ledger of its kernel.
#[derive(Clone, Debug)]
pub struct Account {
    path: PathBuf,
    run: String,
    limit: Limit,
}

/// What was set aside for one request.
#[derive(Debug)]
#[must_use = "a reservation that is not settled counts whole"]
pub struct Reservation {
    id: u64,
    cost: Cost,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// A reply came.
    Replied(Usage),
    /// The endpoint did not begin, and says so; or nothing was sent.
    NotBegun,
    /// Unknown: the endpoint may have worked on it.
    Lost,
}

/// What is spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Amount {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micro_dollars: u64,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum Line {
    /// Before a request is sent.
    Reserved { id: u64, run: String, request: String, amount: Amount },
    /// After it ended.
    Booked {
        id: u64,
        amount: Amount,
        usage: Usage,
        is_lost: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<Over>,
    },
}

impl Account {
    /// Of a run, in the ledger at `path`, which is made at the first reservation.
    #[must_use]
    pub fn new(path: &Path, run: &str, limit: Limit) -> Self {
        Self { path: path.to_owned(), run: run.to_owned(), limit }
    }

    /// Sets aside what a request may cost at most. It is on the disk when this returns.
    ///
    /// # Errors
    /// It passes a limit, the request was lost twice, the run has ended, or the system says no.
    pub fn reserve(&self, request: &str, cost: &Cost) -> Result<Reservation, LedgerError> {
        let amount = cost.most();
        let mut file = Locked::open(&self.path)?;
        let state = State::of(&self.path, file.whole())?;
        self.allows(&state, request, cost)?;
        let (id, run, request) = (state.next(), self.run.clone(), request.to_owned());
        file.append(&Line::Reserved { id, run, request, amount })?;
        Ok(Reservation { id, cost: *cost })
    }

    /// Books how a request ended.
    ///
    /// # Errors
    /// The endpoint reports more than could be, of tokens, of its answer's tokens or of dollars: this is booked, and ends the run.
    /// Or the system says no.
    pub fn settle(&self, reservation: Reservation, end: End) -> Result<(), LedgerError> {
        let (cost, reported) = (reservation.cost, end.reported());
        let amount = match end {
            End::Replied(_) => reported.map_or(cost.most(), |usage| cost.of(usage)),
            End::NotBegun => Amount::default(),
            End::Lost => cost.most(),
        };
        let usage = if let End::Replied(usage) = end { usage } else { Usage::Unknown };
        let over = reported.and_then(|usage| Over::of(&cost, usage));
        let mut file = Locked::open(&self.path)?;
        file.append(&Line::Booked { id: reservation.id, amount, usage, is_lost: end == End::Lost, over })?;
        over.map_or(Ok(()), |over| Err(self.over(over)))
    }

    /// What all runs of the kernel have spent, open reservations included.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is none.
    pub fn spent(&self) -> Result<Amount, LedgerError> {
        if !self.path.exists() {
            return Ok(Amount::default());
        }
        let file = Locked::open(&self.path)?;
        Ok(State::of(&self.path, file.whole())?.spent())
    }

    fn allows(&self, state: &State, request: &str, cost: &Cost) -> Result<(), LedgerError> {
        let (spent, amount) = (state.spent(), cost.most());
        if let Some(over) = state.over(&self.run) {
            return Err(self.over(over));
        }
        if state.lost(&self.run, request) >= LOST_MAX {
            return Err(LedgerError::LostTwice(self.path.clone(), request.to_owned()));
        }
        let tokens = [spent.tokens, amount.tokens, self.limit.tokens];
        if tokens[0].saturating_add(tokens[1]) > tokens[2] {
            return Err(LedgerError::Tokens(self.path.clone(), tokens));
        }
        let Some(dollars) = self.limit.dollars else { return Ok(()) };
        if cost.prices.is_none() {
            return Err(LedgerError::NoPrices);
        }
        let dollars = [spent.micro_dollars, amount.micro_dollars, (dollars * 1e6) as u64];
        if dollars[0].saturating_add(dollars[1]) > dollars[2] {
            return Err(LedgerError::Dollars(self.path.clone(), dollars));
        }
        Ok(())
    }

    fn over(&self, over: Over) -> LedgerError {
        LedgerError::Over { path: self.path.clone(), run: self.run.clone(), over }
    }
}

impl End {
    /// Tokens read and written, where an endpoint says so.
    fn reported(self) -> Option<[u64; 2]> {
        match self {
            Self::Replied(usage) => usage.reported(),
            Self::NotBegun | Self::Lost => None,
        }
    }
}
