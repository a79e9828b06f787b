//! Seeded integer and bool inputs: uniform in their declared range with both its ends, distinct where that is declared,
//! and otherwise what each [`Distribution`] means for integers. Pure.

use std::collections::BTreeSet;

use cutegen_spec::dtype::DType;

use super::element;
use super::inputs::Request;
use crate::evaluate::rng::Random;
use crate::outcome::Distribution;

/// Values from the first up to, but not including, the second.
type Range = (i64, i64);

/// Integers of `Small` and `Integers` lie in it, so that sums of their products are exact.
const SMALL: Range = (-4, 5);
/// The same beside wide integers.
const UNIT: Range = (-1, 2);

/// The bytes of a drawn integer input, dense; what is wrong with its declared range when it can't be drawn.
pub(in crate::evaluate) fn draw(distribution: Distribution, request: &Request) -> Result<Vec<u8>, String> {
    let Request { seed, position, dtype, elements, .. } = *request;
    let mut random = Random::new(seed, position as u64, distribution as u64);
    let free_range = if is_wide(distribution, dtype) {
        (-request.most, request.most.saturating_add(1))
    } else {
        natural(dtype)
    };
    let range = clipped(request.range.unwrap_or(free_range), dtype);
    if elements > 0 && range.0 >= range.1 {
        return Err(format!("has no value in its range {}..{}", range.0, range.1));
    }
    let values = match request.range {
        _ if request.is_unique => distinct(&mut random, range, elements)?,
        Some(_) => within(&mut random, range, elements),
        None => free(&mut random, distribution, range, request),
    };
    let mut bytes = vec![0; element::bytes(dtype, elements)];
    for (index, value) in values.into_iter().enumerate() {
        element::write_integer(dtype, &mut bytes, index, value);
    }
    Ok(bytes)
}

/// What an input without a declared range is drawn from.
fn natural(dtype: DType) -> Range {
    match dtype {
        DType::I8 => (-128, 128),
        DType::U8 => (0, 256),
        DType::I4 => (-8, 8),
        DType::U4 => (0, 16),
        DType::Bool => (0, 2),
        DType::I32 | DType::I64 => (-100, 101),
        DType::F64 | DType::F32 | DType::F16 | DType::Bf16 | DType::F8e4m3 | DType::F8e5m2 => (0, 1),
    }
}

/// Whether integers fill what the math allows.
fn is_wide(distribution: Distribution, dtype: DType) -> bool {
    let far = matches!(distribution, Distribution::Uniform | Distribution::LogUniform);
    far && matches!(dtype, DType::I32 | DType::I64)
}

fn clipped(range: Range, dtype: DType) -> Range {
    let (least, most) = element::integers(dtype);
    (range.0.max(least), range.1.min(most.saturating_add(1)))
}

/// Uniform, the first and the last element at the two ends of the range.
fn within(random: &mut Random, range: Range, elements: usize) -> Vec<i64> {
    let mut values: Vec<i64> = (0..elements).map(|_| random.within(range)).collect();
    let ends = ends(random, range);
    if let Some(last) = values.last_mut() {
        *last = ends.1;
        values[0] = ends.0;
    }
    values
}

/// No two equal, the first and the last element at the two ends of the range.
fn distinct(random: &mut Random, range: Range, elements: usize) -> Result<Vec<i64>, String> {
    let (from, to) = range;
    if elements as u64 > from.abs_diff(to) {
        return Err(format!("is unique, but {elements} elements are more than the values of {from}..{to}"));
    }
    if elements < 2 {
        return Ok(within(random, range, elements));
    }
    let ends = ends(random, range);
    let mut values = vec![ends.0];
    values.extend(sample(random, (from + 1, to - 1), elements - 2));
    values.push(ends.1);
    Ok(values)
}

/// Distinct values of a range that has enough of them.
fn sample(random: &mut Random, range: Range, count: usize) -> Vec<i64> {
    if count == 0 {
        return Vec::new();
    }
    if range.0.abs_diff(range.1) > 4 * count as u64 {
        let mut seen = BTreeSet::new();
        return std::iter::repeat_with(|| random.within(range))
            .filter(|v| seen.insert(*v))
            .take(count)
            .collect();
    }
    let mut all: Vec<i64> = (range.0..range.1).collect();
    for i in 0..count {
        let other = random.within((i as i64, all.len() as i64)) as usize;
        all.swap(i, other);
    }
    all.truncate(count);
    all
}

/// The least and the largest value, in either order.
fn ends(random: &mut Random, (from, to): Range) -> Range {
    if random.within((0, 2)) == 0 { (from, to - 1) } else { (to - 1, from) }
}

fn free(random: &mut Random, distribution: Distribution, range: Range, request: &Request) -> Vec<i64> {
    let Request { position, elements, row, .. } = *request;
    let (from, to) = range;
    let row = row.max(1);
    let mut previous = 0;
    let value = |index: usize| {
        let column = index % row;
        previous = match distribution {
            Distribution::Normal | Distribution::Uniform | Distribution::Specials | Distribution::NearOne => {
                random.within(range)
            }
            Distribution::PairedSpecials => random.within(range),
            Distribution::LogUniform => power_of_two(random, range),
            Distribution::RowShapes if column == 0 => random.within(range),
            Distribution::RowShapes => previous,
            Distribution::Small | Distribution::Integers => {
                random.within((from.max(SMALL.0), to.min(SMALL.1)))
            }
            Distribution::WideIntegers => random.within((from.max(UNIT.0), to.min(UNIT.1))),
            Distribution::Large => ends(random, range).0,
            Distribution::LargeMean => random.within((to - (from.abs_diff(to) as i64 / 8).max(1), to)),
            Distribution::Cancelling => match (column % 2, position % 2) {
                (0, _) => random.within(range),
                (_, 0) => -previous,
                _ => previous,
            },
            Distribution::OneHotFirst => one_hot(random, range, position > 0 || column == 0),
            Distribution::OneHotLast => one_hot(random, range, position > 0 || column == row - 1),
        };
        previous
    };
    (0..elements).map(value).collect()
}

/// A power of two, or one less or more, of either sign, inside the range.
fn power_of_two(random: &mut Random, (from, to): Range) -> i64 {
    let largest = from.unsigned_abs().max(to.unsigned_abs()).max(2).ilog2();
    let beside = random.within((-1, 2));
    let magnitude = (1_i64 << random.within((0, i64::from(largest.min(62)) + 1))) + beside;
    let value = if random.within((0, 2)) == 0 { magnitude } else { -magnitude };
    value.clamp(from, to - 1)
}

/// Not zero where it is hot, which takes one more draw than where it is not.
fn one_hot(random: &mut Random, range: Range, hot: bool) -> i64 {
    let value = random.within(range);
    match (hot, value) {
        (false, _) => 0,
        (true, 0) => range.1 - 1,
        (true, value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Request, draw};
    use crate::evaluate::judge::element;
    use cutegen_spec::dtype::DType;
    use std::collections::BTreeSet;

    fn request(dtype: DType, elements: usize) -> Request {
        Request {
            seed: 3,
            position: 0,
            inputs: 2,
            dtype,
            elements,
            row: 40,
            terms: 40,
            most: 1 << 40,
            range: None,
            is_unique: false,
        }
    }

    fn values(distribution: Distribution, request: &Request) -> Vec<i64> {
        let bytes = draw(distribution, request).expect("drawn");
        (0..request.elements).map(|i| element::read(request.dtype, &bytes, i) as i64).collect()
    }

    fn ends(values: &[i64]) -> (i64, i64) {
        (*values.iter().min().expect("some"), *values.iter().max().expect("some"))
    }

    #[test]
    fn dtypes_are_drawn_in_full() {
        for (dtype, all) in [
            (DType::I8, (-128, 127)),
            (DType::U8, (0, 255)),
            (DType::I4, (-8, 7)),
            (DType::U4, (0, 15)),
            (DType::Bool, (0, 1)),
            (DType::I32, (-100, 100)),
            (DType::I64, (-100, 100)),
        ] {
            let request = request(dtype, 8000);
            assert_eq!(ends(&values(Distribution::Normal, &request)), all, "{dtype}");
            let small = ends(&values(Distribution::Integers, &request));
            assert_eq!(small, (all.0.max(-4), all.1.min(4)), "{dtype}");
            let unit = ends(&values(Distribution::WideIntegers, &request));
            assert_eq!(unit, (all.0.max(-1), all.1.min(1)), "{dtype}");
            assert_eq!(ends(&values(Distribution::Large, &request)), all, "{dtype}");
        }
        let coins = values(Distribution::Normal, &request(DType::Bool, 8000));
        assert!((3700..4300).contains(&coins.iter().sum::<i64>()));
    }

    #[test]
    fn wide_integers_fill_what_the_math_allows() {
        let mut request = request(DType::I64, 8000);
        let (least, most) = ends(&values(Distribution::Uniform, &request));
        assert!(least < -(1 << 39) && most > 1 << 39 && least.abs().max(most) <= 1 << 40, "{least} {most}");
        let powers = values(Distribution::LogUniform, &request);
        for wanted in [-1, 0, 127, 128, 129, -32769, 65536, (1 << 31) - 1, 1 << 31, -(1 << 32) - 1] {
            assert!(powers.contains(&wanted), "{wanted}");
        }
        assert!(powers.iter().all(|v| v.abs() <= 1 << 40));
        request.most = 3;
        assert_eq!(ends(&values(Distribution::Uniform, &request)), (-3, 3));
    }

    #[test]
    fn one_hot_rows_have_one_value() {
        for dtype in [DType::I8, DType::Bool, DType::U4] {
            let hot = values(Distribution::OneHotLast, &request(dtype, 4000));
            assert!(hot.iter().enumerate().all(|(i, v)| (i % 40 == 39) == (*v != 0)), "{dtype}");
        }
        let mut second = request(DType::I8, 4000);
        second.position = 1;
        assert!(values(Distribution::OneHotFirst, &second).iter().all(|v| *v != 0));
        let pairs = values(Distribution::Cancelling, &request(DType::I8, 4000));
        assert!(pairs.chunks(2).all(|pair| (-1..=0).contains(&(pair[0] + pair[1]))), "-128 has no opposite");
    }

    #[test]
    fn a_declared_range_is_kept_and_reached() {
        for distribution in Distribution::ALL {
            let mut request = request(DType::I32, 100);
            request.range = Some((5, 5000));
            let drawn = values(distribution, &request);
            assert_eq!(ends(&drawn), (5, 4999), "{distribution}");
            let at_ends = BTreeSet::from([drawn[0], drawn[99]]);
            assert_eq!(at_ends, BTreeSet::from([5, 4999]));
            assert_eq!(drawn, values(distribution, &request));
        }
        let mut single = request(DType::I64, 3);
        single.range = Some((-7, -6));
        assert_eq!(values(Distribution::Normal, &single), [-7, -7, -7]);
    }

    #[test]
    fn unique_values_differ() {
        for (to, elements) in [(100, 100), (110, 100), (1_000_000, 100), (9, 2), (9, 1), (9, 0), (2, 2)] {
            let mut request = request(DType::I32, elements);
            (request.range, request.is_unique) = (Some((0, to)), true);
            let drawn = values(Distribution::Normal, &request);
            let set: BTreeSet<i64> = drawn.iter().copied().collect();
            assert_eq!((set.len(), drawn.len()), (elements, elements));
            assert!(drawn.iter().all(|v| (0..to).contains(v)));
            assert!(elements < 2 || ends(&drawn) == (0, to - 1));
        }
    }

    #[test]
    fn impossible_ranges_are_named() {
        let mut request = request(DType::I32, 5);
        (request.range, request.is_unique) = (Some((0, 4)), true);
        let refused = draw(Distribution::Normal, &request).expect_err("four values");
        assert_eq!(refused, "is unique, but 5 elements are more than the values of 0..4");
        (request.range, request.is_unique) = (Some((4, 4)), false);
        assert_eq!(draw(Distribution::Normal, &request), Err("has no value in its range 4..4".to_owned()));
        request.elements = 0;
        assert_eq!(draw(Distribution::Normal, &request), Ok(Vec::new()));
    }
}
