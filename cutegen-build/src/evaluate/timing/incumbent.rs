//! [`Incumbent`]: what a candidate is timed against, and what came of it: [`Measured`] or [`Unmeasured`].

use serde::{Deserialize, Serialize};

use super::peer::Mode;
use crate::evaluate::device::clocks::Sample;
use crate::evaluate::judge::candidate::Candidate;
use crate::evaluate::wire::gemm::Gemm;
use crate::outcome::{Comparison, Outcome};

/// What a finalist is timed against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Incumbent {
    /// A compiled variant.
    Variant(Candidate),
    /// The fastest algorithm of cuBLASLt for this product, which is the spec's at the extents of the timing.
    CublasLt(Gemm),
    /// An expression of PyTorch, in a process of its own. Timed in bursts only.
    Torch(String, Mode),
    /// A compiled variant in that process, on the path of such an expression: what the path itself adds. No search asks
    /// for it.
    InPeer(Candidate),
}

/// A finalist timed against an incumbent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The times.
    pub comparison: Comparison,
    /// The device, in words.
    pub device: String,
    /// The card before, between and after them; empty where nothing reads its state.
    pub samples: Vec<Sample>,
    /// Which incumbent that was, in words, where its name does not say all.
    pub about: Option<String>,
    /// What the incumbent computes otherwise than the spec asks: such a one is reported, not hidden.
    pub differs: Option<String>,
}

/// Why there are no times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Unmeasured {
    /// The candidate cannot be timed, or not be trusted.
    Candidate(Box<Outcome>),
    /// The incumbent is not there, or cannot do this; that says nothing of the candidate.
    Incumbent(String),
}

impl Unmeasured {
    /// As an outcome, for incumbents that cannot lack anything.
    pub(in crate::evaluate) fn into_outcome(self) -> Outcome {
        match self {
            Unmeasured::Candidate(outcome) => *outcome,
            Unmeasured::Incumbent(reason) => Outcome::Blocked(format!("its incumbent {reason}")),
        }
    }
}
