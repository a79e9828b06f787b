//! Where the content of a TOML string stands in its file: escapes, a trimmed first newline and line-ending
//! backslashes make the two differ. Knows the four kinds of strings, and nothing about math.

use std::ops::Range;

/// One character of the content, and the text that stands for it.
struct Piece {
    char: char,
    text: Range<usize>,
}

/// The range of `token`, a string with its quotes, that the range `inside` of its `content` was read from. `None`
/// when the token does not decode to that content.
pub(super) fn locate(token: &str, content: &str, inside: Range<usize>) -> Option<Range<usize>> {
    let body = body(token)?;
    let pieces = if token.starts_with('"') { basic(token, &body)? } else { literal(token, &body) };
    if !pieces.iter().map(|piece| piece.char).eq(content.chars()) {
        return None;
    }
    let end = Piece { char: '\n', text: body.end..body.end };
    let at = |offset: usize| {
        let index = content.get(..offset)?.chars().count();
        pieces.get(index).or(Some(&end))
    };
    let start = at(inside.start)?.text.start;
    let last = content.get(inside.clone())?.chars().next_back();
    match last {
        Some(last) => Some(start..at(inside.end - last.len_utf8())?.text.end),
        None => Some(start..start),
    }
}

/// What stands between the quotes, without the newline that a multi-line string may begin with.
fn body(token: &str) -> Option<Range<usize>> {
    for quotes in ["\"\"\"", "'''"] {
        if let Some(rest) = token.strip_prefix(quotes).and_then(|rest| rest.strip_suffix(quotes)) {
            let trimmed = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
            let start = quotes.len() + rest.len() - trimmed.len();
            return Some(start..start + trimmed.len());
        }
    }
    let inner = |quote: char| token.strip_prefix(quote)?.strip_suffix(quote);
    let rest = inner('"').or_else(|| inner('\''))?;
    Some(1..1 + rest.len())
}

fn literal(token: &str, body: &Range<usize>) -> Vec<Piece> {
    let piece =
        |(at, char): (usize, char)| Piece { char, text: body.start + at..body.start + at + char.len_utf8() };
    token[body.clone()].char_indices().map(piece).collect()
}

fn basic(token: &str, body: &Range<usize>) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut at = body.start;
    while at < body.end {
        let rest = &token[at..body.end];
        let (char, length) = match rest.strip_prefix('\\') {
            Some(escape) => escaped(escape)?,
            None => rest.chars().next().map(|c| (Some(c), c.len_utf8()))?,
        };
        pieces.extend(char.map(|char| Piece { char, text: at..at + length }));
        at += length;
    }
    Some(pieces)
}

/// The character after a backslash and the length of both together; a line-ending backslash stands for nothing.
fn escaped(rest: &str) -> Option<(Option<char>, usize)> {
    let code = |digits: usize| {
        let value = u32::from_str_radix(rest.get(1..1 + digits)?, 16).ok()?;
        Some((Some(char::from_u32(value)?), 2 + digits))
    };
    let char = match rest.chars().next()? {
        'b' => '\u{8}',
        'e' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '\\' => '\\',
        '"' => '"',
        'x' => return code(2),
        'u' => return code(4),
        'U' => return code(8),
        c if c.is_ascii_whitespace() => return Some((None, 1 + rest.len() - rest.trim_ascii_start().len())),
        _ => return None,
    };
    Some((Some(char), 2))
}

#[cfg(test)]
mod tests {
    use super::super::{manifest, spec_file};
    use crate::settings::Settings;

    /// The text under the caret, with the line it stands on, when `math` holds the misspelt `sofmax`.
    fn caret(math: &str) -> Vec<(usize, String)> {
        let kernel = format!(
            "axes = {{ m = 4, c = 8 }}\ninputs = {{ x = \"f32[m, c]\" }}\noutputs = {{ y = \"f32[m, c]\" }}\n\
             math = {math}\n"
        );
        let file = format!("edition = 1\n[kernels.soft]\n{kernel}");
        let cargo = format!("[package]\nname = \"a\"\n[package.metadata.kernels.soft]\n{kernel}");
        let texts = [(spec_file(&file, &Settings::default()), file), (manifest(&cargo), cargo)];
        let place = |(document, text): &(super::super::Document, String)| {
            let span = document.errors.first().expect("an error").span.clone();
            // both start with as many lines, but for one
            let line = text[..span.start].lines().count().max(1) - usize::from(text.starts_with('['));
            (line, text[span].to_owned())
        };
        texts.iter().map(place).collect()
    }

    fn places(math: &str, line: usize, under: &str) {
        for found in caret(math) {
            assert_eq!(found, (line, under.to_owned()), "{math}");
        }
    }

    #[test]
    fn plain_strings_of_four_kinds() {
        for (open, close) in [("\"", "\""), ("'", "'"), ("\"\"\"", "\"\"\""), ("'''", "'''")] {
            places(&format!("{open}y[m, c] = sofmax(c, x[m, c]){close}"), 6, "sofmax");
        }
    }

    #[test]
    fn a_first_newline_is_trimmed_and_lines_are_counted() {
        for quotes in ["\"\"\"", "'''"] {
            places(&format!("{quotes}\n\ny[m, c] = sofmax(c, x[m, c])\n{quotes}"), 8, "sofmax");
            places(&format!("{quotes}\r\n\r\ny[m, c] = sofmax(c, x[m, c])\r\n{quotes}"), 8, "sofmax");
        }
    }

    #[test]
    fn escapes_before_and_inside_the_place() {
        places(r#""\n\ty[m, c] = sofmax(c, x[m, c])""#, 6, "sofmax");
        places(r#""y[m, c] = \u0073ofmax(c, x[m, c])\n""#, 6, r"\u0073ofmax");
        places(r#""y[m, c]\x20= sofma\U00000078(c, x[m, c])""#, 6, r"sofma\U00000078");
    }

    #[test]
    fn a_line_ending_backslash_joins_lines() {
        places("\"\"\"\ny[m, c] = \\\n    \\   \n\n  sofmax(c, x[m, c])\n\"\"\"", 10, "sofmax");
        places("\"\"\"\\\n   y[m, c] = \\t sofmax(c, x[m, c])\"\"\"", 7, "sofmax");
    }

    #[test]
    fn what_the_language_refuses_is_shown_as_written() {
        places(r#""y[m, c] = \" x[m, c]""#, 6, r#"\""#);
        places(r#""y[m, c] = \\ x[m, c]""#, 6, r"\\");
        places("\"\"\"y[m, c] = x[m, c] \"\" \"\"\"", 6, "\"");
        places("\"t[m, c] = x[m, c]; é = 1\\n\"", 6, "é");
    }

    #[test]
    fn an_empty_place_is_empty_and_a_wrong_content_none() {
        assert_eq!(super::locate("\"a\\n\"", "a\n", 2..2), Some(4..4));
        assert_eq!(super::locate("\"a\\n\"", "a\n", 0..0), Some(1..1));
        assert_eq!(super::locate("\"a\\n\"", "ab", 0..1), None);
        assert_eq!(super::locate("\"a\\q\"", "aq", 0..1), None);
        assert_eq!(super::locate("\"a\"", "a", 0..3), None);
    }
}
