//! Evaluate: runs compiled candidates in worker processes and says what they are worth.
//!
//! Two roles that never meet in one process. The *judge* (this process) draws inputs, computes references, fills
//! and reads memory, compares and keeps the verdict; it never loads candidate code. The *runner* (our own binary,
//! re-executed) loads and launches candidates; it never sees a seed, a reference or a bound. Between them lie a
//! pipe of JSON lines ([`protocol`]) and one shared [`memory`] mapping.
//!
//! Invariant: a wrong, slow, crashing or hanging candidate is an outcome; an [`Error`] means that this machine or
//! this program is at fault.

mod error;
pub mod memory;
pub mod protocol;
pub mod runner;

pub use error::Error;
