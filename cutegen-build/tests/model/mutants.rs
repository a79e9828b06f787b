//! [`Mutant`]: faults of a contraction's numbers, and to which contractions each is one. What a wider type would only
//! hold better is no fault: bf16 to f16, say.

use cutegen_spec::dtype::DType;

use super::contraction::{Kind, Size};

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mutant {
    /// Inputs rounded to this type.
    Inputs(DType),
    /// Inputs of f32 rounded to TF32.
    Tf32,
    /// The running sum kept in this type.
    Accumulator(DType),
    /// The same within blocks of so many terms, whose totals are added in f32.
    BlockAccumulator(DType, usize),
    /// Sums rounded to this type before they are stored.
    Output(DType),
    /// Outputs cut instead of rounded.
    TruncatesOutput,
    DropsFirst,
    DropsLast,
    DoublesFirst,
    DoublesLast,
    /// The second half of k is not there.
    HalfK,
    /// Every 16th term is not there.
    DropsEvery16th,
    /// All results times 1 + 2^-n.
    Gain(i32),
    /// A constant added to all results.
    Offset,
    /// One element too large by 3 %.
    OneElement,
    UnwrittenElement,
    UnwrittenRow,
    /// The first four elements transposed.
    TransposedCorner,
    /// Each row holds the next one's results.
    NextRow,
    /// Each column holds the next one's results.
    NextColumn,
    /// One element NaN.
    PlantsNan,
    /// Zero for NaN.
    SwallowsNan,
    /// The largest finite value for an infinity.
    Saturates,
    Relu,
    Abs,
    Negates,
    Zero,
    /// The mean of the row instead.
    RowMean,
    /// The first element everywhere.
    Constant,
}

use Mutant as M;

const ALL: [Mutant; 41] = [
    M::Inputs(DType::F16),
    M::Inputs(DType::Bf16),
    M::Inputs(DType::F8e4m3),
    M::Inputs(DType::F8e5m2),
    M::Tf32,
    M::Accumulator(DType::F16),
    M::Accumulator(DType::Bf16),
    M::BlockAccumulator(DType::F16, 16),
    M::BlockAccumulator(DType::Bf16, 16),
    M::BlockAccumulator(DType::F16, 64),
    M::BlockAccumulator(DType::Bf16, 128),
    M::Output(DType::F16),
    M::Output(DType::Bf16),
    M::Output(DType::F8e4m3),
    M::Output(DType::F8e5m2),
    M::Output(DType::I8),
    M::TruncatesOutput,
    M::DropsFirst,
    M::DropsLast,
    M::DoublesFirst,
    M::DoublesLast,
    M::HalfK,
    M::DropsEvery16th,
    M::Gain(6),
    M::Gain(7),
    M::Offset,
    M::OneElement,
    M::UnwrittenElement,
    M::UnwrittenRow,
    M::TransposedCorner,
    M::NextRow,
    M::NextColumn,
    M::PlantsNan,
    M::SwallowsNan,
    M::Saturates,
    M::Relu,
    M::Abs,
    M::Negates,
    M::Zero,
    M::RowMean,
    M::Constant,
];

impl Mutant {
    /// The faults of a contraction of this size.
    pub(crate) fn of(kind: Kind, size: Size) -> impl Iterator<Item = Mutant> {
        ALL.into_iter().filter(move |mutant| mutant.applies(kind, size))
    }

    /// Whether it is one of this contraction at this size.
    pub(crate) fn applies(self, kind: Kind, Size { m, n, k }: Size) -> bool {
        let (input, output) = (kind.input, kind.output);
        let is_float = output.is_float();
        match self {
            M::Inputs(to) => input.is_float() && coarser(to, input),
            M::Tf32 => input == DType::F32,
            M::Accumulator(DType::F16) if input.bits() == 8 && k <= 256 => false,
            M::Accumulator(_) => is_float,
            // such a block in f16 loses no more than a tensor core's sums of products of 8 bits
            M::BlockAccumulator(DType::F16, _) if input.bits() == 8 => false,
            M::BlockAccumulator(_, block) => is_float && k as usize > block,
            M::Output(DType::I8) => !is_float,
            M::Output(to) => is_float && coarser(to, output),
            M::TruncatesOutput => is_float && output != DType::F32,
            M::HalfK => k > 1,
            M::DropsEvery16th => k >= 16,
            M::TransposedCorner => m > 1 && n > 1,
            M::NextRow => m > 1,
            M::NextColumn | M::RowMean => n > 1,
            M::Constant => m * n > 1,
            M::PlantsNan | M::SwallowsNan | M::Saturates | M::Gain(_) => is_float,
            _ => true,
        }
    }
}

/// Whether `to` has fewer bits in its significand.
fn coarser(to: DType, from: DType) -> bool {
    to.significand_bits() < from.significand_bits()
}
