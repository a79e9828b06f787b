//! `Random`: the generator of everything that the gate draws, on both sides of the pipe.

/// xorshift64* over a splitmix64-mixed seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, position: u64, stream: u64) -> Self {
        Self::of(stem(seed, position), stream)
    }

    pub(super) fn of(stem: u64, stream: u64) -> Self {
        Self(mix(stem ^ stream).max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2.0_f64.powi(-53)
    }

    /// Uniform in `from..to`, which is not empty.
    pub(crate) fn within(&mut self, (from, to): (i64, i64)) -> i64 {
        let span = from.abs_diff(to);
        from.wrapping_add_unsigned(((u128::from(self.next()) * u128::from(span)) >> 64) as u64)
    }

    /// The sum of four uniforms, scaled to variance 1: a normal without tails, at the price of one draw.
    pub(super) fn normal(&mut self) -> f64 {
        let word = self.next();
        let sum: u64 = (0..4).map(|i| (word >> (16 * i)) & 0xffff).sum();
        ((sum as f64 + 2.0) / 65536.0 - 2.0) * 3.0_f64.sqrt()
    }
}

pub(super) fn stem(seed: u64, position: u64) -> u64 {
    mix(mix(seed) ^ position)
}

/// The finaliser of splitmix64.
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
