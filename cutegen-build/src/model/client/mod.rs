//! The client of endpoints. It reserves what a request may cost, sends it, books how it ended, and asks again where that helps.
//! It must not know what a prompt says.
//!
//! Invariant: nothing is sent that is not reserved, and no text that leaves this module holds the key or the value of a
//! user's header.

mod address;
mod asking;
mod deadlines;
mod exchange;
mod failed;
mod runtime;

use std::io;
use std::time::Duration;

use super::config::Endpoint;
use super::ledger::Account;
use super::wire::prompt::Prompt;
use super::wire::reply::{Finish, Usage};
pub use address::Address;
use asking::Asking;
pub use asking::cost;
pub use deadlines::{Deadlines, Passed};
pub use failed::Failed;
use runtime::Runtime;

/// A client. Several threads may ask at once.
pub struct Client {
    runtime: Runtime,
    pace: Pace,
}

/// How patiently an endpoint is asked again.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Requests in all, without those that were changed.
    pub attempts: u32,
    /// The first wait; further ones are longer.
    pub first: Duration,
    /// All waits of one question together.
    pub patience: Duration,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Why it ends.
    pub finish: Finish,
    /// What it took.
    pub usage: Usage,
    /// How long it took, waits included.
    pub took: Duration,
    /// Parameters that the endpoint did not know.
    pub dropped: Vec<String>,
    /// Bytes of the prompt, where blocks of it were left out.
    pub shortened: Option<u64>,
}

impl Default for Pace {
    /// Six requests within half an hour of waiting.
    fn default() -> Self {
        Self { attempts: 6, first: Duration::from_secs(1), patience: Duration::from_secs(1800) }
    }
}

impl Client {
    /// Starts the client's thread.
    ///
    /// # Errors
    /// The system has no thread or no sockets.
    pub fn start(pace: Pace) -> io::Result<Self> {
        Ok(Self { runtime: Runtime::start()?, pace })
    }

    /// Asks, and waits for the answer. `request` names the question in the ledger.
    ///
    /// # Errors
    /// There is no answer, or it may not be asked for.
    pub fn answer(
        &self,
        endpoint: &Endpoint,
        prompt: &Prompt,
        account: &Account,
        request: &str,
    ) -> Result<Answer, Failed> {
        let mut asking = Asking::new(endpoint, prompt, (account, request), self.pace)?;
        loop {
            if let Some(answer) = asking.once(&self.runtime)? {
                return Ok(answer);
            }
        }
    }
}
