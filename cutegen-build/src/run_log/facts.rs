//! [`Facts`]: what a compiler or a judge saw of a candidate, in numbers and lines rather than in prose.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Number;

/// What was seen. What does not apply is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Facts {
    /// Why, in a sentence or two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// All that the guard, the compiler and the inspection said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// The first wrong element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<Mismatch>,
    /// What compute-sanitizer found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sanitizer: Vec<String>,
    /// What each kernel takes of the device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<Resources>,
    /// How fast it is, by workload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub speed: Vec<Speed>,
    /// A profiler's metrics by name, where one ran.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub profile: BTreeMap<String, f64>,
}

/// What was said of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Diagnostic {
    /// The line of the source before flattening, from 1; for what cannot be read, of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What was said, with the header of the kit where it is there.
    pub message: String,
}

/// A wrong element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mismatch {
    /// The tensor.
    pub tensor: String,
    /// Its index, one number a dimension.
    pub index: Vec<i64>,
    /// Extents by axis.
    pub axes: BTreeMap<String, i64>,
    /// How inputs were drawn.
    pub inputs: String,
    /// What was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Number>,
    /// What is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Number>,
    /// The largest error allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// `found / expected`, where both are finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Where in its tile it lies, by axis with a tile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tile: Vec<TileCoordinate>,
    /// Which check caught it.
    pub check: String,
    /// In words: what else is wrong around it, such as `every element from index 64 of axis k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// A place in a tile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TileCoordinate {
    /// The axis.
    pub axis: String,
    /// The tile's extent.
    pub extent: i64,
    /// Which tile, from 0.
    pub tile: i64,
    /// Where in it, from 0.
    pub within: i64,
}

/// What a kernel takes of the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Resources {
    /// The entry, as its contract names it.
    pub entry: String,
    /// Registers a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Bytes of local memory a thread: spills and arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_bytes: Option<u32>,
    /// Bytes of static shared memory a block.
    pub shared_bytes: u64,
    /// Blocks that fit a multiprocessor at the first workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_per_sm: Option<u32>,
}

/// How fast a candidate is at a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Speed {
    /// Extents by axis.
    pub workload: BTreeMap<String, i64>,
    /// Its time in microseconds.
    pub micros: f64,
    /// Over the naive kernel; none where that is too slow to time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_naive: Option<f64>,
    /// Over other candidates of the same batch, by sequence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub over: BTreeMap<u32, f64>,
    /// The shortest time that its bytes and operations allow, as a share of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roofline: Option<f64>,
    /// Terabytes a second that the computation must move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tb_per_s: Option<f64>,
    /// Tera-operations a second that it must do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tops_per_s: Option<f64>,
}

impl Facts {
    /// Whether nothing was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The geometric mean of the speed-ups over the naive kernel, where all workloads have one.
    #[must_use]
    pub fn over_naive(&self) -> Option<f64> {
        mean(self.speed.iter().map(|speed| speed.over_naive))
    }

    /// The geometric mean of the speed-ups over a candidate of the same batch.
    #[must_use]
    pub fn over(&self, candidate: u32) -> Option<f64> {
        mean(self.speed.iter().map(|speed| speed.over.get(&candidate).copied()))
    }

    /// The smallest share of the roofline among the workloads.
    #[must_use]
    pub fn roofline(&self) -> Option<f64> {
        self.speed
            .iter()
            .map(|speed| speed.roofline)
            .collect::<Option<Vec<f64>>>()?
            .into_iter()
            .reduce(f64::min)
    }
}

/// The geometric mean, where there is every number.
fn mean(numbers: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logs = numbers.map(|number| number.map(f64::ln)).collect::<Option<Vec<f64>>>()?;
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::type_complexity, reason = "rows of a table")]
    fn facts(speeds: &[(Option<f64>, &[(u32, f64)], Option<f64>)]) -> Facts {
        let speed = |(over_naive, over, roofline): &(Option<f64>, &[(u32, f64)], Option<f64>)| Speed {
            workload: BTreeMap::new(),
            micros: 1.0,
            over_naive: *over_naive,
            over: over.iter().copied().collect(),
            roofline: *roofline,
            tb_per_s: None,
            tops_per_s: None,
        };
        Facts { speed: speeds.iter().map(speed).collect(), ..Facts::default() }
    }

    fn near(found: Option<f64>, right: f64) {
        assert!(found.is_some_and(|found| (found - right).abs() < 1e-12), "{found:?}, not {right}");
    }

    #[test]
    fn means_are_geometric_over_all_workloads() {
        // 2 * 8 = 4^2; 1 * 2 * 4 = 2^3; 0.5 * 2 = 1^2
        near(facts(&[(Some(2.0), &[], None), (Some(8.0), &[], None)]).over_naive(), 4.0);
        near(
            facts(&[(Some(1.0), &[], None), (Some(2.0), &[], None), (Some(4.0), &[], None)]).over_naive(),
            2.0,
        );
        let two = facts(&[(None, &[(3, 0.5), (4, 9.0)], None), (None, &[(3, 2.0)], None)]);
        near(two.over(3), 1.0);
        near(facts(&[(Some(1.37), &[], None)]).over_naive(), 1.37);
    }

    #[test]
    fn a_mean_with_a_gap_is_none() {
        assert_eq!(facts(&[]).over_naive(), None);
        assert_eq!(facts(&[(Some(2.0), &[], None), (None, &[], None)]).over_naive(), None);
        let two = facts(&[(None, &[(3, 0.5), (4, 9.0)], None), (None, &[(3, 2.0)], None)]);
        assert_eq!((two.over(4), two.over(5)), (None, None));
    }

    #[test]
    fn the_share_of_the_roofline_is_the_smallest() {
        let share = |shares: &[Option<f64>]| {
            facts(&shares.iter().map(|share| (None, &[][..], *share)).collect::<Vec<_>>()).roofline()
        };
        assert_eq!(share(&[Some(0.5), Some(0.25), Some(0.75)]), Some(0.25));
        assert_eq!((share(&[Some(0.5), None]), share(&[])), (None, None));
    }

    #[test]
    fn facts_are_empty_until_something_was_seen() {
        assert!(Facts::default().is_empty());
        assert!(!facts(&[(None, &[], None)]).is_empty());
        assert!(!Facts { reason: Some(String::new()), ..Facts::default() }.is_empty());
    }
}
