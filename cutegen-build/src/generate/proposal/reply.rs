//! The source in a reply: all of it, or its one fenced code block.

use super::Problem;

const FENCE: &str = "```";

/// The source, and the line of the reply at which it begins, from 1.
///
/// # Errors
/// Several code blocks, or one that does not end: which one is meant is not guessed.
pub fn source(reply: &str) -> Result<(&str, usize), Problem> {
    let mut fences = Vec::new();
    let mut at = 0;
    for (number, line) in reply.split_inclusive('\n').enumerate() {
        if line.trim_start().starts_with(FENCE) {
            fences.push((at, at + line.len(), number + 1));
        }
        at += line.len();
    }
    match fences[..] {
        [] => Ok((reply, 1)),
        [(_, from, line), (to, ..)] => Ok((&reply[from..to], line + 1)),
        _ => {
            let message =
                format!("{} lines begin with {FENCE}: there is one code block, or none", fences.len());
            Err(Problem { line: fences.get(2).or(fences.last()).map(|fence| fence.2), message })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn a_reply_is_a_source_or_holds_one() {
        assert_eq!(source("int a;\n"), Ok(("int a;\n", 1)));
        assert_eq!(source("Here:\n\n```cuda\nint a;\nint b;\n```\nDone.\n"), Ok(("int a;\nint b;\n", 4)));
        assert_eq!(source("```\nint a;\n").expect_err("open").line, Some(1));
        assert_eq!(source("```\na\n```\n```\nb\n```\n").expect_err("two").line, Some(4));
    }
}
