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
mod link;
mod magnitude;
pub mod memory;
mod octaves;
pub mod peer;
mod probes;
mod process;
pub mod protocol;
mod reference;
pub mod rms;
pub mod rng;
pub mod runner;
mod sampling;
pub mod sanitize;
mod session;
mod settings;
mod shapes;
pub mod stats;
mod strided;
mod timing;
mod worker;

/// The words of a verdict.
pub use crate::outcome::{
    Check, Checks, Comparison, Correctness, Crash, Distribution, Fault, NotCounted, Outcome, Place,
};
/// Revision of the gate, which a replaying build knows too.
pub use cutegen_spec::record::GATE;

pub use candidate::Candidate;
pub use case::{ScalarChoice, contents};
pub use cuda::memory::Sharing;
pub use desk::{Drawing, KERNELS, OPTIONS, drawing};
pub use errand::{Errand, Launched, Ran};
pub use error::Error;
pub use gate::Judge;
pub use incumbent::{Incumbent, Measured, Unmeasured};
pub use judge::LARGE;
pub use lease::{Held, LEASE, Lease};
pub use link::Linker;
pub use process::die_with_parent;
pub use reference::{Call, Expected, Reference, Sampled, UNSAMPLED, UNTOUCHED};
pub use sampling::Sampling;
pub use settings::{Baseline, Cost, Floor, OnDevice, Question, Settings, Terms};
pub use shapes::{Budget, shapes};
pub use worker::{JUDGE, RUN, RUN_APART, VARIABLE, Workers};
