//! How deep the brackets of a TOML text nest, before it is parsed: the parser follows them on the stack.

use std::ops::Range;

/// What is said of a text that nests too deep.
pub(crate) const MESSAGE: &str = "arrays and inline tables nest deeper than 64 levels";

/// Deepest nesting of arrays and inline tables that is read; specs, records and locks need four levels.
const MAX_DEPTH: usize = 64;

/// The bracket that opens one level too many, if any. Strings and comments don't count.
pub(crate) fn too_deep(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'#' => at = line_end(bytes, at),
            b'"' | b'\'' => at = string_end(bytes, at, *byte),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(at..at + 1);
        }
        at += 1;
    }
    None
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| from + n)
}

/// The last byte of the string that opens at `from`; a string that is not closed ends with its line, or with the text.
fn string_end(bytes: &[u8], from: usize, quote: u8) -> usize {
    let long = bytes[from..].starts_with(&[quote; 3]);
    let mut at = from + if long { 3 } else { 1 };
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 1,
            b'\n' if !long => return at,
            _ if !long && *byte == quote => return at,
            _ if long && bytes[at..].starts_with(&[quote; 3]) => return at + 2,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::too_deep;

    #[test]
    fn only_brackets_outside_strings_and_comments_nest() {
        let nested = |n: usize| format!("a = {}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(too_deep(&nested(64)), None);
        assert_eq!(too_deep(&nested(65)), Some(68..69));
        assert!(too_deep(&"inputs = { [kernels.k]\n".repeat(2000)).is_some());
        for quiet in [
            "# [[[[\n",
            "a = '[[[['\n",
            "a = \"[[[[\\\"[[\"\n",
            "a = '''[[\n[['''\n",
            "a = \"\"\"[\"[\n[\"\"\"\n",
        ] {
            assert_eq!(too_deep(&quiet.repeat(100)), None, "{quiet}");
        }
    }
}
