//! [`Interval`]: numbers between two ends, either of which may be missing. Overflow makes an end missing, so that an
//! interval only ever grows.

/// Both ends included; `None` is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) lo: Option<i128>,
    pub(super) hi: Option<i128>,
}

impl Interval {
    pub(super) const ANY: Interval = Interval { lo: None, hi: None };

    pub(super) fn of(lo: i128, hi: i128) -> Interval {
        Interval { lo: Some(lo), hi: Some(hi) }
    }

    pub(super) fn is_at_least(self, value: i128) -> bool {
        self.lo.is_some_and(|lo| lo >= value)
    }

    pub(super) fn is_at_most(self, value: i128) -> bool {
        self.hi.is_some_and(|hi| hi <= value)
    }

    pub(super) fn add(self, other: Interval) -> Interval {
        Interval {
            lo: both(self.lo, other.lo, i128::checked_add),
            hi: both(self.hi, other.hi, i128::checked_add),
        }
    }

    pub(super) fn scale(self, factor: i128) -> Interval {
        let times = |end: Option<i128>| end.and_then(|end| end.checked_mul(factor));
        if factor >= 0 {
            Interval { lo: times(self.lo), hi: times(self.hi) }
        } else {
            Interval { lo: times(self.hi), hi: times(self.lo) }
        }
    }

    pub(super) fn mul(self, other: Interval) -> Interval {
        if self.is_at_least(0) && other.is_at_least(0) {
            let lo = both(self.lo, other.lo, i128::checked_mul);
            return Interval { lo: lo.or(Some(0)), hi: both(self.hi, other.hi, i128::checked_mul) };
        }
        self.products(other).unwrap_or(Interval::ANY)
    }

    /// What `floor(self / other)` lies in, for a positive `other`.
    pub(super) fn floor_div(self, other: Interval) -> Interval {
        let Some(small) = other.lo.filter(|lo| *lo > 0) else { return Interval::ANY };
        let end = |end: i128, toward_zero: bool| match (toward_zero, other.hi) {
            (false, _) => Some(end.div_euclid(small)),
            (true, Some(large)) => Some(end.div_euclid(large)),
            (true, None) => Some(if end < 0 { -1 } else { 0 }),
        };
        Interval { lo: self.lo.and_then(|lo| end(lo, lo >= 0)), hi: self.hi.and_then(|hi| end(hi, hi < 0)) }
    }

    fn products(self, other: Interval) -> Option<Interval> {
        let (a, b, c, d) = (self.lo?, self.hi?, other.lo?, other.hi?);
        let ends = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
        Some(Interval { lo: ends.iter().min().copied(), hi: ends.iter().max().copied() })
    }
}

fn both(a: Option<i128>, b: Option<i128>, f: fn(i128, i128) -> Option<i128>) -> Option<i128> {
    f(a?, b?)
}

#[cfg(test)]
mod tests {
    use super::Interval;

    #[test]
    fn contains_every_result() {
        let (a, b) = (Interval::of(-7, 5), Interval::of(2, 3));
        let (mul, div) = (a.mul(b), a.floor_div(b));
        assert_eq!((mul, div), (Interval::of(-21, 15), Interval::of(-4, 2)));
        assert_eq!(Interval::of(-3, -1).floor_div(b), Interval::of(-2, -1));
        assert_eq!(a.floor_div(Interval::of(0, 3)), Interval::ANY);
        assert_eq!(Interval::of(i128::MAX, i128::MAX).add(b), Interval::ANY);
    }
}
