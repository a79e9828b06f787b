//! How far one dense tensor is from another. Pure.

use serde::Serialize;

/// From here on an integer has neighbours that f64 does not tell from it.
pub(super) const INTEGERS: i64 = 1 << 53;

/// An element. Integers are held exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// Of a float, and whatever the reference gives.
    Real(f64),
    /// Of an integer tensor.
    Integer(i64),
}

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
    /// Of the others, how many integers are as near as f64 tells, but too large for it to tell them from their neighbours.
    #[serde(skip_serializing_if = "is_none")]
    pub(super) not_told: usize,
}

/// Of `elements` elements what was found against what it is compared with.
pub(super) fn deviation(
    elements: usize,
    found: impl Fn(usize) -> Value,
    other: impl Fn(usize) -> Value,
) -> Deviation {
    let mut seen = Deviation::default();
    for at in 0..elements {
        let (found, other) = (found(at), other(at));
        let Some(absolute) = found.apart(other) else {
            seen.not_told += usize::from(found.is_beyond(other));
            continue;
        };
        let other = other.real();
        let relative = if other == 0.0 { 0.0 } else { absolute / other.abs() };
        if seen.differing == 0 || absolute > seen.absolute {
            (seen.absolute, seen.element) = (absolute, at);
        }
        seen.relative = seen.relative.max(if relative.is_nan() { f64::INFINITY } else { relative });
        seen.differing += 1;
    }
    seen
}

impl Value {
    fn real(self) -> f64 {
        match self {
            Value::Real(value) => value,
            Value::Integer(value) => value as f64,
        }
    }

    /// How far it is from another one; none where they are equal, or both NaN.
    fn apart(self, other: Value) -> Option<f64> {
        if let (Value::Integer(a), Value::Integer(b)) = (self, other) {
            return (a != b).then(|| (i128::from(a) - i128::from(b)).unsigned_abs() as f64);
        }
        let (a, b) = (self.real(), other.real());
        let absolute = (a - b).abs();
        let is_equal = a == b || (a.is_nan() && b.is_nan());
        (!is_equal).then_some(if absolute.is_nan() { f64::INFINITY } else { absolute })
    }

    /// Whether one of them is an integer that the other, in f64, does not tell from its neighbours.
    fn is_beyond(self, other: Value) -> bool {
        match (self, other) {
            (Value::Integer(_), Value::Real(value)) | (Value::Real(value), Value::Integer(_)) => {
                value.abs() >= INTEGERS as f64
            }
            (Value::Integer(_), Value::Integer(_)) | (Value::Real(_), Value::Real(_)) => false,
        }
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::Value::{Integer, Real};
    use super::{Deviation, deviation};

    fn of(found: &[f64], other: &[f64]) -> Deviation {
        deviation(found.len(), |at| Real(found[at]), |at| Real(other[at]))
    }

    #[test]
    fn integers_are_compared_as_they_are() {
        const LARGE: i64 = 1 << 53;
        let seen =
            deviation(3, |at| Integer([LARGE + 1, 7, i64::MIN][at]), |at| Integer([LARGE, 7, i64::MAX][at]));
        assert_eq!((seen.differing, seen.element, seen.not_told), (2, 2, 0));
        assert_eq!(seen.absolute, 2.0_f64.powi(64));
        let seen = deviation(3, |at| Integer([LARGE + 1, 8, 7][at]), |at| Real([LARGE as f64, 7.0, 7.0][at]));
        assert_eq!((seen.differing, seen.element, seen.absolute, seen.not_told), (1, 1, 1.0, 1));
    }

    #[test]
    fn the_largest_differences() {
        let seen = of(&[1.0, 2.5, -3.0, 0.25], &[1.0, 2.0, -4.0, 0.0]);
        assert_eq!(seen, Deviation { absolute: 1.0, relative: 0.25, element: 2, differing: 3, not_told: 0 });
        assert_eq!(of(&[1.0, f64::NAN], &[1.0, f64::NAN]), Deviation::default());
        let lost = of(&[f64::NAN, 1.0], &[1.0, 2.0]);
        assert_eq!((lost.absolute, lost.relative, lost.element), (f64::INFINITY, f64::INFINITY, 0));
        assert_eq!(of(&[1.0], &[f64::INFINITY]).relative, f64::INFINITY);
        assert_eq!(of(&[f64::INFINITY], &[f64::INFINITY]).differing, 0);
    }
}
