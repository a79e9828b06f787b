//! [`Int`]: the integers that launch contracts are written in. A grid, a workspace part, a derived axis or a
//! condition is printed into the wrapper as an expression of these, and means there what it meant when the kernel
//! was judged: division floors, the remainder is never negative, and what overflows or divides by nothing stays
//! unknown until a check reports it.

use std::ops::{Add, Div, Mul, Rem, Sub};

/// What workspace parts are aligned to.
const PART_ALIGN: i64 = 256;

/// An integer, or none where an operation on the way to it had no answer.
///
/// ```
/// use cutegen_runtime::Int;
/// let tiles = Int::ceil_div(Int::from(777_usize), Int::new(128));
/// assert_eq!((tiles * 2 - 1).value(), Some(13));
/// assert_eq!((tiles / 0 + 1).value(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int(Option<i64>);

impl Int {
    /// This integer.
    #[must_use]
    #[inline]
    pub const fn new(value: i64) -> Self {
        Self(Some(value))
    }

    /// No integer: a property that isn't known here.
    #[must_use]
    #[inline]
    pub const fn unknown() -> Self {
        Self(None)
    }

    /// The integer, if there is one.
    #[must_use]
    #[inline]
    pub const fn value(self) -> Option<i64> {
        self.0
    }

    /// `a / b`, rounded up.
    #[must_use]
    #[inline]
    pub fn ceil_div(self, by: Self) -> Self {
        self.with(by, |a, b| (b > 0).then(|| a.checked_add(b - 1).map(|sum| sum.div_euclid(b))).flatten())
    }

    /// The smaller.
    #[must_use]
    #[inline]
    pub fn min(self, other: Self) -> Self {
        self.with(other, |a, b| Some(a.min(b)))
    }

    /// The larger.
    #[must_use]
    #[inline]
    pub fn max(self, other: Self) -> Self {
        self.with(other, |a, b| Some(a.max(b)))
    }

    /// The bytes that a workspace part of this size takes: parts begin at multiples of 256.
    #[must_use]
    #[inline]
    pub fn padded(self) -> Self {
        let padded = |bytes: i64| Some(bytes.checked_add(PART_ALIGN - 1)? / PART_ALIGN * PART_ALIGN);
        Self(self.0.filter(|bytes| *bytes >= 0).and_then(padded))
    }

    /// As a number of bytes; more than any memory where there is none, so that asking for it fails.
    #[must_use]
    #[inline]
    pub fn bytes(self) -> usize {
        self.0.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX)
    }

    /// Whether it is a multiple of `by`.
    #[must_use]
    #[inline]
    pub fn is_multiple_of(self, by: i64) -> bool {
        self.0.is_some_and(|value| by > 0 && value.rem_euclid(by) == 0)
    }

    /// Whether it is `bound` or more.
    #[must_use]
    #[inline]
    pub fn is_at_least(self, bound: i64) -> bool {
        self.0.is_some_and(|value| value >= bound)
    }

    /// Whether it is `bound` or less.
    #[must_use]
    #[inline]
    pub fn is_at_most(self, bound: i64) -> bool {
        self.0.is_some_and(|value| value <= bound)
    }

    #[inline]
    fn with(self, other: Self, apply: impl FnOnce(i64, i64) -> Option<i64>) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Self(apply(a, b)),
            _ => Self(None),
        }
    }
}

impl From<usize> for Int {
    #[inline]
    fn from(value: usize) -> Self {
        Self(i64::try_from(value).ok())
    }
}

impl From<u32> for Int {
    #[inline]
    fn from(value: u32) -> Self {
        Self(Some(i64::from(value)))
    }
}

macro_rules! operators {
    ($($trait:ident::$method:ident => $apply:expr;)*) => {
        $(
            impl $trait for Int {
                type Output = Int;
                #[inline]
                fn $method(self, other: Int) -> Int {
                    self.with(other, $apply)
                }
            }
            impl $trait<i64> for Int {
                type Output = Int;
                #[inline]
                fn $method(self, other: i64) -> Int {
                    self.with(Int::new(other), $apply)
                }
            }
        )*
    };
}

operators! {
    Add::add => i64::checked_add;
    Sub::sub => i64::checked_sub;
    Mul::mul => i64::checked_mul;
    Div::div => |a, b| (b > 0).then(|| a.div_euclid(b));
    Rem::rem => |a, b| (b > 0).then(|| a.rem_euclid(b));
}

#[cfg(test)]
mod tests {
    use super::Int;

    #[test]
    fn floors_and_keeps_the_unknown() {
        let (a, b) = (Int::new(-10), Int::new(4));
        assert_eq!([(a / b).value(), (a % b).value(), a.ceil_div(b).value()], [Some(-3), Some(2), Some(-2)]);
        assert_eq!((a.min(b), a.max(b)), (a, b));
        for none in [a / 0, a % 0, a.ceil_div(Int::new(0)), Int::new(i64::MAX) + 1, Int::unknown() + 0] {
            assert_eq!(none.value(), None);
            assert!(!none.is_multiple_of(1) && !none.is_at_least(i64::MIN) && !none.is_at_most(i64::MAX));
            assert_eq!(none.bytes(), usize::MAX);
        }
    }

    #[test]
    fn parts_take_whole_lines() {
        let padded = |bytes| Int::new(bytes).padded().value();
        assert_eq!(
            [padded(0), padded(1), padded(256), padded(257)],
            [Some(0), Some(256), Some(256), Some(512)]
        );
        assert_eq!((padded(-1), padded(i64::MAX)), (None, None));
    }
}
