//! Rust text as the rules want to see it: comments and literals blanked, test-only items blanked, lines kept.
//!
//! A lexer of just these parts; anything it takes for code is code. Offsets and line numbers equal the original's.

/// Blanks comments, strings and character literals.
pub(super) fn mask(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = opaque_end(text.as_bytes(), at).unwrap_or(at);
        blank(&mut bytes[at..end]);
        at = end.max(at + 1);
    }
    String::from_utf8(bytes).expect("whole characters were blanked")
}

/// [`mask`], and items under `#[cfg(test)]` blanked too: what ships.
pub(super) fn shipped(text: &str) -> String {
    let mut bytes = mask(text).into_bytes();
    for marker in ["#[cfg(test)]", "#[cfg(all(test"] {
        let mut from = 0;
        while let Some(start) = find(&bytes, marker.as_bytes(), from) {
            let end = item_end(&bytes, start);
            blank(&mut bytes[start..end]);
            from = end;
        }
    }
    String::from_utf8(bytes).expect("whole characters were blanked")
}

/// Whether a path holds tests or benchmarks only.
pub(super) fn is_test(path: &str) -> bool {
    ["tests/", "benches/"]
        .iter()
        .any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")))
        || path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
}

/// Whether a path holds what the crates ship as source: `src/` of a package, without its tests.
pub(super) fn is_shipped(path: &str) -> bool {
    path.ends_with(".rs") && path.contains("/src/") && !is_test(path) && !path.starts_with("example-app/")
}

/// Whether a Rust file was printed by a tool, so that its shape is the tool's.
pub(super) fn is_generated(path: &str, text: &str) -> bool {
    path.starts_with("tests/golden/") || text.lines().take(3).any(|line| line.contains("@generated"))
}

/// Line numbers on which `word` stands in `code`, not as part of a longer name.
pub(super) fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let name = |c: char| c.is_alphanumeric() || c == '_';
    let opens = word.starts_with(name);
    let closes = word.ends_with(name);
    let stands = |at: usize| {
        let joined_before = opens && code[..at].ends_with(name);
        let joined_after = closes && code[at + word.len()..].starts_with(name);
        !joined_before && !joined_after
    };
    code.match_indices(word).map(|(at, _)| at).filter(|at| stands(*at)).map(|at| line_of(code, at)).collect()
}

/// The number of the line that holds an offset, from 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

fn find(bytes: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    bytes[from..].windows(needle.len()).position(|window| window == needle).map(|at| from + at)
}

/// Where the comment or literal that starts at `at` ends; none where none starts.
fn opaque_end(bytes: &[u8], at: usize) -> Option<usize> {
    match (bytes[at], bytes.get(at + 1)) {
        (b'/', Some(b'/')) => Some(find(bytes, b"\n", at).unwrap_or(bytes.len())),
        (b'/', Some(b'*')) => Some(block_comment_end(bytes, at)),
        (b'"', _) => Some(quoted_end(bytes, at, b'"')),
        (b'\'', _) => char_end(bytes, at),
        (b'r', _) => raw_string_end(bytes, at),
        _ => None,
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start + 2, 1);
    while at < bytes.len() && depth > 0 {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => (at, depth) = (at + 2, depth + 1),
            b"*/" => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    bytes.len().min(at + 1)
}

/// A lifetime is no literal: it has no closing quote after one character.
fn char_end(bytes: &[u8], start: usize) -> Option<usize> {
    let first = *bytes.get(start + 1)?;
    if first == b'\\' {
        return Some(quoted_end(bytes, start, b'\''));
    }
    let width = match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    (bytes.get(start + 1 + width) == Some(&b'\'')).then_some(start + width + 2)
}

fn raw_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let prefix = &bytes[..start];
    let prefix = prefix.strip_suffix(b"b").or_else(|| prefix.strip_suffix(b"c")).unwrap_or(prefix);
    if prefix.last().is_some_and(|byte| name(*byte)) {
        return None;
    }
    let hashes = bytes[start + 1..].iter().take_while(|byte| **byte == b'#').count();
    let open = start + 1 + hashes;
    (bytes.get(open) == Some(&b'"')).then(|| {
        let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        find(bytes, &close, open + 1).map_or(bytes.len(), |at| at + close.len())
    })
}

/// The end of the item whose first attribute starts at `start`: its `;`, or the brace that closes it.
fn item_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut braces) = (0_usize, 0_usize);
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' => braces += 1,
            b'}' if braces <= 1 => return at + 1,
            b'}' => braces -= 1,
            b';' if depth == 0 && braces == 0 => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masking_keeps_code_and_lines() {
        let text = "let a = \"env::var // no\"; // env::var\nlet b = r#\"un\"wrap\"#; /* x /* y */ z */ f('\"', '\\'', b'\"');\n";
        let code = mask(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.lines().count(), 2);
        let words: Vec<&str> = code.split_whitespace().collect();
        assert_eq!(words, ["let", "a", "=", ";", "let", "b", "=", ";", "f(", ",", ",", "b", ");"]);
    }

    #[test]
    fn lifetimes_raw_names_and_wide_characters_are_not_strings() {
        let text = "fn f<'a>(r#type: &'a str, var: char) { g('é', 'x', \"é\") } // ü";
        let code = mask(text);
        assert!(code.starts_with("fn f<'a>(r#type: &'a str, var: char) { g("), "{code}");
        assert!(code.trim_end().ends_with('}'));
    }

    #[test]
    fn test_items_are_not_shipped() {
        let text = "fn a() { b() }\n#[cfg(test)]\n#[path(x)]\nmod t { fn c() { d() } }\nfn e() {}\n#[cfg(test)]\nuse f::g;\nfn h() {}";
        let words: Vec<String> = shipped(text).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words.join(" "), "fn a() { b() } fn e() {} fn h() {}");
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(lines_with("env::vary\nmyenv::var\nenv::var(", "env::var"), [3]);
        assert_eq!(lines_with("x.unwrap_or(1)\nx.unwrap()", ".unwrap()"), [2]);
    }
}
