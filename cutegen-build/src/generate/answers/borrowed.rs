//! Lines of a source that stand in a header of the toolchain: a long run of them was copied, and has its licence.
//! It compares lines without comments and blanks; empty lines and those of braces alone are left out on both sides.

use std::collections::HashMap;
use std::fmt;

use super::normal::uncommented;

/// A run of more lines than these is borrowed.
pub const LINES_MAX: usize = 12;
const WINDOW: usize = LINES_MAX + 1;

/// Headers, to look for their lines.
#[derive(Debug, Default)]
pub struct Index {
    headers: Vec<(String, Vec<Line>)>,
    /// Where each window of lines begins: header and index of its first line.
    windows: HashMap<u64, Vec<(usize, usize)>>,
}

/// A run of lines that a source shares with a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Borrowed {
    /// The header's name.
    pub header: String,
    /// Where it begins in the header, from 1.
    pub header_line: usize,
    /// Where it begins in the source, from 1.
    pub line: usize,
    /// Its lines, without those that don't count.
    pub lines: usize,
}

impl Borrowed {
    /// Why that is refused.
    pub const REASON: &str = "it repeats a header of the toolchain, which has a licence of its own";
}

impl fmt::Display for Borrowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { header, header_line, lines, .. } = self;
        write!(f, "{lines} lines in a row stand in {header} from line {header_line}: include it instead")
    }
}

/// A line that counts.
#[derive(Clone, Copy, Debug)]
struct Line {
    number: usize,
    hash: u64,
}

impl Index {
    /// Of headers with their texts.
    pub fn of(headers: impl Iterator<Item = (String, String)>) -> Self {
        let mut index = Self::default();
        for (name, text) in headers {
            let lines = lines(&text);
            for (at, window) in lines.windows(WINDOW).enumerate() {
                index.windows.entry(hash(window)).or_default().push((index.headers.len(), at));
            }
            index.headers.push((name, lines));
        }
        index
    }

    /// The longest run of more than [`LINES_MAX`] lines; of equal ones the first in the source.
    #[must_use]
    pub fn find(&self, source: &str) -> Option<Borrowed> {
        let source = lines(source);
        let mut longest: Option<Borrowed> = None;
        for (at, window) in source.windows(WINDOW).enumerate() {
            for place in self.windows.get(&hash(window)).into_iter().flatten() {
                let found = self.run(&source, at, *place);
                let best = longest.as_ref().map_or(LINES_MAX, |longest| longest.lines);
                longest = found.filter(|found| found.lines > best).or(longest);
            }
        }
        longest
    }

    /// The run that begins here; none where it begins before.
    fn run(&self, source: &[Line], at: usize, (header, from): (usize, usize)) -> Option<Borrowed> {
        let (name, lines) = &self.headers[header];
        if at > 0 && from > 0 && source[at - 1].hash == lines[from - 1].hash {
            return None;
        }
        let pairs = source[at..].iter().zip(&lines[from..]);
        let length = pairs.take_while(|(one, other)| one.hash == other.hash).count();
        let header_line = lines[from].number;
        Some(Borrowed { header: name.clone(), header_line, line: source[at].number, lines: length })
    }
}

/// The lines that count.
fn lines(text: &str) -> Vec<Line> {
    let text = uncommented(text);
    let lines = (1..).zip(text.lines());
    lines.filter_map(|(number, line)| Some(Line { number, hash: hash_of(line)? })).collect()
}

/// The hash of a line without blanks; none where it does not count. Bytes are mixed by hand: a build without optimisation
/// reads megabytes of headers too.
fn hash_of(line: &str) -> Option<u64> {
    let (mut hash, mut counts) = (0, false);
    for byte in line.as_bytes() {
        match byte {
            b' ' | b'\t' | b'\r' => continue,
            b'{' | b'}' | b';' => {}
            _ => counts = true,
        }
        hash = mixed(hash, u64::from(*byte));
    }
    counts.then_some(hash)
}

fn hash(window: &[Line]) -> u64 {
    let mut hash = 0;
    for line in window {
        hash = mixed(hash, line.hash);
    }
    hash
}

/// FNV's step, with the high bits brought down.
fn mixed(hash: u64, next: u64) -> u64 {
    let hash = (hash ^ next).wrapping_add(1).wrapping_mul(0x0100_0000_01b3);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::{Borrowed, Index};

    /// Lines that are all different.
    fn numbered(from: usize, count: usize) -> Vec<String> {
        (from..from + count).map(|number| format!("int v{number} = f({number});")).collect()
    }

    fn index(headers: &[(&str, String)]) -> Index {
        Index::of(headers.iter().map(|(name, text)| ((*name).to_owned(), text.clone())))
    }

    #[test]
    fn a_run_of_thirteen_lines_is_found_and_twelve_are_not() {
        let index = index(&[("a.h", numbered(0, 5).join("\n")), ("b.h", numbered(100, 40).join("\n"))]);
        let source = |count| format!("// mine\nint own;\n{}\nint other;\n", numbered(110, count).join("\n"));
        assert_eq!(index.find(&source(12)), None);
        for count in [13, 20] {
            let found = Borrowed { header: "b.h".to_owned(), header_line: 11, line: 3, lines: count };
            assert_eq!(index.find(&source(count)), Some(found));
        }
    }

    #[test]
    fn comments_blanks_and_braces_do_not_hide_a_run() {
        let header =
            format!("#pragma once\n/* licence\n text */\nint g() {{\n{}\n}}\n", numbered(0, 13).join("\n"));
        let index = index(&[("a.h", header)]);
        let disguised: Vec<String> = numbered(0, 13)
            .iter()
            .map(|line| format!("{{\n\n  {} // remark\n;\n/* more\n */", line.replace(' ', "\t  ")))
            .collect();
        let found = index.find(&disguised.join("\n")).expect("found");
        assert_eq!((found.header_line, found.line, found.lines), (5, 3, 13));
        let broken = disguised.join("\n").replace("v7", "w7");
        assert_eq!(index.find(&broken), None);
    }

    #[test]
    fn the_longest_run_of_several_is_told() {
        let headers = [
            ("a.h", numbered(0, 14).join("\n")),
            ("b.h", [numbered(50, 3), numbered(0, 30)].concat().join("\n")),
        ];
        let index = index(&headers);
        let source = [numbered(0, 13), vec!["int own;".to_owned()], numbered(5, 20)].concat().join("\n");
        let found = Borrowed { header: "b.h".to_owned(), header_line: 9, line: 15, lines: 20 };
        assert_eq!(index.find(&source), Some(found));
    }

    /// All pairs of places, without hashes of windows.
    fn by_hand(header: &[String], source: &[String]) -> usize {
        let run = |at: usize, from: usize| {
            source[at..].iter().zip(&header[from..]).take_while(|(one, other)| one == other).count()
        };
        let runs = (0..source.len()).flat_map(|at| (0..header.len()).map(move |from| (at, from)));
        runs.map(|(at, from)| run(at, from)).max().unwrap_or(0)
    }

    #[test]
    fn repeated_lines_agree_with_a_search_by_hand() {
        for period in [1, 3, 20] {
            let repeated = |count: usize| -> Vec<String> {
                (0..count).map(|at| format!("case {}: f();", at % period)).collect()
            };
            for (header, source) in
                [(repeated(40), repeated(30)), (repeated(14), [repeated(12), repeated(16)].concat())]
            {
                let most = by_hand(&header, &source);
                let found = index(&[("a.h", header.join("\n"))])
                    .find(&source.join("\n"))
                    .map_or(0, |found| found.lines);
                assert_eq!(found, if most > 12 { most } else { 0 }, "period {period}");
            }
        }
    }

    #[test]
    fn an_empty_text_borrows_nothing() {
        assert_eq!(index(&[("a.h", String::new())]).find(""), None);
        assert_eq!(Index::default().find("int a;\n"), None);
    }
}
