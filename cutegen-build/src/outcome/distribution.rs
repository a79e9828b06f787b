//! [`Distribution`]: by what law inputs are drawn, by name. How they are drawn is the gate's to know.

use std::fmt;

/// How inputs are drawn. Each catches what the others let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Distribution {
    /// Standard normal, cut at 3.5 deviations.
    Normal,
    /// Uniform in `[0, 1)`: same-sign sums show drift.
    Uniform,
    /// Normal, scaled by 1e-3: absolute tolerances go blind.
    Small,
    /// Normal, scaled by 64 (4 for f16, 16 for 8-bit floats): intermediate overflow. Integers: the ends of their range.
    Large,
    /// Neighbours in a row nearly cancel.
    Cancelling,
    /// Rows of the first input hold one value, at their first index: one-term sums show input precision.
    OneHotFirst,
    /// The same at the last index: dropped tails.
    OneHotLast,
    /// Integers up to 4 (2 for f16 and less): sums are exact.
    Integers,
    /// Normal around a mean that costs half of the significand: unstable variance formulas. Integers: the top eighth.
    LargeMean,
    /// Normal, one NaN, infinity, subnormal or -0 planted per row of one input; all of them where it is a single row.
    Specials,
    /// Uniform within 1/16 of 1, scalars too: logarithms and roots of positive values, products of 4096 factors that
    /// neither overflow nor vanish in any order, divisors that are scalars.
    NearOne,
    /// One input's integers fill its significand, up to 18 bits, about 64 of them in a sum; all others are -1 or 1. Sums
    /// are exact, and of inputs rounded below their type they are not. For math whose sums of integers are exact.
    WideIntegers,
    /// The exponents of one input are uniform over nearly all that its type has: what is right about 1 alone. Integers:
    /// powers of two, and one less and more, as large as the math allows.
    LogUniform,
    /// As [`Specials`](Self::Specials), in two inputs at one index: what NaN, infinities, zeros and subnormals make of
    /// each other.
    PairedSpecials,
    /// Rows of the first input are constant, of mean 0 and variance 1 as they are, skewed, or zeros of both signs.
    RowShapes,
}

impl Distribution {
    /// All, in the order in which they are judged.
    pub const ALL: [Distribution; 15] = [
        Distribution::Normal,
        Distribution::OneHotLast,
        Distribution::Integers,
        Distribution::Specials,
        Distribution::LargeMean,
        Distribution::Uniform,
        Distribution::Small,
        Distribution::Large,
        Distribution::Cancelling,
        Distribution::OneHotFirst,
        Distribution::NearOne,
        Distribution::WideIntegers,
        Distribution::LogUniform,
        Distribution::PairedSpecials,
        Distribution::RowShapes,
    ];

    /// The word that evidence uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Distribution::Normal => "normal",
            Distribution::Uniform => "uniform",
            Distribution::Small => "small",
            Distribution::Large => "large",
            Distribution::Cancelling => "cancelling",
            Distribution::OneHotFirst => "one-hot-first",
            Distribution::OneHotLast => "one-hot-last",
            Distribution::Integers => "integers",
            Distribution::LargeMean => "large-mean",
            Distribution::Specials => "specials",
            Distribution::NearOne => "near-one",
            Distribution::WideIntegers => "wide-integers",
            Distribution::LogUniform => "log-uniform",
            Distribution::PairedSpecials => "paired-specials",
            Distribution::RowShapes => "row-shapes",
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
