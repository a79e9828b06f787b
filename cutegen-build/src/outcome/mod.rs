//! [`Outcome`]: what became of a candidate. Only [`Outcome::Passed`] can hold a time.
//!
//! The words of the gate's verdict, for the stages that read it. It must not know how a verdict is reached.

mod comparison;
mod distribution;
mod fault;

use std::fmt;
use std::time::Duration;

pub use comparison::Comparison;
pub use distribution::Distribution;
pub use fault::{Apart, Check, Checks, Fault, Place, Spread};

/// The verdict on a candidate or a list of variants.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Outcome {
    /// Right wherever it was judged.
    Passed {
        /// What was judged.
        correctness: Correctness,
        /// How fast it is, when that was measured.
        performance: Option<Comparison>,
    },
    /// A check caught it.
    Incorrect(Fault),
    /// It does not compile or link; the tool's log.
    CompileFailed(String),
    /// It cannot be launched, or must not be.
    Blocked(String),
    /// It ended its runner.
    Crashed(Crash),
    /// It did not end in this time.
    TimedOut(Duration),
}

/// How a candidate ended its runner.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Crash {
    /// By this signal.
    Signal(i32),
    /// By exiting with this status.
    Exit(i32),
    /// By a fault on the device.
    Device(String),
    /// By speaking on the runner's behalf.
    Protocol(String),
}

/// What was judged of a candidate that passed.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Correctness {
    /// Shapes judged, as extents of all axes.
    pub shapes: Vec<Vec<i64>>,
    /// Those of them whose reference was a sample of each output.
    #[serde(default)]
    pub sampled: Vec<Vec<i64>>,
    /// Distributions judged.
    pub distributions: Vec<Distribution>,
    /// Elements compared.
    pub elements: u64,
    /// Elements without a usable bound.
    pub not_judged: u64,
    /// Largest error as a share of the bound.
    pub worst_share: f64,
    /// Bit-equal launches of the case that was launched most often.
    pub repeats: u32,
    /// Cases whose bound was too loose to count as a test.
    pub inconclusive: Vec<Inconclusive>,
    /// Distributions that told an output, by its place, right from wrong at some shape. Of this session alone.
    #[serde(skip)]
    pub told: Vec<(Distribution, usize)>,
    /// Isolation that the system did not give the runners.
    pub not_enforced: Vec<String>,
    /// The device that it was judged on.
    pub device: String,
    /// Of each variant of a list, what was judged where it was the one dispatched.
    pub variants: Vec<Correctness>,
}

impl Correctness {
    /// Of a whole list, from what was judged of each of its variants.
    pub(crate) fn of_list(parts: Vec<Correctness>) -> Self {
        let mut all = Self { variants: parts.clone(), ..Self::default() };
        parts.into_iter().for_each(|part| all.add(part));
        all
    }

    /// What was judged of the variant at this place of the list, and of no other.
    #[must_use]
    pub fn of_variant(&self, place: usize) -> Self {
        let own = self.variants.get(place).cloned().unwrap_or_default();
        let inconclusive = self.inconclusive.iter().filter(|case| own.shapes.contains(&case.axes));
        Self {
            inconclusive: inconclusive.cloned().collect(),
            not_enforced: self.not_enforced.clone(),
            device: self.device.clone(),
            variants: vec![own.clone()],
            ..own
        }
    }

    fn add(&mut self, part: Correctness) {
        extend(&mut self.shapes, part.shapes);
        extend(&mut self.sampled, part.sampled);
        extend(&mut self.distributions, part.distributions);
        extend(&mut self.inconclusive, part.inconclusive);
        extend(&mut self.told, part.told);
        extend(&mut self.not_enforced, part.not_enforced);
        self.elements += part.elements;
        self.not_judged += part.not_judged;
        self.worst_share = self.worst_share.max(part.worst_share);
        self.repeats = self.repeats.max(part.repeats);
        if !part.device.is_empty() {
            self.device = part.device;
        }
    }
}

/// Adds what is not there yet.
fn extend<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// A case that tells nothing of an output.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Inconclusive {
    /// Extents of all axes.
    pub axes: Vec<i64>,
    /// How inputs were drawn.
    pub distribution: Distribution,
    /// Name of the output.
    pub output: String,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Crash::Signal(signal) => write!(f, "signal {signal}"),
            Crash::Exit(status) => write!(f, "exit status {status}"),
            Crash::Device(reason) => write!(f, "device fault: {reason}"),
            Crash::Protocol(reason) => write!(f, "broke the protocol: {reason}"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Passed { correctness, .. } => {
                let (elements, shapes) = (correctness.elements, correctness.shapes.len());
                write!(f, "passed: {elements} elements at {shapes} shapes")
            }
            Outcome::Incorrect(fault) => write!(f, "incorrect: {fault}"),
            Outcome::CompileFailed(log) => write!(f, "does not compile: {log}"),
            Outcome::Blocked(reason) => write!(f, "blocked: {reason}"),
            Outcome::Crashed(crash) => write!(f, "crashed: {crash}"),
            Outcome::TimedOut(after) => write!(f, "did not end in {after:?}"),
        }
    }
}
