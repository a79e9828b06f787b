//! Numbers as short text for messages and prompts, the same on every machine. It knows no tensor and no bound.

/// Digits that tell values of f32 apart.
const DIGITS: usize = 7;
/// Digits that tell values of f64 apart.
const DIGITS_OF_F64: usize = 17;

/// A value in so many significant digits, without zeros behind the last one.
#[must_use]
pub fn short(value: f64, digits: usize) -> String {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    let Some((_, exponent)) = text.split_once('e') else { return text };
    let (rounded, exponent) = (text.parse().unwrap_or(value), exponent.parse().unwrap_or(0));
    if (-4..7).contains(&exponent) { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// A value as short as those of f32 are.
#[must_use]
pub fn value(value: f64) -> String {
    short(value, DIGITS)
}

/// Two values, with more digits where they would look alike.
#[must_use]
pub fn pair(one: f64, other: f64) -> [String; 2] {
    let told = |digits: usize| [one, other].map(|value| short(value, digits));
    let found = (DIGITS..DIGITS_OF_F64).map(told).find(|[one, other]| one != other);
    found.unwrap_or_else(|| told(DIGITS_OF_F64))
}

/// A quantity in three significant digits, with the prefix that shows them: `2.34 GB/s`.
#[must_use]
pub fn scaled(value: f64, unit: &str) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (by, prefix) = prefixes.into_iter().find(|(by, _)| value >= *by).unwrap_or((1.0, ""));
    format!("{} {prefix}{unit}", short(value / by, 3))
}

#[cfg(test)]
mod tests {
    use super::{pair, scaled, short, value};

    #[test]
    fn numbers_are_short_and_whole() {
        for (number, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-2.0, "-2"),
            (1e-7, "1e-7"),
            (0.125, "0.125"),
            (5_131.638_671_875, "5131.639"),
            (1.0 / 3.0, "0.3333333"),
            (9_999_999.9, "1e7"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(value(number), text);
        }
        assert_eq!((short(0.012_345, 3), short(41.0, 2)), ("0.0123".to_owned(), "41".to_owned()));
    }

    #[test]
    fn two_values_that_differ_look_different() {
        assert_eq!(pair(5_131.638_671_875, 6_436.8), ["5131.639", "6436.8"]);
        assert_eq!(pair(1.0, 1.000_000_000_01), ["1", "1.00000000001"]);
        assert_eq!(pair(2.0, 2.0), ["2", "2"]);
    }

    #[test]
    fn quantities_show_digits_at_any_size() {
        let told = [1.75e12, 5e11, 2.346e9, 7.5e3, 12.0].map(|rate| scaled(rate, "B/s"));
        assert_eq!(told, ["1.75 TB/s", "500 GB/s", "2.35 GB/s", "7.5 kB/s", "12 B/s"]);
    }
}
