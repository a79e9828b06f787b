//! How far one dense tensor is from another. Pure.

use serde::Serialize;

/// The largest differences.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Deviation {
    /// The largest absolute one. Infinite where one has NaN or an infinity and the other has not.
    pub(super) absolute: f64,
    /// The largest relative to what is compared with, where that is not zero.
    pub(super) relative: f64,
    /// The element with the largest absolute one, counted row by row.
    pub(super) element: usize,
    /// How many elements differ at all.
    pub(super) differing: usize,
}

/// Of `elements` elements what was found against what it is compared with.
pub(super) fn deviation(
    elements: usize,
    found: impl Fn(usize) -> f64,
    other: impl Fn(usize) -> f64,
) -> Deviation {
    let mut seen = Deviation::default();
    for at in 0..elements {
        let (found, other) = (found(at), other(at));
        if found == other || (found.is_nan() && other.is_nan()) {
            continue;
        }
        let absolute = (found - other).abs();
        let absolute = if absolute.is_nan() { f64::INFINITY } else { absolute };
        let relative = if other == 0.0 { 0.0 } else { absolute / other.abs() };
        if seen.differing == 0 || absolute > seen.absolute {
            (seen.absolute, seen.element) = (absolute, at);
        }
        seen.relative = seen.relative.max(if relative.is_nan() { f64::INFINITY } else { relative });
        seen.differing += 1;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::{Deviation, deviation};

    fn of(found: &[f64], other: &[f64]) -> Deviation {
        deviation(found.len(), |at| found[at], |at| other[at])
    }

    #[test]
    fn the_largest_differences() {
        let seen = of(&[1.0, 2.5, -3.0, 0.25], &[1.0, 2.0, -4.0, 0.0]);
        assert_eq!(seen, Deviation { absolute: 1.0, relative: 0.25, element: 2, differing: 3 });
        assert_eq!(of(&[1.0, f64::NAN], &[1.0, f64::NAN]), Deviation::default());
        let lost = of(&[f64::NAN, 1.0], &[1.0, 2.0]);
        assert_eq!((lost.absolute, lost.relative, lost.element), (f64::INFINITY, f64::INFINITY, 0));
        assert_eq!(of(&[1.0], &[f64::INFINITY]).relative, f64::INFINITY);
        assert_eq!(of(&[f64::INFINITY], &[f64::INFINITY]).differing, 0);
    }
}
