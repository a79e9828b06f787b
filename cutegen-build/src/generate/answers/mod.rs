//! Answers of a generator to the requests of a run, read into [`Content`]: words, a whole source, or edits of one.
//!
//! Reads text alone; it must not know where answers come from, and what a compiler says of them. Invariant: a kernel's
//! source is what the answer says, letter by letter, or the parent's source with the answer's edits.

pub mod borrowed;
mod characters;
mod edit;
mod ideas;
mod nearest;
mod normal;
mod points;
mod remarks;
#[cfg(test)]
mod tests;
mod tried;
mod written;

use cutegen_spec::printable::printable;

use super::proposal::{self, BYTES_MAX, Problem, Proposal};
use crate::experience::HintId;
use crate::plan::Plan;
use crate::run_log::{Ask, Content, Diagnostic, Digest, Kernel, Log, Request, Sequence, Sweep};
pub use points::point;
use remarks::Remarks;
use written::Written;

/// The longest answer, in bytes: a source and what is said of it.
const ANSWER_MAX: usize = 4 * BYTES_MAX;
/// As many problems are told of one answer.
const PROBLEMS_MAX: usize = 20;
/// The longest message, in characters.
const MESSAGE_MAX: usize = 400;

/// Reads an answer to a request of the log; to none, where a kernel was submitted unasked.
#[must_use]
pub fn read(plan: &Plan, log: &Log, request: Option<Sequence>, text: &str) -> Content {
    if text.len() > ANSWER_MAX {
        let message = format!("{} bytes; an answer has at most {ANSWER_MAX}", text.len());
        return unreadable(vec![Problem { line: Some(1), message }]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let asked = request.and_then(|request| log.request(request));
    let content = match asked.map(|asked| asked.ask) {
        Some(Ask::Diagnose) => words(&text),
        Some(Ask::Ideas) => ideas::read(&text),
        Some(Ask::First | Ask::Patch | Ask::Optimise | Ask::Whole | Ask::Variant) | None => {
            let answered = request.and_then(|request| log.answer(request)).map(|(sequence, _)| sequence);
            Reader { plan, log, asked, before: answered.unwrap_or(Sequence::MAX) }.kernel(&text)
        }
    };
    content.unwrap_or_else(unreadable)
}

/// The hints of a run that words cite.
#[must_use]
pub fn cited(log: &Log, words: &str) -> Vec<HintId> {
    known(log, Remarks::of([words, ""]).hints)
}

/// Those of these ids that the run has hints of.
fn known(log: &Log, mut ids: Vec<HintId>) -> Vec<HintId> {
    ids.retain(|id| log.hints().iter().any(|hint| hint.id == *id));
    ids
}

/// A source with a blank for each comment; its lines stay.
#[must_use]
pub fn uncommented(source: &str) -> String {
    normal::uncommented(source)
}

/// What an answer with a kernel is read with.
struct Reader<'a> {
    plan: &'a Plan,
    log: &'a Log,
    asked: Option<&'a Request>,
    /// Only candidates before this one count as tried.
    before: Sequence,
}

impl Reader<'_> {
    fn kernel(&self, text: &str) -> Result<Content, Vec<Problem>> {
        let block = proposal::block(text).map_err(|problem| vec![problem])?;
        let written = Written::read(self.log, self.asked, text, block)?;
        let placed = |problems: Vec<Problem>| written.placed(problems);
        characters::check(&written.source).map_err(|problem| placed(vec![problem]))?;
        let Remarks { hypothesis, predicted, hints } =
            Remarks::of(block.map_or([""; 2], |block| block.around));
        let (hints, first_line) = (known(self.log, hints), written.first_line());
        let points = Proposal::points(self.plan, &written.source, None).map_err(placed)?;
        match &points[..] {
            [proposal] if !proposal::is_swept(&written.source) => {
                if let Some(of) = tried::earlier(self.plan, self.log, self.before, proposal) {
                    return Ok(Content::Repeat { of });
                }
                let (name, identity) = (proposal.name(), Digest(proposal.identity));
                let source = written.source;
                Ok(Content::Kernel(Kernel {
                    name,
                    identity,
                    source,
                    first_line,
                    hypothesis,
                    predicted,
                    hints,
                }))
            }
            _ => {
                let count = u32::try_from(points.len()).unwrap_or(u32::MAX);
                let source = written.source;
                Ok(Content::Sweep(Sweep { source, points: count, first_line, hypothesis, predicted, hints }))
            }
        }
    }
}

/// Words, as a diagnosis is.
fn words(text: &str) -> Result<Content, Vec<Problem>> {
    if text.chars().all(|c| c.is_whitespace() || characters::is_hidden(c)) {
        let message = "the answer is empty: say in words why the kernel failed, and what to change";
        return Err(vec![Problem { line: Some(1), message: message.to_owned() }]);
    }
    Ok(Content::Words)
}

/// Problems as diagnostics, in printable text.
fn unreadable(mut problems: Vec<Problem>) -> Content {
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    problems.truncate(PROBLEMS_MAX);
    let told = |problem: Problem| Diagnostic {
        line: problem.line.and_then(|line| u32::try_from(line).ok()),
        message: printable(&problem.message).chars().take(MESSAGE_MAX).collect(),
    };
    let mut told: Vec<Diagnostic> = problems.into_iter().map(told).collect();
    if more > 0 {
        told.push(Diagnostic { line: None, message: format!("and {more} more of these") });
    }
    Content::Unreadable(told)
}
