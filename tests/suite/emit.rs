//! The emitter: what it prints is committed and compiled under strict lints, computes right numbers when linked,
//! means what the contract means, and refuses at compile time what types can refuse.

mod agree;
mod crafted;
mod fixture;
mod golden;
mod include;
mod language;
mod linked;
mod names;
mod objects;
mod ui;
