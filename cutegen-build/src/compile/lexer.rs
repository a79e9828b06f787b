//! A candidate's text as tokens with places, after line splices and comments: what a compiler would see.
//!
//! Strict on purpose. Forms that exist to say one thing to a reader and another to the compiler (trigraphs,
//! digraphs, raw strings, stray control characters) are refused rather than understood.

/// A place in the source, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// One preprocessing token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) place: Place,
    /// First on its line once splices and comments are gone.
    pub(super) starts_line: bool,
}

/// What kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    /// The text is what stands between the quotes.
    Text,
    Character,
    /// `<...>` of an include; the text is what stands between.
    HeaderName,
    Punctuation,
}

/// Text that is refused before it means anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) place: Place,
    pub(super) what: String,
}

/// The tokens of a source, or the first thing that cannot be one.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, Unreadable> {
    let mut lexer = Lexer { chars: spliced(source)?, at: 0, tokens: Vec::new(), starts_line: true };
    while lexer.next_token()? {}
    Ok(lexer.tokens)
}

type Placed = (char, Place);

/// Joins spliced lines. GCC also splices when blanks follow the backslash.
fn spliced(source: &str) -> Result<Vec<Placed>, Unreadable> {
    let chars = placed(source)?;
    let mut joined = Vec::with_capacity(chars.len());
    let mut at = 0;
    while at < chars.len() {
        if chars[at].0 == '\\' {
            let blanks = chars[at + 1..].iter().take_while(|(c, _)| matches!(c, ' ' | '\t')).count();
            if chars.get(at + 1 + blanks).is_some_and(|(c, _)| *c == '\n') {
                at += blanks + 2;
                continue;
            }
        }
        joined.push(chars[at]);
        at += 1;
    }
    Ok(joined)
}

fn placed(source: &str) -> Result<Vec<Placed>, Unreadable> {
    let mut place = Place { line: 1, column: 1 };
    let mut chars = Vec::with_capacity(source.len());
    for c in source.replace("\r\n", "\n").chars() {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            return Err(Unreadable { place, what: format!("control character U+{:04X}", u32::from(c)) });
        }
        chars.push((c, place));
        place = if c == '\n' {
            Place { line: place.line + 1, column: 1 }
        } else {
            Place { column: place.column + 1, ..place }
        };
    }
    Ok(chars)
}

struct Lexer {
    chars: Vec<Placed>,
    at: usize,
    tokens: Vec<Token>,
    starts_line: bool,
}

impl Lexer {
    /// False at the end.
    fn next_token(&mut self) -> Result<bool, Unreadable> {
        self.skip_blanks()?;
        let Some((c, place)) = self.chars.get(self.at).copied() else { return Ok(false) };
        let start = self.at;
        let (kind, text) = if is_word_start(c) {
            (Kind::Word, self.word(place)?)
        } else if c.is_ascii_digit() || (c == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit())) {
            (Kind::Number, self.take_number())
        } else if c == '"' || c == '\'' {
            (if c == '"' { Kind::Text } else { Kind::Character }, self.quoted(c, place)?)
        } else if c == '<' && self.after_include() {
            (Kind::HeaderName, self.header_name(place)?)
        } else {
            (Kind::Punctuation, self.punctuation(c, place)?)
        };
        debug_assert!(self.at > start, "a token has at least one character");
        self.tokens.push(Token { kind, text, place, starts_line: self.starts_line });
        self.starts_line = false;
        Ok(true)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).map(|(c, _)| *c)
    }

    fn skip_blanks(&mut self) -> Result<(), Unreadable> {
        while let Some((c, place)) = self.chars.get(self.at).copied() {
            match (c, self.peek(1)) {
                ('\n', _) => (self.starts_line, self.at) = (true, self.at + 1),
                (' ' | '\t', _) => self.at += 1,
                ('/', Some('/')) => {
                    self.at += self.chars[self.at..].iter().take_while(|(c, _)| *c != '\n').count()
                }
                ('/', Some('*')) => self.skip_comment(place)?,
                _ => break,
            }
        }
        Ok(())
    }

    fn skip_comment(&mut self, place: Place) -> Result<(), Unreadable> {
        self.at += 2;
        while self.peek(0).is_some() {
            if self.peek(0) == Some('*') && self.peek(1) == Some('/') {
                self.at += 2;
                return Ok(());
            }
            self.at += 1;
        }
        Err(Unreadable { place, what: "a comment that does not end".to_owned() })
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let text: String = self.chars[self.at..].iter().map(|(c, _)| *c).take_while(|c| wanted(*c)).collect();
        self.at += text.chars().count();
        text
    }

    fn word(&mut self, place: Place) -> Result<String, Unreadable> {
        let word = self.take_while(|c| is_word_start(c) || c.is_ascii_digit());
        if self.peek(0) == Some('"') && matches!(word.as_str(), "R" | "LR" | "uR" | "UR" | "u8R") {
            return Err(Unreadable { place, what: "a raw string: write an ordinary one".to_owned() });
        }
        Ok(word)
    }

    /// A digit separator is no quote, and an exponent's sign is part of the number.
    fn take_number(&mut self) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek(0) {
            let sign = matches!(c, '+' | '-') && text.ends_with(['e', 'E', 'p', 'P']);
            let separator = c == '\'' && self.peek(1).is_some_and(|c| c.is_ascii_alphanumeric());
            if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || sign || separator) {
                break;
            }
            text.push(c);
            self.at += 1;
        }
        text
    }

    fn quoted(&mut self, quote: char, place: Place) -> Result<String, Unreadable> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek(0) {
                Some('\n') | None => {
                    return Err(Unreadable {
                        place,
                        what: "a quote that does not end on its line".to_owned(),
                    });
                }
                Some('\\') => {
                    text.push('\\');
                    text.extend(self.peek(1));
                    self.at += 2;
                }
                Some(c) => {
                    self.at += 1;
                    if c == quote {
                        return Ok(text);
                    }
                    text.push(c);
                }
            }
        }
    }

    fn after_include(&self) -> bool {
        let mut last = self.tokens.iter().rev();
        let (word, hash) = (last.next(), last.next());
        word.is_some_and(|word| word.text.starts_with("include") && word.kind == Kind::Word)
            && hash.is_some_and(|hash| hash.text == "#" && hash.starts_line)
            && !self.starts_line
    }

    fn header_name(&mut self, place: Place) -> Result<String, Unreadable> {
        self.at += 1;
        let name = self.take_while(|c| c != '>' && c != '\n');
        if self.peek(0) != Some('>') {
            return Err(Unreadable { place, what: "an include without `>`".to_owned() });
        }
        self.at += 1;
        Ok(name)
    }

    fn punctuation(&mut self, c: char, place: Place) -> Result<String, Unreadable> {
        let pair: String = [Some(c), self.peek(1)].into_iter().flatten().collect();
        // `<::` is `<` and `::`, unless `:` or `>` follows
        let template_argument = self.peek(2) == Some(':') && !matches!(self.peek(3), Some(':' | '>'));
        let digraph =
            matches!(pair.as_str(), "%:" | ":>" | "<%" | "%>") || (pair == "<:" && !template_argument);
        if digraph || pair == "??" {
            return Err(Unreadable { place, what: format!("`{pair}`: write the character it stands for") });
        }
        if !c.is_ascii() || matches!(c, '\\' | '`' | '@' | '$') {
            return Err(Unreadable { place, what: format!("`{c}` outside of strings and comments") });
        }
        self.at += 1;
        if pair == "##" {
            self.at += 1;
            return Ok(pair);
        }
        Ok(c.to_string())
    }
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokens(source).expect("readable").into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn splices_and_comments_vanish() {
        assert_eq!(texts("in\\\nt /* a // b */ x; // c \\\n still\ny"), ["int", "x", ";", "y"]);
        assert_eq!(texts("#inc\\  \nlude <a/b.h>"), ["#", "include", "a/b.h"]);
    }

    #[test]
    fn digit_separators_are_no_quotes() {
        assert_eq!(texts("1'000'000 + 1e-3f + 'x'"), ["1'000'000", "+", "1e-3f", "+", "x"]);
    }

    #[test]
    fn comments_in_strings_are_text() {
        assert_eq!(texts(r#""/* \" //" y"#), [r#"/* \" //"#, "y"]);
    }

    #[test]
    fn template_arguments_are_no_digraphs() {
        assert_eq!(texts("A<::cute::X> b;").len(), 11);
        assert!(tokens("int a<:3:>;").is_err());
    }

    #[test]
    fn double_tongued_text_is_refused() {
        for source in [
            "??=include <x>",
            "%:include <x>",
            "R\"(a)\"",
            "a\rb",
            "a\0b",
            "int \u{e9};",
            "/* open",
            "\"open\n\"",
        ] {
            assert!(tokens(source).is_err(), "{source:?}");
        }
    }

    #[test]
    fn places_survive_splices() {
        let last = tokens("a \\\n b\n  c").expect("readable").pop().expect("three tokens");
        assert_eq!((last.place, last.starts_line), (Place { line: 3, column: 3 }, true));
    }
}
