//! A source without what does not change it: comments and blanks. Where they keep two tokens apart, the cut stays.

/// Two characters that are one operator only where nothing stands between them.
const OPERATORS: &[&str] = &[
    "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "->", "::", "##", "..", ".*", "//", "/*", "*/", "<:", ":>", "<%", "%>", "%:",
];

/// Each comment as a blank; line ends and texts in quotes stay. Lines are as many as before. It walks over bytes, since a
/// build without optimisation reads megabytes of headers too.
pub(super) fn uncommented(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = String::with_capacity(source.len());
    let (mut at, mut kept) = (0, 0);
    while at < bytes.len() {
        if !matches!(bytes[at], b'/' | b'"' | b'\'') {
            at += 1;
            continue;
        }
        let rest = &source[at..];
        let (length, is_comment) = match rest.as_bytes() {
            [b'/', b'/', ..] => (line_comment(rest), true),
            [b'/', b'*', ..] => (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), true),
            [quote @ (b'"' | b'\''), ..] => (quoted(rest, *quote), false),
            _ => (1, false),
        };
        if is_comment {
            out.push_str(&source[kept..at]);
            out.push(' ');
            let ends = bytes[at..at + length].iter().filter(|byte| **byte == b'\n').count();
            (0..ends).for_each(|_| out.push('\n'));
            kept = at + length;
        }
        at += length;
    }
    out + &source[kept..]
}

/// The source as tokens in one text. Equal texts of two sources mean equal tokens. Where a text in quotes goes over
/// several lines, nothing is taken out.
pub(super) fn normal(source: &str) -> String {
    let text = uncommented(source);
    if source.contains("R\"") || has_odd_splices(&text) {
        return source.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for line in logical(&text) {
        let is_directive = line.trim_start().starts_with('#');
        if is_directive && !out.ends_with('\n') {
            out.push('\n');
        }
        line_into(&line, is_directive, &mut out);
        if is_directive {
            out.push('\n');
        }
    }
    out
}

/// Lines of directives with what is spliced to them.
fn logical(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_spliced = false;
    for line in text.split('\n') {
        match lines.last_mut().filter(|_| is_spliced) {
            Some(last) => last.push_str(line),
            None => lines.push(line.to_owned()),
        }
        let last = lines.last_mut().expect("one was pushed");
        is_spliced = last.trim_start().starts_with('#') && last.trim_end().ends_with('\\');
        if is_spliced {
            *last = last.trim_end().trim_end_matches('\\').to_owned() + " ";
        }
    }
    lines
}

/// Whether a line that is spliced to the next is in no directive, or has a quote.
fn has_odd_splices(text: &str) -> bool {
    let mut is_directive = false;
    let mut is_spliced = false;
    text.lines().any(|line| {
        is_directive = if is_spliced { is_directive } else { line.trim_start().starts_with('#') };
        is_spliced = line.trim_end().ends_with('\\');
        is_spliced && (!is_directive || line.contains(['"', '\'']))
    })
}

/// Appends a line without blanks; in a directive each run of blanks is one.
fn line_into(line: &str, is_directive: bool, out: &mut String) {
    let mut rest = line.trim();
    let mut is_apart = true;
    while let Some(next) = rest.chars().next() {
        let blanks = rest.len() - rest.trim_start().len();
        if blanks > 0 {
            (rest, is_apart) = (&rest[blanks..], true);
            continue;
        }
        let length = token(rest, next);
        if is_apart && (glues(out, next) || is_directive && !out.ends_with('\n')) {
            out.push(' ');
        }
        out.push_str(&rest[..length]);
        (rest, is_apart) = (&rest[length..], false);
    }
}

/// Bytes of a token: a text in quotes, or one character.
fn token(rest: &str, first: char) -> usize {
    match first {
        '"' => quoted(rest, b'"'),
        '\'' => quoted(rest, b'\''),
        other => other.len_utf8(),
    }
}

/// Whether a token means something else where nothing stands between it and what is before.
fn glues(before: &str, next: char) -> bool {
    let Some(last) = before.chars().next_back() else { return false };
    let pair: String = [last, next].into_iter().collect();
    is_word(last) && is_word(next)
        || last == '.' && next.is_ascii_digit()
        || is_number(before) && (next == '.' || "eEpP".contains(last) && "+-".contains(next))
        || OPERATORS.contains(&pair.as_str())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '@' | '$' | '"' | '\'' | '\\')
}

/// Whether a text ends with a number.
fn is_number(text: &str) -> bool {
    let from = text.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
    text.as_bytes().get(from).is_some_and(u8::is_ascii_digit)
}

/// Bytes of a comment up to its line's end, with the lines that are spliced to it.
fn line_comment(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end().ends_with('\\') {
            return length - usize::from(line.ends_with('\n'));
        }
    }
    length
}

/// Bytes of a text in quotes; one that does not end ends with its line.
fn quoted(text: &str, quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\n' if !escaped => return at,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{normal, uncommented};

    #[test]
    fn comments_go_and_lines_stay() {
        let text = "a; // b \" \nc /* d\n// e */ f \"// g\" '\"' // h \\\ni\n\"/*\" j / k\n/* open\n";
        let bare = "a;  \nc  \n f \"// g\" '\"'  \n\n\"/*\" j / k\n \n";
        assert_eq!(uncommented(text), bare);
    }

    #[test]
    fn comments_and_blanks_make_no_difference() {
        let one = "#include <a.h> // why\nint  f ( int a ) {\n\treturn a + 1 ; /* b */ }\n";
        for other in [
            "#include <a.h>\nint f(int a) { return a+1; }",
            "\n\n#include  <a.h>\n// c\nint f(int a)\n{\n  return a /* + */ + 1;\n}\n",
        ] {
            assert_eq!(normal(one), normal(other));
        }
        assert_eq!(normal("d0 + 1 . x - size - 2;"), normal("d0+1 .x-size-2;"));
        assert_eq!(normal("#define A x \\\n  y\nint a;"), normal("#define A x y\nint   a;\n"));
    }

    #[test]
    fn what_means_something_else_stays_different() {
        for (one, other) in [
            ("int a;", "inta;"),
            ("x = a+ ++b;", "x = a++ +b;"),
            ("a - -b", "a--b"),
            ("p< ::q>", "p<::q>"),
            ("0x1e +1", "0x1e+1"),
            ("1 .5", "1.5"),
            ("s = \"a b\";", "s = \"ab\";"),
            ("s = \"a // b\";", "s = \"a \";"),
            ("L \"x\"", "L\"x\""),
            ("#define F (a)", "#define F(a)"),
            ("#define A b\nc", "#define A b c"),
            ("a\n#define B\n", "a #define B\n"),
            ("c = ' ';", "c = '';"),
            ("a /* b */ c", "ac"),
            ("s = \"a \\\n  b\";", "s = \"a \\\n b\";"),
            ("#define A \"a \\\n  b\"", "#define A \"a \\\n b\""),
            ("R\"(//)\" 1", "R\"(//)\" 2"),
            ("// a \\\nint b;\nint c;", "// a\nint b;\nint c;"),
        ] {
            assert_ne!(normal(one), normal(other), "{one}");
        }
    }
}
