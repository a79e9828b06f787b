//! Sums in blocks of blocks, so that errors grow as in a tree and not with the number of terms.

/// A running sum of reals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    block: f64,
    blocks: f64,
    all: f64,
    terms: u64,
}

impl Sum {
    /// Terms of a block, and blocks of the next level.
    const BLOCK: u64 = 128;

    /// Adds a term.
    pub fn add(&mut self, term: f64) {
        self.block += term;
        self.terms += 1;
        if self.terms.is_multiple_of(Self::BLOCK) {
            self.blocks += std::mem::take(&mut self.block);
        }
        if self.terms.is_multiple_of(Self::BLOCK * Self::BLOCK) {
            self.all += std::mem::take(&mut self.blocks);
        }
    }

    /// The sum so far.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.all + (self.blocks + self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::Sum;

    #[test]
    fn errors_do_not_grow_with_the_terms() {
        let (mut sum, mut chain, terms) = (Sum::default(), 0.0, 1 << 22);
        for _ in 0..terms {
            sum.add(0.1);
            chain += 0.1;
        }
        let right = 0.1 * f64::from(terms);
        let off = |found: f64| ((found - right) / right).abs() / f64::EPSILON;
        assert!(off(sum.value()) < 64.0 && off(chain) > 1000.0, "{} {}", off(sum.value()), off(chain));
    }

    #[test]
    fn every_term_is_in_the_sum_at_any_time() {
        let mut sum = Sum::default();
        for term in 1..=40_000_u32 {
            sum.add(f64::from(term));
            assert_eq!(sum.value(), f64::from(term) * f64::from(term + 1) / 2.0);
        }
        assert!(Sum::default().value() == 0.0);
    }
}
