//! Evaluate: runs compiled candidates in worker processes and says what they are worth.
//!
//! Two roles that never meet in one process. The *judge* (this process) draws inputs, computes references, fills
//! and reads memory, compares and keeps the verdict; it never loads candidate code. The *runner* (our own binary,
//! re-executed) loads and launches candidates; it never sees a seed, a reference or a bound. Between them lie a
//! pipe of JSON lines ([`protocol`]) and one shared [`memory`] mapping.
//!
//! Invariant: a wrong, slow, crashing or hanging candidate is an outcome; an [`Error`] means that this machine or
//! this program is at fault.

pub mod arena;
mod baseline;
mod candidate;
mod case;
mod claims;
pub mod clocks;
pub mod compare;
mod content;
pub mod cuda;
mod desk;
pub mod element;
pub mod errand;
mod error;
mod fault;
mod gate;
pub mod gemm;
mod image;
mod incumbent;
pub mod inputs;
mod integers;
mod judge;
mod launches;
mod lease;
mod library;
pub mod memory;
mod outcome;
pub mod peer;
pub mod protocol;
mod reference;
pub mod rms;
pub mod runner;
pub mod sanitize;
mod session;
mod settings;
mod shapes;
pub mod stats;
mod strided;
mod timing;
mod worker;

/// Revision of the gate, which a replaying build knows too.
pub use cutegen_spec::record::GATE;

pub use baseline::Baseline;
pub use candidate::Candidate;
pub use case::{ScalarChoice, contents};
pub use desk::{Drawing, KERNELS, OPTIONS, drawing};
pub use errand::{Errand, Launched, Ran};
pub use error::Error;
pub use fault::{Check, Checks, Fault, Place};
pub use gate::Judge;
pub use incumbent::{Incumbent, Measured, Unmeasured};
pub use inputs::Distribution;
pub use judge::LARGE;
pub use lease::{Held, LEASE, Lease};
pub use outcome::{Correctness, Crash, NotCounted, Outcome};
pub use reference::{Call, Expected, Reference, UNTOUCHED};
pub use runner::die_with_parent;
pub use settings::{Cost, Floor, OnDevice, Question, Settings, Sharing};
pub use shapes::{Budget, shapes};
pub use stats::Comparison;
pub use worker::{JUDGE, RUN, RUN_APART, VARIABLE, Workers};
