//! [`Sampling`]: at which shapes the reference computes a sample of each output, because all of it costs too much. It must
//! not know which elements those are.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use cutegen_spec::spec::KernelSpec;

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
pub(in crate::evaluate) const LAUNCH: u64 = 16;
/// Bytes that tensors may have where a launch costs more: then a variant that declares its tiles is fast.
const LAUNCH_BYTES: u64 = 2 << 30;
/// How many times the cap of workloads a larger one may cost.
const WORKLOAD: u64 = 4;

/// What can be judged by a sample.
pub(in crate::evaluate) struct Means<'a> {
    pub(in crate::evaluate) spec: &'a KernelSpec,
    pub(in crate::evaluate) cost: &'a Cost,
    pub(in crate::evaluate) sampling: Option<&'a Sampling>,
    pub(in crate::evaluate) cap: u64,
    pub(in crate::evaluate) large_cap: u64,
}

impl Means<'_> {
    /// The share of a shape that no workload names, if there is one that can be afforded.
    pub(in crate::evaluate) fn share(&self, axes: &[i64]) -> Option<Share> {
        self.first(axes, self.cap.saturating_mul(REFERENCE)).filter(|_| self.is_launched(axes))
    }

    /// Whether any variant is launched there, or one that declares its tiles.
    fn is_launched(&self, axes: &[i64]) -> bool {
        let cost = (self.cost)(axes);
        cost <= self.cap.saturating_mul(LAUNCH)
            || cost <= self.large_cap && bytes(self.spec, axes).is_some_and(|bytes| bytes <= LAUNCH_BYTES)
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

/// Bytes of all tensors; none on overflow.
fn bytes(spec: &KernelSpec, axes: &[i64]) -> Option<u64> {
    spec.tensors
        .iter()
        .try_fold(0_u64, |all, tensor| all.checked_add(u64::try_from(tensor.bytes(axes)?).ok()?))
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sampling")
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;

    use super::{Cost, Means, Sampling};
    use crate::plan::sample::Share;

    #[test]
    fn products_are_sampled_beyond_what_a_naive_kernel_ends_at_and_long_rows_are_not() {
        let text = "edition = 1\n[kernels.k]\naxes = { m = '1..=8192', n = '1..=65536', k = '1..=65536' }\n\
                    inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[m, n]' }\n\
                    math = 'y[m, n] = sum(k, x[m, k] * w[n, k])'\n";
        let spec = spec_file(text, &Settings::default()).into_kernels().expect("a right spec").remove(0);
        let cost: Cost = Box::new(|axes| 2 * axes.iter().product::<i64>().unsigned_abs());
        let sampling = Sampling(Rc::new(|_: &[i64], share| if share == Share::Lines { u64::MAX } else { 1 }));
        let means =
            |cap, large_cap| Means { spec: &spec, cost: &cost, sampling: Some(&sampling), cap, large_cap };
        let of = |axes: [i64; 3]| means(1 << 32, 1 << 42).share(&axes);
        assert_eq!(of([257, 8192, 28672]), Some(Share::Grid), "an edge of a tile of 256 rows");
        assert_eq!(of([8191, 8192, 28672]), Some(Share::Grid), "a workload less a step");
        assert_eq!(of([8192, 65536, 8192]), None, "more than its launches may cost");
        assert_eq!(of([64, 65536, 32768]), None, "more bytes than are drawn where a launch is long");
        assert_eq!(means(1 << 32, 0).share(&[257, 8192, 28672]), None, "nothing large is judged");
    }
}
