//! A value with the error that an honest f32 kernel may have there: enough running error analysis to judge the
//! example's kernels by, written from the formulas and not taken from CuTeGen.
//!
//! Source: Higham, *Accuracy and Stability of Numerical Algorithms*, chapter 3; sums of n terms in any order as
//! (2 sqrt n + n / 8) u times the sum of magnitudes.

/// Unit roundoff of f32.
const U32: f64 = 1.0 / 16_777_216.0;
/// Unit roundoff of bf16.
const UBF16: f64 = 1.0 / 256.0;

/// A value and its error.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// The exact value, as far as f64 goes.
    pub value: f64,
    /// How far an honest kernel may be from it.
    pub error: f64,
}

impl Running {
    /// An input: no error.
    pub fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    /// One operation of f32, `ulps` of its result.
    fn rounded(value: f64, error: f64, ulps: f64) -> Self {
        Self { value, error: error + 2.0 * ulps * U32 * value.abs() + 1e-44 }
    }

    /// A sum of products of inputs.
    pub fn dot(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mut value, mut size, mut n) = (0.0, 0.0, 0.0_f64);
        for (a, b) in pairs {
            value += a * b;
            size += (a * b).abs();
            n += 1.0;
        }
        Self { value, error: (2.0 * n.sqrt() + n / 8.0) * U32 * size }
    }

    /// `self + other`
    pub fn plus(self, other: Self) -> Self {
        Self::rounded(self.value + other.value, self.error + other.error, 0.5)
    }

    /// `self * other`
    pub fn times(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let error = a.value.abs() * b.error + b.value.abs() * a.error + a.error * b.error;
        Self::rounded(a.value * b.value, error, 0.5)
    }

    /// `self / n` for an exact n.
    pub fn over(self, n: f64) -> Self {
        Self::rounded(self.value / n, self.error / n, 0.5)
    }

    /// `1 / sqrt(self)`; falls where its argument grows, so it moves most at the lower end.
    pub fn rsqrt(self) -> Self {
        let value = 1.0 / self.value.sqrt();
        Self::rounded(value, (1.0 / (self.value - self.error).sqrt() - value).abs(), 2.0)
    }

    /// `self * sigmoid(self)`; the sigmoid's slope is at most 1/4.
    pub fn silu(self) -> Self {
        let sigmoid = Self::rounded(1.0 / (1.0 + (-self.value).exp()), self.error / 4.0, 4.0);
        self.times(sigmoid)
    }

    /// The error of `found`, a bf16, as a share of what is allowed after rounding to bf16.
    pub fn share(self, found: f64) -> f64 {
        let allowed = self.error + UBF16 * (self.value.abs() + self.error) + 1e-40;
        (found - self.value).abs() / allowed
    }
}
