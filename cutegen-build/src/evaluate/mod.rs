//! Evaluate: runs compiled candidates in worker processes and says what they are worth.
//!
//! Two roles never meet in one process, and each has its folders. The judge's process has [`judge`] and [`timing`]: it
//! draws inputs, computes references, compares and keeps the verdict, and never loads candidate code. [`runner`] is our own
//! binary, started again: it loads and launches candidates, and never sees a seed, a reference or a bound. Both have
//! [`wire`], the pipe and the memory between them, and [`device`], the driver API.
//!
//! Invariant: a wrong, slow, crashing or hanging candidate is an outcome; an [`Error`] means that this machine or
//! this program is at fault.

pub mod device;
mod error;
mod gate;
pub mod judge;
mod link;
pub mod rng;
pub mod runner;
mod settings;
pub mod stats;
pub mod timing;
pub mod wire;

/// The words of a verdict.
pub use crate::outcome::{
    Check, Checks, Comparison, Correctness, Crash, Distribution, Fault, Inconclusive, Outcome, Place, Spread,
};
/// Revision of the gate, which a replaying build knows too.
pub use cutegen_spec::record::GATE;

pub use device::memory::Sharing;
pub use error::Error;
pub use gate::Judge;
pub use judge::backend::{Drawing, KERNELS, OPTIONS, drawing};
pub use judge::candidate::Candidate;
pub use judge::case::{ScalarChoice, contents};
pub use judge::checker::LARGE;
pub use judge::lease::{Held, LEASE, Lease};
pub use judge::reference::{Call, Expected, Reference, Sampled, UNSAMPLED, UNTOUCHED};
pub use judge::sampling::Sampling;
pub use judge::shapes::{Budget, shapes};
pub use judge::user_launch::{Launched, Ran, UserLaunch};
pub use link::Linker;
pub use settings::{Baseline, Cost, Floor, OnDevice, Question, Settings, Terms};
pub use timing::incumbent::{Incumbent, Measured, Unmeasured};
pub use wire::process::die_with_parent;
pub use wire::worker::{JUDGE, RUN, RUN_APART, VARIABLE, Workers};
