//! [`Diagnostic`]: one thing wrong with a spec, with the place in its file. Rendering with carets is the build
//! crate's; this is the data.

use std::collections::BTreeSet;
use std::ops::Range;

/// A stable diagnostic code. The number never changes meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

/// The TOML itself does not parse.
pub const TOML: Code = Code(1);
/// A key is unknown, missing or of the wrong type.
pub const SCHEMA: Code = Code(2);
/// A name breaks the naming rule, repeats or shadows.
pub const NAME: Code = Code(3);
/// An axis declaration is wrong.
pub const AXIS: Code = Code(4);
/// A tensor declaration is wrong.
pub const TENSOR: Code = Code(5);
/// A target, workload or setting is wrong.
pub const SETTING: Code = Code(6);
/// The math does not parse.
pub const SYNTAX: Code = Code(10);
/// The math names something that is not declared.
pub const UNDECLARED: Code = Code(11);
/// An access does not fit its tensor, or may leave it.
pub const ACCESS: Code = Code(12);
/// An assignment is missing, doubled or of the wrong shape.
pub const ASSIGN: Code = Code(13);
/// A word of edition 1's grammar that this version reserves but does not compute yet.
pub const RESERVED: Code = Code(14);
/// A condition stands where a number is needed, a real where an integer is, or the other way round.
pub const KIND: Code = Code(15);
/// An index may leave its tensor, or cannot be shown to stay inside.
pub const RANGE: Code = Code(16);
/// Two elements of an `inout` may be written at one place.
pub const COLLIDE: Code = Code(17);
/// The math is too long, too deep or expands to too much.
pub const SIZE: Code = Code(18);

/// Every code, by number. Each has a page in `docs/errors/`.
pub const CODES: [Code; 15] = [
    TOML, SCHEMA, NAME, AXIS, TENSOR, SETTING, SYNTAX, UNDECLARED, ACCESS, ASSIGN, RESERVED, KIND, RANGE,
    COLLIDE, SIZE,
];

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CG{:03}", self.0)
    }
}

/// One error of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule is broken.
    pub code: Code,
    /// What is wrong, in one lower-case line.
    pub message: String,
    /// Byte range in the file.
    pub span: Range<usize>,
    /// What stands beside the caret: usually what was expected.
    pub label: String,
    /// How to repair it, when known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic without help.
    #[must_use]
    pub fn new(code: Code, span: Range<usize>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { code, message: one_line(message.into()), span, label: one_line(label.into()), help: None }
    }

    /// Adds how to repair it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// `text`, whose quotes from a spec may have line ends, in one line.
fn one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace('\n', "\\n").replace('\r', "\\r") } else { text }
}

/// The candidate that `word` is a slip of the pen away from, or written in another way: case, `-` and `_` count for
/// nothing. A slip changes no digits, and of two candidates that are as near none is meant: `log10` is not `log1p`.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: BTreeSet<&str> = candidates.into_iter().collect();
    let plain = folded(word);
    if let Some(same) = candidates.iter().find(|candidate| folded(candidate) == plain) {
        return Some(same);
    }
    let limit = slips(word);
    let mut near: Vec<_> = candidates
        .into_iter()
        .filter(|candidate| digits(candidate) == digits(word))
        // a missing end is the likeliest slip: `input` is nearer to `inputs` than to `inout`
        .map(|candidate| ((distance(word, candidate), !candidate.starts_with(word)), candidate))
        .filter(|((distance, _), _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    match near.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        near => near.first().map(|(_, candidate)| *candidate),
    }
}

/// In lower case, without `-` and `_`.
#[must_use]
pub(crate) fn folded(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// How many letters of `word` may be wrong. Of one letter every other one is a slip away.
fn slips(word: &str) -> usize {
    match word.chars().count() {
        0..2 => 0,
        2..9 => 1,
        _ => 2,
    }
}

fn digits(word: &str) -> Vec<char> {
    let mut digits: Vec<char> = word.chars().filter(char::is_ascii_digit).collect();
    digits.sort_unstable();
    digits
}

/// Letters to be put in, left out, replaced or exchanged with the next one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let above = &rows[i - 1];
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::{CODES, nearest};

    #[test]
    fn a_quoted_line_end_is_written_out() {
        let error = super::Diagnostic::new(super::Code(5), 0..1, "`i4\n, k]` has no `[`", "at \r\n");
        assert_eq!((error.message.as_str(), error.label.as_str()), ("`i4\\n, k]` has no `[`", "at \\r\\n"));
    }

    #[test]
    fn every_code_is_listed_by_number() {
        let is_code = |line: &&str| line.starts_with("pub const ") && line.contains(": Code = ");
        let declared = include_str!("diagnostic.rs").lines().filter(is_code);
        assert_eq!(declared.count(), CODES.len());
        assert!(CODES.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn suggests_only_near_misses() {
        let words = ["gelu_tanh", "tanh", "silu"];
        assert_eq!(nearest("gelu_tahn", words), Some("gelu_tanh"));
        assert_eq!(nearest("sillu", words), Some("silu"));
        assert_eq!(nearest("Gelu-Tanh", words), Some("gelu_tanh"));
        assert_eq!(nearest("convolve", words), None);
        assert_eq!(nearest("z", ["x", "c"]), None);
        assert_eq!(nearest("bf61", ["f16", "bf16"]), Some("bf16"));
    }

    #[test]
    fn other_digits_are_no_slip_and_neither_is_a_tie() {
        assert_eq!(nearest("log10", ["log1p", "log2", "log"]), None);
        assert_eq!(nearest("sm_80", ["sm_90a", "host"]), None);
        assert_eq!(nearest("inpt", ["input", "inpu"]), None);
        assert_eq!(nearest("input", ["inout", "inputs"]), Some("inputs"));
        assert_eq!(nearest("xa", ["xb", "xb"]), Some("xb"), "one name twice is no tie");
    }
}
