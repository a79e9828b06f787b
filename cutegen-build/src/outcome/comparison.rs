//! [`Comparison`]: what the times of a candidate and an incumbent came to. How it is read from block times is the
//! gate's to know.

/// A candidate timed against an incumbent.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Comparison {
    /// Median time of one launch of the candidate, microseconds.
    pub candidate_us: f64,
    /// Median time of one launch of the incumbent, microseconds.
    pub incumbent_us: f64,
    /// Median ratio, incumbent over candidate: above 1 the candidate is faster.
    pub speedup: f64,
    /// Lower end of the 95 % bootstrap interval of the ratio; of a single sample the ratio.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Paired samples.
    pub samples: u32,
    /// Those samples: of each pair the candidate's and the incumbent's microseconds a launch.
    pub pairs: Vec<[f64; 2]>,
}

/// What is slower is not timed without pause: three seconds would be a few launches.
const LASTING_US: f64 = 2000.0;

impl Comparison {
    /// Whether a timing without pause would say anything after this one in bursts.
    #[must_use]
    pub fn may_last(&self) -> bool {
        self.samples > 1 && self.incumbent_us <= LASTING_US
    }
}
