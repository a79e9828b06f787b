//! The source in a reply: all of it, or its one fenced code block.

use super::Problem;

const FENCE: &str = "```";

/// A fenced code block of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// What stands behind the opening fence, such as `cuda`.
    pub info: &'a str,
    /// What stands between the fences.
    pub text: &'a str,
    /// The line of the reply at which the text begins, from 1.
    pub line: usize,
    /// What stands before and behind the block.
    pub around: [&'a str; 2],
}

/// The one code block of a reply, if it has any.
///
/// # Errors
/// Several code blocks, or one that does not end: which one is meant is not guessed.
pub fn block(reply: &str) -> Result<Option<Block<'_>>, Problem> {
    let mut fences = Vec::new();
    let mut at = 0;
    for (number, line) in reply.split_inclusive('\n').enumerate() {
        if line.trim_start().starts_with(FENCE) {
            fences.push((at, at + line.len(), number + 1));
        }
        at += line.len();
    }
    match fences[..] {
        [] => Ok(None),
        [(.., line)] => {
            let message = format!("the code block that begins here does not end: close it with {FENCE}");
            Err(Problem { line: Some(line), message })
        }
        [(open, from, line), (to, behind, _)] => {
            let info = reply[open..from].trim().trim_start_matches('`').trim();
            let around = [&reply[..open], &reply[behind..]];
            Ok(Some(Block { info, text: &reply[from..to], line: line + 1, around }))
        }
        [_, _, third, ..] => {
            let message =
                format!("{} lines begin with {FENCE}: there is one code block, or none", fences.len());
            Err(Problem { line: Some(third.2), message })
        }
    }
}

/// The source, and the line of the reply at which it begins, from 1.
///
/// # Errors
/// Those of [`block`].
pub fn source(reply: &str) -> Result<(&str, usize), Problem> {
    Ok(block(reply)?.map_or((reply, 1), |block| (block.text, block.line)))
}

#[cfg(test)]
mod tests {
    use super::{block, source};

    #[test]
    fn a_reply_is_a_source_or_holds_one() {
        assert_eq!(source("int a;\n"), Ok(("int a;\n", 1)));
        assert_eq!(source("Here:\n\n```cuda\nint a;\nint b;\n```\nDone.\n"), Ok(("int a;\nint b;\n", 4)));
        assert_eq!(source("```\nint a;\n").expect_err("open").line, Some(1));
        assert_eq!(source("```\na\n```\n```\nb\n```\n").expect_err("two").line, Some(4));
    }

    #[test]
    fn a_block_says_what_it_is_and_what_is_around() {
        let found = block("Here:\n``` edit \na\n```\nDone.\n").expect("one block").expect("a block");
        assert_eq!((found.info, found.text, found.line), ("edit", "a\n", 3));
        assert_eq!(found.around, ["Here:\n", "Done.\n"]);
        assert_eq!(block("no block\n"), Ok(None));
    }
}
