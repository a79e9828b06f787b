//! [`Sampling`]: at which shapes the reference computes a sample of each output, because all of it costs too much. It must
//! not know which elements those are.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use crate::evaluate::settings::Cost;
use crate::plan::sample::Share;

/// Cost of judging a shape where of each output this share is computed, as [`Cost`] is of all.
#[derive(Clone)]
pub struct Sampling(pub Rc<Price>);

type Price = dyn Fn(&[i64], Share) -> u64;

/// Shapes whose reference is a sample, with the share that is computed.
pub(in crate::evaluate) type Shares = BTreeMap<Vec<i64>, Share>;

/// Whether a shape can be judged by a sample.
pub(in crate::evaluate) type IsSampled<'a> = &'a dyn Fn(&[i64]) -> bool;

/// How many times the cap a sampled reference may cost, as one of a shape between powers of two may.
pub(in crate::evaluate) const REFERENCE: u64 = 8;
/// How many times the cap a whole launch may cost there: kernels no faster than the naive one end in time.
const LAUNCH: u64 = 16;
/// How many times the cap of workloads a larger one may cost.
const WORKLOAD: u64 = 4;

/// What can be judged by a sample.
pub(in crate::evaluate) struct Means<'a> {
    pub(in crate::evaluate) cost: &'a Cost,
    pub(in crate::evaluate) sampling: Option<&'a Sampling>,
    pub(in crate::evaluate) cap: u64,
    pub(in crate::evaluate) large_cap: u64,
}

impl Means<'_> {
    /// The share of a shape that no workload names, if there is one that can be afforded.
    pub(in crate::evaluate) fn share(&self, axes: &[i64]) -> Option<Share> {
        let is_launched = (self.cost)(axes) <= self.cap.saturating_mul(LAUNCH);
        self.first(axes, self.cap.saturating_mul(REFERENCE)).filter(|_| is_launched)
    }

    /// The same of a workload that is too large for a whole reference.
    pub(in crate::evaluate) fn share_of_workload(&self, axes: &[i64]) -> Option<Share> {
        let is_launched = (self.cost)(axes) <= self.large_cap.saturating_mul(WORKLOAD);
        self.first(axes, self.large_cap).filter(|_| is_launched)
    }

    fn first(&self, axes: &[i64], limit: u64) -> Option<Share> {
        let Sampling(price) = self.sampling?;
        [Share::Lines, Share::Grid].into_iter().find(|share| price(axes, *share) <= limit)
    }
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sampling")
    }
}
