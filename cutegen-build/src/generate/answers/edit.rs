//! Edits of a source: old lines that stand in it once, and the new lines in their place.

use std::ops::Range;

use super::Problem;
use super::nearest;

const OPEN: &str = "<<<<<<< old";
const MIDDLE: &str = "=======";
const CLOSE: &str = ">>>>>>> new";
/// How each of the markers begins.
const MARKS: [&str; 3] = ["<<<<<<<", "=======", ">>>>>>>"];

/// As many edits are read, and as many old lines of all together: what changes more is a new source.
const EDITS_MAX: usize = 64;
const OLD_LINES_MAX: usize = 2000;

/// One edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit<'a> {
    /// The line of the answer that opens it.
    pub(super) line: usize,
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
}

/// A source with its edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) source: String,
    /// For each line of the source, its line in the answer where an edit brought it.
    pub(super) lines: Vec<Option<usize>>,
    /// The line of the answer at which the first edit opens.
    pub(super) first: usize,
}

/// Where a text first has a line that opens an edit.
pub(super) fn marker(text: &str) -> Option<usize> {
    let lines = text.split_inclusive('\n').scan(0, |at, line| {
        let from = *at;
        *at += line.len();
        Some((from, line))
    });
    lines.into_iter().find(|(_, line)| line.trim_end() == OPEN).map(|(from, _)| from)
}

/// Reads the edits in a block whose first line is line `first` of the answer.
pub(super) fn parse(text: &str, first: usize) -> Result<Vec<Edit<'_>>, Problem> {
    let mut parser = Parser { edits: Vec::new(), side: Side::Outside };
    for (line, text) in (first..).zip(text.lines()) {
        parser.line(line, text).map_err(|message| Problem { line: Some(line), message })?;
    }
    let wrong = |line: usize, message: String| Err(Problem { line: Some(line), message });
    let old_lines: usize = parser.edits.iter().map(|edit| edit.old.len()).sum();
    match (&parser.side, parser.edits.last()) {
        (_, None) => wrong(first, format!("the block holds no edit: one begins with the line `{OPEN}`")),
        (Side::Outside, Some(_)) if parser.edits.len() > EDITS_MAX || old_lines > OLD_LINES_MAX => {
            let count = parser.edits.len();
            let told =
                format!("{count} edits with {old_lines} old lines; at most {EDITS_MAX} and {OLD_LINES_MAX}");
            wrong(first, format!("{told}: give the whole source"))
        }
        (Side::Outside, Some(_)) => Ok(parser.edits),
        (Side::Old | Side::New, Some(open)) => {
            wrong(open.line, format!("the edit that begins here does not end with the line `{CLOSE}`"))
        }
    }
}

/// Puts the new lines of all edits in place of their old ones.
pub(super) fn apply(source: &str, edits: &[Edit<'_>]) -> Result<Edited, Vec<Problem>> {
    let lines: Vec<&str> = source.lines().collect();
    let mut places = Vec::new();
    let mut problems = Vec::new();
    for edit in edits {
        match place(&lines, edit) {
            Ok(range) => places.push((range, edit)),
            Err(problem) => problems.push(problem),
        }
    }
    places.sort_by_key(|(range, _)| range.start);
    for pair in places.windows(2).filter(|pair| pair[1].0.start < pair[0].0.end) {
        let (one, other) = (pair[0].1.line.min(pair[1].1.line), pair[0].1.line.max(pair[1].1.line));
        let at = pair[1].0.start + 1;
        let message =
            format!("this edit and that of line {one} both change line {at} of the source: make one of them");
        problems.push(Problem { line: Some(other), message });
    }
    if problems.is_empty() { Ok(put(&lines, &places)) } else { Err(problems) }
}

fn put(lines: &[&str], places: &[(Range<usize>, &Edit<'_>)]) -> Edited {
    let mut edited: Vec<(&str, Option<usize>)> = Vec::new();
    let mut at = 0;
    for (range, edit) in places {
        edited.extend(lines[at..range.start].iter().map(|line| (*line, None)));
        let first = edit.line + edit.old.len() + 2;
        edited.extend(edit.new.iter().zip(first..).map(|(line, number)| (*line, Some(number))));
        at = range.end;
    }
    edited.extend(lines[at..].iter().map(|line| (*line, None)));
    let first = places.iter().map(|(_, edit)| edit.line).min().unwrap_or(1);
    let source = edited.iter().flat_map(|(line, _)| [*line, "\n"]).collect();
    Edited { source, lines: edited.into_iter().map(|(_, number)| number).collect(), first }
}

/// The one place of an edit's old lines.
fn place(lines: &[&str], edit: &Edit<'_>) -> Result<Range<usize>, Problem> {
    let wrong = |line: usize, message: String| Err(Problem { line: Some(line), message });
    if edit.old.iter().all(|line| line.trim().is_empty()) {
        return wrong(
            edit.line,
            "the old text is empty: name lines of the source that it replaces".to_owned(),
        );
    }
    let exact = places(lines, &edit.old, |one, other| one == other);
    let found = if exact.is_empty() {
        places(lines, &edit.old, |one, other| one.trim_end() == other.trim_end())
    } else {
        exact
    };
    match found[..] {
        [] => {
            let (offset, message) = nearest::missing(lines, &edit.old);
            wrong(edit.line + 1 + offset, message)
        }
        [at] => Ok(at..at + edit.old.len()),
        _ => {
            let at: Vec<String> = found.iter().take(8).map(|at| (at + 1).to_string()).collect();
            let (count, at) = (found.len(), at.join(", "));
            let told = format!("the old text stands {count} times in the source, at lines {at}");
            wrong(edit.line, told)
        }
    }
}

/// All indices at which old lines stand in a row.
fn places(lines: &[&str], old: &[&str], is_same: impl Fn(&str, &str) -> bool) -> Vec<usize> {
    let stands = |window: &[&str]| window.iter().zip(old).all(|(one, other)| is_same(one, other));
    let windows = (0..).zip(lines.windows(old.len()));
    windows.filter(|(_, window)| stands(window)).map(|(at, _)| at).collect()
}

/// Where in an edit a line is.
enum Side {
    Outside,
    Old,
    New,
}

struct Parser<'a> {
    edits: Vec<Edit<'a>>,
    side: Side,
}

impl<'a> Parser<'a> {
    fn line(&mut self, line: usize, text: &'a str) -> Result<(), String> {
        let is_marker = MARKS.iter().any(|mark| text.starts_with(mark));
        match (&self.side, text.trim_end()) {
            (Side::Outside, OPEN) => {
                self.edits.push(Edit { line, old: Vec::new(), new: Vec::new() });
                self.side = Side::Old;
            }
            (Side::Outside, "") => {}
            (Side::Outside, text) => return Err(stray(text, OPEN)),
            (Side::Old, MIDDLE) => self.side = Side::New,
            (Side::New, CLOSE) => self.side = Side::Outside,
            (Side::Old, text) if is_marker => return Err(stray(text, MIDDLE)),
            (Side::New, text) if is_marker => return Err(stray(text, CLOSE)),
            (Side::Old, _) => self.edits.last_mut().expect("one was opened").old.push(text),
            (Side::New, _) => self.edits.last_mut().expect("one was opened").new.push(text),
        }
        Ok(())
    }
}

fn stray(text: &str, wanted: &str) -> String {
    format!("`{}`, where the line `{wanted}` must come", nearest::shown(text))
}

#[cfg(test)]
mod tests {
    use super::{Edit, Edited, apply, parse};

    const SOURCE: &str = "int a;\nint b;  \nint c;\nint a;\nint d;\n";

    fn edited(text: &str) -> Result<Edited, Vec<(Option<usize>, String)>> {
        let told = |problem: super::Problem| (problem.line, problem.message);
        let edits = parse(text, 10).map_err(|problem| vec![told(problem)])?;
        apply(SOURCE, &edits).map_err(|problems| problems.into_iter().map(told).collect())
    }

    fn edit(old: &str, new: &str) -> String {
        format!("<<<<<<< old\n{old}=======\n{new}>>>>>>> new\n")
    }

    #[test]
    fn edits_keep_lines_of_the_answer() {
        let text = format!("{}\n{}", edit("int d;\n", "int e;\nint f;\n"), edit("int b;\nint c;\n", ""));
        let parsed = parse(&text, 10).expect("edits");
        assert_eq!(parsed[0], Edit { line: 10, old: vec!["int d;"], new: vec!["int e;", "int f;"] });
        assert_eq!((parsed.len(), parsed[1].line), (2, 17));
        let found = edited(&text).expect("right");
        assert_eq!(found.source, "int a;\nint a;\nint e;\nint f;\n");
        assert_eq!((found.lines, found.first), (vec![None, None, Some(13), Some(14)], 10));
    }

    #[test]
    fn an_exact_place_goes_before_one_without_trailing_blanks() {
        let source = "int a; \nint a;\n";
        let edits = "<<<<<<< old\nint a;\n=======\nint b;\n>>>>>>> new\n";
        let of = |source: &str| apply(source, &parse(edits, 1).expect("edits")).map(|found| found.source);
        assert_eq!(of(source), Ok("int a; \nint b;\n".to_owned()));
        assert_eq!(of("int a; \n"), Ok("int b;\n".to_owned()));
        assert!(of("int a; \nint a;\t\n").is_err(), "twice without trailing blanks");
    }

    #[test]
    fn what_is_wrong_with_an_edit_has_a_line() {
        let both = edit("int b;\nint c;\n", "x\n") + &edit("int c;\nint a;\n", "y\n");
        let overlap = "this edit and that of line 10 both change line 3 of the source: make one of them";
        assert_eq!(edited(&both), Err(vec![(Some(16), overlap.to_owned())]));
        let twice = "the old text stands 2 times in the source, at lines 1, 4";
        assert_eq!(edited(&edit("int a;\n", "")), Err(vec![(Some(10), twice.to_owned())]));
        let many = edit("int a;\n", "") + &edit("int z;\n", "");
        assert_eq!(edited(&many).expect_err("two").len(), 2);
    }

    #[test]
    fn what_changes_too_much_is_a_source() {
        let told = |text: String| edited(&text).expect_err("too much")[0].1.clone();
        let edits = told(edit("int a;\n", "").repeat(65));
        assert_eq!(edits, "65 edits with 65 old lines; at most 64 and 2000: give the whole source");
        assert!(told(edit(&"x\n".repeat(2001), "")).starts_with("1 edits with 2001 old lines"));
    }
}
