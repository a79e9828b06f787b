//! Text as a terminal may get it. What comes from a spec, a record, a lock or an archive was written by others: in it an
//! escape sequence may move the cursor or set the clipboard, and a mark of direction may show a line as another one.

use std::borrow::Cow;

/// `text` with every character that a terminal acts on written out, as `\u{1b}`. Line ends and tabs stay.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, |c| matches!(c, '\n' | '\t'), |c, to| to.extend(c.escape_unicode()))
}

/// The same for a line of JSON, whose reader gets the characters back.
#[must_use]
pub fn printable_json(line: &str) -> Cow<'_, str> {
    replaced(
        line,
        |_| false,
        |c, to| {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| to.push_str(&format!("\\u{unit:04x}")));
        },
    )
}

fn replaced(text: &str, is_kept: impl Fn(char) -> bool, write: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let is_bad = |c: char| is_acted_on(c) && !is_kept(c);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut to = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_bad(c) { write(c, &mut to) } else { to.push(c) }
    }
    Cow::Owned(to)
}

/// Control characters, line and paragraph separators, and marks that change the direction of text or show nothing.
fn is_acted_on(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{printable, printable_json};

    #[test]
    fn what_a_terminal_acts_on_is_written_out() {
        let cases = [
            ("norm\ton sm_90a\nrun: x", "norm\ton sm_90a\nrun: x"),
            ("größe \u{2265} 1 µs", "größe \u{2265} 1 µs"),
            ("\u{1b}[2Jx\u{7}", "\\u{1b}[2Jx\\u{7}"),
            ("\u{1b}]52;c;aGk=\u{9c}", "\\u{1b}]52;c;aGk=\\u{9c}"),
            ("a\rb\u{8}\u{7f}\u{9b}1m", "a\\u{d}b\\u{8}\\u{7f}\\u{9b}1m"),
            ("\u{202e}evil\u{2066}\u{200b}\u{feff}", "\\u{202e}evil\\u{2066}\\u{200b}\\u{feff}"),
            ("\u{e0041}\u{2028}", "\\u{e0041}\\u{2028}"),
        ];
        for (text, shown) in cases {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = "a\u{202e}b\u{9b}c\u{e0041}\u{7f}";
        let line = format!("{{\"name\":\"{value}\"}}");
        let shown = printable_json(&line);
        assert_eq!(shown, "{\"name\":\"a\\u202eb\\u009bc\\udb40\\udc41\\u007f\"}");
        assert_eq!(printable_json("{\"a\":1}"), "{\"a\":1}");
    }
}
