//! What is said of old lines that are not in a source: the line of the source that is most like them.

use std::collections::BTreeSet;

/// Only so many bytes of a line are compared, and so many characters shown.
const COMPARED: usize = 200;
const SHOWN: usize = 80;
/// Lines that share fewer pairs of bytes are not alike, in percent.
const LIKE: usize = 40;

/// Which of the old lines is not where it should be, from 0, and what is said of it.
pub(super) fn missing(lines: &[&str], old: &[&str]) -> (usize, String) {
    let known: BTreeSet<&str> = lines.iter().map(|line| line.trim_end()).collect();
    match old.iter().position(|line| !known.contains(line.trim_end())) {
        Some(at) => (at, unknown(lines, old[at])),
        None => torn(lines, old),
    }
}

/// A line's text within a message.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim();
    let short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

/// Of a line that is nowhere in the source.
fn unknown(lines: &[&str], line: &str) -> String {
    let told = format!("`{}` is not in the source", shown(line));
    let wanted = pairs(line);
    let alike = (1..).zip(lines).map(|(number, other)| (likeness(&wanted, &pairs(other)), number, other));
    let best = alike.reduce(|best, next| if next.0 > best.0 { next } else { best });
    match best {
        Some((like, number, other)) if like >= LIKE => {
            format!("{told}; nearest is line {number}, `{}`", shown(other))
        }
        Some(_) | None => format!("{told}, and no line is like it"),
    }
}

/// Of lines that are all in the source, and not in a row.
fn torn(lines: &[&str], old: &[&str]) -> (usize, String) {
    let run = |at: usize| {
        let pairs = lines[at..].iter().zip(old);
        pairs.take_while(|(line, old)| line.trim_end() == old.trim_end()).count()
    };
    let runs = (0..lines.len()).map(|at| (run(at), at));
    let (length, at) = runs.reduce(|best, next| if next.0 > best.0 { next } else { best }).unwrap_or((0, 0));
    let there = lines.get(at + length).map_or("its end".to_owned(), |line| format!("`{}`", shown(line)));
    let offset = length.min(old.len().saturating_sub(1));
    let told = format!("the old lines do not stand in a row: behind line {} the source has", at + length);
    (offset, format!("{told} {there}, and the old text `{}`", shown(old[offset])))
}

/// The pairs of neighbouring bytes of a line without blanks, sorted.
fn pairs(line: &str) -> Vec<[u8; 2]> {
    let bytes: Vec<u8> = line.bytes().filter(|byte| !byte.is_ascii_whitespace()).take(COMPARED).collect();
    let mut pairs: Vec<[u8; 2]> = bytes.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    pairs.sort_unstable();
    pairs
}

/// How many of the pairs two lines share, in percent.
fn likeness(one: &[[u8; 2]], other: &[[u8; 2]]) -> usize {
    let (mut left, mut right, mut shared) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(left), other.get(right)) {
        shared += usize::from(a == b);
        left += usize::from(a <= b);
        right += usize::from(b <= a);
    }
    (200 * shared).checked_div(one.len() + other.len()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{likeness, missing, pairs, shown};

    #[test]
    fn likeness_counts_pairs_that_both_have() {
        let of = |one: &str, other: &str| likeness(&pairs(one), &pairs(other));
        // night: ni ig gh ht; nacht: na ac ch ht; one of four
        assert_eq!((of("night", "nacht"), of("a b c", "abc"), of("abc", "xyz"), of("", "")), (25, 100, 0, 0));
        assert_eq!(of("aaaa", "aa"), 50);
    }

    #[test]
    fn the_nearest_line_is_named() {
        let lines = ["float sum = 0;", "for (int i = 0; i < n; ++i) sum += x[i];", "y[0] = sum;"];
        let (at, told) = missing(&lines, &["float sum = 0;", "for (int i = 0; i < n; i++) sum += x[i];"]);
        assert_eq!(at, 1);
        assert_eq!(
            told,
            "`for (int i = 0; i < n; i++) sum += x[i];` is not in the source; nearest is line 2, `for (int i = 0; i < \
             n; ++i) sum += x[i];`"
        );
        let (_, told) = missing(&lines, &["__syncthreads();"]);
        assert_eq!(told, "`__syncthreads();` is not in the source, and no line is like it");
    }

    #[test]
    fn lines_that_are_not_in_a_row_are_told() {
        let lines = ["a", "b", "c", "a"];
        let told =
            "the old lines do not stand in a row: behind line 2 the source has `c`, and the old text `a`";
        assert_eq!(missing(&lines, &["a", "b", "a"]), (2, told.to_owned()));
        let told =
            "the old lines do not stand in a row: behind line 1 the source has `b`, and the old text `c`";
        assert_eq!(missing(&lines, &["a", "c"]), (1, told.to_owned()));
        let told =
            "the old lines do not stand in a row: behind line 4 the source has its end, and the old text `b`";
        assert_eq!(missing(&["x", "y", "b", "c"], &["c", "b"]), (1, told.to_owned()));
    }

    #[test]
    fn a_long_line_is_cut() {
        assert_eq!(shown(&format!("  {}", "é".repeat(81))), format!("{}...", "é".repeat(80)));
    }
}
