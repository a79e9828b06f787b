//! The source that an answer gives: a whole one, or its parent's with edits. Keeps where in the answer each line stands.

use super::edit::{self, Edited};
use super::{Ask, Log, Problem, Request};
use crate::generate::proposal::Block;

/// What the fence of edits is called.
const EDIT: &str = "edit";

/// A source as an answer gives it.
pub(super) struct Written {
    pub(super) source: String,
    lines: Lines,
}

/// Where lines of the source stand in the answer.
enum Lines {
    /// All of them, from this one.
    From(usize),
    /// Those of edits; none for lines of the parent, for which the first edit's line stands.
    Edits(Vec<Option<usize>>, usize),
}

impl Written {
    /// Reads an answer with its code block.
    pub(super) fn read(
        log: &Log,
        asked: Option<&Request>,
        text: &str,
        block: Option<Block<'_>>,
    ) -> Result<Self, Vec<Problem>> {
        let wrong = |line: usize, message: String| vec![Problem { line: Some(line), message }];
        let Some(block) = block else { return unfenced(text) };
        if !block.info.eq_ignore_ascii_case(EDIT) {
            return whole(block.text, block.line);
        }
        let at = block.line - 1;
        if asked.is_some_and(|asked| asked.ask == Ask::Whole) {
            let message = "edits, where a whole source is asked for: give all of it in the code block";
            return Err(wrong(at, message.to_owned()));
        }
        let parent = parent(log, asked).map_err(|message| wrong(at, message))?;
        let edits = edit::parse(block.text, block.line).map_err(|problem| vec![problem])?;
        let Edited { source, lines, first } = edit::apply(parent, &edits)?;
        Ok(Self { source, lines: Lines::Edits(lines, first) })
    }

    /// Problems of the source with their lines in the answer.
    pub(super) fn placed(&self, problems: Vec<Problem>) -> Vec<Problem> {
        problems.into_iter().map(|problem| self.place(problem)).collect()
    }

    /// The line of the answer at which the source begins; none where edits gave it.
    pub(super) fn first_line(&self) -> Option<u32> {
        match self.lines {
            Lines::From(first) => u32::try_from(first).ok(),
            Lines::Edits(..) => None,
        }
    }

    fn place(&self, problem: Problem) -> Problem {
        match (&self.lines, problem.line) {
            (Lines::From(first), Some(_)) => problem.below(*first),
            (Lines::From(first) | Lines::Edits(_, first), None) => Problem { line: Some(*first), ..problem },
            (Lines::Edits(lines, first), Some(line)) => match lines.get(line - 1).copied().flatten() {
                Some(line) => Problem { line: Some(line), ..problem },
                None => {
                    let message = format!("line {line} of the edited source: {}", problem.message);
                    Problem { line: Some(*first), message }
                }
            },
        }
    }
}

/// An answer without a code block is a source where it begins as one.
fn unfenced(text: &str) -> Result<Written, Vec<Problem>> {
    if text.trim_start().starts_with("//") || edit::marker(text).is_some() {
        return whole(text, 1);
    }
    let message = "no line begins with ```: the source stands in one code block, its contract at the top";
    Err(vec![Problem { line: Some(1), message: message.to_owned() }])
}

/// A whole source, without the empty lines before it.
fn whole(text: &str, line: usize) -> Result<Written, Vec<Problem>> {
    let at = |offset: usize| line + text[..offset].matches('\n').count();
    let wrong =
        |line: usize, message: &str| Err(vec![Problem { line: Some(line), message: message.to_owned() }]);
    let begin = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
    let begin = text[..begin].rfind('\n').map_or(0, |end| end + 1);
    if text[begin..].trim().is_empty() {
        return wrong(line, "the code block is empty: it holds the whole source, its contract at the top");
    }
    if let Some(marker) = edit::marker(text) {
        return wrong(
            at(marker),
            "an edit in another place: edits stand in a code block that opens with ```edit",
        );
    }
    if ["@@ ", "--- ", "diff "].iter().any(|mark| text[begin..].starts_with(mark)) {
        return wrong(
            at(begin),
            "a unified diff is not read: give edits in a block ```edit, or the whole source",
        );
    }
    Ok(Written { source: text[begin..].to_owned(), lines: Lines::From(at(begin)) })
}

/// The source that edits are of.
fn parent<'a>(log: &'a Log, asked: Option<&Request>) -> Result<&'a str, String> {
    let about = asked.and_then(|asked| asked.about);
    let Some(about) = about else {
        return Err("edits, and there is no source to edit: give the whole source".to_owned());
    };
    let kernel = log.kernel(about).ok_or_else(|| {
        format!("edits, and candidate {about} has no source that was read: give the whole source")
    })?;
    Ok(&kernel.source)
}
