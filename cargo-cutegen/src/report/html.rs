//! Text and numbers as HTML: what comes from a record, a file or a spec goes through [`text`]. Pure.

use std::fmt::Display;

use cutegen_spec::target::Target;

/// Escaped, for an element's text or a quoted attribute.
pub(super) fn text(value: impl Display) -> String {
    let mut escaped = String::new();
    for c in value.to_string().chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // no part of HTML
            c if c.is_control() && c != '\n' && c != '\t' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A coordinate of a drawing.
pub(super) fn at(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The target as people say it.
pub(super) fn target(target: &str) -> &str {
    if target == Target::host().to_string() { "host" } else { target }
}

/// A number for people, `1.24` or `16,777,216`, three digits at least.
pub(super) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The powers of `base` from the one below `low` to the one above `high`.
pub(super) fn powers(base: f64, low: f64, high: f64) -> Vec<f64> {
    let steps = |value: f64| value.ln() / base.ln();
    // 1e-9: a bound that is a power is not rounded past it
    let (first, last) = ((steps(low) + 1e-9).floor() as i32, (steps(high) - 1e-9).ceil() as i32);
    (first..=last.max(first + 1)).map(|power| base.powi(power)).collect()
}

/// A logarithmic scale between two ends, onto drawing coordinates.
pub(super) struct Scale {
    ends: (f64, f64),
    onto: (f64, f64),
}

impl Scale {
    pub(super) fn new(ends: (f64, f64), onto: (f64, f64)) -> Self {
        Self { ends, onto }
    }

    /// Where a value lies; what is beyond an end lies on it.
    pub(super) fn at(&self, value: f64) -> f64 {
        let (low, high) = self.ends;
        let share = (value.max(low).min(high) / low).ln() / (high / low).ln();
        self.onto.0 + share * (self.onto.1 - self.onto.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, at, grouped, powers, text};

    #[test]
    fn nothing_escapes() {
        assert_eq!(
            text("<b a=\"x\" c='y'>&amp;\u{7}"),
            "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;amp;\u{fffd}"
        );
    }

    #[test]
    fn numbers_for_people_and_drawings() {
        assert_eq!((at(12.0), at(12.34), at(-0.5)), ("12".to_owned(), "12.3".to_owned(), "-0.5".to_owned()));
        assert_eq!([0, 999, 1000, 16_777_216].map(grouped), ["0", "999", "1,000", "16,777,216"]);
    }

    #[test]
    fn scales_are_logarithmic() {
        assert_eq!(powers(2.0, 0.9, 4.0), [0.5, 1.0, 2.0, 4.0]);
        assert_eq!(powers(10.0, 1.0, 1.0), [1.0, 10.0]);
        let scale = Scale::new((1.0, 100.0), (0.0, 200.0));
        assert_eq!(
            [1.0, 10.0, 100.0, 1000.0].map(|value| scale.at(value).round()),
            [0.0, 100.0, 200.0, 200.0]
        );
    }
}
