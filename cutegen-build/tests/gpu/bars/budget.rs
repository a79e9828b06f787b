//! Which kernels a measurement goes over, and how long it may take. What was left out is said, never dropped.

use std::time::{Duration, Instant};

use cutegen_build::plan::Plan;

/// The names to measure, and when to stop.
pub(super) struct Budget {
    only: Option<String>,
    end: Option<Instant>,
}

impl Budget {
    /// `CUTEGEN_BARS_ONLY`: parts of names between commas, `=softmax` for a whole one, or `K/N` for every N-th kernel from
    /// the K-th.
    /// `CUTEGEN_BARS_SECONDS`: no kernel begins after that.
    pub(super) fn of_environment() -> Self {
        let seconds = std::env::var("CUTEGEN_BARS_SECONDS").ok();
        let seconds = seconds.map(|text| text.parse().expect("CUTEGEN_BARS_SECONDS is a number"));
        let end = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
        Self { only: std::env::var("CUTEGEN_BARS_ONLY").ok(), end }
    }

    /// The plans that are wanted.
    pub(super) fn chosen(&self, plans: Vec<Plan>) -> Vec<Plan> {
        let numbered = plans.into_iter().enumerate();
        numbered.filter(|(at, plan)| self.wants(*at, plan.spec.name.as_str())).map(|(_, plan)| plan).collect()
    }

    /// Whether kernels are named, in place of a share of them or all.
    pub(super) fn names_some(&self) -> bool {
        self.only.is_some() && self.share().is_none()
    }

    /// Whether another one may begin.
    pub(super) fn has_time(&self) -> bool {
        self.end.is_none_or(|end| Instant::now() < end)
    }

    /// Which of how many parts of all is wanted: `1/4`.
    fn share(&self) -> Option<(usize, usize)> {
        let (k, n) = self.only.as_ref()?.split_once('/')?;
        Some((k.parse().ok()?, n.parse().ok()?))
    }

    fn wants(&self, at: usize, name: &str) -> bool {
        let named = |part: &str| match part.strip_prefix('=') {
            Some(whole) => name == whole,
            None => name.contains(part),
        };
        match (&self.only, self.share()) {
            (_, Some((k, n))) => at % n == k % n,
            (Some(only), None) => only.split(',').any(named),
            (None, None) => true,
        }
    }
}
