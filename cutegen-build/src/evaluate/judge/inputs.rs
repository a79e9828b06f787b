//! Seeded inputs: what each [`Distribution`] puts into a tensor. Pure; the same (seed, position, distribution) gives
//! the same bytes on every machine, so a failure can be replayed from its seed.

use cutegen_spec::dtype::DType;
use cutegen_spec::tensor::Scalar;

use super::{element, integers};
use crate::evaluate::rng::{Random, mix, stem};
use crate::evaluate::wire::protocol::ScalarValue;
use crate::outcome::Distribution;

/// What is drawn: one input of a spec at some shape.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Seed of the case; differs between shapes.
    pub seed: u64,
    /// Position of the input among the spec's inputs.
    pub position: usize,
    /// Number of inputs, of which `Specials` picks one.
    pub inputs: usize,
    /// Element type.
    pub dtype: DType,
    /// Number of elements.
    pub elements: usize,
    /// Extent of the last dimension.
    pub row: usize,
    /// Terms of a sum, at most, where the math is a sum.
    pub terms: u64,
    /// The largest magnitude of integers without a declared range at which none of the math leaves what kernels hold.
    pub most: i64,
    /// The declared range of an integer input, its end excluded.
    pub range: Option<(i64, i64)>,
    /// Whether no two integers may be equal.
    pub is_unique: bool,
}

/// The bytes of a drawn input, dense and row-major; what is wrong with a declared range that can't be kept.
pub fn draw(distribution: Distribution, request: &Request) -> Result<Vec<u8>, String> {
    if request.dtype.is_float() {
        Ok(reals(distribution, request))
    } else {
        integers::draw(distribution, request)
    }
}

/// Elements that are drawn by one generator. Even, so that neither nibbles nor cancelling pairs are split. `draw.cu` has
/// the same.
pub(in crate::evaluate) const PIECE: usize = 1 << 16;

/// What a distribution makes of a draw, where that depends on the tensor.
#[derive(Clone, Copy, Debug)]
pub(in crate::evaluate) struct Law {
    /// What a normal number is multiplied by, or shifted by; of wide integers, the terms of a sum; the largest exponent.
    pub(in crate::evaluate) number: f64,
    /// The largest integer; the least exponent, 0 where numbers are normal.
    pub(in crate::evaluate) whole: i64,
}

impl Request {
    /// Bytes of the drawn input.
    pub(in crate::evaluate) fn bytes(&self) -> usize {
        element::bytes(self.dtype, self.elements)
    }

    /// The law of a float.
    pub(in crate::evaluate) fn law(&self, distribution: Distribution) -> Law {
        let number = match distribution {
            Distribution::Small => 1e-3,
            Distribution::Large => large(self.dtype),
            Distribution::LargeMean => mean(self.dtype, self.row),
            Distribution::WideIntegers => self.terms as f64,
            Distribution::LogUniform => exponents(self.dtype).1 as f64,
            _ => 1.0,
        };
        let whole = match distribution {
            Distribution::Integers => whole(self.dtype),
            Distribution::WideIntegers if self.is_chosen() => widest(self.dtype),
            Distribution::LogUniform if self.is_chosen() => exponents(self.dtype).0,
            Distribution::LogUniform => 0,
            _ => 1,
        };
        Law { number, whole }
    }

    /// Whether it is the input with wide integers, or with what is special.
    pub(in crate::evaluate) fn is_chosen(&self) -> bool {
        self.position as u64 == self.seed % self.inputs as u64
    }

    /// What every piece's generator begins with.
    pub(in crate::evaluate) fn stem(&self) -> u64 {
        stem(self.seed, self.position as u64)
    }

    /// What is special in this input, if anything.
    pub(in crate::evaluate) fn planting(&self, distribution: Distribution) -> Option<Planting> {
        let chosen = self.seed % self.inputs as u64;
        let is_next = self.position as u64 == (chosen + 1) % self.inputs as u64;
        let (turns, order) = match distribution {
            Distribution::Specials if self.is_chosen() => (SPECIALS, 0x43210),
            Distribution::PairedSpecials if self.is_chosen() => (PAIRS, FIRST_OF_PAIRS),
            Distribution::PairedSpecials if is_next => (PAIRS, SECOND_OF_PAIRS),
            _ => return None,
        };
        // a single row would hold but one of them; a few elements still hold but one
        let row = self.row.max(1);
        let is_single = self.elements == row && row >= 4 * turns;
        let run = if is_single { row.div_ceil(turns) } else { row };
        // both of a pair lie at the same places
        Some(Planting { run, turns, order, stem: stem(self.seed, chosen) })
    }
}

/// Where special values lie in an input, one in each run, and which.
#[derive(Clone, Copy, Debug)]
pub(in crate::evaluate) struct Planting {
    /// Elements between two of them, about.
    pub(in crate::evaluate) run: usize,
    /// After so many they begin again.
    pub(in crate::evaluate) turns: usize,
    /// Positions in [`specials`], four bits each, the first lowest.
    pub(in crate::evaluate) order: u64,
    /// What their places are drawn from.
    pub(in crate::evaluate) stem: u64,
}

/// The bytes of floats. Every piece has a generator of its own, so that what is drawn does not depend on how many threads
/// draw it.
pub(in crate::evaluate) fn reals(distribution: Distribution, request: &Request) -> Vec<u8> {
    let Request { dtype, elements, .. } = *request;
    let mut bytes = vec![0; request.bytes()];
    let piece_bytes = element::bytes(dtype, PIECE);
    let pieces: Vec<(usize, &mut [u8])> = bytes.chunks_mut(piece_bytes).enumerate().collect();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let queue = std::sync::Mutex::new(pieces.into_iter());
    let work = || {
        while let Some((piece, bytes)) = queue.lock().ok().and_then(|mut queue| queue.next()) {
            fill_piece(distribution, request, piece, bytes);
        }
    };
    if elements <= PIECE {
        work();
    } else {
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    }
    if let Some(planting) = request.planting(distribution) {
        let mut random = Random::of(planting.stem, mix(distribution as u64));
        plant(&mut random, request, &planting, &mut bytes);
    }
    bytes
}

fn fill_piece(distribution: Distribution, request: &Request, piece: usize, bytes: &mut [u8]) {
    let Request { seed, position, dtype, elements, row, .. } = *request;
    let stream = mix(distribution as u64 ^ mix(piece as u64));
    let mut random = Random::new(seed, position as u64, stream);
    let (row, first) = (row.max(1), piece * PIECE);
    let Law { number, whole } = request.law(distribution);
    let mut previous = 0.0;
    for index in 0..PIECE.min(elements - first) {
        let (line, column) = ((first + index) / row, (first + index) % row);
        let value = match distribution {
            Distribution::Normal | Distribution::Specials | Distribution::PairedSpecials => random.normal(),
            Distribution::RowShapes if position > 0 => random.normal(),
            Distribution::RowShapes => shaped(&mut random, request.stem(), (line, column)),
            Distribution::LogUniform if whole == 0 => random.normal(),
            Distribution::LogUniform => log_uniform(&mut random, (whole, number as i64)),
            Distribution::Uniform => random.unit(),
            Distribution::Small | Distribution::Large => random.normal() * number,
            Distribution::Cancelling => pair(&mut random, position, column, previous),
            Distribution::OneHotFirst => one_hot(&mut random, position, column == 0),
            Distribution::OneHotLast => one_hot(&mut random, position, column == row - 1),
            Distribution::Integers => random.within((-whole, whole + 1)) as f64,
            Distribution::LargeMean => random.normal() + number,
            Distribution::NearOne => near_one(&mut random),
            Distribution::WideIntegers => {
                let few = random.unit() * number < WIDE_TERMS;
                wide(&mut random, if few { whole } else { 1 })
            }
        };
        previous = value;
        element::write(dtype, bytes, index, value);
    }
}

/// A drawn scalar: log-uniform in 1e-6..1e-2, where epsilons live; near one where that is what is drawn.
#[must_use]
pub fn draw_scalar(distribution: Distribution, seed: u64, position: usize, scalar: &Scalar) -> ScalarValue {
    let mut random = Random::new(seed, position as u64, u64::MAX);
    let value = match distribution {
        Distribution::NearOne => near_one(&mut random),
        _ => 10.0_f64.powf(-6.0 + 4.0 * random.unit()),
    };
    scalar_value(scalar.dtype, value)
}

/// A scalar that need not be what specs have in mind: of either sign, 0, 1, -1, 2, a thousand.
#[must_use]
pub fn draw_odd_scalar(seed: u64, position: usize, scalar: &Scalar) -> ScalarValue {
    let mut random = Random::new(seed, position as u64, u64::MAX - 1);
    let value = match random.within((0, 8)) {
        0 => 0.0,
        1 => 1.0,
        2 => -1.0,
        3 => 2.0,
        4 => 1e3,
        odd => (if odd == 5 { 1.0 } else { -1.0 }) * 10.0_f64.powf(-2.0 + 4.0 * random.unit()),
    };
    scalar_value(scalar.dtype, value)
}

/// `value` as a scalar of `dtype`.
#[must_use]
pub fn scalar_value(dtype: DType, value: f64) -> ScalarValue {
    if dtype == DType::F64 {
        ScalarValue::F64(value.to_bits())
    } else {
        ScalarValue::F32((value as f32).to_bits())
    }
}

fn large(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 4.0,
        DType::F8e4m3 | DType::F8e5m2 => 16.0,
        _ => 64.0,
    }
}

fn whole(dtype: DType) -> i64 {
    if matches!(dtype, DType::F16 | DType::F8e4m3 | DType::F8e5m2) { 2 } else { 4 }
}

/// An integer of up to this magnitude that is not zero.
fn wide(random: &mut Random, most: i64) -> f64 {
    let magnitude = random.within((1, most + 1)) as f64;
    if random.unit() < 0.5 { magnitude } else { -magnitude }
}

/// Wide integers in a sum, about: signs are random, so it stays within `6 * 0.58 * sqrt(112)` of the largest, which is
/// less than 2^24: six deviations of the sum, and of the number of its terms.
const WIDE_TERMS: f64 = 64.0;

fn widest(dtype: DType) -> i64 {
    (1 << dtype.significand_bits().unwrap_or(0).min(18)) - 1
}

fn mean(dtype: DType, row: usize) -> f64 {
    const SHORT_ROW: f64 = 4096.0;
    let costs_half = |bits: u32| 2.0_f64.powi(bits as i32 / 2);
    let accumulated = costs_half(if dtype == DType::F64 { 53 } else { 24 });
    // what a long sum of them may lose must stay below what is left of an element
    let of_long_rows = accumulated / (row as f64 / SHORT_ROW).max(1.0).sqrt();
    costs_half(dtype.significand_bits().unwrap_or(0)).min(of_long_rows)
}

/// In even inputs neighbours have opposite signs and differ by up to an eighth; in odd ones they are equal, so that
/// products cancel as well.
fn pair(random: &mut Random, position: usize, column: usize, previous: f64) -> f64 {
    match (column % 2, position % 2) {
        (0, _) => random.normal(),
        (_, 0) => -previous * (1.0 + (random.unit() - 0.5) / 4.0),
        _ => previous,
    }
}

fn near_one(random: &mut Random) -> f64 {
    0.9375 + random.unit() / 8.0
}

fn one_hot(random: &mut Random, position: usize, hot: bool) -> f64 {
    let value = random.normal();
    if hot || position > 0 { value } else { 0.0 }
}

/// The exponents that are drawn, the largest one included. Below the least lie as many bits as three pieces of 8 take.
fn exponents(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::F64 => (-900, 1000),
        DType::F16 | DType::F8e5m2 => (-14, 14),
        DType::F8e4m3 => (-6, 7),
        _ => (-100, 126),
    }
}

/// Of either sign, its exponent uniform between these.
fn log_uniform(random: &mut Random, (least, most): (i64, i64)) -> f64 {
    let word = random.next();
    let exponent = least + (((word >> 52 & 0x7ff) as i64 * (most - least + 1)) >> 11);
    f64::from_bits(word & (1 << 63 | ((1 << 52) - 1)) | ((exponent + 1023) as u64) << 52)
}

/// An element of a row that is constant, normalised, skewed, or made of zeros, which the row's number decides.
fn shaped(random: &mut Random, stem: u64, (line, column): (usize, usize)) -> f64 {
    let (word, own) = (random.next(), mix(stem ^ mix(line as u64)));
    match own >> 62 {
        0 => (own & 0xffff) as f64 / 8192.0 - 4.0,
        1 if (mix(own ^ (column / 2) as u64) ^ column as u64) & 1 == 0 => 1.0,
        1 => -1.0,
        2 => 1.0 / (0.015625 + (word >> 11) as f64 * 2.0_f64.powi(-53)),
        _ if word >> 63 == 0 => 0.0,
        _ => -0.0,
    }
}

const SPECIALS: usize = 5;
/// Pairs of special values, whose positions in [`specials`] lie below. An infinity meets no subnormal: what they make with
/// a third factor depends on the order.
const PAIRS: usize = 14;
const FIRST_OF_PAIRS: u64 = 0x21_4443_3221_1100;
const SECOND_OF_PAIRS: u64 = 0x44_1434_3212_1010;

/// What is planted, in turn.
pub(in crate::evaluate) fn specials(dtype: DType) -> [f64; SPECIALS] {
    let subnormal = dtype.underflow() * 4.0; // f8e5m2 has but three
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, subnormal, -0.0]
}

fn plant(random: &mut Random, request: &Request, planting: &Planting, bytes: &mut [u8]) {
    let Request { dtype, elements, .. } = *request;
    let Planting { run, turns, order, .. } = *planting;
    let values = specials(dtype);
    let first = random.next() as usize;
    for start in (0..elements).step_by(run) {
        let turn = first.wrapping_add(start / run) % turns;
        let value = values[(order >> (4 * turn) & 15) as usize];
        let column = (random.next() % run.min(elements - start) as u64) as usize;
        element::write(dtype, bytes, start + column, value);
    }
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Request, draw};
    use crate::evaluate::judge::element;
    use cutegen_spec::dtype::DType;

    fn values(distribution: Distribution, seed: u64, position: usize, dtype: DType) -> Vec<f64> {
        let (elements, row) = (4000, 40);
        let request = Request {
            seed,
            position,
            inputs: 2,
            dtype,
            elements,
            row,
            terms: 64,
            most: i64::MAX,
            range: None,
            is_unique: false,
        };
        let bytes = draw(distribution, &request).expect("drawn");
        (0..4000).map(|i| element::read(dtype, &bytes, i)).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64)
    }

    #[test]
    fn repeats_from_its_seed_and_differs_otherwise() {
        for distribution in Distribution::ALL {
            let bits = |seed, position| {
                let drawn = values(distribution, seed, position, DType::F32);
                drawn.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            };
            assert_eq!(bits(7, 0), bits(7, 0));
            assert_ne!(bits(7, 0), bits(8, 0), "{distribution}");
            assert_ne!(bits(7, 0), bits(7, 1), "{distribution}");
        }
    }

    #[test]
    fn each_distribution_is_what_it_says() {
        let (mean, variance) = moments(&values(Distribution::Normal, 1, 0, DType::F32));
        assert!(mean.abs() < 0.06 && (variance - 1.0).abs() < 0.06, "{mean} {variance}");
        let (mean, variance) = moments(&values(Distribution::LargeMean, 1, 0, DType::F32));
        assert!((mean - 4096.0).abs() < 0.1 && (variance - 1.0).abs() < 0.1, "{mean} {variance}");
        assert!(values(Distribution::Uniform, 1, 0, DType::Bf16).iter().all(|v| (0.0..=1.0).contains(v)));
        let integers = values(Distribution::Integers, 1, 0, DType::F16);
        assert!(integers.iter().all(|v| v.fract() == 0.0 && v.abs() <= 2.0));
        let hot = values(Distribution::OneHotLast, 1, 0, DType::F32);
        assert!(hot.iter().enumerate().all(|(i, v)| i % 40 == 39 || *v == 0.0));
        let row = &values(Distribution::Cancelling, 1, 0, DType::F64)[..40];
        let sum: f64 = row.iter().sum();
        assert!(sum.abs() < 0.1 * row.iter().map(|v| v.abs()).sum::<f64>() && sum != 0.0);
    }

    #[test]
    fn wide_integers_fill_one_input() {
        for (dtype, most) in
            [(DType::F32, 262_143.0), (DType::F16, 2047.0), (DType::Bf16, 255.0), (DType::F8e4m3, 15.0)]
        {
            let all = [0, 1].map(|position| values(Distribution::WideIntegers, 6, position, dtype));
            assert!(all.iter().flatten().all(|v| v.fract() == 0.0));
            let [wide, narrow] = all.map(|v| v.iter().fold(0.0, |m: f64, v| m.max(v.abs())));
            assert!(wide <= most && wide > 0.9 * most && narrow == 1.0, "{dtype}: {wide} {narrow}");
        }
    }

    #[test]
    fn one_special_per_row_of_one_input() {
        let planted = values(Distribution::Specials, 4, 0, DType::Bf16);
        let odd = |v: &f64| !v.is_finite();
        assert_eq!(planted.iter().filter(|v| odd(v)).count(), 60, "three of five specials are not finite");
        assert_eq!(values(Distribution::Specials, 4, 1, DType::Bf16).iter().filter(|v| odd(v)).count(), 0);
        assert!(planted.iter().any(|v| v.is_subnormal() || (*v != 0.0 && v.abs() < 1e-37)));
    }

    #[test]
    fn eight_bit_floats_stay_in_range() {
        for dtype in [DType::F8e4m3, DType::F8e5m2] {
            let at_ends = [Distribution::Specials, Distribution::PairedSpecials, Distribution::LogUniform];
            for distribution in Distribution::ALL.into_iter().filter(|d| !at_ends.contains(d)) {
                let most =
                    values(distribution, 1, 0, dtype).into_iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                assert!(most < dtype.max_finite() / 4.0, "{dtype} {distribution}: {most}");
            }
            let special = values(Distribution::Specials, 4, 0, dtype);
            let subnormal = |v: &f64| *v > 0.0 && *v < dtype.underflow() * 8.0;
            assert!(special.iter().any(|v| v.is_nan()) && special.iter().any(subnormal), "{dtype}");
        }
    }
}
