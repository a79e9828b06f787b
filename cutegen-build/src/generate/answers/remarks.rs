//! What an answer says of its change: the lines `Hypothesis: ...`, `Predicted: 1.3x` and `Hints: h01` outside of the code block.

use cutegen_spec::printable::printable;

use crate::experience::HintId;

/// The longest hypothesis that is kept, in characters.
const HYPOTHESIS_MAX: usize = 300;

/// The remarks that are kept of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Remarks {
    pub(super) hypothesis: Option<String>,
    pub(super) predicted: Option<f64>,
    /// Ids of hints, whether there are such hints or not.
    pub(super) hints: Vec<HintId>,
}

impl Remarks {
    /// Reads what stands before and behind the code block; the first line of each kind counts.
    pub(super) fn of(around: [&str; 2]) -> Self {
        let lines = || around.into_iter().flat_map(str::lines);
        let hypothesis = lines().find_map(|line| named(line, "hypothesis:")).map(capped);
        let predicted = lines().find_map(|line| named(line, "predicted:")).and_then(factor);
        let hints = lines().find_map(|line| named(line, "hints:")).map(ids).unwrap_or_default();
        Self { hypothesis: hypothesis.filter(|text| !text.is_empty()), predicted, hints }
    }
}

/// What follows a name at the start of a line; marks of Markdown around the name are left out.
fn named<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let line = line.trim_start_matches(is_mark);
    let head = line.get(..name.len())?;
    head.eq_ignore_ascii_case(name).then(|| line[name.len()..].trim_matches(is_emphasis))
}

fn is_mark(c: char) -> bool {
    is_emphasis(c) || matches!(c, '#' | '>' | '-')
}

fn is_emphasis(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '_')
}

fn capped(text: &str) -> String {
    printable(&text.replace('\t', " ")).chars().take(HYPOTHESIS_MAX).collect()
}

/// The ids in a list, each once.
fn ids(text: &str) -> Vec<HintId> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '`' | '.'));
    let mut found = Vec::new();
    for id in words.filter_map(|word| HintId::parse(word).ok()) {
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// The number before the first `x`: a finite one above 0.
pub(super) fn factor(text: &str) -> Option<f64> {
    let (before, _) = text.split_once(['x', '×'])?;
    let number: f64 = before.trim_end().parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::Remarks;

    #[test]
    fn both_are_read_before_or_behind() {
        let wanted = Remarks {
            hypothesis: Some("fewer barriers".to_owned()),
            predicted: Some(1.3),
            ..Remarks::default()
        };
        for around in [
            ["Hypothesis: fewer barriers\nPredicted: 1.3x\n", ""],
            ["", "\nPredicted: 1.3x faster\nHypothesis: fewer barriers  \n"],
            ["**Hypothesis:** fewer barriers\n", "- predicted: 1.30 ×\nPredicted: 2x\nHypothesis: another\n"],
        ] {
            assert_eq!(Remarks::of(around), wanted, "{around:?}");
        }
        assert_eq!(
            Remarks::of(["My Hypothesis: no\nHypotheses: no\n", "Hypothesis:  \n"]),
            Remarks::default()
        );
    }

    #[test]
    fn a_prediction_is_a_number_above_zero() {
        let of = |text: &str| Remarks::of([&format!("Predicted: {text}\n"), ""]).predicted;
        assert_eq!([of("1x"), of("12.5x"), of("0.9x")], [Some(1.0), Some(12.5), Some(0.9)]);
        for text in ["", "x", "1.3", "infx", "NaNx", "-2x", "0x", "1,3x", "1.2-1.3x", "1e999x", "two x"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn hints_are_cited_by_their_ids() {
        let of = |text: &str| -> Vec<String> {
            Remarks::of([text, ""]).hints.iter().map(ToString::to_string).collect()
        };
        assert_eq!(of("Hints: h07, h12\n"), ["h07", "h12"]);
        assert_eq!(of("**Hints:** `h07`; h12 h07.\nHints: h1\n"), ["h07", "h12"]);
        assert_eq!(of("Hints: H07, ../x, -a, none of these\n"), ["none", "of", "these"]);
        assert_eq!(of("Hint: h07\n"), [""; 0]);
    }

    #[test]
    fn a_hypothesis_is_short_and_printable() {
        let of = |text: &str| Remarks::of(["", &format!("Hypothesis: {text}")]).hypothesis.expect("text");
        assert_eq!(of("a\u{1b}[2Jb\u{202e}c"), "a\\u{1b}[2Jb\\u{202e}c");
        assert_eq!(of(&"é".repeat(400)), "é".repeat(300));
    }
}
