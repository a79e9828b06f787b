//! Language models as generators: what is sent to an endpoint and read from it, and what that may cost. It must not know
//! kernels, plans or runs: a prompt goes in, an answer comes out.

pub mod client;
pub mod config;
pub mod ledger;
pub mod wire;
