//! [`Key`]: the secret of an endpoint. It is sent and never shown: texts from outside lose what looks like it.

use std::collections::BTreeSet;
use std::fmt;

/// What stands in the place of a key.
const GONE: &str = "[key]";
/// Characters of a key that give it away in a message.
const SHORT: usize = 8;
/// The same for an answer, of which nothing else may be lost.
const LONG: usize = 16;

/// A key. It has no text to print.
#[derive(Clone)]
pub struct Key {
    secret: String,
    forms: Vec<Form>,
}

/// A way to write the key.
#[derive(Clone)]
struct Form {
    text: String,
    /// Characters for each of the key's, rounded up.
    width: usize,
}

impl Key {
    /// A key, without the white space around it; none where nothing is left.
    #[must_use]
    pub fn new(secret: &str) -> Option<Self> {
        let secret = secret.trim();
        let is_sendable = secret.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        (is_sendable && !secret.is_empty()).then(|| Self { secret: secret.to_owned(), forms: forms(secret) })
    }

    /// The keys that the value of a header may hold: the value, or of several words, such as `Bearer KEY`, each that is long enough to be
    /// one.
    #[must_use]
    pub fn all_of(value: &str) -> Vec<Self> {
        Self::new(value).map_or_else(
            || value.split_whitespace().filter(|word| word.len() >= SHORT).filter_map(Self::new).collect(),
            |key| vec![key],
        )
    }

    /// What is sent.
    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    /// A message without any piece of the key that gives it away.
    #[must_use]
    pub fn out_of_message(&self, text: &str) -> String {
        self.out_of(text, SHORT.min(self.secret.len()))
    }

    /// An answer without the key. A key too short to be one, which local servers have, may be a word of it.
    #[must_use]
    pub fn out_of_answer(&self, text: &str) -> String {
        if self.secret.len() < LONG { text.to_owned() } else { self.out_of(text, LONG) }
    }

    fn out_of(&self, text: &str, least: usize) -> String {
        let bytes = text.as_bytes();
        let mut is_bad = vec![false; bytes.len()];
        for form in &self.forms {
            let size = (least * form.width).min(form.text.len());
            let windows: BTreeSet<&[u8]> = form.text.as_bytes().windows(size).collect();
            for (at, window) in bytes.windows(size).enumerate() {
                if windows.contains(window) {
                    is_bad[at..at + size].fill(true);
                }
            }
        }
        kept(text, &is_bad)
    }
}

/// All but the bad bytes, each run of which becomes [`GONE`].
fn kept(text: &str, is_bad: &[bool]) -> String {
    let (mut kept, mut was_bad) = (String::with_capacity(text.len()), false);
    for (at, character) in text.char_indices() {
        if is_bad[at] && !was_bad {
            kept.push_str(GONE);
        }
        was_bad = is_bad[at];
        if !was_bad {
            kept.push(character);
        }
    }
    kept
}

/// The key as it is, in reverse, and in encodings that messages have. All of them are ASCII.
fn forms(secret: &str) -> Vec<Form> {
    let bytes = secret.as_bytes();
    let each = |write: fn(u8) -> String| bytes.iter().map(|byte| write(*byte)).collect::<String>();
    let hex = each(|byte| format!("{byte:02x}"));
    let percent = each(|byte| format!("%{byte:02x}"));
    let escaped = each(|byte| format!("\\u{byte:04x}"));
    let upper = |text: &str| text.to_uppercase().replace("\\U", "\\u");
    let mut forms = vec![(secret.to_owned(), 1), (secret.chars().rev().collect(), 1)];
    forms.extend([(secret.to_lowercase(), 1), (secret.to_uppercase(), 1)]);
    for (text, width) in [(hex, 2), (percent, 3), (escaped, 6)] {
        forms.extend([(upper(&text), width), (text, width)]);
    }
    forms.push((percent_where_needed(bytes), 1));
    for alphabet in [b"+/", b"-_"] {
        forms.extend((0..3).map(|shift| (base64(bytes, shift, alphabet), 1)));
    }
    forms.into_iter().filter(|(text, _)| !text.is_empty()).map(|(text, width)| Form { text, width }).collect()
}

fn percent_where_needed(bytes: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one =
        |byte: &u8| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    bytes.iter().map(one).collect()
}

/// The characters that are the key's alone where it stands behind so many bytes of something else.
fn base64(bytes: &[u8], shift: usize, alphabet: &[u8; 2]) -> String {
    let digit = |value: u8| match value {
        0..26 => char::from(b'A' + value),
        26..52 => char::from(b'a' + value - 26),
        52..62 => char::from(b'0' + value - 52),
        62 => char::from(alphabet[0]),
        _ => char::from(alphabet[1]),
    };
    // whole groups of the key only: their digits do not depend on what stands around it
    let skipped = (3 - shift) % 3;
    let groups = bytes.get(skipped..).unwrap_or_default().chunks_exact(3);
    let digits = |group: &[u8]| {
        let all = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        [18, 12, 6, 0].map(|shift| digit((all >> shift & 63) as u8))
    };
    groups.flat_map(digits).collect()
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(GONE)
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    const SECRET: &str = "sk-test/Zq83+vNw0pLr5tYx=2bH";

    fn key() -> Key {
        Key::new(SECRET).expect("a key")
    }

    #[test]
    fn no_writing_of_the_key_is_left() {
        // each as another program writes it
        let written = [
            SECRET,
            "Hb2=xYt5rLp0wNv+38qZ/tset-ks",
            "736b2d746573742f5a7138332b764e7730704c7235745978",
            "736B2D746573742F5A7138332B764E7730704C7235745978",
            "sk-test%2FZq83%2BvNw0pLr5tYx%3D2bH",
            "c2stdGVzdC9acTgzK3ZOdzBwTHI1dFl4PTJiSA==",
            // of `Bearer sk-...`, and with one byte more before it
            "QmVhcmVyIHNrLXRlc3QvWnE4Myt2TncwcExyNXRZeD0yYkg=",
            "QUJlYXJlciBzay10ZXN0L1pxODMrdk53MHBMcjV0WXg9MmJI",
            "\\u0073\\u006b\\u002d\\u0074\\u0065\\u0073\\u0074\\u002f\\u005a\\u0071\\u0038\\u0033\\u002b\\u0076\\u004e\\u0077\\u0030",
            "SK-TEST/ZQ83+VNW0PLR5TYX=2BH",
        ];
        for text in written {
            let told = key().out_of_message(&format!("wrong key: {text}, é"));
            assert!(
                told.starts_with("wrong key: ") && told.ends_with(", é") && told.contains("[key]"),
                "{told}"
            );
            let middle = &text[text.len() / 4..text.len() * 3 / 4];
            assert!(!told.contains(middle), "{told} has {middle}");
            let answer = key().out_of_answer(&format!("// {text}\nint x;"));
            assert!(answer.contains("[key]") && answer.ends_with("int x;"), "{answer}");
        }
    }

    #[test]
    fn a_piece_of_it_is_gone_too() {
        let told = key().out_of_message("Incorrect API key provided: sk-test/****5tYx=2bH.");
        assert_eq!(told, "Incorrect API key provided: [key]****[key].");
    }

    #[test]
    fn a_word_for_no_key_is_no_secret_in_an_answer() {
        let key = Key::new(" EMPTY\n").expect("a key");
        assert_eq!(key.secret(), "EMPTY");
        assert_eq!(key.out_of_answer("if (EMPTY) return;"), "if (EMPTY) return;");
        assert_eq!(key.out_of_message("no key EMPTY"), "no key [key]");
    }

    #[test]
    fn a_header_of_several_words_holds_keys() {
        let secrets = |value: &str| -> Vec<String> {
            Key::all_of(value).iter().map(|key| key.secret().to_owned()).collect()
        };
        assert_eq!(secrets(&format!("Bearer {SECRET}")), [SECRET]);
        assert_eq!(secrets(SECRET), [SECRET]);
        assert_eq!(secrets(" a few words "), [""; 0]);
    }

    #[test]
    fn a_key_is_never_printed() {
        assert_eq!(format!("{:?}", key()), "[key]");
        assert!(Key::new("  ").is_none() && Key::new("a b").is_none() && Key::new("a\nb").is_none());
    }
}
