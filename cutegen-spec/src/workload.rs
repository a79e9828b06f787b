//! [`Workload`]: run-time axes bound to numbers; what decides the score of a candidate.

use std::collections::BTreeMap;

/// One workload of a spec.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Workload {
    /// Extent of every run-time axis, by name.
    pub axes: BTreeMap<String, i64>,
    /// Weight in the score; 1 unless given.
    pub weight: f64,
    /// Whether the spec declares it; else it stands for a spec that declares none.
    pub declared: bool,
}
